"""The service's log: one line of JSON an event, on standard error. Never a header, never a body, never a key."""

from __future__ import annotations

import logging
import logging.config
from datetime import UTC, datetime
from typing import Any

import msgspec

FIELDS = ("route", "status", "ms")  # what our own records may carry
encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    """A record as a line of JSON: newlines in it are escaped, so that nobody can forge a second one."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if message := record.getMessage():
            said["message"] = message
        for name in FIELDS:
            if name in record.__dict__:
                said[name] = record.__dict__[name]
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return encode(said).decode()


def begin(level: str) -> None:
    """From now on everything is written down this way, warnings too."""
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
