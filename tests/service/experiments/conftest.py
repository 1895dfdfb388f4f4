"""The stores that the engine is tried on."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.service.experiments.lab import TABLES, Lab, compile_kernels, quick_folder
from tests.service.postgres_server import EXISTING, create_database, drop_database
from turncoat.service.store import Store, open_store


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> None:
    compile_kernels()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A new service on SQLite."""
    with quick_folder() as folder:
        store = open_store(str(folder / "x.db"))
        yield Lab(store)
        store.close()


@pytest.fixture(scope="session")
def _postgres_stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """Two ways into one database, as two processes have."""
    server = os.environ.get(EXISTING) or request.getfixturevalue("_private_server").url
    url = create_database(server)
    stores = open_store(url), open_store(url)
    yield stores
    for store in stores:
        store.close()
    drop_database(server, url)


@pytest.fixture
def postgres_stores(request: pytest.FixtureRequest) -> tuple[Store, Store]:
    """They are emptied before each test: making a database takes longer."""
    if not os.environ.get(EXISTING):
        request.getfixturevalue("private_server")  # running, whatever the test before did to it
    stores: tuple[Store, Store] = request.getfixturevalue("_postgres_stores")
    with stores[0].transaction() as session:
        for table in TABLES:
            session.run(f"DELETE FROM {table}")  # TRUNCATE makes, and flushes, fifty files
    return stores


@pytest.fixture
def postgres_lab(postgres_stores: tuple[Store, Store]) -> Lab:
    """A new service on PostgreSQL."""
    return Lab(postgres_stores[0])


@pytest.fixture(params=["sqlite", "postgres"])
def labs(request: pytest.FixtureRequest) -> Lab:
    """A new service, on each kind of store."""
    made: Lab = request.getfixturevalue("lab" if request.param == "sqlite" else "postgres_lab")
    return made
