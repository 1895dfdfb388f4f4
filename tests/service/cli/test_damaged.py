"""A database that is damaged: verification, repair and export, as they are typed."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

import polars as pl
import pytest

from tests.cli.typed import refusal, run
from turncoat.service.engine import Engine
from turncoat.service.store import open_store

DAMAGED = {  # what is written past the service, and what `verify` says of the first experiment
    "UPDATE learner SET state = x'7b22' WHERE experiment = 1": "learner: its state is not as it was written",
    "UPDATE learner SET state = x'ff', checksum = 'no' WHERE experiment = 1": "learner: its state is not as it was",
    "UPDATE learner SET delays = '[' WHERE experiment = 1": "learner: its record of delays cannot be read",
    "DELETE FROM learner WHERE experiment = 1": "learner: it is missing",
    "UPDATE experiment SET config = substr(config, 5) WHERE id = 1": "settings: they cannot be read",
    "UPDATE experiment SET config = cast(x'7bff7d' AS TEXT) WHERE id = 1": "settings: they cannot be read",
    "UPDATE arm SET payload = '{' WHERE experiment = 1 AND arm = 'red'": "arm 'red': it cannot be used",
    "DELETE FROM arm WHERE experiment = 1": "arms: there are none",
    "UPDATE version SET probabilities = 'x' WHERE experiment = 1 AND version = 4": "version 4: its probabilities",
    "UPDATE version SET m = 0 WHERE experiment = 1 AND version = 4": "version 4: its kind is 'rewards', its m 0",
    "UPDATE version SET control = '{' WHERE experiment = 1 AND version = 4": "version 4: its control cannot be read",
    "DELETE FROM version WHERE experiment = 1 AND version = 4": "version 4: missing",
    "UPDATE decision SET context = '{' WHERE experiment = 1": "its context cannot be read",
    "UPDATE decision SET arm = 'rad' WHERE experiment = 1": "its arm is 'rad'",
    "UPDATE decision SET stream = 'lurn' WHERE experiment = 1": "its stream is 'lurn'",
}


@pytest.mark.parametrize("statement", DAMAGED)
def test_verification_names_what_is_damaged_and_goes_on(statement: str, database: Path) -> None:
    """It ended with a traceback, and the other experiments were not verified."""
    with sqlite3.connect(database) as connection:
        connection.execute(statement)
        assert connection.total_changes >= 1
    connection.close()
    done = run("verify", "--database", database, columns=200)
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit), done.output
    said = [line for line in done.stdout.splitlines() if line.startswith("first: DAMAGED: ")]
    assert any(DAMAGED[statement] in line for line in said), done.output
    second = [line for line in done.stdout.splitlines() if line.startswith("second: ")]
    assert len(second) == 1 and second[0].endswith("identical, byte for byte")
    assert "audit: whole" in done.stdout and "file: whole" in done.stdout


def test_verification_has_sqlite_check_its_file(database: Path) -> None:
    """An index that does not hold what its table holds: every row can be read, and some are not found."""
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'expires_at)', 'decided_at)') "
                           "WHERE name = 'decision_open'")  # fmt: skip
    connection.close()
    done = run("verify", "--database", database)
    assert done.exit_code == 1 and "file: DAMAGED: " in done.stdout and "file: whole" not in done.stdout


def test_a_page_of_the_file_that_cannot_be_read(database: Path) -> None:
    """SQLite says 'database disk image is malformed' as soon as it comes there."""
    with sqlite3.connect(database) as connection:
        ((root,), (size,)) = (
            connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'version'").fetchone(),
            connection.execute("PRAGMA page_size").fetchone(),
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with database.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    done = run("verify", "--database", database)
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert "malformed" in done.output


def test_an_export_goes_on_past_rows_that_cannot_be_read(database: Path, tmp_path: Path) -> None:
    """It ended at the first with a traceback."""
    with sqlite3.connect(database) as connection:
        ids = [one for (one,) in connection.execute("SELECT id FROM decision WHERE experiment = 1 ORDER BY id")]
        connection.execute("UPDATE decision SET context = '{' WHERE id = ?", ids[3:4])
        connection.execute("UPDATE decision SET probabilities = cast(x'ff' AS TEXT) WHERE id = ?", ids[7:8])
        connection.execute("UPDATE decision SET version = 999 WHERE id = ?", ids[9:10])
    connection.close()
    for to in ((), ("-o", tmp_path / "x.parquet")):
        done = run("log", "export", "first", "--database", database, *to)
        assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
        for gone in (ids[3], ids[7], ids[9]):
            assert f"left out: decision '{gone}', whose row cannot be read: " in done.stderr
        assert "3 decisions were left out" in done.stderr
    exported = [
        json.loads(line)["decision_id"]
        for line in run("log", "export", "first", "--database", database).stdout.splitlines()
    ]
    assert exported == [one for one in ids if one not in (ids[3], ids[7], ids[9])]
    assert pl.read_parquet(tmp_path / "x.parquet")["decision_id"].to_list() == exported
    assert run("log", "export", "second", "--database", database).exit_code == 0


def test_a_repair_beside_a_service(database: Path) -> None:
    """As it is typed, while the service has the file; it goes on from there by itself."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE learner SET state = x'7b22' WHERE experiment = 1")
    connection.close()
    store = open_store(str(database))
    engine = Engine(store)
    engine.reward(engine.decide("first", allowed_arms=None).decision_id or "", 1.0)
    engine.work()
    damage = engine.experiment("first").damage
    assert damage is not None and damage.detail.endswith("to rebuild it from its log run: turncoat repair first")
    tried = run("repair", "first", "--dry-run", "--database", database, columns=200)
    assert tried.exit_code == 0 and "first: can be repaired: its learner is rebuilt from" in tried.stdout
    assert engine.experiment("first").damage == damage
    done = run("repair", "first", "--database", database, columns=200)
    assert done.exit_code == 0, done.output
    assert "first: damaged: learner: its state is not as it was written" in done.stdout
    assert "byte for byte the one that was lost; written as version" in done.stdout
    for _ in range(50):
        engine.work()
        time.sleep(0.02)
    assert engine.experiment("first").damage is None and engine.state("first").pending_rewards == 0
    store.close()
    assert run("verify", "--database", database).exit_code == 0
    again = run("repair", "first", "--database", database)
    assert again.exit_code == 0 and "first: sound, and left as it is" in again.stdout


def test_a_repair_that_would_be_unsure_is_refused(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE learner SET state = x'7b22' WHERE experiment = 1")
        learned = "SELECT MIN(id) FROM decision WHERE reward <> 0.5 AND stream = 'learn' AND experiment = 1"
        connection.execute(f"UPDATE decision SET reward = 1 - reward WHERE id = ({learned})")
    connection.close()
    said = refusal("repair", "first", "--database", database)
    assert "cannot be repaired" in said and "it leads to another state" in said and "restore a backup" in said
    assert "there is no experiment 'third'" in refusal("repair", "third", "--database", database)
