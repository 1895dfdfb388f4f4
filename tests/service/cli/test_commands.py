"""Keys, export, verification and backup, as they are typed."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from tests.cli.typed import refusal, run
from tests.service.experiments.lab import RULE, raise_rule
from turncoat.cli.demo import past_of_it
from turncoat.errors import OptionError
from turncoat.learners.base import learner as base_learner
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.experiments import audit, snapshot_cache
from turncoat.service.store import open_store


def test_a_key_is_shown_once_listed_without_its_secret_and_revoked(tmp_path: Path) -> None:
    database = tmp_path / "new.db"
    made = run("key", "add", "shop", "--scope", "decide", "--days", "2", "--database", database)
    assert made.exit_code == 0, made.output
    key = made.stdout.strip()
    prefix, number, secret = key.split("_", 2)
    assert prefix == "tk" and len(secret) >= 40
    listed = run("key", "list", "--database", database, columns=200).stdout
    assert number in listed and "shop" in listed and "decide" in listed and secret not in listed
    assert f"{number} (shop) is revoked" in run("key", "revoke", number, "--database", database).stdout
    assert "there is no key of id 'nobody'" in refusal("key", "revoke", "nobody", "--database", database)


def test_a_key_may_be_for_some_experiments_and_have_a_rate(tmp_path: Path) -> None:
    database = tmp_path / "new.db"
    typed = ("key", "add", "shop", "--scope", "decide", "--experiment", "button", "--experiment", "link")
    made = run(*typed, "--rate", "2.5", "--database", database)
    assert made.exit_code == 0 and "Valid for decide of button, link on" in made.stderr
    run("key", "add", "boss", "--database", database)
    listed = run("key", "list", "--database", database, columns=200).stdout
    assert "button link" in listed and "2.5/s, 3 at once" in listed and " all " in listed
    store = open_store(str(database))
    with store.reading() as session:
        assert [entry.action for entry in audit.read(session)] == ["make key", "make key"]
    store.close()
    for wrong, said in (
        (("--experiment", "no spaces"), "experiments.* matching"),
        (("--rate", "0"), "rate is 0.0: .*at least 0.001"),
        (("--burst", "3"), "burst is 3 and there is no rate"),
    ):
        assert re.search(said, refusal("key", "add", "x", *wrong, "--database", database)), wrong


def test_commands_that_look_want_a_database_that_is_there(tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    named = ("repair", "x"), ("log", "export", "x"), ("backup", tmp_path / "b.db")
    for command in (("verify",), ("key", "list"), ("prune",), *named):
        assert "there is no" in refusal(*command, "--database", missing)
    assert not missing.exists()


def test_the_log_comes_out_the_same_as_lines_and_as_parquet(database: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in run("log", "export", "second", "--database", database).stdout.splitlines()]
    assert len(lines) == 40
    assert [line["decision_id"] for line in lines] == sorted(line["decision_id"] for line in lines)
    for line in lines:
        assert line["propensity"] == line["probabilities"][line["arm"]]
        assert abs(sum(line["probabilities"].values()) - 1.0) < 1e-12
        assert (line["reward"] is None) == (line["outcome"] == "open") == (line["context"]["i"] % 4 == 0)
    said = run("log", "export", "second", "-o", tmp_path / "x.parquet", "--database", database).stdout
    assert "40 decisions written" in said
    frame = pl.read_parquet(tmp_path / "x.parquet")
    for row, line in zip(frame.iter_rows(named=True), lines, strict=True):
        assert json.loads(row["probabilities"]) == line["probabilities"]
        for name in ("decision_id", "arm", "propensity", "reward", "applied_version", "applied_position", "outcome"):
            assert row[name] == line[name]


def test_unknown_experiments_are_named(database: Path) -> None:
    assert "there is no experiment 'third'" in refusal("log", "export", "third", "--database", database)


def test_verification_finds_what_is_stored_to_be_what_the_log_says(database: Path) -> None:
    done = run("verify", "--database", database)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("identical, byte for byte") == 2 and "audit: whole" in done.stdout


def test_verification_after_an_upgrade(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state holds the version of Turncoat that wrote it: after an upgrade every learner was called DIFFERENT."""
    for module in (base_learner, snapshot_cache):
        monkeypatch.setattr(module, "__version__", "999.0")
    done = run("verify", "--database", database)
    assert done.exit_code == 0, done.output
    assert done.stdout.count("identical, byte for byte") == 2
    store = open_store(str(database))  # the newer version goes on in the same database
    engine = Engine(store)
    for key in ("first", "second"):
        engine.reward(engine.decide(key).decision_id or "", 1.0)
    engine.work()
    store.close()
    assert run("verify", "--database", database).stdout.count("identical, byte for byte") == 2
    with sqlite3.connect(database) as connection:
        connection.execute(OTHER_REWARD)
    connection.close()
    assert run("verify", "--database", database).exit_code == 1


