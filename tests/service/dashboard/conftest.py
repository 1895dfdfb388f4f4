"""One short history for all tests here, and a store of its own for those that write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.dashboard.history import History
from turncoat.service.store import Store, open_store


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """Two hours and a half, some 3,000 decisions; nobody writes to it any more."""
    store = open_store(str(tmp_path_factory.mktemp("told") / "told.db"))
    history = History(store, hours=2.5, per_minute=20, step_s=30.0)
    history.run()
    yield history
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "turncoat.db"))
    yield found
    found.close()
