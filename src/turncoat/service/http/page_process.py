"""A process of its own for the dashboard's pages, so that decisions do not wait for the interpreter's lock meanwhile.

It is started by the first who looks, which takes a second, and ends with the service, however that ends.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from turncoat.service.errors import Unavailable
from turncoat.service.http.kin import end_with_parent

PATIENCE = 3.0  # seconds
POLITENESS = 10  # how much it lets others go first, as `nice` counts


class Aside:
    """Has pages made."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._process: ProcessPoolExecutor | None = None

    async def make(self, name: str, needs_key: bool, words: Mapping[str, Any]) -> str:
        """As `Maker.make` does."""
        if self._process is None:
            spawned = multiprocessing.get_context("spawn")
            self._process = ProcessPoolExecutor(1, spawned, initializer=_begin, initargs=(self._database,))
        process, loop = self._process, asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(process, _make, name, needs_key, dict(words))
        except BrokenProcessPool as ended:
            if self._process is process:
                self._process = None  # the next who looks starts another
            raise Unavailable("the process that makes pages has ended; try again") from ended

    def close(self) -> None:
        """Wait a little for the page that it is making, and let it go."""
        if self._process is not None:
            ending = threading.Thread(target=self._process.shutdown, kwargs={"cancel_futures": True}, daemon=True)
            self._process = None
            ending.start()
            ending.join(PATIENCE)


# --- in that process ---

_maker: Any = None


def _begin(database: str) -> None:
    """Ctrl-C is for the service to hear; if it is gone without a word, so are we."""
    global _maker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(POLITENESS)
    end_with_parent(lambda: os._exit(0))
    from turncoat.service.dashboard import Maker
    from turncoat.service.store import open_store

    _maker = Maker(open_store(database, beside=True))


def _make(name: str, needs_key: bool, words: dict[str, Any]) -> str:
    made: str = _maker.make(name, needs_key, words)
    return made
