"""One campaign: start the service on a store, let clients loose on it, kill something so many times, and count.

service     the whole service, on SQLite with one worker, on PostgreSQL with two
applier     a process that only applies rewards, beside two that only decide and take them
postgres    the database under a service that lives on
"""

from __future__ import annotations

import math
import os
import random
import signal
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from tests.chaos.broken import COMMITTED
from tests.chaos.checker import Verdict, Violation, check
from tests.chaos.clients import GIVE_UP, Client, crowd, open_experiments
from tests.chaos.memory import Memory, merged
from tests.chaos.processes import Served
from tests.service.postgres_server import PrivateServer
from turncoat.service.store import Store, open_store

Target = Literal["service", "applier", "postgres"]

CLIENTS = 12
BETWEEN = (0.1, 2.5)  # seconds from being ready to the next kill
SHORT_WINDOW = 2.0  # seconds: a little more than the windows of `mean` and `brief`
SETTLED, BROKEN_SETTLED = 30.0, 5.0  # seconds to apply what waits, once the clients have ended

WAITING = "SELECT COUNT(*) FROM inbox"
DUE = "SELECT COUNT(*) FROM decision WHERE applied_version IS NULL AND expires_at <= :now"


class Plan(NamedTuple):
    """What to kill, on which store, how often."""

    target: Target
    store: Literal["sqlite", "postgres"]
    kills: int
    seed: int = 1
    broken: str | None = None


@dataclass
class Outcome:
    """What came of a campaign."""

    plan: Plan
    seconds: float = 0.0  # under load, from the first request to the last
    rounds: int = 0  # decisions asked for and answered meanwhile whose rewards were accepted
    ready: list[float] = field(default_factory=list)  # seconds from each start to being ready
    deciding: list[float] = field(default_factory=list)  # to the first decision among all arms answered
    choosing: list[float] = field(default_factory=list)  # to the first among some arms only, where it lived so long
    verdict: Verdict = field(default_factory=Verdict)
    load: float = 0.0  # the machine's load average at the end


Progress = Callable[[int, float], None]  # kills so far, seconds to be ready after the last


def run(plan: Plan, progress: Progress = lambda done, ready: None, *, server: PrivateServer | None = None) -> Outcome:
    """All of it, on a PostgreSQL of its own where none is given. No process and no file is left behind, ever."""
    with ExitStack() as room:
        folder = Path(room.enter_context(tempfile.TemporaryDirectory(prefix="turncoat-chaos-")))
        if plan.store == "postgres" and server is None:
            server = room.enter_context(PrivateServer())
        where = server.create_database() if server else str(folder / "chaos.db")
        return _Campaign(plan, folder, where, server).run(progress)