def test_verification_after_a_change_of_the_rule(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is not replayed, and finds what is wrong in the rest."""
    with sqlite3.connect(database) as connection:
        ((versions,),) = connection.execute("SELECT version FROM experiment WHERE key = 'second'")
    connection.close()
    raise_rule(monkeypatch)
    rule = f"learned by rule {RULE} of an earlier version of Turncoat, and is not replayed"
    done = run("verify", "--database", database, columns=200)
    assert done.exit_code == 0 and f"second: all of it was {rule}; its state is as it was written" in done.stdout
    store = open_store(str(database))
    engine = Engine(store)
    engine.reward(engine.decide("second", allowed_arms=["a"]).decision_id or "", 1.0)
    engine.work()
    store.close()
    done = run("verify", "--database", database, columns=200)
    size = f"second: {versions + 2} versions, 1 rewards learned from since version {versions + 1}"
    assert done.exit_code == 0 and f"{size} (what lies before it was {rule}): identical, byte for byte" in done.stdout
    assert f"first: all of it was {rule}" in done.stdout
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE version SET checksum = 'no' WHERE experiment = 1")
    connection.close()
    done = run("verify", "--database", database, columns=200)
    assert done.exit_code == 1 and f"first: all of it was {rule}; its state is NOT as it was written" in done.stdout
    assert "second: " in done.stdout and "DIFFERENT" not in done.stdout


# Of one that was learned from: a fifth of the first experiment's are control, and only the learners are rebuilt.
LEARNED = "SELECT MIN(id) FROM decision WHERE reward <> 0.5 AND stream = 'learn'"
OTHER_REWARD = f"UPDATE decision SET reward = 1 - reward WHERE id = ({LEARNED})"
# Two of one experiment, of different arms and rewards. (Two that happened to be alike may be learned in either order.)
SWAPPED = """
    WITH learned AS (SELECT * FROM decision WHERE reward IS NOT NULL AND stream = 'learn'),
        one AS (SELECT * FROM learned ORDER BY id LIMIT 1),
        other AS (SELECT learned.* FROM learned, one WHERE learned.experiment = one.experiment
            AND learned.arm <> one.arm AND learned.reward <> one.reward ORDER BY learned.id LIMIT 1)
    UPDATE decision SET applied_version = (SELECT one.applied_version + other.applied_version FROM one, other)
        - applied_version WHERE id IN (SELECT id FROM one UNION SELECT id FROM other)
"""
TAMPERED = {
    "a reward": (OTHER_REWARD, "DIFFERENT"),
    "a propensity": ("UPDATE decision SET propensity = propensity / 2 WHERE applied_version = 5", "DIFFERENT"),
    "an order": (SWAPPED, "DIFFERENT"),
    "a row taken out": ("DELETE FROM decision WHERE applied_version = 7", "DIFFERENT"),
    "the audit": ("UPDATE audit SET actor = 'nobody' WHERE seq = 2", "BROKEN at entry 2"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_verification_finds(what: str, database: Path) -> None:
    statement, said = TAMPERED[what]
    with sqlite3.connect(database) as connection:
        connection.execute(statement)
        assert connection.total_changes >= (2 if what == "an order" else 1)
    connection.close()
    done = run("verify", "--database", database)
    assert done.exit_code == 1 and said in done.stdout


def test_a_backup_is_a_whole_database_and_writes_over_nothing(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert run("backup", copy, "--database", database).exit_code == 0
    assert run("verify", "--database", copy).exit_code == 0
    exported = [run("log", "export", "first", "--database", one).stdout for one in (database, copy)]
    assert exported[0] == exported[1] != ""
    assert "exists already" in refusal("backup", copy, "--database", database)


def aged(database: Path, days: float) -> None:
    """As if all of it had happened so long ago."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE version SET at = at - ?", (days * 86_400.0,))
    connection.close()


