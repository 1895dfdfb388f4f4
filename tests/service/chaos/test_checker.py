"""The checker of the chaos runs finds every sort of damage: a store is damaged by hand, one thing at a time."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.chaos.checker import Verdict, check
from tests.chaos.clients import EXPERIMENTS
from tests.chaos.memory import Asked, Changed, Memory, Told
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.store import open_store

CLOSED = "outcome, reward, applied_version, applied_position"
MADE = "id, experiment, arm, propensity, version, stream, reason, decided_at"
EXTRA = "'extra', 1, 'a', 0.25, 1, 'learn', 'split', 1.0"
REWARDED = "(SELECT id FROM decision WHERE outcome = 'rewarded' AND experiment = 1 ORDER BY id LIMIT 1)"
DAMAGE = {
    "a decision is gone": (f"DELETE FROM decision WHERE id = {REWARDED}", "missing"),
    "a reward is gone": (
        f"UPDATE decision SET ({CLOSED}) = (NULL, NULL, NULL, NULL) WHERE id = {REWARDED}",
        "missing",
    ),
    "another reward won": (f"UPDATE decision SET reward = 0.987 WHERE id = {REWARDED}", "missing"),
    "an accepted part is gone": ("DELETE FROM part WHERE rowid = 1", "missing"),
    "a reward still waits": ("INSERT INTO inbox VALUES ('x', 1, 0.5, 0.0, NULL, 'real')", "missing"),
    "a refusal is gone": ("DELETE FROM refused WHERE status = 'conflict'", "missing"),
    "a change is gone": ("DELETE FROM audit WHERE action = 'change arm'", "missing"),
    "a version learned less": ("UPDATE version SET n_learned = n_learned - 1 WHERE n_learned > 0", "missing"),
    "a decision nobody got": (f"INSERT INTO decision ({MADE}) VALUES ({EXTRA})", "doubled"),
    "a version learned more": ("UPDATE version SET n_learned = n_learned + 1 WHERE n_learned > 0", "doubled"),
    "an arm's version learned": ("UPDATE version SET n_learned = 1 WHERE kind = 'arm_changed'", "doubled"),
    "a position was taken again": (f"UPDATE decision SET applied_position = 77 WHERE id = {REWARDED}", "doubled"),
    "a refusal too many": (
        "INSERT INTO refused SELECT * FROM refused WHERE status = 'duplicate' LIMIT 1",
        "doubled",
    ),
    "another arm": (f"UPDATE decision SET arm = 'other' WHERE id = {REWARDED}", "wrong"),
    "another propensity": (f"UPDATE decision SET propensity = propensity * 0.999 WHERE id = {REWARDED}", "wrong"),
    "other probabilities": (f"UPDATE decision SET probabilities = '{{}}' WHERE id = {REWARDED}", "wrong"),
    "another default": ("UPDATE decision SET reward = 0.3 WHERE outcome = 'defaulted'", "wrong"),
    "accepted after the end": ("UPDATE decision SET expires_at = 1.0 WHERE outcome = 'rewarded'", "wrong"),
    "late before the end": ("UPDATE decision SET expires_at = 1e9 WHERE outcome = 'defaulted'", "wrong"),
    "a version is gone": ("DELETE FROM version WHERE experiment = 3 AND version = 1", "wrong"),
    "a version ahead": ("UPDATE experiment SET version = version + 1 WHERE id = 1", "wrong"),
    "a bucket too full": ("UPDATE bucket SET n = n + 1 WHERE width = 300", "wrong"),
    "the audit was altered": ("UPDATE audit SET actor = 'nobody' WHERE seq = 2", "wrong"),
    "another state": ("UPDATE learner SET state = first_state WHERE experiment = 1", "wrong"),
}


class HandClock:
    """Time goes on when told to."""

    time = 1_000.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self.time


class Player:
    """An engine, asked by one caller who remembers."""

    def __init__(self, path: Path) -> None:
        self._store = open_store(str(path))
        self._clock = HandClock()
        self._engine = Engine(self._store, self._clock)
        self.memory = Memory()

    def play(self) -> None:
        """A little of everything."""
        for experiment in EXPERIMENTS:
            self._engine.create(msgspec.convert(experiment, messages.NewExperiment))
        for n in range(40):
            decision = self._decide("hot", n)
            self._tell(decision, n / 64)
            if n % 4 == 0:
                self._engine.work()
                self._tell(decision, n / 64)
                self._tell(decision, n / 64 + 0.25)
        mean = self._decide("mean", 0)
        self._tell(mean, 0.5, "one")
        self._tell(mean, 0.75, "two")
        brief, _ = self._decide("brief", 0), self._decide("brief", 1)
        self._engine.change_arm("hot", "d", messages.ArmChange(state="paused"))
        self.memory.changed["change arm"] = Changed("change arm", made=1)
        self._clock.time += 10.0
        self._tell(brief, 0.5)
        self._engine.work()
        self._store.close()

    def _decide(self, experiment: str, n: int) -> str:
        asked = Asked(experiment, f"{experiment} {n}", b"{}", sent=self._clock.now(), answered=self._clock.now())
        decided = self._engine.decide(experiment, idempotency_key=asked.key)
        asked.answer = msgspec.json.encode(decided)
        self.memory.asked.append(asked)
        return str(decided.decision_id)

    def _tell(self, decision: str, value: float, reward_id: str | None = None) -> None:
        now = self._clock.now()
        status = self._engine.reward(decision, value, reward_id=reward_id).status
        self.memory.told.append(Told(decision, value, reward_id, now, now, 0, now, status))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Memory]:
    path = tmp_path_factory.mktemp("played") / "played.db"
    player = Player(path)
    player.play()
    return path, player.memory


@pytest.fixture
def copied(played: tuple[Path, Memory], tmp_path: Path) -> Iterator[tuple[sqlite3.Connection, Path, Memory]]:
    path = tmp_path / "copy.db"
    shutil.copy(played[0], path)
    connection = sqlite3.connect(path)
    yield connection, path, played[1]
    connection.close()


def verdict(path: Path, memory: Memory) -> Verdict:
    store = open_store(str(path))
    try:
        with store.reading() as session:
            return check(session, memory)
    finally:
        store.close()


def test_an_undamaged_store_passes(played: tuple[Path, Memory]) -> None:
    found = verdict(*played)
    assert found.violations == []
    assert (found.decisions, found.rewards) == (43, 42)
    assert dict(found.refused) == {"accepted": 0, "duplicate": 10, "conflict": 10, "late": 1}
    assert found.verified > 20
    assert (found.unknown, found.committed, found.differing) == (0, 0, 0)


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found(name: str, copied: tuple[sqlite3.Connection, Path, Memory]) -> None:
    connection, path, memory = copied
    sql, kind = DAMAGE[name]
    with connection:
        assert connection.execute(sql).rowcount > 0
    assert kind in {violation.kind for violation in verdict(path, memory).violations}


def test_attempts_not_answered_excuse_what_they_may_have_done(
    copied: tuple[sqlite3.Connection, Path, Memory],
) -> None:
    connection, path, memory = copied
    with connection:
        connection.execute("INSERT INTO refused SELECT * FROM refused WHERE status = 'duplicate' LIMIT 1")
    (decision,) = connection.execute("SELECT decision_id FROM refused WHERE status = 'duplicate' LIMIT 1").fetchone()
    told = next(one for one in memory.told if (one.decision_id, one.status) == (decision, "duplicate"))
    told.unknown = 1
    try:
        assert verdict(path, memory).violations == []
    finally:
        told.unknown = 0


def test_an_answer_that_differs_on_repetition_is_wrong(played: tuple[Path, Memory]) -> None:
    path, memory = played
    first = memory.asked[0]
    altered = Memory([Asked(first.experiment, first.key, b"{}", answer=first.answer)], [], wrong=["another answer"])
    decided = json.loads(first.answer) | {"arm": "other"}
    altered.asked[0].answer = json.dumps(decided).encode()
    kinds = [violation.kind for violation in verdict(path, altered).violations]
    assert kinds.count("wrong") >= 2
