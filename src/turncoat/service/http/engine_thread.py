"""The engine's desk: one thread owns the engine, and everybody else leaves their errands here.

While the thread is at work, errands gather; it then takes all that wait as one batch, so that one commit to the disk
serves many callers and nobody waits longer for company than the commit before took. Between batches it applies rewards,
but only once learners are loaded (`is_warm`): until then it decides from what is stored.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from turncoat.service.errands import Decide, Done, Errand
from turncoat.service.errors import Problem, Unavailable
from turncoat.service.store import StoreDown

T = TypeVar("T")

BATCH = 512  # errands in one transaction
SOON, LATER, TROUBLE = 0.05, 0.1, 0.5  # seconds to the next look at rewards: some wait; none may; store down

log = logging.getLogger("turncoat.desk")


class Worker(Protocol):
    """What the desk needs of an engine."""

    def serve(self, errands: Sequence[Errand]) -> Sequence[Done]:
        """A batch, in one transaction."""

    def work(self) -> bool:
        """Apply what has come in; True if there may be more at once."""

    def refresh(self) -> None:
        """See what other workers changed."""


class Watch(Protocol):
    """Who is told what the desk has done, for the metrics. Called from the desk's thread."""

    def served(self, answers: Sequence[Done | Exception]) -> None:
        """A batch has been answered."""


class _Deed(NamedTuple):
    do: Callable[[], Any]
    future: asyncio.Future[Any]


class Desk:
    """A queue and the thread that empties it. All but the thread itself belongs to one event loop."""

    def __init__(
        self,
        engine: Worker,
        *,
        watch: Watch | None = None,
        applies: bool = True,
        is_warm: Callable[[], bool] = lambda: True,
        when_down: Callable[[Decide], Done] | None = None,
    ) -> None:
        self._engine = engine
        self._watch = watch
        self._applies = applies
        self._is_warm = is_warm
        self._when_down = when_down
        self._queue: SimpleQueue[tuple[Errand, asyncio.Future[Any]] | _Deed | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._live, name="turncoat-engine", daemon=True)
        self._closing = False
        self._due = 0.0
        self.trouble: str | None = None

    def open(self) -> None:
        """Start the thread; results go to the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._due = time.monotonic() + LATER  # there may be much to apply: whoever is here already goes first
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread lives and takes errands."""
        return self._thread.is_alive() and not self._closing

    def leave(self, errand: Errand) -> asyncio.Future[Any]:
        """Leave an errand; the future has its answer, an exception among them, as its result."""
        if self._closing:
            raise Unavailable("the service is shutting down; try again in a moment")
        future = self._loop.create_future()
        self._queue.put((errand, future))
        return future

    async def run(self, do: Callable[[], T]) -> T:
        """Have the thread do something else with its engine, alone."""
        if self._closing:
            raise Unavailable("the service is shutting down; try again in a moment")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Deed(do, future))
        return await future

    async def close(self) -> None:
        """Finish what waits, apply what can be applied, and end the thread."""
        self._closing = True
        if self._thread.is_alive():
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)

    # --- the thread ---

    def _live(self) -> None:
        going = True
        while going:
            going = self._turn()
        if self._learns():
            for _ in range(100):  # what callers were told is accepted; the rest is applied when it starts again
                if not self._attempt(self._engine.work):
                    break

    def _learns(self) -> bool:
        return self._applies and self._is_warm()

    def _turn(self) -> bool:
        """Serve what waits, or wait for something; then apply rewards if it is time. False: the end."""
        going = True
        batch: list[tuple[Errand, asyncio.Future[Any]]] = []
        deed: _Deed | None = None
        try:
            item = self._queue.get(timeout=max(0.0, self._due - time.monotonic()))
            while True:
                if item is None:
                    going = False
                    break
                if isinstance(item, _Deed):
                    deed = item
                    break
                batch.append(item)
                if len(batch) == BATCH:
                    break
                item = self._queue.get_nowait()
        except Empty:
            pass
        if batch:
            self._serve(batch)
        if deed:
            self._do(deed)
        if going and time.monotonic() >= self._due:
            self._look_after()
        return going

    def _serve(self, batch: list[tuple[Errand, asyncio.Future[Any]]]) -> None:
        errands = [errand for errand, _ in batch]
        answers: Sequence[Done | Exception]
        try:
            answers = self._engine.serve(errands)
            self.trouble = None
        except (Unavailable, StoreDown) as problem:
            self.trouble = str(problem)
            answers = [self._without_store(errand, problem) for errand in errands]
        except Exception as mistake:
            log.exception("a batch of %d failed", len(batch))
            answers = [mistake] * len(batch)
        if self._watch:
            self._watch.served(answers)
        self._due = min(self._due, time.monotonic() + SOON)
        self._say(_settle, [future for _, future in batch], answers)

    def _without_store(self, errand: Errand, problem: Exception) -> Done:
        if self._when_down is not None and isinstance(errand, Decide):
            try:
                return self._when_down(errand)
            except Problem as other:
                return other
        return problem if isinstance(problem, Problem) else Unavailable(str(problem))

    def _do(self, deed: _Deed) -> None:
        try:
            result = deed.do()
        except StoreDown as problem:
            self._say(_settle, [deed.future], [Unavailable(str(problem))], True)
        except Exception as problem:
            self._say(_settle, [deed.future], [problem], True)
        else:
            self._say(_settle, [deed.future], [result])

    def _look_after(self) -> None:
        """See what others changed, apply what has come in, and say when to do so again."""
        more = self._attempt(self._engine.work if self._learns() else self._engine.refresh)
        wait = TROUBLE if self.trouble else 0.0 if more else LATER
        self._due = time.monotonic() + wait

    def _attempt(self, work: Callable[[], Any]) -> bool:
        try:
            more = bool(work())
            self.trouble = None
        except (Unavailable, StoreDown) as problem:
            if self.trouble is None:
                log.warning("the store cannot be used: %s", problem)
            self.trouble = str(problem)
            return False
        except Exception:
            if self.trouble is None:
                log.exception("applying failed")
            self.trouble = "applying failed; see the log"
            return False
        return more

    def _say(self, *call: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(*call)
        except RuntimeError:  # the loop has gone: nobody waits any more
            log.warning("an answer came after the end")


def _settle(futures: Sequence[asyncio.Future[Any]], answers: Sequence[Any], raised: bool = False) -> None:
    """On the event loop: give everyone their answer."""
    for future, answer in zip(futures, answers, strict=True):
        if future.done():  # cancelled: the caller has gone
            continue
        if raised:
            future.set_exception(answer)
        else:
            future.set_result(answer)
