"""Runs the service: one process on SQLite, as many as wanted on PostgreSQL."""

from __future__ import annotations

import os
import sys
import tempfile

import msgspec
import uvicorn
from prometheus_client import disable_created_metrics
from starlette.types import ASGIApp

from turncoat.errors import OptionError
from turncoat.service.engine import Engine
from turncoat.service.http import journal, limits
from turncoat.service.http.app import make_app
from turncoat.service.http.guard import is_loopback
from turncoat.service.http.metrics import SHARED
from turncoat.service.http.office import Office
from turncoat.service.http.protocol import GuardedProtocol
from turncoat.service.http.settings import Settings
from turncoat.service.keys import KeyRing
from turncoat.service.store import Store, open_store
from turncoat.service.warm import warm_up

ENVIRONMENT = "TURNCOAT_SERVE"  # how workers learn their settings
SWITCH_SECONDS = 0.001  # the engine's thread waits no longer than this for the event loop's to let it run


def run(settings: Settings) -> None:
    """Serve until told to end (Ctrl+C, or a SIGTERM), then finish what is under way."""
    check(settings)
    warm_up()  # here, and once: processes that compile the same kernel at once would spoil the cache
    if settings.workers == 1:
        uvicorn.run(app(settings), **_uvicorn(settings))  # type: ignore[arg-type]
        return
    with tempfile.TemporaryDirectory(prefix="turncoat-metrics-") as folder:
        os.environ[SHARED] = folder
        os.environ[ENVIRONMENT] = msgspec.json.encode(settings).decode()
        uvicorn.run(f"{__name__}:worker", factory=True, workers=settings.workers, **_uvicorn(settings))  # type: ignore[arg-type]


def app(settings: Settings) -> ASGIApp:
    """The application, with its store opened."""
    sys.setswitchinterval(SWITCH_SECONDS)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # they would be half of /metrics
    store = open_store(settings.database)
    try:
        check_bind(settings, store)
        return make_app(Office(Engine(store), store, settings))
    except BaseException:
        store.close()
        raise


def worker() -> ASGIApp:
    """One of several: the application by the settings in the environment."""
    return app(msgspec.json.decode(os.environ[ENVIRONMENT], type=Settings))


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
        "limit_concurrency": settings.limit_concurrency,
        "timeout_keep_alive": limits.KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": settings.shutdown_s,
    }
