"""AdSwitch against its whole history, teacher-forced: the same arms, restarts and obligations, numbers within 1e-12.

The oracle is told the same rounds, in order or late, and given the same random numbers, from its own generator. It asks
too, so every arm is compared. Losses change, so that there is something to find.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turncoat as tc
from tests.naive import ad_switch as naive
from tests.naive.driver import PATTERNS, Row
from tests.oracle.test_changes import changing
from tests.oracle.test_random import naive_words
from turncoat.errors import StateError
from turncoat.learners import AdSwitch
from turncoat.learners.stochastic.ad_switch import oblige
from turncoat.random import NEVER

CLOSE = 1e-12

WORDS: dict[str, dict[str, float]] = {
    "as it comes": {"confidence": 0.5, "elimination": 0.5, "precision": 2.0, "exploration": 0.1},
    "the paper's": {"confidence": 2.0, "elimination": 16.1, "precision": 16.0, "exploration": 1.0},
    "touchy": {"confidence": 0.2, "elimination": 0.2, "precision": 8.0, "exploration": 10.0},
    "looking again": {"confidence": 0.4, "elimination": 0.1, "precision": 2.0, "exploration": 20.0},
}


def stream(words: Any) -> Callable[[], float]:
    """The learner's random numbers, from another generator; far more than a short game draws."""
    drawn = iter(naive_words([int(word) for word in words], 4000))
    return lambda: (next(drawn) >> 11) * 2.0**-53


def pair(K: int, T: int, words: dict[str, float], seed: int = 1) -> tuple[AdSwitch, naive.AdSwitch]:
    learner = AdSwitch(K, T, seed=seed, **words)  # type: ignore[arg-type]
    return learner, naive.AdSwitch(K, T, stream(learner.view().rng), **words)  # type: ignore[arg-type]


def assert_alike(learner: AdSwitch, oracle: naive.AdSwitch) -> None:
    state = learner.view()
    assert learner.n_restarts == oracle.episode_number - 1
    assert learner.good == oracle.good()
    assert learner.probabilities().tolist() == [float(arm == oracle.turn()) for arm in range(oracle.K)]
    for a in range(oracle.K):
        assert max(state.due[a] - state.counts[a], 0) == (oracle.owed(a) if a in oracle.bad else 0)
        assert [r for r in state.coming[a].tolist() if r < NEVER] == [
            r for (arm, _), r in sorted(oracle.coming.items()) if arm == a
        ]
        if a in oracle.bad:
            assert state.means[a] == pytest.approx(oracle.bad[a].mean, rel=CLOSE, abs=1e-15)
            assert state.gaps[a] == pytest.approx(oracle.gaps[a], rel=CLOSE)
        else:
            assert (state.lo[a], state.hi[a]) == pytest.approx(oracle.bounds(a), rel=CLOSE, abs=CLOSE)


def game(words: dict[str, float], K: int, T: int, rows: Iterator[Row], *, delay: int = 0, seed: int = 1) -> Any:
    """Both play, and are compared after every tell; what the oracle saw."""
    learner, oracle = pair(K, T, words, seed)
    chance = random.Random(seed)
    outstanding: list[tuple[int, float]] = []
    for row in rows:
        arm = learner._ask(learner._buffer)[0]
        assert arm == oracle.ask()
        outstanding.append((arm, float(row[arm])))
        if len(outstanding) > delay:
            arm, loss = outstanding.pop(chance.randrange(len(outstanding)))
            assert learner._tell(learner._buffer, arm, loss, 1.0) == oracle.t + 1
            oracle.tell(arm, loss)
            assert_alike(learner, oracle)
    return oracle


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("name", WORDS)
def test_a_whole_game(name: str, K: int) -> None:
    oracle = game(WORDS[name], K, 300, changing(300, K, 3))
    if name in ("touchy", "as it comes"):
        assert oracle.causes  # or there was nothing to compare


@pytest.mark.jit_off
def test_a_game_with_everything_in_it() -> None:
    """Both kinds of alarm, and obligations that were drawn: or the comparison says nothing about them."""
    causes, n_obligations = [], 0
    for seed in range(6):
        oracle = game(WORDS["looking again"], 3, 300, changing(300, 3, seed), seed=seed)
        causes += oracle.causes
        n_obligations += oracle.n_obligations
    assert {"good", "bad"} <= set(causes) and n_obligations > 20


@pytest.mark.parametrize("name", WORDS)
def test_late_and_shuffled_tells(name: str) -> None:
    for pattern in (changing, PATTERNS["real_valued"], PATTERNS["one_then_another"]):
        game(WORDS[name], 4, 120, pattern(120, 4, 2), delay=20)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", WORDS)
