"""A PostgreSQL that goes away, refuses or takes too long; and what may never be said of how to get in."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.service.postgres_server import PrivateServer
from turncoat.errors import MissingPackageError
from turncoat.service.store import StoreDown, StoreError, open_store
from turncoat.service.store.interface import WriteConflict
from turncoat.service.store.postgres import PostgresStore

SECRET = "s3cr3t-p4ss"


@pytest.fixture
def postgres(postgres_store_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_store_url)
    yield store
    store.close()


def put(store: PostgresStore, name: str) -> None:
    with store.transaction() as session:
        session.insert("fact", ("name", "value"), [(name, "")])


def names(store: PostgresStore) -> list[str]:
    with store.reading() as session:
        return [name for (name,) in session.rows("SELECT name FROM fact ORDER BY name")]


def end_connections(url: str) -> int:
    """End everybody else's connections to this database."""
    everyone = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(url, autocommit=True) as connection:
        return len(connection.execute(f"{everyone} AND pid <> pg_backend_pid()".encode()).fetchall())


def set_for_all(url: str, name: str, value: str) -> None:
    """A setting of the database, for all who connect from now on."""
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        connection.execute(f'ALTER DATABASE "{url.rpartition("/")[2]}" SET {name} = {value}'.encode())


def connections(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        mine = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        (n,) = connection.execute(mine).fetchone() or (0,)
    return int(n)


def test_a_connection_ended_in_the_middle(postgres: PostgresStore, postgres_store_url: str) -> None:
    put(postgres, "a")
    with pytest.raises(StoreDown), postgres.transaction() as session:  # noqa: PT012
        session.run("INSERT INTO fact (name, value) VALUES ('b', '')")
        assert end_connections(postgres_store_url) >= 1
        session.run("INSERT INTO fact (name, value) VALUES ('c', '')")
    put(postgres, "d")
    assert names(postgres) == ["a", "d"]


def test_a_connection_ended_before_the_commit(postgres: PostgresStore, postgres_store_url: str) -> None:
    with pytest.raises(StoreDown), postgres.transaction() as session:  # noqa: PT012
        session.run("INSERT INTO fact (name, value) VALUES ('b', '')")
        end_connections(postgres_store_url)
    put(postgres, "d")
    assert names(postgres) == ["d"]


def test_a_connection_ended_while_nobody_used_it_is_opened_again(
    postgres: PostgresStore, postgres_store_url: str
) -> None:
    put(postgres, "a")
    assert names(postgres) == ["a"]
    assert end_connections(postgres_store_url) == 2
    put(postgres, "b")
    assert names(postgres) == ["a", "b"]


def test_a_reader_ended_in_the_middle(postgres: PostgresStore, postgres_store_url: str) -> None:
    with pytest.raises(StoreDown), postgres.reading() as session:  # noqa: PT012
        end_connections(postgres_store_url)
        session.rows("SELECT * FROM fact")
    assert names(postgres) == []


def test_a_server_that_is_down_and_comes_back(private_server: PrivateServer) -> None:
    url = private_server.create_database()
    postgres = PostgresStore(url)
    put(postgres, "a")
    assert names(postgres) == ["a"]
    private_server.stop()
    for _ in range(3):
        with pytest.raises(StoreDown):
            put(postgres, "b")
        with pytest.raises(StoreDown):
            names(postgres)
        with pytest.raises(StoreDown):
            postgres.tidy()
    with pytest.raises(StoreDown):
        open_store(url)
    private_server.start()
    put(postgres, "c")
    assert names(postgres) == ["a", "c"]
    assert connections(url) == 2
    postgres.close()


def test_a_server_that_crashes_in_the_middle(private_server: PrivateServer) -> None:
    postgres = PostgresStore(private_server.create_database())
    put(postgres, "a")
    with pytest.raises(StoreDown), postgres.transaction() as session:  # noqa: PT012
        session.run("INSERT INTO fact (name, value) VALUES ('b', '')")
        private_server.kill()
    private_server.start()
    put(postgres, "c")
    assert names(postgres) == ["a", "c"]
    postgres.close()


def test_a_read_only_database(postgres: PostgresStore, postgres_store_url: str) -> None:
    put(postgres, "a")
    set_for_all(postgres_store_url, "default_transaction_read_only", "on")
    end_connections(postgres_store_url)
    with pytest.raises(StoreDown, match="read-only"):
        put(postgres, "b")
    assert names(postgres) == ["a"]
    set_for_all(postgres_store_url, "default_transaction_read_only", "off")
    put(postgres, "c")  # by a new connection: the old one would still be read-only
    assert names(postgres) == ["a", "c"]


@pytest.mark.parametrize(
    "state, meaning",
    [
        ("53100", StoreDown),  # disk full
        ("53200", StoreDown),  # out of memory
        ("53300", StoreDown),  # too many connections
        ("58030", StoreDown),  # the disk failed
        ("57P03", StoreDown),  # starting up
        ("08006", StoreDown),  # connection lost, said by a proxy
        ("40001", WriteConflict),
        ("40P01", WriteConflict),
        ("23505", WriteConflict),  # a key that is there already
        ("22003", StoreError),  # a number out of range
        ("XX001", StoreError),  # damaged
    ],
)
def test_what_an_error_means(postgres: PostgresStore, state: str, meaning: type[StoreError]) -> None:
    with pytest.raises(StoreError, match="PostgreSQL: something") as raised, postgres.transaction() as session:
        session.run(f"DO $$ BEGIN RAISE EXCEPTION 'something' USING ERRCODE = '{state}'; END $$")
    assert type(raised.value) is meaning
    put(postgres, "a")
    assert names(postgres) == ["a"]


@pytest.mark.parametrize(
    "setting, hanging",
    [
        ("statement_timeout", "SELECT pg_sleep(10)"),
        ("lock_timeout", "SELECT * FROM fact FOR UPDATE"),
        ("idle_in_transaction_session_timeout", None),
    ],
)
def test_nothing_waits_for_ever(
    postgres: PostgresStore, postgres_store_url: str, setting: str, hanging: str | None
) -> None:
    put(postgres, "a")
    with psycopg.connect(postgres_store_url) as other:
        other.execute("SELECT * FROM fact FOR UPDATE")
        before = time.monotonic()
        with pytest.raises(StoreDown), postgres.transaction() as session:  # noqa: PT012
            ((usual,),) = session.rows("SELECT current_setting(:name)", name=setting)
            assert usual in {"10s", "30s", "1min"}
            session.rows("SELECT set_config(:name, '50', true)", name=setting)
            if hanging:
                session.rows(hanging)
            else:
                time.sleep(0.3)
        assert time.monotonic() - before < 5.0
    put(postgres, "b")
    assert names(postgres) == ["a", "b"]


def test_commits_are_on_the_disk_whatever_the_servers_default(postgres_store_url: str) -> None:
    set_for_all(postgres_store_url, "synchronous_commit", "off")
    set_for_all(postgres_store_url, "default_transaction_isolation", "serializable")
    store = PostgresStore(postgres_store_url)
    with store.transaction() as session:
        assert session.rows("SHOW synchronous_commit") == [("on",)]
        assert session.rows("SHOW transaction_isolation") == [("read committed",)]
    with store.reading() as session:
        assert session.rows("SHOW transaction_isolation") == [("repeatable read",)]
        assert session.rows("SHOW transaction_read_only") == [("on",)]
    store.close()


def test_without_flushes_a_commit_waits_for_the_server_alone(postgres_store_url: str) -> None:
    store = PostgresStore(postgres_store_url, durability="os")
    with store.transaction() as session:
        assert session.rows("SHOW synchronous_commit") == [("off",)]
    store.close()


# --- the way in ---


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://user:{SECRET}@",
        f"postgresql://user:{SECRET}@127.0.0.1:1/nowhere",
        f"postgresql://user:{SECRET}@127.0.0.1:port/db",
        f"postgresql://user:{SECRET}@nowhere.invalid/db",
        f"postgresql://user:/{SECRET}@127.0.0.1:1/db",
        f"postgresql://user:1/{SECRET}@127.0.0.1:1/db",
        f"postgresql://user:a@{SECRET}@127.0.0.1:1/db",
        f"postgresql://user:%zz{SECRET}@127.0.0.1:1/db",
        f"postgresql://user:{SECRET}@127.0.0.1:1/db?nonsense=1",
        f"postgresql://[user:{SECRET}@127.0.0.1:1/db",
        f"postgresql:// user:{SECRET}@127.0.0.1:1/db password={SECRET}",
    ],
)
def test_no_message_tells_the_password(address: str) -> None:
    with pytest.raises(StoreError) as raised:
        open_store(address)
    told = "".join(traceback.format_exception(raised.value)) + repr(raised.value)
    told = told.replace(f'"{address}"', "").replace(repr(address), "")
    assert SECRET not in told and SECRET[3:] not in told


