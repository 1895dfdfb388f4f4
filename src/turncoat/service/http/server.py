"""Runs the server: one process on SQLite, any number of workers on PostgreSQL.

No heavy imports at module level: with several workers this process only supervises them.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Annotated, Literal

import msgspec
import uvicorn
from msgspec import Meta, Struct
from uvicorn.supervisors.multiprocess import Multiprocess

from turncoat.errors import OptionError
from turncoat.service.api_keys import KeyRing
from turncoat.service.first_key import add_first_key
from turncoat.service.http import limits, logs
from turncoat.service.http.auth import is_loopback
from turncoat.service.http.cors import check_origins
from turncoat.service.http.metrics import SHARED
from turncoat.service.http.protocol import LimitedProtocol
from turncoat.service.store import Durability, Store, open_store

WORKER_SECONDS = 60  # without a heartbeat before a worker is replaced; compiling may block one for ten
PORT_RELEASE_SECONDS = 2.0  # that a killed service's children may take to release the port
STARTUP_FAILURE = 3  # uvicorn's exit status if it could not start
WORKER = "turncoat.service.http.app:worker"
ENVIRONMENT = "TURNCOAT_SERVE"  # passes the settings to workers


class Settings(Struct, frozen=True, kw_only=True):
    """The options of `turncoat serve`."""

    database: str = "turncoat.db"
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8000
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    role: Literal["all", "front", "applier"] = "all"  # front: decides and takes rewards; applier: applies them
    durability: Durability = "flush"
    on_store_down: Literal["refuse", "stale"] = "refuse"
    cors_origins: tuple[str, ...] = ()  # whose pages may call the routes of the scopes decide and reward
    deadline_s: Annotated[float, Meta(ge=0.1, le=3600.0)] = 2.0  # after which a request is answered 503
    access_log: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    limit_concurrency: Annotated[int, Meta(ge=1)] = 2048  # connections; more are answered 503
    shutdown_s: Annotated[int, Meta(ge=0)] = 10  # for requests under way when it is told to end


def run(settings: Settings, *, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to end (Ctrl+C, or a SIGTERM), then finish what is under way.

    `ready` is told the address once it listens there; with several workers, when they are about to.
    """
    check(settings)
    settings = msgspec.structs.replace(settings, port=free_port(settings.host, settings.port))
    if settings.workers == 1:
        from turncoat.service.http.app import open_app

        config = uvicorn.Config(open_app(settings), **options(settings))  # type: ignore[arg-type]
        server = _AnnouncingServer(config, lambda: ready(address(settings)))
        with suppress(KeyboardInterrupt):
            server.run()
        if not server.started:
            sys.exit(STARTUP_FAILURE)
        return
    with closing(open_store(settings.database)) as store:  # errors that would stop every worker are raised here, once
        add_first_key(store, os.environ)
        check_bind(settings, store)
    with tempfile.TemporaryDirectory(prefix="turncoat-metrics-") as folder:
        os.environ[SHARED] = folder
        os.environ[ENVIRONMENT] = msgspec.json.encode(settings).decode()
        ready(address(settings))
        config = uvicorn.Config(WORKER, factory=True, workers=settings.workers, **options(settings))  # type: ignore[arg-type]
        listener = _ReusePortSocket(settings.host, settings.port) if sys.platform == "linux" else config.bind_socket()
        Multiprocess(config, [listener]).run()


class _ReusePortSocket(socket.socket):
    """A listening socket with SO_REUSEPORT. Pickled for another process, it is bound anew there.

    Linux balances connections evenly over such sockets; on one shared socket a few workers would accept most of them.
    """

    def __init__(self, host: str, port: int) -> None:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        super().__init__(family, kind, protocol)
        self._asked = host, port
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.bind(where)

    def __reduce__(self) -> tuple[type[_ReusePortSocket], tuple[str, int]]:
        return _ReusePortSocket, self._asked


class _AnnouncingServer(uvicorn.Server):
    """Calls `ready` once it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then call `ready`."""
        await super().startup(sockets)
        self._ready()


def address(settings: Settings) -> str:
    """The URL of the service."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def free_port(host: str, port: int) -> int:
    """The port, or a free one if it is 0. A port in use is refused now, not after half a minute of compiling."""
    end = time.monotonic() + PORT_RELEASE_SECONDS
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
    """Refuse options that cannot work before anything starts."""
    check_origins(settings.cors_origins)
    if settings.workers > 1 and not settings.database.startswith(("postgresql://", "postgres://")):
        raise OptionError(
            f"workers is {settings.workers} and the database is a SQLite file, which one process has to itself; "
            "accepted is workers=1, or a PostgreSQL address as database"
        )


def check_bind(settings: Settings, store: Store) -> None:
    """A service without keys must listen on a loopback address."""
    ring = KeyRing(store)
    ring.refresh()
    if not ring.is_needed and not is_loopback(settings.host):
        raise OptionError(
            f"host is {settings.host!r}, where other machines can connect, and there is no key yet; make one first "
            "(turncoat key add), or accept connections from this machine alone (127.0.0.1)"
        )


def options(settings: Settings) -> dict[str, object]:
    """What uvicorn is told."""
    return {
        "host": settings.host,
        "port": settings.port,
        "http": LimitedProtocol,
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
