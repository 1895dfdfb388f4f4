"""Everything that the routes need, in one place: the engine's desk, the guard, the metrics, threads that look."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from turncoat.service import messages
from turncoat.service.api_keys import KeyRing
from turncoat.service.clock import Clock, SystemClock
from turncoat.service.engine import Engine
from turncoat.service.errors import Unavailable
from turncoat.service.experiments.snapshot_cache import read_snapshots
from turncoat.service.http import limits
from turncoat.service.http.auth import Guard, is_loopback
from turncoat.service.http.engine_thread import Desk
from turncoat.service.http.metrics import Metrics
from turncoat.service.http.page_process import Aside
from turncoat.service.http.responses import Reply, answer_list
from turncoat.service.http.settings import Settings
from turncoat.service.store import Store, StoreError

T = TypeVar("T")

LOOKERS = 4  # threads
WATCH_EVERY = 0.4  # seconds
LOADING = 0.02  # seconds between looks whether learners have been loaded

log = logging.getLogger("turncoat.http")


class Office:
    """Opened when the server starts, closed when it ends."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        settings: Settings,
        clock: Clock | None = None,
        is_warm: Callable[[], bool] = lambda: True,
    ) -> None:
        self.engine = engine
        self.store = store
        self.settings = settings
        self.clock = clock or SystemClock()
        self._is_warm = is_warm
        self.ring = KeyRing(store, self.clock)
        self.guard = Guard(self.ring, loopback=is_loopback(settings.host))
        self.metrics = Metrics(store, self.clock)
        self.desk = Desk(
            engine,
            watch=self.metrics,
            applies=settings.role != "front",
            is_warm=is_warm,
            when_down=engine.stale if settings.on_store_down == "stale" else None,
        )
        self.description = b"{}"  # for /openapi.json
        self.pages = Aside(settings.database)
        self.exports = asyncio.Semaphore(limits.EXPORTS)
        self._lookers = ThreadPoolExecutor(LOOKERS, thread_name_prefix="turncoat-look")
        self._watchers = ThreadPoolExecutor(2, thread_name_prefix="turncoat-watch")

    async def open(self) -> None:
        """Read the keys, and start the engine's thread."""
        self.ring.refresh()
        self.desk.open()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Finish what waits, apply what can be applied, let go of the store."""
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching
        await self.desk.close()
        self.metrics.hand_over()
        self.pages.close()
        self._lookers.shutdown()
        self._watchers.shutdown()
        self.store.close()

    async def learners_loaded(self) -> None:
        """Wait until learners are loaded: for whoever needs more of one than it has published. Holds up nobody else."""
        while not self._is_warm():
            await asyncio.sleep(LOADING)

    async def look(self, what: Callable[[], T], *, at_once: bool = False) -> T:
        """Look something up, in a thread that the engine does not wait for; `at_once`: nor any other look."""
        threads = self._watchers if at_once else self._lookers
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, what)
        except StoreError as problem:  # down, or damaged
            raise Unavailable(str(problem)) from problem

    async def look_through(self, what: Callable[[], Iterable[Any]]) -> Reply:
        """Look up a list, and write it as JSON, both in such a thread."""
        return await self.look(lambda: answer_list(what()))

    def experiments(self) -> list[messages.Experiment]:
        """All experiments as they are stored: the engine's own book belongs to its thread."""
        with self.store.reading() as session:
            return [snapshot.to_experiment() for snapshot in read_snapshots(session)]

    async def _watch(self) -> None:
        """A key that is revoked anywhere is good for nothing here a moment later; and all workers count together."""
        lost = False
        while True:
            await asyncio.sleep(WATCH_EVERY)
            try:
                self.metrics.hand_over()
                await self.look(self.ring.refresh, at_once=True)
                lost = False
            except Unavailable as problem:  # nobody can revoke a key there now; those known stay as they are
                if not lost:  # said once, not twice a second for as long as it takes
                    log.warning("keys could not be read again: %s", problem)
                lost = True
            except Exception:
                log.exception("the watch failed; it goes on")
