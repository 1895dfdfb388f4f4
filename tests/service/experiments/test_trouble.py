"""The store fails, an answer is lost, another worker is faster: nothing wrong is served, and no caller is held up."""

from __future__ import annotations

import base64

import msgspec
import pytest

from tests.service.experiments.faults import FaultyStore
from tests.service.experiments.lab import WINDOW, Lab, StillClock
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.errors import Conflicting, Damaged, Unavailable
from turncoat.service.experiments.learn import advance
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.snapshot_cache import load_learner
from turncoat.service.messages import Decide
from turncoat.service.store.interface import StoreDown, WriteConflict


def faulty(lab: Lab) -> FaultyStore:
    lab.store = store = FaultyStore(lab.store)
    lab.restart()
    return store


def test_a_store_that_is_down_is_said_to_be_unavailable(labs: Lab) -> None:
    """Reading a snapshot again, after a race or for a new experiment, let the store's own error through."""
    labs.open()
    store = faulty(labs)
    store.is_down = True
    for key in ("x", "opened elsewhere"):
        with pytest.raises(Unavailable, match="whether it was recorded is not known"):
            labs.engine.decide(key)
    with pytest.raises(StoreDown):
        labs.engine.work()
    store.is_down = False
    assert labs.engine.decide("x").stream == "learn"


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_change_whose_answer_was_lost_is_served_from_at_once(labs: Lab, after_commit: bool) -> None:
    """It was recorded, but snapshots in memory were the old ones: a paused arm went on being served."""
    labs.open()
    store = faulty(labs)
    labs.engine.decide("x")
    store.arm(commit=1, after_commit=after_commit)
    with pytest.raises(StoreDown):
        labs.pause("a")
    expected = {"b"} if after_commit else {"a", "b"}
    assert set(labs.engine.decide("x").probabilities) == expected
    labs.engine.reward(str(labs.engine.decide("x").decision_id), 0.5)
    labs.work()
    assert set(labs.engine.state("x").probabilities) == expected


def test_a_pass_whose_answer_was_lost_is_not_done_again(labs: Lab) -> None:
    labs.open()
    store = faulty(labs)
    labs.engine.reward(str(labs.engine.decide("x").decision_id), 0.5)
    labs.engine.reward(str(labs.engine.decide("x").decision_id), 0.25)
    store.arm(commit=2, after_commit=True)  # the first is that of tidying up
    with pytest.raises(StoreDown, match="after its commit"):
        labs.engine.work()
    labs.work()
    assert labs.rows("SELECT SUM(n_learned), COUNT(*) FROM version WHERE kind = 'rewards'") == [(2, 1)]


def test_a_version_is_written_once(labs: Lab) -> None:
    """The fence: who still goes by an older snapshot is told so, and the newer state stays as it is."""
    labs.open()
    old, learner = labs.engine.cache.get("x"), load_learner(labs.state())
    labs.engine.reward(str(labs.engine.decide("x").decision_id), 1.0)
    labs.work()
    before = labs.everything()
    for kind in ("rewards", "arm_added"):
        with pytest.raises(WriteConflict), labs.store.transaction() as session:
            advance(session, old, learner, kind, labs.clock.now(), n_learned=1)
        assert labs.everything() == before


def test_while_the_store_is_down_decisions_may_be_stale(labs: Lab) -> None:
    labs.open(arms=["a", "b", "c"])
    store = faulty(labs)
    labs.engine.decide("x", allowed_arms=["a", "b"])
    store.is_down = True
    answer = labs.engine.stale(Decide("x", messages.Ask()))
    assert isinstance(answer, messages.Decided)
    assert (answer.reason, answer.decision_id, answer.expires_at) == ("stale", None, None)
    assert isinstance(labs.engine.stale(Decide("nobody", messages.Ask())), Exception)
    # The learner of a process that has just started is in the store, which cannot be read.
    store.is_down = False
    labs.restart()
    store.is_down = True
    assert isinstance(labs.engine.stale(Decide("x", messages.Ask())), messages.Decided)
    assert isinstance(labs.engine.stale(Decide("x", messages.Ask(allowed_arms=["a", "b"]))), Unavailable)


