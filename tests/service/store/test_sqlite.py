"""One SQLite file: for one process, on a disk that may be full or read-only."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turncoat.service.store import Durability, StoreDown, StoreError, open_store, sqlite
from turncoat.service.store.sqlite import SQLiteStore

HOLD = """
import sys
from turncoat.service.store import open_store
store = open_store(sys.argv[1])
print("mine", flush=True)
sys.stdin.readline()
store.close()
"""
# A limit on the size of files is how a full disk looks to SQLite: a write that comes back too short.
FULL = """
import resource, signal, sys
from turncoat.service.store import StoreDown, open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = open_store(sys.argv[1])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
kept = refused = 0
for i in range(60):
    if i in (20, 40):
        resource.setrlimit(resource.RLIMIT_FSIZE, (store.size() if i == 20 else soft, hard))
    try:
        with store.transaction() as session:
            session.insert("fact", ("name", "value"), [(f"{i}", "x" * 40_000)])
        kept += 1
    except StoreDown:
        refused += 1
with store.reading() as session:
    print(kept, refused, len(session.rows("SELECT name FROM fact")), session.rows("PRAGMA integrity_check")[0][0])
store.close()
"""


KILLED = """
import os, signal, sys
from turncoat.service.store import open_store
store = open_store(sys.argv[1], durability="os")
with store.transaction() as session:
    session.insert("fact", ("name", "value"), [("told", "")])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "a.db")
    yield store
    store.close()


@pytest.mark.parametrize("durability, level", [("flush", 2), ("os", 1)])
def test_a_commit_waits_for_what_was_asked(tmp_path: Path, durability: Durability, level: int) -> None:
    """FULL is 2: every commit is flushed. NORMAL is 1: the write-ahead log is flushed before a checkpoint alone."""
    store = SQLiteStore(tmp_path / "a.db", durability=durability)
    with store.transaction() as session:
        assert session.rows("PRAGMA synchronous") == [(level,)]
    store.close()


def test_without_flushes_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.db")], check=False)
    assert done.returncode == -9
    store = SQLiteStore(tmp_path / "a.db")
    assert names(store) == ["told"]
    store.close()


def put(store: SQLiteStore, name: str, value: str = "") -> None:
    with store.transaction() as session:
        session.insert("fact", ("name", "value"), [(name, value)])


def names(store: SQLiteStore) -> list[str]:
    with store.reading() as session:
        return [name for (name,) in session.rows("SELECT name FROM fact ORDER BY name")]


def test_a_second_process_is_refused_in_plain_words(tmp_path: Path) -> None:
    where = str(tmp_path / "a.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin and other.stdout
        assert other.stdout.readline() == "mine\n"
        with pytest.raises(StoreError, match=r"in use by another process.*PostgreSQL"):
            open_store(where)
        second = open_store(where, allow_in_use=True)
        with second.reading() as session:
            assert session.rows("SELECT * FROM fact") == []
        second.close()
        other.stdin.write("\n")
    assert other.returncode == 0
    open_store(where).close()


def test_a_full_database_is_down_and_comes_back(file: SQLiteStore) -> None:
    put(file, "a")
    file._writer.execute("PRAGMA max_page_count = 1")  # SQLite raises it to what there is: SQLITE_FULL from here on
    with pytest.raises(StoreDown, match="full"):
        put(file, "b", "x" * 100_000)
    assert names(file) == ["a"]
    file._writer.execute("PRAGMA max_page_count = 1000000")
    put(file, "c", "x" * 100_000)
    assert names(file) == ["a", "c"]


def test_a_disk_that_takes_no_more_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", FULL, str(tmp_path / "a.db")]
    said = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    kept, refused, there, integrity = int(said[0]), int(said[1]), int(said[2]), said[3]
    assert (kept, integrity) == (there, "ok")
    assert kept + refused == 60 and 10 <= refused <= 20  # of the 20 while it was full, a few still fit


def test_a_read_only_database_is_down_and_comes_back(file: SQLiteStore) -> None:
    put(file, "a")
    file._writer.execute("PRAGMA query_only = ON")  # what a file without permission does, also to root
    with pytest.raises(StoreDown, match="readonly"):
        put(file, "b")
    assert names(file) == ["a"]
    file._writer.execute("PRAGMA query_only = OFF")
    put(file, "c")
    assert names(file) == ["a", "c"]


def test_another_programs_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir or Madam, " * 100)
    with pytest.raises(StoreError, match="not a database"):
        open_store(str(path))
    assert path.read_text() == "Dear Sir or Madam, " * 100


def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreDown, match="cannot be opened"):
        open_store(str(tmp_path / "file" / "a.db"))
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StoreDown):
        open_store(str(tmp_path / "folder.db"))


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    open_store(str(tmp_path / "some" / "where" / "a.db")).close()
    assert (tmp_path / "some" / "where" / "a.db").exists()


def test_a_file_and_its_backup_are_for_their_owner_alone(tmp_path: Path) -> None:
    """They were as the umask said, for everyone to read: contexts, salts, what keys are known by."""
    before = os.umask(0o022)
    try:
        store = SQLiteStore(tmp_path / "a.db")
        put(store, "a")
        store.backup(tmp_path / "b.db")
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("a.db", "a.db-shm", "a.db-wal", "a.db.lock", "b.db"), 0o600)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_deleted_is_down(file: SQLiteStore, replaced: bool) -> None:
    """SQLite went on writing to a file without a name: everything was acknowledged, and gone at the next start."""
    put(file, "a")
    aside = file.path.rename(file.path.with_suffix(".aside"))
    if replaced:
        file.path.write_bytes(aside.read_bytes())
    with pytest.raises(StoreDown, match="deleted or replaced"):
        put(file, "b")
    with pytest.raises(StoreDown, match="deleted or replaced"):
        names(file)
    aside.replace(file.path)
    put(file, "c")
    assert names(file) == ["a", "c"]


def test_a_write_ahead_file_that_a_reader_let_grow_is_cut_again(
    file: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing ever cut it: after one long look at a busy service it stayed as large as it had grown."""
    assert file._writer.execute("PRAGMA journal_size_limit").fetchone() == (sqlite.LARGEST_LEFT,)
    file._writer.execute("PRAGMA journal_size_limit = 1000000")
    wal = Path(f"{file.path}-wal")
    with file.reading() as session:
        session.rows("SELECT * FROM fact")
        for i in range(100):
            put(file, f"{i:03}", "x" * 100_000)
    assert wal.stat().st_size > 10_000_000
    for i in range(100, 120):
        put(file, f"{i:03}", "x" * 100_000)
    assert wal.stat().st_size < 5_000_000


@pytest.mark.parametrize("allow_in_use", [False, True])
def test_a_database_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path, allow_in_use: bool) -> None:
    # It used to be given our tables too, by `turncoat verify` as well.
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE users (name TEXT)")
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"theirs.db is a database of another program, with the table 'users'; accepted"
    ):
        open_store(str(path), allow_in_use=allow_in_use)
    assert path.read_bytes() == before


def test_what_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear friend, " * 100)
    with pytest.raises(StoreError, match=r"letter.txt: file is not a database"):
        open_store(str(path))
    with pytest.raises(StoreDown, match=f"{tmp_path.name} cannot be opened: Is a directory"):
        open_store(str(tmp_path))
