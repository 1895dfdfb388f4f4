"""A service on a socket of this machine, for as long as a test needs it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import uvicorn

from turncoat.service.clock import Clock
from turncoat.service.engine import Engine
from turncoat.service.http.app import make_app
from turncoat.service.http.context import AppContext
from turncoat.service.http.server import Settings, options
from turncoat.service.store import open_store

T = TypeVar("T")


def make_context(folder: Path, settings: Settings | None = None, clock: Clock | None = None) -> AppContext:
    """A context with a fresh store in this folder."""
    store = open_store(str(folder / "turncoat.db"))
    return AppContext(Engine(store, clock), store, settings or Settings(deadline_s=60.0), clock)


class Served:
    """A running server."""

    def __init__(self, context: AppContext, port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.context = context
        self.port = port
        self.url = f"http://localhost:{port}"
        self._loop = loop

    def run(self, do: Callable[[], Awaitable[T]]) -> T:
        """Do something on its event loop."""

        async def done() -> T:
            return await do()

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(60.0)

    def work(self) -> None:
        """Apply all that waits."""
        engine = self.context.engine
        while self.run(lambda: self.context.engine_thread.run(engine.work)):
            pass

    def connect(self) -> socket.socket:
        """A plain connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10.0)


@contextmanager
def serving(context: AppContext) -> Iterator[Served]:
    """Serve, then end gracefully."""
    listener = socket.create_server(("127.0.0.1", 0))
    loops: list[asyncio.AbstractEventLoop] = []
    app = make_app(context)
    config = uvicorn.Config(app, **{**options(context.settings), "log_config": None, "timeout_keep_alive": 5})  # type: ignore[arg-type]
    server = uvicorn.Server(config)

    async def live() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve(sockets=[listener])

    thread = threading.Thread(target=lambda: asyncio.run(live()), name="served")
    thread.start()
    try:
        until = time.monotonic() + 60.0
        while not server.started:
            assert thread.is_alive() and time.monotonic() < until, "the server did not start"
            time.sleep(0.005)
        yield Served(context, listener.getsockname()[1], loops[0])
    finally:
        server.should_exit = True
        thread.join(30.0)
        assert not thread.is_alive(), "the server did not end"
