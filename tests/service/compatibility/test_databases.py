"""Databases of earlier commits: the service opens them, answers as it did then, and goes on identically.

The folder with a commit's name was written by write.py at that commit. On another machine `verify` compares to 1e-9,
and states that are computed anew may differ in their last bits.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.typed import run
from tests.compatibility.answers import as_now, same_fields, without_bases
from tests.service.compatibility.application import Clock, application
from tests.service.experiments.lab import compile_kernels
from tests.service.http.direct import JSON, Direct, Said
from turncoat.service.store import open_store

FOLDERS = [folder for folder in sorted(Path(__file__).parent.iterdir()) if (folder / "sqlite.db.gz").exists()]
CHECKPOINTS = """
    SELECT e.key, COUNT(*) FROM checkpoint c JOIN experiment e ON e.id = c.experiment
    JOIN version v ON v.experiment = c.experiment AND v.version = c.version AND v.kind = 'checkpoint' GROUP BY e.key
"""
YEAR = 31_536_000.0


class Earlier:
    """A copy of an earlier database, and what was answered from it then."""

    def __init__(self, database: str, then: dict[str, Any]) -> None:
        self.database = database
        self.then = then
        self.clock = Clock(then["written_at"])
        self.boss = {"authorization": f"Bearer {then['keys']['boss']}"}
        self.experiments = [one["key"] for one in then["answers"]["/v1/experiments"]]

    def get(self, asked: Direct, path: str) -> Any:
        """The JSON at a path; a list for lines of JSON."""
        said = asked.ask("GET", path, headers=self.boss)
        assert said.status == 200, said.body
        return [json.loads(line) for line in said.body.splitlines()] if path.endswith(".ndjson") else said.json()

    def post(self, asked: Direct, path: str, message: Any, **headers: str) -> Said:
        """Send a message."""
        return asked.ask("POST", path, json.dumps(message).encode(), {**JSON, **self.boss, **headers})

    def reward(self, asked: Direct, lines: list[dict[str, Any]]) -> list[Any]:
        """Send rewards and apply them; their receipts."""
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        said = asked.ask("POST", "/v1/rewards", body, {**self.boss, "content-type": "application/x-ndjson"})
        assert said.status == 200, said.body
        asked.work()
        return [json.loads(line) for line in said.body.splitlines()]

    def verify(self) -> str:
        """`turncoat verify`: rebuild every learner from the log, from its first round on. What it says."""
        done = run("verify", "--database", self.database)
        assert done.exit_code == 0, done.output
        assert all(f"{key}: " in done.stdout for key in self.experiments)
        return done.stdout

    def checkpoints(self) -> dict[str, int]:
        """How many there are, of the experiments that have some."""
        store = open_store(self.database, allow_in_use=True)
        with store.reading() as session:
            found: dict[str, int] = dict(session.rows(CHECKPOINTS))
        store.close()
        return found


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_kernels()


@pytest.fixture(params=[f"{folder.name}: {kind}" for folder in FOLDERS for kind in ("sqlite", "postgres")])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Earlier:
    """A copy of each database."""
    commit, kind = request.param.split(": ")
    folder = Path(__file__).parent / commit
    then = json.loads(gzip.decompress((folder / f"{kind}.json.gz").read_bytes()))
    if kind == "sqlite":
        database = str(tmp_path / "turncoat.db")
        Path(database).write_bytes(gzip.decompress((folder / "sqlite.db.gz").read_bytes()))
    else:
        database = request.getfixturevalue("postgres_url")
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(gzip.decompress((folder / "postgres.sql.gz").read_bytes()))
    return Earlier(database, then)


def test_the_databases_are_there() -> None:
    assert "8d72b1b" in [folder.name for folder in FOLDERS]


def test_everything_is_answered_as_it_was_then(earlier: Earlier) -> None:
    """Experiments, arms, states, versions, switches, audit, log and single decisions.

    What explanations say of the bases is not compared: there were more of them.
    """
    with application(earlier.database, earlier.clock, role="front") as asked:
        for path, then in earlier.then["answers"].items():
            expected = without_bases(as_now(then))
            assert same_fields(without_bases(as_now(earlier.get(asked, path))), expected) == expected, path


def test_the_commands_read_it(earlier: Earlier, tmp_path: Path) -> None:
    where = ("--database", earlier.database)
    earlier.verify()
    for key in earlier.experiments:
        expected = earlier.then["answers"][f"/v1/experiments/{key}/log.ndjson"]
        exported = [json.loads(line) for line in run("log", "export", key, *where).stdout.splitlines()]
        assert same_fields(exported, expected) == expected
    listed = run("key", "list", *where, columns=200).stdout
    assert all(name in listed and key.split("_")[1] in listed for name, key in earlier.then["keys"].items())
    if not earlier.database.startswith("postgresql"):
        copy = tmp_path / "copy.db"
        assert run("backup", copy, *where).exit_code == 0
        assert run("verify", "--database", copy).exit_code == 0


def test_rewards_of_then_are_learned_now(earlier: Earlier) -> None:
    """First the inbox, then rewards of open decisions; each learner by its present rule, from one checkpoint."""
    assert earlier.verify().count("all of it was learned by rule 1 of an earlier version") == len(earlier.experiments)
    told = earlier.then["told"]
    with application(earlier.database, earlier.clock) as asked:
        asked.work()
        for key, then in earlier.then["applied"].items():
            _check_state(earlier.get(asked, f"/v1/experiments/{key}/state"), then)
        assert 0 < len(earlier.checkpoints()) < len(earlier.experiments)
        earlier.clock.time += 60.0
        assert same_fields(earlier.reward(asked, told["lines"]), told["receipts"]) == told["receipts"]
        for key, then in told["states"].items():
            _check_state(earlier.get(asked, f"/v1/experiments/{key}/state"), then)
        for one, then in told["outcomes"].items():
            now = earlier.get(asked, f"/v1/decisions/{one}")
            assert {name: now[name] for name in ("outcome", "reward", "arm")} == {
                name: then[name] for name in ("outcome", "reward", "arm")
            }
        again = earlier.reward(asked, [{**line, "value": 1.0 - line["value"]} for line in told["lines"]])
        assert {one["status"] for one in again} == {"conflict", "duplicate"}  # 0.5 is told again as it was
        for key in earlier.experiments:
            change = json.dumps({"reward_window_s": 30.0}).encode()
            assert asked.ask("PATCH", f"/v1/experiments/{key}", change, {**JSON, **earlier.boss}).status == 200
    assert earlier.checkpoints() == dict.fromkeys(earlier.experiments, 1)
    with application(earlier.database, earlier.clock) as asked:
        for key in set(earlier.experiments) - {"many"}:  # it was stopped
            made = earlier.post(asked, f"/v1/experiments/{key}/decisions", {}).json()
            assert {one["status"] for one in earlier.reward(asked, [{**_id(made), "value": 1.0}])} == {"accepted"}
    assert earlier.checkpoints() == dict.fromkeys(earlier.experiments, 1)
    said = earlier.verify()
    older = "(what lies before it was learned by rule 1 of an earlier version of Turncoat, and is not replayed)"
    assert said.count(f" {older}: identical, byte for byte") == len(earlier.experiments)  # on any machine: this one did


def _check_state(now: dict[str, Any], then: dict[str, Any]) -> None:
    """What does not depend on the learner's rule, which has changed since."""
    assert sum(now["probabilities"].values()) == pytest.approx(1.0) and set(now["probabilities"]) == set(
        then["probabilities"]
    )
    for name in ("pending_rewards", "open_decisions"):
        assert now[name] == then[name], (then["key"], name)


