"""One short history for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.dashboard.history import History
from turncoat.service.store import open_store


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """Two hours and a half, some 3,000 decisions; it is not written to any more."""
    store = open_store(str(tmp_path_factory.mktemp("told") / "told.db"))
    history = History(store, hours=2.5, per_minute=20, step_s=30.0)
    history.run()
    yield history
    store.close()
