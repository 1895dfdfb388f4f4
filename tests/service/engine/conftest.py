"""The stores that the engine is tried on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.engine.lab import Lab, quick_folder
from turncoat.service.store import open_store


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A new service on SQLite."""
    with quick_folder() as folder:
        store = open_store(str(folder / "x.db"))
        yield Lab(store)
        store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def labs(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A new service, on each kind of store."""
    if request.param == "sqlite":
        yield request.getfixturevalue("lab")
        return
    store = open_store(request.getfixturevalue("postgres_url"))
    yield Lab(store)
    store.close()