def test_decisions_go_on(earlier: Earlier) -> None:
    """Among the arms of then; idempotency keys and sticky units are known; arms can be added."""
    then = earlier.then
    with application(earlier.database, earlier.clock) as asked:
        asked.work()
        for key, state in then["applied"].items():
            decided = earlier.post(asked, f"/v1/experiments/{key}/decisions", {"context": {"from": "now"}})
            if key == "many":
                assert decided.status == 409  # it was stopped
                continue
            made = decided.json()
            assert decided.status == 201
            if made["stream"] == "learn":
                assert set(made["probabilities"]) == set(state["probabilities"])
            assert made["propensity"] == made["probabilities"][made["arm"]]
            assert {one["status"] for one in earlier.reward(asked, [{**_id(made), "value": 1.0}])} == {"accepted"}
        repeated, held = then["repeated"], then["held"]
        headers = {"idempotency-key": repeated["key"]}
        assert earlier.post(asked, repeated["path"], repeated["message"], **headers).json() == repeated["answer"]
        assert earlier.post(asked, repeated["path"], {}, **headers).status == 409
        assert _id(earlier.post(asked, held["path"], held["message"]).json()) == _id(held["answer"])
        assert earlier.post(asked, "/v1/experiments/line-up/arms", {"arm": "c"}).status == 409  # it was retired
        assert earlier.post(asked, "/v1/experiments/line-up/arms", {"arm": "f"}).status == 201
        some = earlier.post(asked, "/v1/experiments/line-up/decisions", {"allowed_arms": ["f"]}).json()
        assert (some["arm"], some["propensity"]) == ("f", 1.0)
        earlier.reward(asked, [{**_id(some), "value": 0.5}])
    earlier.verify()


