"""The oracles of rules that begin anew at random, on cases worked by hand."""

from __future__ import annotations

from itertools import product
from math import inf, log, prod, sqrt

import pytest

from tests.naive.black_box import MasterUCB, Meta


def never(m: int) -> float:
    return 1.0 - 2.0**-53


def always(m: int) -> float:
    return 0.0


def test_blocks_double_and_begin_with_nothing() -> None:
    rule = MasterUCB(2, 8, never)
    sizes = []
    for _ in range(7 + 2 * 8):
        sizes.append(2**rule.n)
        assert rule.acting().order == rule.n
        if not rule.R:
            assert rule.indices() == [inf, inf]
        rule.tell(0, 0.5)
    assert sizes == [1, 2, 2, *4 * [4], *2 * 8 * [8]]  # past the horizon the last length repeats
    assert rule.n_restarts == 0


def test_the_shortest_copy_plays_and_the_others_wait() -> None:
    rule = MasterUCB(2, 8, always)
    for _ in range(3):
        rule.tell(0, 1.0)  # blocks 0 and 1
    assert [(copy.order, copy.start) for copy in rule.copies] == [(0, 0), (1, 0), (2, 0)]
    rule.tell(1, 0.0)
    assert [(copy.order, copy.start) for copy in rule.copies[3:]] == [(0, 1)]
    rule.chance = never
    rule.tell(1, 0.0)  # tau = 2: nothing starts, so order 2 plays at last, and order 1 never did
    assert rule.acting().order == 2 and [copy.samples for copy in rule.copies] == [[(1, 1.0)], [], [], [(1, 1.0)]]
    rule.tell(0, 0.75)
    rule.tell(0, 0.25)
    assert rule.n == 3 and not rule.R  # only order 3, and never() starts none of the others
    for a, loss in ((0, 0.0), (1, 0.5), (0, 0.5)):
        rule.tell(a, loss)
    assert rule.indices() == pytest.approx([0.75 + sqrt(2 * log(3) / 2), 0.5 + sqrt(2 * log(3))], rel=1e-15)


def test_chances_of_starting() -> None:
    # K = 1, block of order 2: rho(4) = 1/2 + 1/4; rho(1) = 2, rho(2) = sqrt(1/2) + 1/2: chances 0.375 and 0.6213.
    for drawn, orders in ((0.38, [1, 2]), (0.62, [1, 2]), (0.63, [2]), (0.37, [0, 1, 2])):
        rule = MasterUCB(1, 8, never)
        rule.tell(0, 0.5)
        rule.tell(0, 0.5)
        rule.chance = dict.fromkeys(range(3), drawn).__getitem__
        rule.tell(0, 0.5)
        assert rule.n == 2 and [copy.order for copy in rule.copies] == orders
    rule = MasterUCB(1, 8, always, replays=0.0)
    for _ in range(3):
        rule.tell(0, 0.5)
    assert [copy.order for copy in rule.copies] == [2]


def test_the_tests() -> None:
    # K = 1, T = 2: rhat(1) = 6 · 2 · 2 ln 2 · 2 · scale = 33.27 scale. Test 2 in round 1: g - R = 1 ≥ 3 rhat(1).
    whole = 6 * 2 * 2 * log(2) * 2
    for scale, n_restarts in ((0.99 / 3 / whole, 1), (1.01 / 3 / whole, 0)):
        rule = MasterUCB(1, 2, never, scale=scale)
        rule.tell(0, 1.0)
        assert rule.n_restarts == n_restarts and rule.fired == n_restarts * ["test 2"]
    # Test 1: T = 16, block of order 4, rewards 1/2, then 1, exploration next to 0. g = 1, 1/2, 3/4, … so U = 1/2, and
    # the mean over order 4 is 15.5/16, above U by 0.46875 = 9 rho(16)/6, rho(16) = 5/16: it fires if rhat ≤ rho/6.
    # Test 2 is far from it: g - R is 1/2 at first, 3 rhat(1) = 1, and then never above 0 in sum.
    for part, fired in ((0.999, ["test 1"]), (1.001, [])):
        rule = MasterUCB(1, 16, never, scale=part / 6 / (6 * 5 * 2 * log(16)), exploration=1e-30)
        rule.begin(4)
        for n in range(16):
            assert rule.fired == []
            rule.tell(0, 0.0 if n else 0.5)
        assert rule.fired == fired and rule.n_restarts == len(fired) and rule.n == (0 if fired else 4)


