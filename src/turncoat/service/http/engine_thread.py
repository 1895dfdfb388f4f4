"""The engine thread, with group commit: one thread owns the engine, and the event loop submits commands to its queue.

Group commit: commands that arrive during a transaction wait for its end and form the next batch, so that one commit
serves many callers, and none waits longer than one commit for its batch. Between batches the thread applies rewards,
but only once learners are loaded (`is_loaded`): until then it decides from the stored snapshots.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar, cast

from turncoat.service.errors import Problem, Unavailable
from turncoat.service.http.deadlines import Deadlines, Receiver, Submitted
from turncoat.service.messages import Command, Decide, Result
from turncoat.service.store import StoreDown
from turncoat.service.store.interface import with_place

T = TypeVar("T")

BATCH = 512  # commands in one transaction
SOON, IDLE, STORE_DOWN = (
    0.05,
    0.1,
    0.5,
)  # seconds to the applier's next pass: rewards wait; none known; the store is down

log = logging.getLogger("turncoat.engine_thread")


class BatchEngine(Protocol):
    """What the thread needs of an engine."""

    def serve(self, commands: Sequence[Command]) -> Sequence[Result]:
        """A batch, in one transaction."""

    def work(self) -> bool:
        """One pass of the applier; True if there may be more."""

    def refresh(self) -> None:
        """Read what other workers have changed."""

    def check_writable(self) -> None:
        """Write a little: raises StoreDown while nothing can be written."""


class BatchObserver(Protocol):
    """Told of every batch, for the metrics. Called on the engine thread."""

    def served(self, answers: Sequence[Result | Exception]) -> None:
        """A batch has been answered."""


class EngineThread:
    """A queue and the thread that empties it. All methods but the thread's own run on one event loop."""

    def __init__(
        self,
        engine: BatchEngine,
        *,
        observer: BatchObserver | None = None,
        applies: bool = True,
        is_loaded: Callable[[], bool] = lambda: True,
        when_down: Callable[..., Result] | None = None,
        deadline: float = 60.0,
    ) -> None:
        """`when_down` answers decisions while the store is down; on the event loop it is told `from_snapshot=True`.

        `deadline`: seconds after which a request is answered though the thread has not come to it.
        """
        self._engine = engine
        self._observer = observer
        self._applies = applies
        self._is_loaded = is_loaded
        self._when_down = when_down
        self._queue: SimpleQueue[Submitted | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run_thread, name="turncoat-engine", daemon=True)
        self._deadline, self._deadlines = deadline, Deadlines(deadline, self._answer_late)
        self._closing = False
        self._due = 0.0
        self.trouble: str | None = None

    def open(self) -> None:
        """Start the thread; results are posted to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._deadlines.open(self._loop)
        self._due = time.monotonic() + IDLE  # there may be much to apply: waiting requests go first
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread lives and takes commands."""
        return self._thread.is_alive() and not self._closing

    def submit(self, work: Command | Callable[[], Any]) -> asyncio.Future[Any]:
        """Queue a command, or a function for `run`. A command that failed has its exception as the result."""
        future = self._loop.create_future()
        self.submit_for(work, future)
        return future

    def submit_for(self, work: Command | Callable[[], Any], receiver: Receiver) -> None:
        """Queue a command for a receiver of its result."""
        if self._closing:
            raise Unavailable("the service is shutting down; try again in a moment")
        self._queue.put(self._deadlines.add(work, receiver))

    def _answer_late(self, late: Submitted) -> None:
        """On the event loop: answer what has waited until its deadline."""
        why = self.trouble or "the store is slow, or locked by another program"
        problem = Unavailable(
            f"no answer within {self._deadline:g} s: {why}; "
            "whether it was recorded is not known; try again, a decision with its Idempotency-Key"
        )
        if callable(late.work):
            _settle_one(cast("asyncio.Future[Any]", late.receiver), problem, True)
        else:
            late.receiver.set_result(self._answer_without_store(late.work, problem, from_snapshot=True))

    async def run(self, do: Callable[[], T]) -> T:
        """Run a function on the thread, between batches."""
        result: T = await self.submit(do)
        return result

    async def close(self) -> None:
        """Drain the queue, apply the inbox, and end the thread."""
        self._closing = True
        if self._thread.is_alive():
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
        self._deadlines.close()

    # --- the thread ---

    def _run_thread(self) -> None:
        while self._cycle():
            pass
        if self._may_learn():
            for _ in range(100):  # bounded: accepted rewards are on the disk, and the next start applies the rest
                if not self._attempt(self._engine.work):
                    break

    def _may_learn(self) -> bool:
        return self._applies and self._is_loaded()

    def _cycle(self) -> bool:
        """Take a batch from the queue, or wait for one; then apply rewards if they are due. False: close was called."""
        batch: list[tuple[Command, Receiver]] = []
        task: tuple[Callable[[], Any], Receiver] | None = None
        going = True
        wait = max(0.0, self._due - time.monotonic())
        try:
            while task is None and len(batch) < BATCH:
                item = self._queue.get(not batch, wait)  # waits for the first one only
                if item is None:
                    going = False
                    break
                if item.is_late:
                    continue
                work, receiver = item.work, item.receiver
                if callable(work):
                    task = work, receiver
                else:
                    batch.append((work, receiver))
        except Empty:
            pass
        if batch:
            self._serve(batch)
        if task:
            self._do(*task)
        if going and time.monotonic() >= self._due:
            self._maintain()
        return going

    def _serve(self, batch: list[tuple[Command, Receiver]]) -> None:
        commands = [command for command, _ in batch]
        answers: Sequence[Result | Exception]
        try:
            answers = self._engine.serve(commands)
            if not all(isinstance(answer, Problem) for answer in answers):  # else nothing may have been written
                self.trouble = None
        except (Unavailable, StoreDown) as problem:
            self._note(problem)
            answers = [self._answer_without_store(command, problem) for command in commands]
        except Exception as mistake:
            log.exception("a batch of %d failed", len(batch))
            answers = [mistake] * len(batch)
        if self._observer:
            self._observer.served(answers)
        self._due = min(self._due, time.monotonic() + SOON)
        self._post(_settle, [receiver for _, receiver in batch], answers)

    def _answer_without_store(self, command: Command, problem: Exception, **how: bool) -> Result:
        if self._when_down is not None and isinstance(command, Decide):
            try:
                return self._when_down(command, **how)
            except Problem as other:
                return other
        return problem if isinstance(problem, Problem) else Unavailable(str(problem))

    def _do(self, do: Callable[[], Any], future: Any) -> None:
        result: Any
        raised = True
        try:
            result = do()
            raised = False
        except StoreDown as problem:
            result = Unavailable(str(problem))
        except Exception as problem:
            result = problem
        self._post(_settle_one, future, result, raised)

    def _maintain(self) -> None:
        """Run a pass of the applier, or only refresh; schedule the next."""
        more = self._attempt(self._pass)
        wait = STORE_DOWN if self.trouble else 0.0 if more else IDLE
        self._due = time.monotonic() + wait

    def _pass(self) -> bool:
        if self.trouble is not None:  # a pass that only reads also succeeds where nothing can be written
            self._engine.check_writable()
        if self._may_learn():
            return self._engine.work()
        self._engine.refresh()
        return False

    def _attempt(self, work: Callable[[], Any]) -> bool:
        try:
            more = bool(work())
            self.trouble = None
            return more
        except (Unavailable, StoreDown) as problem:
            self._note(problem)
        except Exception:
            if self.trouble is None:
                log.exception("applying failed")
            self.trouble = "applying failed; see the log"
        return False

    def _note(self, problem: Exception) -> None:
        """The store is down. It is logged once, with its place, which callers are not told."""
        if self.trouble is None:
            log.warning("the store cannot be used: %s", with_place(problem))
        self.trouble = str(problem)

    def _post(self, *call: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(*call)
        except RuntimeError:  # the event loop is closed: no caller waits any more
            log.warning("an answer came after the end")


def _settle(receivers: Sequence[Receiver], answers: Sequence[Any]) -> None:
    """On the event loop: hand over the results."""
    for receiver, answer in zip(receivers, answers, strict=True):
        if not receiver.done():  # done: cancelled, the caller disconnected
            receiver.set_result(answer)


def _settle_one(future: asyncio.Future[Any], result: Any, raised: bool) -> None:
    if not future.done():
        (future.set_exception if raised else future.set_result)(result)
