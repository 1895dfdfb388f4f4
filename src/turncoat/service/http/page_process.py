"""The page process renders the dashboard, so that decisions do not wait for the interpreter's lock meanwhile.

The first page view starts it, which takes a second. Parent watchdog: it exits when the service dies, even by SIGKILL.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from turncoat.service.errors import Unavailable

SHUTDOWN_SECONDS = 3.0  # that a page being rendered has at shutdown
TRIES = 2  # to render a page
NICENESS = 10  # as for `nice`: lower priority than the service


class PageProcess:
    """Renders pages in another process."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._process: ProcessPoolExecutor | None = None

    async def render(self, name: str, needs_key: bool, arguments: Mapping[str, Any]) -> str:
        """As `Renderer.render` does. If the process has ended, another one is started: rendering changes nothing."""
        for _ in range(TRIES):
            if self._process is None:
                spawned = multiprocessing.get_context("spawn")
                self._process = ProcessPoolExecutor(1, spawned, initializer=_begin, initargs=(self._database,))
            process, loop = self._process, asyncio.get_running_loop()
            try:
                return await loop.run_in_executor(process, _render, name, needs_key, dict(arguments))
            except BrokenProcessPool:
                if self._process is process:
                    self._process = None
        raise Unavailable("the process that makes pages has ended; try again")

    def close(self) -> None:
        """Wait a little for the page being rendered, then abandon the process."""
        if self._process is not None:
            ending = threading.Thread(target=self._process.shutdown, kwargs={"cancel_futures": True}, daemon=True)
            self._process = None
            ending.start()
            ending.join(SHUTDOWN_SECONDS)


# --- in that process ---

_renderer: Any = None


def _begin(database: str) -> None:
    """Initialise the process: ignore Ctrl-C, which the service handles; start the parent watchdog."""
    global _renderer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    exit_with_parent(lambda: os._exit(0))
    from turncoat.service.dashboard.pages.renderer import Renderer
    from turncoat.service.store import open_store

    _renderer = Renderer(open_store(database, allow_in_use=True))


def _render(name: str, needs_key: bool, arguments: dict[str, Any]) -> str:
    made: str = _renderer.render(name, needs_key, arguments)
    return made


# --- parent watchdog ---


def exit_with_parent(end: Callable[[], None]) -> None:
    """Call `end`, on a thread, when the parent process dies, even by SIGKILL."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            end()

    threading.Thread(target=wait, name="turncoat-watchdog", daemon=True).start()
