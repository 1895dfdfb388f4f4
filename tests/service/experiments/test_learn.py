"""The service's learner is a plain Turncoat that was told the same: byte for byte, from its first state on."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from tests.service.experiments.lab import WINDOW, Lab
from turncoat.learners import Turncoat, restore
from turncoat.service import messages
from turncoat.service.experiments.verify import verify


class Twin:
    """A learner outside the service, told what a caller knows: arm, propensity and probabilities of each decision."""

    def __init__(self, lab: Lab) -> None:
        first = lab.rows("SELECT first_state FROM learner")[0][0]
        self.learner: Any = restore(msgspec.json.decode(bytes(first)))
        self.had: dict[int, set[str]] = {}  # the arms that the learner had, by version
        self.m: dict[int, int] = {}  # the pulls that were planned ahead
        self.waiting: list[tuple[messages.Decided, float]] = []

    def learn(self) -> None:
        """What was rewarded at one moment is learned in the order of the ids."""
        for decided, reward in sorted(self.waiting, key=lambda pair: str(pair[0].decision_id)):
            arms = list(self.learner.arms)
            among = None
            if set(decided.probabilities) != self.had[decided.state_version]:
                among = sorted(arms.index(arm) for arm in decided.probabilities)
            m = self.m[decided.state_version]
            self.learner.observe(arms.index(decided.arm), 1.0 - reward, decided.propensity, allowed=among, m=m)
        self.waiting.clear()

    def bytes(self) -> bytes:
        return msgspec.json.encode(self.learner.state())


def change(lab: Lab, twin: Twin, turn: int) -> None:
    """What happens to the arms, by turn."""
    if turn == 30:
        lab.pause("a")
    if turn == 40:
        lab.engine.add_arm("x", messages.NewArm(arm="d", state="pending"))
        lab.engine.add_arm("x", messages.NewArm(arm="e"))
        twin.learner.add_arm("e")
    if turn == 60:
        lab.resume("d")
        twin.learner.add_arm("d")
        lab.resume("a")
    if turn == 80:
        lab.retire("b")
        twin.learner.retire_arm("b")
    if turn == 90:
        lab.restart()


def test_a_whole_life(labs: Lab) -> None:
    """Arms named by callers, paused, added, retired, rewards out of order: at every step the same bytes."""
    chosen = random.Random(5)
    labs.open(arms=["a", "b", "c"], floors={"a": 0.1}, caps={"b": 0.6})
    twin = Twin(labs)
    held: list[messages.Decided] = []
    for turn in range(120):
        arms = labs.engine.arms("x")
        active = [arm.arm for arm in arms if arm.state == "active"]
        twin.had[labs.engine.experiment("x").version] = {arm.arm for arm in arms if arm.state in ("active", "paused")}
        twin.m = {point.version: point.m for point in labs.engine.timeline("x")}
        allowed = chosen.sample(active, chosen.randint(1, len(active))) if chosen.random() < 0.4 else None
        held.append(labs.engine.decide("x", allowed_arms=allowed))
        chosen.shuffle(held)
        while len(held) > 4:
            decided, reward = held.pop(), chosen.random()
            labs.engine.reward(str(decided.decision_id), reward)
            twin.waiting.append((decided, reward))
        if turn % 3 == 0:
            labs.work()
            twin.learn()
            assert twin.bytes() == labs.state()
        change(labs, twin, turn)
    labs.work()
    twin.learn()
    assert twin.bytes() == labs.state()
    with labs.store.reading() as session:
        verified = verify(session, "x")
    assert verified.identical and verified.first_difference is None and verified.learned == 116


def test_defaults_are_told_too_and_expired_decisions_are_not(labs: Lab) -> None:
    labs.open(default_reward=0.25)
    twin = Twin(labs)
    decided = labs.engine.decide("x")
    labs.work(WINDOW)
    twin.learner.observe(twin.learner.arms.index(decided.arm), 0.75, decided.propensity)
    assert twin.bytes() == labs.state()
    labs.engine.change("x", messages.ExperimentChange(default_reward=None))
    labs.engine.decide("x")
    labs.work(WINDOW)
    assert twin.bytes() == labs.state()
    outcomes = [row[0] for row in labs.rows("SELECT outcome FROM decision ORDER BY decided_at")]
    assert outcomes == ["defaulted", "expired"]


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-5.0, 20.0), (-1e100, 1e100), (0.0, 5e-324), (1e99, 1e100)])
def test_rewards_become_losses_in_0_to_1(lab: Lab, low: float, high: float) -> None:
    lab.open(reward=messages.RewardRule(min=low, max=high))
    twin = Twin(lab)
    for loss, reward in ((0.0, high), (1.0, low)):
        decided = lab.engine.decide("x")
        lab.engine.reward(str(decided.decision_id), reward)
        lab.work()
        twin.learner.observe(twin.learner.arms.index(decided.arm), loss, decided.propensity)
        assert twin.bytes() == lab.state()


def test_the_first_state_is_that_of_the_seed(lab: Lab) -> None:
    lab.open(seed=11)
    ours, plain = msgspec.json.decode(lab.state()), Turncoat(["a", "b"], seed=11).state()
    ours.pop("token"), plain.pop("token")  # a name that every learner gets
    assert ours == msgspec.json.decode(msgspec.json.encode(plain))


def test_looking_changes_nothing(lab: Lab) -> None:
    lab.open(arms=["a", "b", "c"])
    for _ in range(5):
        lab.engine.reward(str(lab.engine.decide("x").decision_id), 0.5)
    lab.work()
    before = lab.everything()
    lab.engine.experiment("x"), lab.engine.state("x"), lab.engine.switches("x"), lab.engine.timeline("x")
    lab.engine.audit("x"), list(lab.engine.log("x")), lab.engine.experiments(), lab.engine.arms("x")
    assert lab.everything() == before
    decided = lab.engine.decide("x", allowed_arms=["a"])
    lab.engine.reward(str(decided.decision_id), 0.5)
    lab.work()
    with lab.store.reading() as session:
        assert verify(session, "x").identical
