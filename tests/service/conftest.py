"""What tests of the service stand on."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.service.postgres_server import EXISTING, PostgresMissingError, PrivateServer, create_database, drop_database


@pytest.fixture(scope="session")
def _private_server() -> Iterator[PrivateServer]:
    try:
        server = PrivateServer()
    except PostgresMissingError as why:
        pytest.skip(f"{why}")
    with server:
        yield server


@pytest.fixture
def private_server(_private_server: PrivateServer) -> PrivateServer:
    """A PostgreSQL that the test may kill; it runs when the test begins."""
    _private_server.start()
    return _private_server


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a new, empty database: on the server that TURNCOAT_TEST_POSTGRES names, else on a private one."""
    server = os.environ.get(EXISTING) or request.getfixturevalue("private_server").url
    url = create_database(server)
    yield url
    if not os.environ.get(EXISTING):
        request.getfixturevalue("private_server").start()  # in case the test killed it
    drop_database(server, url)
