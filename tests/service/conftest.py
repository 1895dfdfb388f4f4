"""What tests of the service stand on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.service.emptied import emptied
from tests.service.postgres_server import EXISTING, PostgresMissingError, PrivateServer, create_database, drop_database
from turncoat.service.http import logs
from turncoat.service.store import Store, open_store


@pytest.fixture(autouse=True)
def _log_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that is made in this process leaves the log as it is."""
    monkeypatch.setattr(logs, "configure", lambda level: None)


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


def server_url(request: pytest.FixtureRequest) -> str:
    """The server that TURNCOAT_TEST_POSTGRES names, else the private one, which runs from now on."""
    existing = os.environ.get(EXISTING)
    if existing:
        return existing
    private: PrivateServer = request.getfixturevalue("_private_server")
    private.start()  # in case a test has killed it
    return private.url


@contextmanager
def new_database(request: pytest.FixtureRequest, like: str | None = None) -> Iterator[str]:
    """A database on that server."""
    url = create_database(server_url(request), like)
    try:
        yield url
    finally:
        drop_database(server_url(request), url)


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a new, empty database."""
    with new_database(request) as url:
        yield url


@pytest.fixture(scope="session")
def migrated(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with our tables and nothing in them, to be copied: quicker than making them for every test."""
    with new_database(request) as url:
        open_store(url).close()
        yield url


@pytest.fixture(scope="session")
def _spare_databases(request: pytest.FixtureRequest, migrated: str) -> Iterator[list[str]]:
    """Databases that tests have used, and that are again as `migrated` is."""
    spare: list[str] = []
    yield spare
    for url in spare:
        drop_database(server_url(request), url)


@pytest.fixture
def postgres_store_url(request: pytest.FixtureRequest, migrated: str, _spare_databases: list[str]) -> Iterator[str]:
    """The URL of a database with our tables and nothing in them: an emptied one if there is one, else a new one."""
    server = server_url(request)
    url = _spare_databases.pop() if _spare_databases else create_database(server, migrated)
    yield url
    server_url(request)
    if emptied(url, migrated):
        _spare_databases.append(url)
    else:
        drop_database(server, url)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What `open_store` opens: of each kind one, new and empty."""
    if request.param == "sqlite":
        return str(tmp_path / "turncoat.db")
    url: str = request.getfixturevalue("postgres_store_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A store of each kind, new and empty."""
    opened = open_store(store_url)
    yield opened
    opened.close()
