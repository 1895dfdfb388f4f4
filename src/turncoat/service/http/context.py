"""The application context: all that routes share: engine thread, authentication, metrics, reader threads."""

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
from turncoat.service.http import limits
from turncoat.service.http.auth import Authenticator, is_loopback
from turncoat.service.http.engine_thread import EngineThread
from turncoat.service.http.metrics import Metrics
from turncoat.service.http.page_process import PageProcess
from turncoat.service.http.responses import Response, json_list
from turncoat.service.http.server import Settings
from turncoat.service.store import Store, StoreError
from turncoat.service.store.interface import with_place

T = TypeVar("T")

READERS = 4  # threads
WATCH_EVERY = 0.4  # seconds
LOADING = 0.02  # seconds between polls whether learners are loaded

log = logging.getLogger("turncoat.http")


class AppContext:
    """Shared by all requests of one worker; opened when the server starts, closed when it ends."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        settings: Settings,
        clock: Clock | None = None,
        is_loaded: Callable[[], bool] = lambda: True,
    ) -> None:
        self.engine = engine
        self.store = store
        self.settings = settings
        self.clock = clock or SystemClock()
        self._is_loaded = is_loaded
        self.metrics = Metrics(store, self.clock)
        self.ring = KeyRing(store, self.clock, limited=self.metrics.rate_limited)
        self.auth = Authenticator(self.ring, loopback=is_loopback(settings.host))
        self.engine_thread = EngineThread(
            engine,
            observer=self.metrics,
            applies=settings.role != "front",
            is_loaded=is_loaded,
            when_down=engine.stale if settings.on_store_down == "stale" else None,
            deadline=settings.deadline_s,
        )
        self.description = b"{}"  # for /openapi.json
        self.pages = PageProcess(settings.database)
        self.exports = asyncio.Semaphore(limits.EXPORTS)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="turncoat-reader")
        self._urgent_readers = ThreadPoolExecutor(2, thread_name_prefix="turncoat-urgent-reader")

    async def open(self) -> None:
        """Read the keys, and start the engine's thread."""
        self.ring.refresh()
        self.engine_thread.open()
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Drain the queue, apply the inbox, close the store."""
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching
        await self.engine_thread.close()
        self.metrics.hand_over()
        self.pages.close()
        self._readers.shutdown()
        self._urgent_readers.shutdown()
        self.store.close()

    async def learners_loaded(self) -> None:
        """Wait until learners are loaded, for requests that need more than the published snapshot. Others go on."""
        while not self._is_loaded():
            await asyncio.sleep(LOADING)

    async def query(self, what: Callable[[], T], *, urgent: bool = False) -> T:
        """Run a query on a reader thread; `urgent`: on the threads reserved for health checks and keys.

        A long query may take its time as long as the store answers another: after half of the deadline it is asked.
        """
        threads, half = self._urgent_readers if urgent else self._readers, 0.5 * self.settings.deadline_s
        answer = asyncio.get_running_loop().run_in_executor(threads, what)
        try:
            if not urgent and not (await asyncio.wait([answer], timeout=half))[0]:
                async with asyncio.timeout(half):
                    await self.query(self.ping, urgent=True)
            return await answer
        except TimeoutError:  # the thread finishes what it has begun
            answer.cancel()
            raise Unavailable(f"the store did not answer within {self.settings.deadline_s:g} s") from None
        except StoreError as problem:  # down, or damaged
            raise Unavailable(str(problem)) from problem

    def ping(self) -> None:
        """Ask the store for nothing."""
        self.engine.read(lambda session: session.rows("SELECT 1"))

    async def query_list(self, what: Callable[[], Iterable[Any]]) -> Response:
        """Run a query for a list and encode it as JSON, both on a reader thread."""
        return await self.query(lambda: json_list(what()))

    def experiments(self) -> list[messages.Experiment]:
        """All experiments as they are stored: the engine's snapshot cache belongs to the engine thread."""
        return self.engine.experiments()

    async def _watch(self) -> None:
        """Poll: read the keys again, so that a revocation takes effect here too, and flush the metrics."""
        lost = False
        while True:
            await asyncio.sleep(WATCH_EVERY)
            try:
                self.metrics.hand_over()
                await self.query(self.ring.refresh, urgent=True)
                lost = False
            except Unavailable as problem:  # no key can be revoked while the store is down; the known ones stay valid
                if not lost:  # logged once, not at every poll
                    log.warning("keys could not be read again: %s", with_place(problem))
                lost = True
            except Exception:
                log.exception("the watch failed; it goes on")