class _Campaign:
    def __init__(self, plan: Plan, folder: Path, where: str, server: PrivateServer | None) -> None:
        self._plan, self._where, self._server = plan, where, server
        self._random = random.Random(plan.seed)
        self._outcome = Outcome(plan)
        self._starts: list[float] = []  # when it was started again, by the clock the clients use
        roles = ["front", "front", "applier"] if plan.target == "applier" else ["all"]
        workers = 2 if plan.store == "postgres" and plan.target == "service" and not plan.broken else 1
        self._services = [
            Served(folder, f"{role}-{i}", broken=plan.broken, database=where, role=role, workers=workers)
            for i, role in enumerate(roles)
        ]

    def run(self, progress: Progress) -> Outcome:
        ports = [service.port for service in self._services[:2]]
        try:
            for service in self._services:  # one after the other: the first makes the tables
                service.start()
                service.wait()
            open_experiments(ports[0])
            clients = self._under_load(ports, progress)
            memory = merged([client.memory for client in clients])
            self._settle(memory)
            for service in self._services:
                if (status := service.stop()) not in (0, -signal.SIGTERM):  # uvicorn passes the signal on when done
                    memory.wrong.append(f"{service.name} ended with status {status} when asked to end")
        finally:
            for service in self._services:
                service.kill()
        memory.wrong += [f"{service.name} logged: {line}" for service in self._services for line in service.errors()]
        self._judge(memory)
        return self._outcome

    def _under_load(self, ports: list[int], progress: Progress) -> list[Client]:
        ending = threading.Event()
        clients = crowd(CLIENTS, ports, self._random.getrandbits(64), ending)
        began = time.monotonic()
        for client in clients:
            client.start()
        try:
            if self._plan.broken:
                self._wait_for_decisions(clients)
            for done in range(1, self._plan.kills + 1):
                time.sleep(self._random.uniform(*BETWEEN))
                self._outcome.ready.append(self._strike())
                progress(done, self._outcome.ready[-1])
            time.sleep(BETWEEN[1])
            self._outcome.seconds = time.monotonic() - began
        finally:
            ending.set()
        for client in clients:
            client.join()
        return clients

    def _wait_for_decisions(self, clients: Sequence[Client]) -> None:
        """Wait until the service broken as `early` is sure to have acknowledged a decision that it has not committed.

        A client waits for each answer, so a transaction holds at most one new decision per client: COMMITTED of them
        hold at most COMMITTED * CLIENTS decisions. After the kill each client may record again one that was lost.
        """
        enough, end = (COMMITTED + 1) * CLIENTS, time.monotonic() + GIVE_UP
        while len({asked.decided()["decision_id"] for client in clients for asked in client.memory.asked}) <= enough:
            if time.monotonic() > end:
                raise RuntimeError(f"fewer than {enough} decisions after {GIVE_UP:g} seconds")
            time.sleep(0.01)

    def _strike(self) -> float:
        """Kill, start again, wait; seconds from the start to being ready."""
        if self._plan.target == "postgres" and self._server is not None:
            self._server.kill()
            self._starts.append(time.time())
            began = time.monotonic()
            self._server.start()
            self._services[0].wait()
            return time.monotonic() - began
        struck = self._services[-1]
        struck.kill()
        self._starts.append(time.time())
        struck.start()
        return struck.wait()

    def _settle(self, memory: Memory) -> None:
        """Wait until all that was told is applied and all windows that ended are closed, those of the last too."""
        time.sleep(SHORT_WINDOW)
        end = time.monotonic() + (BROKEN_SETTLED if self._plan.broken else SETTLED)
        with _opened(self._where, allow_in_use=True) as store:
            while time.monotonic() < end:
                with store.reading() as session:
                    if not session.rows(WAITING)[0][0] and not session.rows(DUE, now=time.time())[0][0]:
                        return
                time.sleep(0.1)
        memory.wrong.append("long after the last request not everything is applied")

    def _judge(self, memory: Memory) -> None:
        outcome = self._outcome
        with _opened(self._where) as store, store.reading() as session:
            outcome.verdict = check(session, memory)
        plain = sorted(asked.answered for asked in memory.asked if b"allowed_arms" not in asked.body)
        choosy = sorted(asked.answered for asked in memory.asked if b"allowed_arms" in asked.body)
        for start, end in pairwise([*self._starts, math.inf]):
            outcome.deciding += [at - start for at in _next(plain, start)]
            outcome.choosing += [at - start for at in _next(choosy, start) if at < end]  # the next kill may come first
        outcome.rounds = sum(told.status in ("accepted", "pending_decision") for told in memory.told)
        outcome.load = os.getloadavg()[0]
        if not choosy:
            outcome.verdict.violations.append(Violation("wrong", "no decision restricted to some arms was ever served"))
        if len(outcome.ready) < self._plan.kills:
            outcome.verdict.violations.append(Violation("wrong", f"only {len(outcome.ready)} kills were made"))


def _next(times: Sequence[float], start: float) -> Sequence[float]:
    """The first of these times after the start, if there is one."""
    first = bisect_right(times, start)
    return times[first : first + 1]


@contextmanager
def _opened(where: str, *, allow_in_use: bool = False) -> Iterator[Store]:
    store = open_store(where, allow_in_use=allow_in_use)
    try:
        yield store
    finally:
        store.close()