def n_decisions(database: Path, key: str) -> int:
    return len(run("log", "export", key, "--database", database).stdout.splitlines())


def test_old_decisions_are_pruned(database: Path) -> None:
    aged(database, 100.0)
    where = ("--database", database)
    would = run("prune", "first", "--keep", "90d", "--dry-run", *where).stdout
    assert "first: 30 decisions that closed more than 90 days ago would be pruned" in would
    assert run("prune", *where).stdout.count("kept for ever; set its keep_days, or say --keep 90d") == 2
    assert n_decisions(database, "first") == 40
    done = run("prune", "first", "--keep", "90", *where)
    assert done.exit_code == 0 and "first: 30 decisions that closed more than 90 days ago pruned" in done.stdout
    assert n_decisions(database, "first") == 10 and n_decisions(database, "second") == 40
    said = run("verify", *where, columns=200)
    assert said.exit_code == 0 and said.stdout.count("identical, byte for byte") == 2
    assert re.search(
        r"first: .* 0 rewards .* since version \d+ \(what lies before it was pruned on \d{4}-", said.stdout
    )


def test_pruning_as_experiments_have_it_set(database: Path) -> None:
    store = open_store(str(database))
    Engine(store).change("second", messages.ExperimentChange(keep_days=30.0))
    store.close()
    aged(database, 31.0)
    assert "second: 30 decisions" in run("prune", "--database", database).stdout
    assert (n_decisions(database, "first"), n_decisions(database, "second")) == (40, 10)


@pytest.mark.parametrize("typed", ["90 days", "0", "nan", "0.5d", "1e9", ""])
def test_what_is_no_number_of_days(database: Path, typed: str) -> None:
    assert "accepted are 1d to 36500d" in refusal("prune", "--keep", typed, "--database", database)


def test_a_unit_is_erased(database: Path) -> None:
    store = open_store(str(database))
    engine = Engine(store)
    for key in ("first", "second"):
        engine.decide(key, unit_id="anna", context={"of": "anna"}, sticky=True, idempotency_key="k")
    store.close()
    where = ("--database", database)
    said = run("erase", "--unit", "anna", "--experiment", "first", *where).stdout
    assert "erased from 1 decisions; 1 sticky decisions and 1 stored answers deleted" in said
    assert ["anna" in run("log", "export", key, *where).stdout for key in ("first", "second")] == [False, True]
    assert "erased from 1 decisions" in run("erase", "--unit", "anna", *where).stdout
    assert "erased from 0 decisions" in run("erase", "--unit", "anna", *where).stdout
    assert "there is no experiment 'third'" in refusal("erase", "--unit", "anna", "--experiment", "third", *where)
    assert run("verify", *where).exit_code == 0


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--host", "0.0.0.0"), "there is no key yet"),
        (("--workers", "2"), "one process has to itself"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_starts(
    typed: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    assert said in run("serve", "--port", "0", "--database", tmp_path / "t.db", *typed).output


def test_the_demo_leaves_experiments_of_ones_own_alone(database: Path) -> None:
    # It used to write simulated decisions and rewards into a user's experiment of the same key.
    with pytest.raises(OptionError, match="the database has 'first', 'second' in it; --demo wants a new one"):
        past_of_it(str(database))