def test_every_pattern_of_losses(name: str) -> None:
    for pattern in PATTERNS.values():
        game(WORDS[name], 3, 60, pattern(60, 3, 1), delay=2)


@pytest.mark.jit_off
@pytest.mark.parametrize("T", [1, 2, 3])
def test_the_smallest_horizons_and_rounds_beyond_them(T: int) -> None:
    for K in (1, 2, 4):
        for words in WORDS.values():
            game(words, K, T, PATTERNS["bernoulli"](3 * T + 40, K, 1))


@pytest.mark.jit_off
def test_a_new_episode_begins_where_no_arm_is_left() -> None:
    """Arm 0 was better once and arm 1 is now, or the other way round: with small constants both go in one round."""
    causes = []
    for told in (
        [(0, 1.0), (0, 1.0), (0, 0.75), (0, 1.0), (0, 0.0), (1, 0.75), (1, 0.25)],
        [(1, 0.75), (1, 0.25), (0, 0.5), (1, 0.0), (0, 0.0)],
    ):
        words = {**WORDS["as it comes"], "confidence": 1000.0, "elimination": 0.001 if told[0][0] else 0.05}
        learner, oracle = pair(2, 100, words)
        for arm, loss in [*told, (0, 0.5), (1, 0.25), (0, 0.0)]:
            learner.observe(arm, loss)
            oracle.tell(arm, loss)
            assert_alike(learner, oracle)
            assert learner.probabilities().sum() == 1.0
        causes += oracle.causes
        assert tc.restore(learner.state()).state() == learner.state()
    assert causes == ["none left"] * 2


@pytest.mark.jit_off
def test_what_is_owed_in_the_longest_games_is_a_number() -> None:
    """4^i ln T is more than an integer of 64 bits holds."""
    learner = AdSwitch(2, 2**53, seed=1, elimination=0.001, precision=1000.0)
    state = learner.view()
    for size in range(state.n_sizes):
        state.due[:] = 0.0
        state.coming[1, size] = 1.0
        oblige(state)
        assert state.due[1] == min(math.floor(state.c * 4.0 ** (size + 1)), NEVER)
    assert state.c * 4.0**state.n_sizes > 2.0**63
    assert tc.restore(learner.state()).state() == learner.state()


@pytest.mark.jit_off
@pytest.mark.parametrize("row", [0, 2])
def test_sums_from_before_anything_was_counted_are_not_restored(row: int) -> None:
    """Row 0, the start, is never written: a value there would be subtracted from every mean of all episodes."""
    learner = AdSwitch(1, 100, seed=1)
    for _ in range(3):
        learner.observe(0, 0.0)
    assert tc.restore(learner.state()).state() == learner.state()
    learner.view().past_sums[row, 0] += 1.0
    with pytest.raises(StateError, match="past_sums"):
        tc.restore(learner.state())


@pytest.mark.jit_off
def test_a_mean_is_not_above_1_in_rounding() -> None:
    """Sums of 1 + 3 ulp and, a reward of 1 later, 2 + 4 ulp: a gap above 1 would find no 2^-i ≥ gap/precision."""
    learner, oracle = pair(2, 100, {**WORDS["as it comes"], "confidence": 1000.0})
    ulp = 2.0**-52
    early = [(1, 0.5 - 2 * ulp), (1, 0.5 - ulp), (0, 0.5 - 2 * ulp), (0, 0.5 - ulp)]
    for arm, loss in [*early, (1, 0.0), (0, 1.0), (0, 1.0), (0, 1.0), (0, 1.0)]:
        learner.observe(arm, loss)
        oracle.tell(arm, loss)
        assert_alike(learner, oracle)
    state = learner.view()
    assert learner.good == [1] and state.gaps[0] == 1.0 and state.coming[0, 0] < NEVER
    assert state.sums[1] - (1 + 3 * ulp) > 1.0
    assert tc.restore(learner.state()).state() == learner.state()


# -- the paper's intervals ------------------------------------------------------------------------------------------

rewards = st.lists(st.sampled_from([0.0, 1.0]) | st.sampled_from([k / 8 for k in range(9)]), min_size=1, max_size=14)


@pytest.mark.jit_off
@settings(max_examples=80, deadline=None)
@given(rewards, st.sampled_from([0.1, 0.3, 1.0]))
def test_bounds_find_what_all_pairs_of_intervals_find(values: list[float], c: float) -> None:
    """With every start kept the largest lower end is above the smallest upper end iff two intervals disagree."""
    assert naive.alarm_by_bounds(values, c) == naive.alarm_by_pairs(values, c)