def test_an_arm_that_looks_worse_is_dropped_by_the_base() -> None:
    # K = 2, factor 0.9: the threshold is 1.8 for up to 3 rounds. A reward of 1 served with 1/2 counts 2.
    rule = Meta(2, 100, never, eviction=0.9 / log(100))
    assert rule.probabilities() == [0.5, 0.5]
    rule.tell(0, 0.2, 0.5)
    assert rule.d(0, 0, 1) == 1.6 and rule.d(0, 1, 0) == -1.6 and rule.probabilities() == [0.5, 0.5]  # 1.6 ≤ 1.8
    rule.tell(1, 1.0, 0.5)
    assert rule.starts() == [1, 0] and rule.probabilities() == [0.5, 0.5]
    rule.tell(0, 0.5, 0.5)  # 1.6 + 1 > 1.8 over all three rounds
    assert rule.starts() == [2, 0] and rule.probabilities() == [1.0, 0.0] and rule.master == {0}
    rule.tell(0, 0.5, 1.0)
    assert rule.d(3, 0, 1) == 0.0  # arm 1 was not in the set: the round says nothing of it
    assert rule.starts() == [3, 2, 0] and rule.n_restarts == 0


def test_a_replay_gives_all_arms_a_new_chance_and_may_end_the_episode() -> None:
    rule = Meta(2, 100, never, eviction=0.9 / log(100))
    rule.tell(0, 0.0, 0.5)
    assert rule.master == {0}
    rule.chance = {0: 0.75}.__getitem__  # after 2 rounds a replay of 4 or more starts with 0.7015, of 2 or more 0.8508
    rule.tell(0, 1.0, 1.0)
    assert [(base.start, base.end) for base in rule.stack[1:]] == [(2, 4)] and rule.probabilities() == [0.5, 0.5]
    rule.chance = never
    for _ in range(2):
        rule.tell(0, 1.0, 0.5)
        assert rule.probabilities() == [0.5, 0.5]
    rule.tell(0, 1.0, 0.5)  # rounds 2, 3 and 4 were the replay's; the first base still has dropped arm 1
    assert rule.probabilities() == [1.0, 0.0]
    rule.chance = always
    rule.tell(0, 1.0, 1.0)
    assert (rule.stack[-1].start, rule.stack[-1].end) == (6, 6 + 128)
    rule.chance = never
    rule.tell(1, 0.0, 0.5)  # 2 > 1.8 in one round: arm 0 goes too, and none is left
    assert rule.n_restarts == 1 and rule.rounds == [] and rule.master == {0, 1} and len(rule.stack) == 1


def test_the_longest_replay_has_the_law_of_independent_starts() -> None:
    """All 2^4 outcomes of B for m = 2, 4, 8, 16, added up."""
    rule = Meta(2, 16, never, eviction=1.0)
    rule.rounds = [(0, 0.0, {0, 1})] * 3
    lengths = [2, 4, 8, 16]
    law = dict.fromkeys([0, *lengths], 0.0)
    for starts in product((False, True), repeat=4):
        chances = [1 / sqrt(3 * m) for m in lengths]
        p = prod(c if start else 1 - c for c, start in zip(chances, starts, strict=True))
        law[max((m for m, start in zip(lengths, starts, strict=True) if start), default=0)] += p
    edge = 0.0
    for m in (16, 8, 4, 2):
        assert rule.longest(edge + 1e-12) == m
        edge += law[m]
        assert rule.longest(edge - 1e-12) == m
    assert rule.longest(edge + 1e-12) is None