def _id(made: dict[str, Any]) -> dict[str, str]:
    return {"decision_id": made["decision_id"]}


def test_gains_leave_out_what_cannot_be_compared(earlier: Earlier) -> None:
    """What was closed then has a reward and no comparison: it is counted, and said to be from before the upgrade."""
    with application(earlier.database, earlier.clock) as asked:
        for key in earlier.experiments:
            found = earlier.get(asked, f"/v1/experiments/{key}/gain")
            control = found["gains"][0]
            assert control["over"] == "control" and control["total"] is None
            left = {one["reason"]: one["n"] for one in control["left_out"]}
            assert sum(left.values()) == found["n_learn"] and set(left) <= {"before_upgrade", "no_control", "too_few"}
        asked.work()
        assert any(
            earlier.get(asked, f"/v1/experiments/{key}/gain")["gains"][0]["left_out"] for key in earlier.experiments
        )


def test_windows_that_were_open_end(earlier: Earlier) -> None:
    """Past the window's end decisions expire or get the default, and collected rewards are aggregated."""
    with application(earlier.database, earlier.clock) as asked:
        asked.work()
        earlier.clock.time += 2 * YEAR
        asked.work()
        outcomes = {
            key: [line["outcome"] for line in earlier.get(asked, f"/v1/experiments/{key}/log.ndjson")]
            for key in earlier.experiments
        }
        assert not any("open" in several for several in outcomes.values())
        assert outcomes["line-up"].count("expired") >= 2  # they were deferred, and never activated
        collected = [line for line in earlier.get(asked, "/v1/experiments/prices/log.ndjson") if line["reward"] == 1.25]
        assert [line["outcome"] for line in collected] == ["rewarded"]
    earlier.verify()


def test_keys_of_then_are_known(earlier: Earlier) -> None:
    with application(earlier.database, earlier.clock, role="front") as asked:
        statuses = {}
        for name, key in {**earlier.then["keys"], "unknown": "tk_000000000000_no"}.items():
            headers = {"authorization": f"Bearer {key}"}
            looked = asked.ask("GET", "/v1/experiments", headers=headers).status
            decided = asked.ask("POST", "/v1/experiments/untouched/decisions", b"{}", {**JSON, **headers}).status
            statuses[name] = looked, decided
    assert statuses == {"boss": (200, 201), "shop": (403, 201), "gone": (401, 401), "unknown": (401, 401)}
