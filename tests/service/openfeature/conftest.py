"""A service with a key and the experiment of the examples, and what became of its decisions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.service.http.served import Served, make_context, serving
from turncoat.service import api_keys, messages
from turncoat.service.api_keys import Scope
from turncoat.service.http.server import Settings


class Shop:
    """A running service with the experiment `button`."""

    def __init__(self, served: Served, *, needs_key: bool) -> None:
        self.served = served
        self.url = served.url
        self._engine = served.context.engine
        new = messages.NewExperiment(key="button", arms=["red", "green"], default_reward=0.0)
        self.served.run(lambda: served.context.engine_thread.run(lambda: self._engine.create(new)))
        self.key = self.issue("decide", "reward") if needs_key else ""

    def issue(self, *scopes: Scope) -> str:
        """A key."""

        def made() -> str:
            with self.served.context.store.transaction() as session:
                new = api_keys.NewKey(name="shop", scopes=list(scopes))
                return api_keys.issue(session, new, self.served.context.clock.now()).key

        async def known() -> str:
            key = await self.served.context.engine_thread.run(made)
            self.served.context.ring.refresh()
            return key

        return self.served.run(known)

    def decisions(self) -> list[messages.LogLine]:
        """All of them, once what was told is learned."""
        self.served.work()
        return list(self._engine.log("button"))

    def ended(self, decision_id: str) -> bool:
        """Whether its window has an end."""
        return self._engine.decision(decision_id).expires_at is not None


@contextmanager
def opened(folder: Path, *, needs_key: bool = True, origins: tuple[str, ...] = ()) -> Iterator[Shop]:
    """A shop's service."""
    with serving(make_context(folder, Settings(cors_origins=origins))) as served:
        yield Shop(served, needs_key=needs_key)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Its callers need a key."""
    with opened(tmp_path) as one:
        yield one


@pytest.fixture
def open_shop(tmp_path: Path) -> Iterator[Shop]:
    """Programs on this machine need none, as on the first page of the docs."""
    with opened(tmp_path, needs_key=False) as one:
        yield one