def test_one_damaged_experiment_does_not_hold_up_the_others(labs: Lab) -> None:
    """The first of them raised, and the others were never reached."""
    labs.open("broken")
    labs.open("x")
    bad, good = (str(labs.engine.decide(key).decision_id) for key in ("broken", "x"))
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET state = :bad WHERE experiment = 1", bad=b"{}")
    labs.restart()
    for one in (bad, good):
        labs.engine.reward(one, 1.0)
    assert "its learner's state is not as it was written" in labs.damage("broken").detail
    assert labs.engine.decision(good).outcome == "rewarded"
    assert labs.engine.decision(bad).outcome == "waiting"


def test_no_decision_comes_from_a_damaged_state(labs: Lab) -> None:
    """A flipped bit in a state went unnoticed; later, its error failed the whole batch."""
    labs.open("broken")
    labs.open("x")
    state = msgspec.json.decode(labs.state("broken"))
    numbers = bytearray(base64.b64decode(state["buffer"]))
    numbers[-8] ^= 1
    state["buffer"] = base64.b64encode(numbers).decode()
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET state = :bad WHERE experiment = 1", bad=msgspec.json.encode(state))
    labs.restart()
    some = messages.Ask(allowed_arms=["a"])
    bad, good = labs.engine.serve([Decide("broken", some), Decide("x", some)])
    assert isinstance(bad, Damaged) and "'broken'" in bad.detail and "not as it was written" in bad.detail
    assert isinstance(good, messages.Decided)
    with pytest.raises(Damaged, match="not as it was written"):
        labs.engine.state("broken")


class TestSeveralWorkers:
    """Two engines on one store, each with its own memory."""

    def pair(self, lab: Lab) -> tuple[Engine, Engine]:
        store = FaultyStore(lab.store, shared=True)
        lab.clock = StillClock()
        one, other = (Engine(store, lab.clock, Randomness(seed)) for seed in (1, 2))
        lab.engine = one
        return one, other

    def test_each_sees_the_others_changes_after_a_pass(self, labs: Lab) -> None:
        """Only rewards made a worker look: without any, an arm paused elsewhere was served for ever."""
        one, other = self.pair(labs)
        labs.open()
        assert other.decide("x").arm in ("a", "b")
        labs.pause("a")
        other.work()
        assert set(other.decide("x").probabilities) == {"b"}
        other.change("x", messages.ExperimentChange(state="stopped"))
        one.work()
        with pytest.raises(Conflicting, match="stopped"):
            one.decide("x")

    def test_they_learn_in_turns(self, labs: Lab) -> None:
        one, other = self.pair(labs)
        labs.open(arms=["a", "b", "c"])
        for turn in range(20):
            worker, rival = (one, other) if turn % 2 else (other, one)
            decided = worker.decide("x", allowed_arms=["a", "b"] if turn % 3 else None)
            rival.reward(str(decided.decision_id), 0.5)
            labs.clock.move(1.0)
            (worker if turn % 5 else rival).work()
        from turncoat.service.experiments.verify import verify

        with labs.store.reading() as session:
            verified = verify(session, "x")
        assert verified.identical and verified.learned == 20

    def test_a_frozen_worker_cannot_write_over_a_newer_state(self, labs: Lab) -> None:
        """It holds an old snapshot and an old learner when it goes on."""
        one, other = self.pair(labs)
        labs.open()
        ids = [str(one.decide("x").decision_id) for _ in range(4)]
        other.refresh()
        for decision in ids[:3]:
            one.reward(decision, 1.0)
            labs.clock.move(1.0)
            one.work()
        version = one.experiment("x").version
        other.reward(ids[3], 0.0)
        labs.clock.move(1.0)
        other._apply(1)  # straight to the pass, without the look before it
        assert one.experiment("x").version == version + 1
        assert labs.rows("SELECT SUM(n_learned) FROM version") == [(4,)]
        from turncoat.service.experiments.verify import verify

        with labs.store.reading() as session:
            assert verify(session, "x").identical

    def test_a_reward_for_an_experiment_that_is_new_here(self, labs: Lab) -> None:
        one, other = self.pair(labs)
        labs.open()
        decided = one.decide("x")
        assert other.reward(str(decided.decision_id), 1.0).status == "accepted"
        labs.clock.move(WINDOW)
        other.work()
        assert one.decision(str(decided.decision_id)).outcome == "rewarded"

    def test_an_idempotency_key_used_at_both(self, labs: Lab) -> None:
        one, other = self.pair(labs)
        labs.open()
        assert one.decide("x", idempotency_key="k") == other.decide("x", idempotency_key="k")
