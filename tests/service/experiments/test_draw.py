"""Arms are served as often as is said: chi-square on many draws at a fixed state.

Each test draws n times and fails if p is below 1e-6: a false alarm once in a million runs (the seed is fixed, so: never
again once it has passed). `caught` computes what that is worth: the deviation of one arm's share that is found with
99 % probability, from the noncentral chi-square law; it is asserted to be at most 1.5 percentage points.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from scipy import stats

from tests.service.experiments.lab import Lab
from turncoat.service import messages
from turncoat.service.errors import Conflicting
from turncoat.service.experiments.draw import draw
from turncoat.service.experiments.snapshot import ArmRow, served_by, share_limits
from turncoat.service.messages import Decide

N = 60_000
ALARM = 1e-6


def drawn(lab: Lab, n: int = N, **ask: Any) -> tuple[Counter[str], messages.Decided]:
    """Decisions as they are drawn, without writing them down."""
    command = Decide("x", messages.Ask(**ask))
    answers = [draw(lab.engine.cache, lab.clock.now(), lab.randomness, command).answer for _ in range(n)]
    decided = [one for one in answers if isinstance(one, messages.Decided)]
    assert len(decided) == n
    assert all(one.propensity == one.probabilities[one.arm] for one in decided)
    return Counter(one.arm for one in decided), decided[0]


def caught(p: list[float], n: int = N) -> float:
    """The smallest shift between the two likeliest arms that is seen with 99 %, in share."""
    threshold = stats.chi2.ppf(1.0 - ALARM, len(p) - 1)
    first, second = sorted(p)[-2:]
    for shift in (step / 10_000 for step in range(1, 1000)):
        distance = n * shift**2 * (1.0 / first + 1.0 / second)
        if stats.ncx2.sf(threshold, len(p) - 1, distance) >= 0.99:
            return shift
    return 1.0


def check(counts: Counter[str], answer: messages.Decided) -> None:
    assert abs(sum(answer.probabilities.values()) - 1.0) <= 1e-12
    served = {arm: p for arm, p in answer.probabilities.items() if p > 0.0}
    assert set(counts) <= set(served)
    expected = [N * p for p in served.values()]
    if len(served) > 1:
        assert stats.chisquare([counts[arm] for arm in served], expected).pvalue > ALARM
        assert caught(list(served.values())) <= 0.015


def learned(lab: Lab, arms: str = "abcd", **more: Any) -> None:
    """An experiment whose learner has an opinion."""
    lab.open(arms=list(arms), **more)
    for i in range(60):
        one = lab.engine.decide("x")
        lab.engine.reward(str(one.decision_id), float(one.arm == "b") if i % 5 else 0.5)
    lab.work()


def test_plain(lab: Lab) -> None:
    learned(lab)
    counts, answer = drawn(lab)
    check(counts, answer)
    assert len(set(answer.probabilities.values())) > 1  # it has an opinion


def test_floors(lab: Lab) -> None:
    learned(lab, floors={"a": 0.3, "c": 0.2})
    counts, answer = drawn(lab)
    check(counts, answer)
    assert answer.probabilities["a"] >= 0.3 and answer.probabilities["c"] >= 0.2


def test_caps(lab: Lab) -> None:
    learned(lab, caps={"b": 0.3, "d": 0.0})
    counts, answer = drawn(lab)
    check(counts, answer)
    assert answer.probabilities["b"] == 0.3 and counts["d"] == 0


def test_pauses(lab: Lab) -> None:
    learned(lab, floors={"a": 0.3})
    lab.pause("a")
    counts, answer = drawn(lab)
    check(counts, answer)
    assert set(answer.probabilities) == {"b", "c", "d"}  # and its floor is the others' again


def test_allowed_arms(lab: Lab) -> None:
    learned(lab, floors={"a": 0.3}, caps={"b": 0.4})
    counts, answer = drawn(lab, allowed_arms=["d", "b", "a"])
    check(counts, answer)
    assert set(answer.probabilities) == {"a", "b", "d"}
    assert answer.probabilities["a"] >= 0.3 and answer.probabilities["b"] <= 0.4


def test_allowed_and_paused(lab: Lab) -> None:
    learned(lab)
    lab.pause("a")
    counts, answer = drawn(lab, allowed_arms=["a", "b"], n=100)
    assert counts == {"b": 100} and answer.propensity == 1.0
    with pytest.raises(Conflicting, match=r"none of allowed_arms \['a'\] is active in 'x'"):
        lab.engine.decide("x", allowed_arms=["a"])


def piled_up(lab: Lab, **more: Any) -> None:
    """A learner with an opinion, and so many open decisions that 64 pulls are planned, which are served otherwise."""
    lab.open(arms=list("abcd"), **more)
    for i in range(60):
        one = lab.engine.decide("x", allowed_arms=["abcd"[i % 4]])
        lab.engine.reward(str(one.decision_id), 0.2 if i == 1 else float(i % 8 > 3))
    lab.work()
    for _ in range(70):
        lab.engine.decide("x")
    lab.work()
    snapshot = lab.engine.cache.get("x")
    assert snapshot.m == 64
    of_one = served_by(lab.engine.cache.learner(snapshot), snapshot.active(), 1)
    assert max(abs(of_one[arm] - share) for arm, share in snapshot.probabilities.items()) > 0.05


def test_planned(lab: Lab) -> None:
    piled_up(lab)
    check(*drawn(lab))
    check(*drawn(lab, allowed_arms=["a", "b", "c"]))


def test_planned_with_floors_and_caps(lab: Lab) -> None:
    piled_up(lab, floors={"a": 0.3}, caps={"b": 0.3, "d": 0.2})
    for allowed in (None, ["b", "a", "d"]):
        counts, answer = drawn(lab, allowed_arms=allowed)
        check(counts, answer)
        assert answer.probabilities["a"] >= 0.3
        assert answer.probabilities["b"] <= 0.3 and answer.probabilities["d"] <= 0.2


def test_holdout_is_even_over_what_may_be_served(lab: Lab) -> None:
    learned(lab, holdout_share=0.999)
    counts, answer = drawn(lab)
    assert answer.stream == "holdout" and answer.probabilities == dict.fromkeys("abcd", 0.25)
    assert stats.chisquare([counts[arm] for arm in "abcd"]).pvalue > ALARM


def test_nothing_of_next_to_no_share_is_served(lab: Lab) -> None:
    """A cap of 1e-300: a draw of exactly 0.0 served it, once in 2**53, and its squared weight is past all floats."""
    lab.open(arms=["a", "b"], caps={"a": 1e-300})
    distribution = lab.engine.cache.get("x").distribution(
        "learn", None, lambda: lab.engine.cache.learner(lab.engine.cache.get("x"))
    )
    assert distribution.probabilities["a"] == 1e-300
    assert [distribution.draw(u) for u in (0.0, 5e-324, 0.5, 1.0 - 2.0**-53)] == ["b"] * 4


def test_the_ends_of_the_generator(lab: Lab) -> None:
    lab.open(arms=["a", "b", "c"], caps={"c": 0.0})
    snapshot = lab.engine.cache.get("x")
    distribution = snapshot.distribution("learn", None, lambda: lab.engine.cache.learner(snapshot))
    assert distribution.draw(0.0) == "a" and distribution.draw(1.0 - 2.0**-53) == "b"


def test_an_arm_has_an_even_share_until_its_first_reward(lab: Lab) -> None:
    """The first arm of a new experiment had 95 % until its first reward, which may take hours to come."""
    lab.open(arms=["a", "b", "c", "d"], control=None)
    assert lab.engine.experiment("x").arms[0].probability == 0.25
    for value in (0.2, 0.9, 0.4, 0.6) * 10:
        lab.engine.reward(str(lab.engine.decide("x").decision_id), value)
        lab.work()
    lab.engine.add_arm("x", messages.NewArm(arm="new"))
    shares = {arm.arm: arm.probability for arm in lab.engine.arms("x")}
    assert shares["new"] <= 0.2 and abs(sum(shares.values()) - 1.0) < 1e-12
    lab.engine.reward(str(lab.engine.decide("x", allowed_arms=["new"]).decision_id), 1.0)
    lab.work()
    assert {row.arm: row.tried for row in lab.engine.cache.get("x").arms}["new"]


@pytest.mark.parametrize(
    ("caps", "tried", "expected"),
    [
        ([1.0, 1.0], [False, False], [0.5, 0.5]),
        ([1.0, 1.0], [True, False], [1.0, 0.5]),
        ([0.2, 1.0, 1.0], [True, False, False], [0.2, 0.4, 0.4]),
        ([0.2, 0.3, 1.0], [False, False, False], [0.2, 0.3, 0.5]),
        ([0.1, 0.2], [False, False], [0.1, 0.2]),
        ([0.5, 0.5], [True, True], [0.5, 0.5]),
    ],
)
def test_limits_of_shares(caps: list[float], tried: list[bool], expected: list[float]) -> None:
    rows = [
        ArmRow(str(i), i, "active", 0.0, cap, None, known)
        for i, (cap, known) in enumerate(zip(caps, tried, strict=True))
    ]
    assert share_limits(rows) == pytest.approx(expected, abs=1e-12)
