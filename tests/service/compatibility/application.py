"""The present service on an earlier database, in this process. The service's modules are imported here only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from tests.service.http.direct import Direct, direct
from turncoat.service.engine import Engine
from turncoat.service.http.context import AppContext
from turncoat.service.http.server import Settings
from turncoat.service.store import open_store


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    time: float

    def now(self) -> float:
        return self.time


@contextmanager
def application(database: str, clock: Clock, role: Literal["all", "front"] = "all") -> Iterator[Direct]:
    """The HTTP application without a socket. `front`: rewards stay in the inbox."""
    store = open_store(database)
    settings = Settings(database=database, role=role)
    with direct(AppContext(Engine(store, clock), store, settings, clock)) as opened:
        yield opened
