"""A table of the tests' own, in a store of each kind."""

from __future__ import annotations

import pytest

from turncoat.service.store import Store, postgres, sqlite
from turncoat.service.store.migrate import statements

SCRATCH = """
    CREATE TABLE scratch (
        id    {text} PRIMARY KEY,
        n     BIGINT,
        x     DOUBLE PRECISION,
        note  TEXT,
        data  {bytes}
    );
    CREATE TABLE pairs (a BIGINT, b {text}, n BIGINT NOT NULL, x DOUBLE PRECISION NOT NULL, PRIMARY KEY (a, b));
"""


@pytest.fixture
def scratch(store: Store) -> Store:
    """The store, with two more tables."""
    dialect = postgres.DIALECT if store.shared else sqlite.DIALECT
    with store.transaction() as session:
        for statement in statements(SCRATCH, dialect):
            session.run(statement)
    return store
