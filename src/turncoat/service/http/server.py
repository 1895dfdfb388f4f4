"""Runs the service: one process on SQLite, as many as wanted on PostgreSQL.

Nothing heavy is imported here: who only starts workers and watches over them should be quick about it.
"""

from __future__ import annotations

import os
import tempfile

import msgspec
import uvicorn

from turncoat.errors import OptionError
from turncoat.service.http import journal, limits
from turncoat.service.http.guard import is_loopback
from turncoat.service.http.metrics import SHARED
from turncoat.service.http.protocol import GuardedProtocol
from turncoat.service.http.settings import ENVIRONMENT, Settings
from turncoat.service.keys import KeyRing
from turncoat.service.store import Store, open_store

WORKER_SECONDS = 60  # without a sign of life before a worker is replaced; a compiler may keep one busy for ten
WORKER = "turncoat.service.http.worker:worker"


def run(settings: Settings) -> None:
    """Serve until told to end (Ctrl+C, or a SIGTERM), then finish what is under way."""
    check(settings)
    if settings.workers == 1:
        from turncoat.service.http.worker import app

        uvicorn.run(app(settings), **_uvicorn(settings))  # type: ignore[arg-type]
        return
    store = open_store(settings.database)  # what would stop every worker is said here, once
    try:
        check_bind(settings, store)
    finally:
        store.close()
    with tempfile.TemporaryDirectory(prefix="turncoat-metrics-") as folder:
        os.environ[SHARED] = folder
        os.environ[ENVIRONMENT] = msgspec.json.encode(settings).decode()
        uvicorn.run(WORKER, factory=True, workers=settings.workers, **_uvicorn(settings))  # type: ignore[arg-type]


def check(settings: Settings) -> None:
    """What cannot be run is refused before anything starts."""
    if settings.workers > 1 and not settings.database.startswith(("postgresql://", "postgres://")):
        raise OptionError(
            f"workers is {settings.workers} and the database is a SQLite file, which one process has to itself; "
            "accepted is workers=1, or a PostgreSQL address as database"
        )


def check_bind(settings: Settings, store: Store) -> None:
    """Nobody but this machine may connect to a service that has no key."""
    ring = KeyRing(store)
    ring.refresh()
    if not ring.is_needed and not is_loopback(settings.host):
        raise OptionError(
            f"host is {settings.host!r}, where other machines can connect, and there is no key yet; make one first "
            "(turncoat key add), or accept connections from this machine alone (127.0.0.1)"
        )


def _uvicorn(settings: Settings) -> dict[str, object]:
    return {
        "host": settings.host,
        "port": settings.port,
        "http": GuardedProtocol,
        "loop": "auto",
        "ws": "none",
        "lifespan": "on",
        "log_config": journal.configuration(settings.log_level),
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": settings.limit_concurrency,
        "timeout_keep_alive": limits.KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": settings.shutdown_s,
        "timeout_worker_healthcheck": WORKER_SECONDS,
    }
