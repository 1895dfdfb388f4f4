"""The private PostgreSQL: durable, killable, and gone without a trace."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tests.service import postgres_server
from tests.service.conftest import new_database
from tests.service.emptied import emptied
from tests.service.postgres_server import PostgresMissingError, PrivateServer, create_database, drop_database

TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"


def one(url: str, query: str) -> object:
    """The first value that the query gives."""
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def shared_memory(cluster: Path) -> set[str]:
    """The id of the shared segment that the running server holds."""
    key_and_id = (cluster / "postmaster.pid").read_text().splitlines()[6].split()
    assert not segments() or key_and_id[1] in segments()
    return {key_and_id[1]}


def segments() -> set[str]:
    """The ids of all shared segments of the system, where it lists them."""
    listed = Path("/proc/sysvipc/shm")
    return {line.split()[1] for line in listed.read_text().splitlines()[1:]} if listed.exists() else set()


def test_every_test_gets_an_empty_database(postgres_url: str) -> None:
    assert one(postgres_url, TABLES) == 0


def test_commits_are_flushed_and_only_loopback_is_listened_to(private_server: PrivateServer) -> None:
    shown = {
        name: one(private_server.url, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")
    }
    assert shown == dict.fromkeys(shown, "on")
    assert one(private_server.url, "SHOW listen_addresses") == "127.0.0.1"


def test_databases_are_apart_and_can_be_dropped_while_in_use(private_server: PrivateServer) -> None:
    first, second = create_database(private_server.url), create_database(private_server.url)
    with psycopg.connect(first, autocommit=True) as connection:
        connection.execute("CREATE TABLE here (x int)")
        assert (one(first, TABLES), one(second, TABLES)) == (1, 0)
        drop_database(private_server.url, first)
    drop_database(private_server.url, second)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)


def test_a_url_keeps_its_options(private_server: PrivateServer) -> None:
    server = private_server.url + "?application_name=from-the-url"
    url = create_database(server)
    assert one(url, "SHOW application_name") == "from-the-url"
    drop_database(server, url)


def test_after_a_kill_what_was_committed_is_there_and_nothing_else(private_server: PrivateServer) -> None:
    url = private_server.create_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (x int PRIMARY KEY)")
        for x in range(50):
            connection.execute("INSERT INTO kept VALUES (%s)", [x])
        open_one = psycopg.connect(url)
        open_one.execute("INSERT INTO kept VALUES (1000)")
        private_server.kill()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("INSERT INTO kept VALUES (2000)")
    open_one.close()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    private_server.start()
    assert one(url, "SELECT array_agg(x ORDER BY x) FROM kept") == list(range(50))
    drop_database(private_server.url, url)


def test_start_stop_and_kill_may_be_repeated(private_server: PrivateServer) -> None:
    private_server.start()
    private_server.stop()
    private_server.stop()
    private_server.kill()
    private_server.start()
    assert one(private_server.url, "SELECT 1") == 1


@pytest.mark.usefixtures("private_server")  # which skips where there is none to be had
@pytest.mark.parametrize("killed", [False, True], ids=["running", "killed"])
def test_close_leaves_no_process_no_file_and_no_memory(killed: bool) -> None:
    with PrivateServer() as server:
        folder = Path(str(one(server.url, "SHOW data_directory"))).parent
        if killed:
            server.kill()
            server.start()
        with psycopg.connect(server.url) as connection:
            pids = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity")]
        shared = shared_memory(folder / "data")
        assert len(pids) > 3
        if killed:
            server.kill()
    assert not folder.exists()
    assert not shared & segments()
    if not killed:  # else init may not have reaped the killed processes yet
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url)


def test_without_programs_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres_server, "DEBIAN", tmp_path)
    with pytest.raises(PostgresMissingError, match=r"apt-get install postgresql.*TURNCOAT_TEST_POSTGRES"):
        PrivateServer()


def test_of_several_versions_the_newest_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres_server, "DEBIAN", tmp_path)
    for version in ("9.6", "15", "17", "18"):
        (tmp_path / version / "bin").mkdir(parents=True)
        for program in ("initdb", "postgres")[: 1 if version == "18" else 2]:
            (tmp_path / version / "bin" / program).touch()
    assert postgres_server.programs() == tmp_path / "17" / "bin"


@pytest.mark.usefixtures("private_server")
def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(postgres_server.SETTINGS, "fsync", "perhaps")
    with pytest.raises(RuntimeError, match='"fsync" requires a Boolean value'):
        PrivateServer()


FILL = "INSERT INTO fact VALUES ('a', 'b'); CREATE TABLE more (x int); INSERT INTO more VALUES (1)"


def test_an_emptied_database_is_as_it_was(migrated: str, request: pytest.FixtureRequest) -> None:
    with new_database(request, like=migrated) as url:
        with psycopg.connect(url) as mine, pytest.raises(psycopg.OperationalError):  # noqa: PT012
            mine.execute(FILL)
            mine.commit()
            assert emptied(url, migrated)
            mine.execute("SELECT 1")  # all other connections were ended
        assert (one(url, TABLES), one(url, "SELECT COUNT(*) FROM fact")) == (one(migrated, TABLES), 0)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE fact ADD COLUMN more int",
        "ALTER TABLE fact ADD CHECK (length(name) > 0)",
        "CREATE INDEX more ON arm (arm)",
        "DROP TABLE fact",
        "DELETE FROM migration",
        "CREATE VIEW more AS SELECT 1 AS x",
        "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
        "INSERT INTO fact SELECT n::text, repeat('x', 100) FROM generate_series(1, 40000) AS n",
    ],
)
def test_a_database_that_a_test_has_changed_is_not_used_again(
    migrated: str, request: pytest.FixtureRequest, change: str
) -> None:
    with new_database(request, like=migrated) as url:
        with psycopg.connect(url) as connection:
            connection.execute(change.encode())
        assert not emptied(url, migrated)
