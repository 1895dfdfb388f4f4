"""JSON logs: one line per event, on standard error. They never contain a header, a body or a key."""

from __future__ import annotations

import logging
import logging.config
from datetime import UTC, datetime
from typing import Any

import msgspec

from turncoat.service.http.request_ids import CURRENT

FIELDS = ("route", "status", "ms")  # extra fields of the service's own records
encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    """A record as a line of JSON. Newlines are escaped, which prevents log injection."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if message := record.getMessage():
            said["message"] = message
        said |= {name: record.__dict__[name] for name in FIELDS if name in record.__dict__}
        if (request := CURRENT.get()) is not None:
            said |= request.fields()
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return encode(said).decode()


def configure(level: str) -> None:
    """Configure logging for this process; warnings are logged too."""
    logging.config.dictConfig(configuration(level))
    logging.captureWarnings(True)


def configuration(level: str) -> dict[str, Any]:
    """For logging.config.dictConfig, and for uvicorn, whose own access log stays off."""
    name = level.upper()
    ours = {"handlers": ["lines"], "level": name, "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": JsonLines}},
        "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": {
            "turncoat": ours,
            "turncoat.access": {**ours, "level": "INFO"},
            "uvicorn": ours,
            "py.warnings": ours,
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }
