"""The verbs over arrays do what as many calls of ask, tell and observe do, to the bit."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import EVERYONE, SEEING_ALL, Maker, contents, each, without_delays
from turncoat.errors import (
    ArmsError,
    DecisionError,
    DecisionTypeError,
    LossError,
    LossTypeError,
    ObserveError,
    OptionError,
    TurncoatError,
)

SOME = (
    *("exp3-loss", "band-anytime", "discounted-thompson", "restarted-exp3", "fixed-share", "dlinucb", "turncoat"),
    "corral",
)
FEW = EVERYONE if numba.config.DISABLE_JIT else [(name, make) for name, make in EVERYONE if name in SOME]
ONE_ARM_AT_A_TIME = [(name, make) for name, make in FEW if (name, make) not in SEEING_ALL]


def losses_for(learner: tc.Learner, n: int) -> Any:
    """Losses of n rounds, in the range from -1 to 3."""
    shape = (n, learner.n_arms) if learner.sees_all else n
    return np.random.default_rng(n).uniform(-1.0, 3.0, shape)


def plain_words(learner: tc.Learner, n: int) -> dict[str, Any]:
    """What makes a single ask plan as an ask of n does."""
    return {"m": 1 << ((learner.n_waiting + max(n, 1)).bit_length() - 1)} if learner.plans_ahead else {}


@pytest.mark.jit_off
@each(FEW, kinds=False)
def test_batches_are_single_calls(make: Maker) -> None:
    """Several batches, told in part, and the rest later, with rewards."""
    many, single = (make(4, 10**6, seed=3, loss_range=(-1, 3)) for _ in range(2))
    for n in (1, 7, 0, 30):
        words = plain_words(single, n)
        decided, one_by_one = many.ask_many(n), [single.ask(**words) for _ in range(n)]
        assert len(decided) == n and [*decided] == [d._replace(learner=many._token) for d in one_by_one]
        assert decided.indices.tolist() == [decision.index for decision in one_by_one]
        assert decided.arms == [decision.arm for decision in one_by_one]
        if decided.propensities is None:
            assert all(decision.propensity is None for decision in one_by_one)
        else:
            assert decided.propensities.tolist() == [decision.propensity for decision in one_by_one]
        losses = losses_for(many, n)
        first = np.arange(n) % 3 == 0
        many.tell_many(decided[first], losses[first])
        for i in np.flatnonzero(first):
            single.tell(one_by_one[i], losses[i])
        many.tell_many(decided[~first], rewards=losses[~first])
        for i in np.flatnonzero(~first):
            single.tell(one_by_one[i], **{"rewards" if single.sees_all else "reward": losses[i]})
        assert contents(many) == contents(single)
        assert many.n_waiting == single.n_waiting
    assert many.n_outstanding == 0


@pytest.mark.jit_off
@each(ONE_ARM_AT_A_TIME, kinds=False)
def test_observing_many_is_observing_one_by_one(make: Maker) -> None:
    many, single = (make(4, 10**6, seed=3, loss_range=(-1, 3)) for _ in range(2))
    losses, chance = losses_for(many, 20), np.random.default_rng(1)
    arms, served = chance.integers(0, 4, 20), chance.uniform(0.1, 1.0, 20)
    try:
        for k, loss, q in zip(arms.tolist(), losses.tolist(), served.tolist(), strict=True):
            single.observe(k, loss, q)
    except ObserveError:
        with pytest.raises(ObserveError):
            many.observe_many(arms, losses, served)
        return
    many.observe_many(arms, losses, served)
    assert contents(many) == contents(single)


@pytest.mark.jit_off
def test_turncoat_observes_many_planned_rounds() -> None:
    many, single = tc.Turncoat(4, seed=3), tc.Turncoat(4, seed=3)
    for at in range(10):
        many.observe_many([at % 4] * 8, [0.5, 0.0, 1.0, 0.25] * 2, np.full(8, 0.25), m=8)
        for loss in [0.5, 0.0, 1.0, 0.25] * 2:
            single.observe(at % 4, loss, 0.25, m=8)
    assert contents(many) == contents(single)


@pytest.mark.jit_off
def test_a_batch_has_one_m_and_may_leave_arms_out() -> None:
    learner, other = tc.Turncoat(list("abcd"), seed=3), tc.Turncoat(list("abcd"), seed=3)
    for one in (learner, other):
        one.tell(one.ask(), 0.5)
    assert [learner.ask_many(5).m, other.ask_many(5, m=3).m] == [4, 2]
    assert learner.n_waiting == 0  # all delays were 1 so far, so that none of them is waited for
    assert learner.ask_many(60).m == 32
    decided = learner.ask_many(50, allowed=["b", "d"])
    assert set(decided.arms) == {"b", "d"} and decided.allowed == (1, 3) and decided[0].allowed == (1, 3)
    learner.tell_many(decided, np.linspace(0.0, 1.0, 50))
    assert learner.n_told == 51


@pytest.mark.jit_off
def test_an_adaptive_range_and_restarts_take_batches_by_hand() -> None:
    many, single = (tc.Turncoat(3, seed=2, loss_range="adaptive") for _ in range(2))
    losses = np.random.default_rng(2).normal(0.0, 9.0, 40)
    decided, one_by_one = many.ask_many(40), [single.ask(m=32) for _ in range(40)]
    many.tell_many(decided, losses)
    for decision, loss in zip(one_by_one, losses.tolist(), strict=True):
        single.tell(decision, loss)
    assert contents(many) == contents(single)


@pytest.mark.jit_off
@each(FEW, kinds=False)
def test_a_bad_batch_is_refused_and_changes_nothing(make: Maker) -> None:
    learner, stranger = make(3, 10**6, seed=3), make(3, 10**6, seed=3)
    decided, foreign = learner.ask_many(6), stranger.ask_many(1)
    before = learner.state()
    good = np.full((6, 3), 0.5) if learner.sees_all else np.full(6, 0.5)
    for value in (math.nan, 1.5, -1e-9, math.inf):
        bad = good.copy()
        bad[5] = value
        with pytest.raises(LossError, match=r"accepted are"):
            learner.tell_many(decided, bad)
    with pytest.raises(LossError, match="accepted are"):
        learner.tell_many(decided, good[:5])
    with pytest.raises(LossTypeError, match=r"only one of them|accepted are"):
        learner.tell_many(decided, "no" if not learner.sees_all else ["no"] * 6)
    with pytest.raises(DecisionError, match="another learner"):
        learner.tell_many(foreign, good[:1])
    with pytest.raises(DecisionError, match="stands twice"):
        learner.tell_many(decided[[0, 1, 0]], good[:3])
    with pytest.raises(DecisionTypeError, match="accepted is what ask_many returned"):
        learner.tell_many([*decided], good)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="n is -1; accepted are whole numbers"):
        learner.ask_many(-1)
    assert learner.state() == before
    learner.tell_many(decided[:2], good[:2])
    with pytest.raises(DecisionError, match="was told or forgotten already"):
        learner.tell_many(decided, good)
    learner.tell_many(decided[2:], good[2:])
    assert learner.n_outstanding == 0


@pytest.mark.jit_off
def test_bad_observed_batches_are_refused() -> None:
    learner = tc.Turncoat(3, seed=1)
    before = learner.state()
    bad: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        (([0, 3], [0.5, 0.5], [0.5, 0.5]), {}, r"indices\[1\] is 3; accepted are whole numbers from 0 to 2"),
        (([0.5], [0.5], [0.5]), {}, r"indices is \[0.5\]; accepted are whole numbers"),
        (([0, 1], [0.5], [0.5, 0.5]), {}, "1 in number; accepted are 2 numbers"),
        (([0, 1], [0.5, 2.0], [0.5, 0.5]), {}, r"losses\[1\] is 2.0; accepted are 2 numbers from 0.0 to 1.0"),
        (([0, 1], [0.5, 0.5], [0.5, 0.0]), {}, r"propensities\[1\] is 0.0; accepted are 2 numbers above 0"),
        (([0, 1], [0.5, 0.5]), {}, "propensities is None; accepted are 2 numbers"),
        (([0], [0.5], [0.5]), {"m": 0}, "m is 0; accepted are whole numbers of at least 1"),
        (([0], [0.5], [0.5]), {"rewards": [0.5]}, "only one of them"),
    ]
    for words, named, text in bad:
        with pytest.raises(TurncoatError, match=text):
            learner.observe_many(*words, **named)
    assert learner.state() == before
    with pytest.raises(OptionError, match="m is 2, and Exp3 does not plan ahead"):
        tc.Exp3(3, seed=1).ask_many(4, m=2)
    with pytest.raises(ArmsError, match="Exp3 cannot choose among some of its arms only"):
        tc.Exp3(3, seed=1).ask_many(4, allowed=[1])
    with pytest.raises(ArmsError, match="plays points of a ball"):
        tc.SwitchingLinear(2, 100, seed=1).ask_many(2)


@pytest.mark.jit_off
def test_batches_outlive_a_save() -> None:
    learner = tc.Turncoat(3, seed=1)
    decided = learner.ask_many(100)
    back = tc.restore(learner.state())
    back.tell_many(decided, np.linspace(0.0, 1.0, 100))
    learner.tell_many(decided, np.linspace(0.0, 1.0, 100))
    assert contents(back) == contents(learner)
    assert without_delays(back)["outstanding"] == without_delays(learner)["outstanding"]
