"""Runs the service: one process on SQLite, as many as wanted on PostgreSQL.

Nothing heavy is imported here: who only starts workers and watches over them should be quick about it.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec
import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess

from turncoat.errors import OptionError
from turncoat.service.api_keys import KeyRing
from turncoat.service.http import limits, logs
from turncoat.service.http.auth import is_loopback
from turncoat.service.http.metrics import SHARED
from turncoat.service.http.protocol import GuardedProtocol
from turncoat.service.http.settings import ENVIRONMENT, Settings
from turncoat.service.store import Store, open_store

WORKER_SECONDS = 60  # without a sign of life before a worker is replaced; a compiler may keep one busy for ten
LETTING_GO = 2.0  # seconds in which what is left of a service that was killed lets go of its port
STARTUP_FAILURE = 3  # how uvicorn ends when it could not start
WORKER = "turncoat.service.http.worker:worker"


def run(settings: Settings, *, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to end (Ctrl+C, or a SIGTERM), then finish what is under way.

    `ready` is told the address once it listens there; with several workers, when they are about to.
    """
    check(settings)
    settings = msgspec.structs.replace(settings, port=free_port(settings.host, settings.port))
    if settings.workers == 1:
        from turncoat.service.http.worker import app

        config = uvicorn.Config(app(settings), **_uvicorn(settings))  # type: ignore[arg-type]
        _alone(_Announced(config, lambda: ready(address(settings))))
        return
    store = open_store(settings.database)  # what would stop every worker is said here, once
    try:
        check_bind(settings, store)
    finally:
        store.close()
    with tempfile.TemporaryDirectory(prefix="turncoat-metrics-") as folder:
        os.environ[SHARED] = folder
        os.environ[ENVIRONMENT] = msgspec.json.encode(settings).decode()
        ready(address(settings))
        config = uvicorn.Config(WORKER, factory=True, workers=settings.workers, **_uvicorn(settings))  # type: ignore[arg-type]
        place = _Place(settings.host, settings.port) if sys.platform == "linux" else config.bind_socket()
        Multiprocess(config, [place]).run()


class _Place(socket.socket):
    """A place at a port. Sent to another process it arrives as a place of its own.

    Linux shares connections out evenly among places; at one socket for all, whoever wakes first takes most of them.
    """

    def __init__(self, host: str, port: int) -> None:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        super().__init__(family, kind, protocol)
        self._asked = host, port
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.bind(where)

    def __reduce__(self) -> tuple[type[_Place], tuple[str, int]]:
        return _Place, self._asked


class _Announced(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the socket, and say so."""
        await super().startup(sockets)
        self._ready()


def _alone(server: uvicorn.Server) -> None:
    """Run in this process, and end as uvicorn's own command would."""
    with suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def address(settings: Settings) -> str:
    """Where a browser finds it."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def free_port(host: str, port: int) -> int:
    """The port, or any if it is 0. One that cannot be had is refused now, not after half a minute of compiling."""
    end = time.monotonic() + LETTING_GO
    while True:
        try:
            return _bound(host, port)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or time.monotonic() > end:
                raise OptionError(_refused(host, port, problem)) from problem
        time.sleep(0.02)


def _bound(host: str, port: int) -> int:
    family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trial.bind(where)
        return int(trial.getsockname()[1])


def _refused(host: str, port: int, problem: OSError) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"port is {port}, where another program listens; accepted is a free one, or 0 for any"
    if problem.errno == errno.EACCES:
        return f"port is {port}, which this user may not listen on; accepted are ports from 1024 on"
    return f"host is {host!r}: {problem.strerror}; accepted is an address of this machine"


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
        "log_config": logs.configuration(settings.log_level),
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": settings.limit_concurrency,
        "timeout_keep_alive": limits.KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": settings.shutdown_s,
        "timeout_worker_healthcheck": WORKER_SECONDS,
    }