def test_no_name_of_a_store_tells_the_password(postgres_store_url: str) -> None:
    store = PostgresStore(postgres_store_url.replace("postgres@", f"postgres:{SECRET}@"))
    assert SECRET not in f"{store!r} {store}"
    assert "127.0.0.1" in repr(store)
    store.close()


def test_other_addresses_are_refused() -> None:
    with pytest.raises(StoreError, match="mysql://; accepted are postgresql://") as raised:
        open_store(f"mysql://user:{SECRET}@host/db")
    assert SECRET not in str(raised.value)


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        MissingPackageError, match=r"a PostgreSQL store needs psycopg: pip install 'turncoat\[postgres\]'"
    ):
        open_store("postgresql://localhost/nowhere")


# --- backups ---


def test_a_backup_can_be_restored(postgres: PostgresStore, postgres_store_url: str, tmp_path: Path) -> None:
    if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
        pytest.skip("no pg_dump here")
    put(postgres, "a")
    copy = tmp_path / "copy.dump"
    postgres.backup(copy)
    with postgres.transaction() as session:
        session.run("DELETE FROM fact")
    arguments = ["pg_restore", "--clean", f"--dbname={postgres_store_url}", str(copy)]
    subprocess.run(arguments, check=True, capture_output=True, timeout=60)
    assert names(postgres) == ["a"]


def test_without_pg_dump_a_backup_is_refused_in_plain_words(
    postgres: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreError, match="pg_dump, which is not on the PATH"):
        postgres.backup(tmp_path / "copy.dump")


def test_a_backup_that_fails_leaves_no_file(
    postgres: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pg_dump"
    program.write_text(
        '#!/bin/sh\nfor word in "$@"; do case $word in --file=*) echo half > "${word#--file=}";; esac; done\n'
        'echo "no space" >&2; exit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(StoreError, match="could not make the backup: no space"):
        postgres.backup(tmp_path / "copy.dump")
    assert not (tmp_path / "copy.dump").exists()
