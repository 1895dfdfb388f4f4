"""The same suite for the engine in this process and for the client of a served one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from tests.service.conftest import new_database
from tests.service.http.served import make_context, serving
from turncoat.service import messages
from turncoat.service.client import Client
from turncoat.service.engine import Engine
from turncoat.service.store import open_store

Service: TypeAlias = Engine | Client


class HandClock:
    """Goes only when told to."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def now(self) -> float:
        return self.time


class World:
    """A service, its clock, and what is not part of the surface: to have it apply what waits."""

    def __init__(self, service: Service, clock: HandClock, work: Callable[[], None]) -> None:
        self.service = service
        self.clock = clock
        self.work = work
        self._numbers = itertools.count(1)

    def name(self) -> str:
        """An unused key."""
        return f"e{next(self._numbers)}"

    def opened(self, *arms: str, **settings: Any) -> str:
        """Open an experiment; its key."""
        new = messages.NewExperiment(key=self.name(), arms=list(arms or ("a", "b", "c")), **settings)
        return self.service.create(new).key

    def later(self, seconds: float) -> None:
        """Let time pass, and have everything applied that this makes due."""
        self.clock.time += seconds
        self.work()


@pytest.fixture(scope="module", params=["engine", "engine on PostgreSQL", "client"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, clock = tmp_path_factory.mktemp("world"), HandClock()
    if request.param == "engine":
        yield from engine_on(str(folder / "turncoat.db"), clock)
    elif request.param == "engine on PostgreSQL":
        with new_database(request) as url:
            yield from engine_on(url, clock)
    else:
        with serving(make_context(folder, clock=clock)) as served, Client(served.url) as client:
            yield World(client, clock, served.work)


def engine_on(where: str, clock: HandClock) -> Iterator[World]:
    store = open_store(where)
    engine = Engine(store, clock)

    def work() -> None:
        while engine.work():
            pass

    yield World(engine, clock, work)
    store.close()
