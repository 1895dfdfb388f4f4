"""Laws that the oracles of the learners obey whatever they are told."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest

from tests.cases import some
from tests.naive.driver import PATTERNS, Oracle, record, tell
from tests.naive.learners import ClippedOMD, Exp3, Exp3S, Uniform
from tests.naive.masters import AdaptiveMasterBase, MasterBase

MASTERS: list[Callable[..., MasterBase | AdaptiveMasterBase]] = [MasterBase, AdaptiveMasterBase]
MODES = [(feedback, projection) for feedback in ("own", "shared") for projection in ("exact", "mixing")]


def every_learner(K: int, T: int) -> list[Callable[[], Oracle]]:
    singles: list[Callable[[], Oracle]] = [
        lambda: Uniform(K, T),
        lambda: Exp3(K, T),
        lambda: Exp3(K),
        lambda: Exp3(K, T, form="gain"),
        lambda: Exp3S(K, T),
        lambda: Exp3S(K, T, n_switches=3),
        lambda: ClippedOMD(K, T),
        lambda: ClippedOMD(K, T, n_switches=0),
    ]
    return singles + [lambda m=m, f=f, p=p: m(K, T, feedback=f, projection=p) for m in MASTERS for f, p in MODES]


GAMES = [(1, 5, 0), (2, 1, 0), (2, 300, 0), (3, 2, 0), (5, 100, 7)]
FEW = ("real_valued", "all_ones")  # of the long games


@pytest.mark.parametrize(
    ("game", "pattern"),
    some(product(GAMES, PATTERNS), lambda game, pattern: game[1] < 100 or pattern in FEW),
)
def test_probabilities_are_a_distribution_and_a_replay_is_the_play(game: tuple[int, int, int], pattern: str) -> None:
    K, T, delay = game
    for make in every_learner(K, T):
        oracle = make()
        rounds = record(oracle, PATTERNS[pattern](T, K, 1), seed=2, delay=delay)
        again = make()
        for one in rounds:
            tell(again, one)
        assert again.probabilities() == oracle.probabilities()
        served = [oracle.probabilities()]
        if isinstance(oracle, MasterBase | AdaptiveMasterBase):
            assert min(map(min, oracle.bases())) >= 1 / (K * max(T, 2)) * (1 - 1e-15)
            served += [oracle.master(), *oracle.bases()]
        if K == 1:
            assert served[0] == [1.0]
        for p in served:
            assert math.fsum(p) == pytest.approx(1, rel=0, abs=4e-16 * len(p))
            assert min(p) >= 0


def test_exp3_s_without_sharing_is_exp3_on_gains() -> None:
    K, T = 5, 400
    exp3 = Exp3(K, T, form="gain")
    exp3_s = Exp3S(K, T)
    exp3_s.gamma, exp3_s.share = exp3.rate(), exp3_s.share * 0
    for one in record(exp3, PATTERNS["real_valued"](T, K, 1), seed=4):
        tell(exp3_s, one)
    assert exp3_s.probabilities() == pytest.approx(exp3.probabilities(), rel=1e-13, abs=0)


def test_a_shared_master_takes_no_notice_of_the_base_drawn() -> None:
    for make in MASTERS:
        one, other = make(3, 50, feedback="shared"), make(3, 50, feedback="shared")
        for t, drawn in enumerate(record(one, PATTERNS["real_valued"](50, 3, 1), seed=4)):
            tell(other, drawn._replace(base=t % 4, p_master=0.5, p_base=0.5))
        assert other.bases() == one.bases() and other.master() == one.master()


def test_arms_have_no_order() -> None:
    K, T = 4, 60
    order = [2, 0, 3, 1]
    for make in every_learner(K, T):
        oracle, turned = make(), make()
        for one in record(oracle, PATTERNS["bernoulli"](T, K, 3), seed=5):
            tell(turned, one._replace(a=order[one.a]))
        assert [turned.probabilities()[order[a]] for a in range(K)] == pytest.approx(oracle.probabilities(), rel=1e-14)


def test_a_loss_of_zero_moves_no_mirror_descent() -> None:
    for make in [lambda: ClippedOMD(3, 40), *every_learner(3, 40)[8:]]:
        oracle = make()
        before = record(oracle, PATTERNS["all_ones"](40, 3), seed=1)[-1]
        p = oracle.probabilities()
        tell(oracle, before._replace(loss=0.0))
        assert oracle.probabilities() == pytest.approx(p, rel=1e-15, abs=0)
