"""Background observers of the service benchmark: one polls when rewards are learned, one opens dashboard pages."""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.chaos.wire import Line, Lost, Refused
from turncoat.service.store import open_store

LOOK = 0.01  # seconds between looks at the version
OPENED = 1.0  # seconds from one page to the next

VERSION = "SELECT version FROM experiment WHERE key = 'hot'"
LEARNED = "SELECT rewarded_at, applied_version FROM decision WHERE applied_version > :first AND rewarded_at IS NOT NULL"


class Onlooker:
    """A thread for as long as a block lasts."""

    def __enter__(self) -> Self:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._end.set()
        self._thread.join()

    def _look_on(self) -> None:
        raise NotImplementedError


class Watcher(Onlooker):
    """Sees each version of the experiment when everybody can, so that the lag of a reward is what others wait for."""

    def __init__(self, database: str) -> None:
        self._store = open_store(database, allow_in_use=True)
        self._seen: list[tuple[int, float]] = []

    def __exit__(self, *problem: object) -> None:
        time.sleep(1.0)  # the last rewards
        super().__exit__(*problem)

    def _look_on(self) -> None:
        while not self._end.wait(LOOK):
            with self._store.reading() as session:
                version = session.rows(VERSION)[0][0]
            if not self._seen or version > self._seen[-1][0]:
                self._seen.append((version, time.time()))

    def lags(self) -> list[float]:
        """Milliseconds from each reward's arrival to the sight of the version that learned it."""
        with self._store.reading() as session:
            rows = session.rows(LEARNED, first=self._seen[0][0]) if self._seen else []
        self._store.close()
        versions = [version for version, _ in self._seen]
        found = []
        for arrived, version in rows:
            if (at := bisect_left(versions, version)) < len(versions):
                found.append(1e3 * (self._seen[at][1] - arrived))
        return found


class Visitor(Onlooker):
    """Opens one page after the other, again and again."""

    def __init__(self, port: int, pages: Sequence[str]) -> None:
        self._line = Line(port)
        self._pages = pages
        self.opened = 0
        self.failed = 0

    def _look_on(self) -> None:
        while self._pages and not self._end.wait(OPENED):
            try:
                answer = self._line.send("GET", self._pages[self.opened % len(self._pages)])
            except (Lost, Refused):
                continue
            self.opened += 1
            self.failed += answer.status != 200


def resident(pids: Sequence[int]) -> float:
    """Megabytes of memory in use by these processes, where the system says."""
    try:
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    except OSError:
        return float("nan")
    return sum(int(text.split("VmRSS:")[1].split()[0]) for text in texts if "VmRSS:" in text) / 1024


def processor_seconds(pids: Sequence[int]) -> float:
    """Seconds of processor time that these processes have used, where the system says."""
    try:
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return float("nan")