@pytest.mark.jit_off
@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=60))
def test_no_alarm_without_one_of_the_papers(values: list[float]) -> None:
    """One arm, the starts that are kept: an alarm comes no earlier than with all of them."""
    learner = AdSwitch(1, 60, seed=1, confidence=0.3)
    for n, value in enumerate(values, 1):
        learner.observe(0, 1 - value)
        if learner.n_restarts:
            assert 0 < naive.alarm_by_bounds(values, 0.3 * math.log(60)) <= n
            break


@pytest.mark.jit_off
def test_of_every_dyadic_length_one_interval_is_kept() -> None:
    """Row j + 1 is the latest odd multiple of 2^j; so some row is from 2^j to 2^(j+1) - 1 rounds old, for every j."""
    learner = AdSwitch(1, 300, seed=1, confidence=1000.0)
    for t in range(1, 301):
        learner.observe(0, 0.5)
        rows = learner.view().past_counts[:, 0]
        for j in range(t.bit_length()):
            assert rows[j + 1] % 2 ** (j + 1) == 2**j and t - rows[j + 1] < 2 ** (j + 1)
            assert any(2**j <= t - before < 2 ** (j + 1) for before in rows[: t.bit_length() + 1])


# -- what public versions get wrong ---------------------------------------------------------------------------------


def play(learner: AdSwitch, losses: list[float]) -> int:
    """One round with these losses of the arms; the arm."""
    decision = learner.ask()
    learner.tell(decision, loss=losses[decision.index])
    return decision.index


def rejected(gap: float, **words: float) -> AdSwitch:
    """Two arms in turn, the second worse by this gap, until it is BAD."""
    learner = AdSwitch(2, 10_000, seed=1, elimination=0.1, **words)  # type: ignore[arg-type]
    while len(learner.good) == 2:
        play(learner, [0.0, gap])
    return learner


@pytest.mark.jit_off
@pytest.mark.parametrize(("gap", "n"), [(1.0, 4), (0.75, 4), (0.5, 5), (0.375, 5), (0.25, 6)])
def test_changes_of_a_sixteenth_of_the_gap_are_looked_for(gap: float, n: int) -> None:
    """SMPyBandits looks for sizes 2^-i ≥ gap only: none, none, 1, 1 and 2 of these."""
    state = rejected(gap, precision=16.0).view()
    assert state.gaps[1] == gap and np.sum(state.coming[1] < NEVER) == n


@pytest.mark.jit_off
def test_every_pull_is_counted() -> None:
    """The Julia version of Besson et al. sets an arm's count to +1 instead of adding 1."""
    learner = AdSwitch(3, 10_000, seed=1)
    for n in range(1, 31):
        play(learner, [0.5] * 3)
        assert learner.view().counts.tolist() == [math.ceil((n - arm) / 3) for arm in range(3)]


@pytest.mark.jit_off
def test_an_arm_is_known_by_its_own_number() -> None:
    """That version also takes the place of an arm among the candidates for the arm: with 0 BAD it plays 0 on."""
    learner = AdSwitch(3, 1000, seed=1, exploration=0.0)
    while 0 in learner.good:
        play(learner, [1.0, 0.0, 0.0])
    assert learner.good == [1, 2]
    first = play(learner, [0.0] * 3)
    assert [play(learner, [0.0] * 3) for _ in range(4)] == [3 - first, first] * 2


@pytest.mark.jit_off
def test_an_interval_without_samples_has_no_mean() -> None:
    """SMPyBandits gives it the mean 0 and the count 1: an arm that was never played would be BAD, or would change."""
    learner = AdSwitch(2, 1000, seed=1, elimination=0.001, confidence=0.001)
    for _ in range(50):
        learner.observe(1, 0.0)
    assert learner.good == [0, 1] and learner.n_restarts == 0


@pytest.mark.jit_off
def test_obligations_end_with_their_episode() -> None:
    """SMPyBandits keeps them: what was owed by an arm that is GOOD again, and perhaps BAD later."""
    learner = rejected(1.0, precision=16.0, exploration=1000.0)
    for _ in range(300):
        play(learner, [0.0, 1.0])
    state = learner.view()
    assert state.due[1] > state.counts[1] and learner.good == [0]
    while learner.n_restarts == 0:
        play(learner, [1.0, 0.0])
    assert not state.due.any() and (state.coming == NEVER).all() and learner.good == [0, 1]
