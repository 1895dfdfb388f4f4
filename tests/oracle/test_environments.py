"""Environments against their formulas: kernels against plain Python, and each family against what its file says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.naive import environments as naive
from turncoat._compile.games import loss_of, mean_of
from turncoat.environments import (
    SCENARIOS,
    Burst,
    Corrupted,
    Drift,
    Flip,
    HiddenSteps,
    LateArm,
    LevelJumps,
    LowerBound,
    Piecewise,
    RandomWalk,
    SecondArm,
    Stationary,
    StochasticallyConstrained,
    scenario,
)
from turncoat.environments.segments import Segments, scattered
from turncoat.random import uniform_at
from turncoat.types import Ints, Matrix

pytestmark = pytest.mark.jit_off

TOLERANCE = 1e-14


def lengths(game: Segments) -> Ints:
    """How long each stretch of the planted path is."""
    gaps: Ints = np.diff(game.game.path_edges)
    return gaps


def two_levels(path: Ints, K: int, gap: float) -> Matrix:
    """The means of a game in which the planted arm is ahead of all others by a gap around 1/2."""
    return np.where(np.arange(K) == path[:, None], (1 - gap) / 2, (1 + gap) / 2)


def test_the_naive_hash_knows_splitmix64() -> None:
    """The published generator, seeded with 0, gives these first two outputs (its reference code prints them)."""
    assert naive._mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF
    assert naive._mix(2 * 0x9E3779B97F4A7C15 % 2**64) == 0x6E789E6AA1B965F4


def test_hash() -> None:
    rng = np.random.default_rng(0)
    for seed in rng.integers(0, 2**64, 5, dtype=np.uint64):
        for t in (0, 1, 2, 10**9, 2**53 - 1, *rng.integers(0, 2**40, 20).tolist()):
            for arm in (0, 1, 2, 65_535):
                assert uniform_at(seed, t, arm) == naive.uniform_at(int(seed), t, arm)


@pytest.mark.parametrize("name", [name for name in SCENARIOS if "adaptive" not in name])
def test_losses_and_means(name: str) -> None:
    """Segment by looking at all of them, exact fractions, the hash in whole numbers."""
    environment = scenario(name, 3000, seed=4)
    assert isinstance(environment, Segments)
    game, noise = environment.game, environment.noise
    edges = game.edges.tolist()
    for t in np.random.default_rng(1).integers(0, 3000, 12).tolist():
        for arm in range(environment.n_arms):
            mean = naive.mean_at(edges, game.means.tolist(), game.drifting, t, arm)
            assert abs(Fraction(mean_of(game, t, arm)) - mean) <= TOLERANCE
            drawn = naive.mean_at(edges, game.drawn.tolist(), game.drifting, t, arm)
            loss = naive.loss_at(drawn, naive.uniform_at(int(game.seed), t, arm), noise)
            assert abs(Fraction(loss_of(game, t, arm)) - loss) <= TOLERANCE


def test_noise_stays_in_range_and_keeps_the_mean() -> None:
    """Opposite numbers u and 1 - u give losses that lie opposite of the mean, so their average is the mean."""
    for mean in (0.0, 5e-324, 1e-300, 0.1, 0.3, 0.5, 0.7, 0.9, np.nextafter(1.0, 0.0), 1.0):
        for spread in (0.0, 1e-9, 0.2, 0.5):
            for u in (0.0, 2.0**-53, 0.25, 0.5, 0.9, 1.0 - 2.0**-53):
                loss = scattered(mean, u, False, spread)
                assert 0.0 <= loss <= 1.0 and abs(loss - mean) <= spread + 1e-16
                if u > 0.0:
                    assert (loss + scattered(mean, 1.0 - u, False, spread)) / 2 == pytest.approx(mean, abs=1e-15)
    assert [scattered(0.3, u, True, 0.0) for u in (0.0, 0.29999, 0.3, 0.9)] == [1.0, 1.0, 0.0, 0.0]
    assert [scattered(mean, u, True, 0.0) for mean in (0.0, 1.0) for u in (0.0, 1.0 - 2.0**-53)] == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("seed", range(4))
def test_families_with_two_levels(seed: int) -> None:
    """Piecewise, flips, bursts: the planted arm ahead by the gap, wherever the switches are."""
    T, K = 500, 4
    games: list[tuple[Segments, float]] = [
        (Stationary(K, T, gap=0.2, seed=seed), 0.2),
        (Piecewise(K, T, 7, gap=0.3, seed=seed), 0.3),
        (Flip(K, T, 9, gap=0.4, seed=seed), 0.4),
        (Burst(K, T, 20, gap=0.5, seed=seed), 0.5),
        (LowerBound(K, T, 3, seed=seed), math.sqrt(3 * 4 / 500)),
        (LowerBound(K, T, 0, seed=seed), math.sqrt(4 / 500)),
    ]
    for game, gap in games:
        assert np.allclose(game.means(), two_levels(game.planted_path(), K, gap), rtol=0, atol=TOLERANCE)


def test_switches_are_where_they_should_be() -> None:
    assert Piecewise(3, 200, 199, seed=1).n_switches == 199
    flip = Flip(5, 1003, 9, n_best=3, seed=2)
    assert set(lengths(flip).tolist()) == {100, 101}
    turns = flip.game.path_arms
    assert len(set(turns.tolist())) == 3 and np.array_equal(turns[3:], turns[:-3])
    for seed in range(30):
        burst = Burst(4, 1000, 50, fraction=0.1, seed=seed).game.path_edges[1:-1]
        assert burst.size == 50 and burst[-1] - burst[0] < 100
    assert Burst(4, 1000, 50, fraction=0.0, seed=0).n_switches == 50  # as narrow as 50 switches can be
    assert LowerBound(10, 10, 9).gap == 1.0
    bound = LowerBound(2, 1000, 99, seed=1)
    assert bound.n_switches < 99  # a best arm may be drawn twice in a row: with two arms about half the time


def test_bursts_lie_anywhere() -> None:
    """Over 200 seeds every tenth of the game sees a burst begin: 1e-8 that one does not (20 of 200 expected)."""
    firsts = [Burst(3, 1000, 1, fraction=0.0, seed=seed).game.path_edges[1] for seed in range(200)]
    assert set((np.array(firsts) // 100).tolist()) == set(range(10))
    assert min(firsts) >= 1


def test_resampled_means() -> None:
    game = Piecewise(6, 4000, 300, gap=0.1, resampled=True, seed=3)
    rows = game.game.means
    ordered = np.sort(rows, axis=1)
    assert np.all(ordered[:, 1] - ordered[:, 0] >= 0.1 - TOLERANCE)
    assert rows.min() >= 0.0 and rows.max() <= 1.0
    assert np.unique(rows).size == rows.size  # every arm changes at every switch
    assert np.array_equal(rows.argmin(axis=1), game.game.path_arms)


def test_level_jumps() -> None:
    game = LevelJumps(4, 2000, 30, n_switches=5, gap=0.3, seed=8)
    means, path = game.means(), game.planted_path()
    others = np.delete(means, 0, axis=1)
    high = means.max(axis=1) == 1.0
    assert np.count_nonzero(np.diff(high)) == 30 and game.n_switches == 5
    best = np.where(high, 0.7, 0.0)
    worse = np.where(high, 1.0, 0.3)
    expected = np.where(np.arange(4) == path[:, None], best[:, None], worse[:, None])
    assert others.shape == (2000, 3) and np.allclose(means, expected, rtol=0, atol=TOLERANCE)
    assert {LevelJumps(2, 50, 1, seed=seed).means()[0].max() for seed in range(20)} == {0.3, 1.0}  # begins at either


@pytest.mark.parametrize(("growth", "gap"), [(1.6, 0.1), (1.1, 0.3), (2, 1.0), (1000, 0.0)])
def test_stochastically_constrained(growth: float, gap: float) -> None:
    """Phase i lasts ⌊growth^i⌋ rounds, high ones and low ones in turns, written out round by round; best arms vary."""
    wanted: list[float] = []
    i = 1
    while len(wanted) < 3000:
        wanted += [1.0 if i % 2 else gap] * min(math.floor(growth**i), 3000)
        i += 1
    worse = np.array(wanted[:3000])
    game = StochasticallyConstrained(4, 3000, gap=gap, growth=growth, seed=8)
    means, best = game.means(), int(game.planted_path()[0])
    assert game.n_switches == 0 and np.all(game.planted_path() == best)
    assert np.allclose(means[:, best], worse - gap, rtol=0, atol=TOLERANCE)
    assert np.allclose(np.delete(means, best, axis=1), worse[:, None], rtol=0, atol=TOLERANCE)
    assert {StochasticallyConstrained(3, 9, seed=seed).planted_path()[0] for seed in range(20)} == {0, 1, 2}


def test_drift_is_a_sinusoid() -> None:
    """A chord of length h is off by at most h²/8 of the amplitude; in games of few rounds the curve is exact.

    The phases, which one seed gives to every horizon, are read off the first two rounds of the long game.
    """
    first, second = Drift(5, 20_000, n_periods=3, amplitude=0.4, seed=6).means()[:2]
    angles = np.arcsin((first - 0.5) / 0.4) / (2 * math.pi)
    phases = np.where(second > first, angles, 0.5 - angles)
    assert np.allclose(np.diff(np.sort(phases % 1.0)), 0.2, atol=1e-6)
    for T, n_rounds in ((20_000, 105), (100, 0)):  # a line's rounds: 20,000 of them on 3 x 64 lines, rounded up
        game = Drift(5, T, n_periods=3, amplitude=0.4, seed=6)
        curve = 0.5 + 0.4 * np.sin(2 * math.pi * (3 * np.arange(T)[:, None] / T + phases))
        off = 0.4 * (2 * math.pi * 3 * n_rounds / T) ** 2 / 8
        assert off < 0.0013 * 0.4  # as the documents say
        assert np.abs(game.means() - curve).max() <= off + 1e-9
        assert game.n_switches == 15  # 5 arms, 3 periods: each arm's trough comes three times


def test_random_walk_is_reflected() -> None:
    """It never stays at an end, as a clipped walk would, nor leaps from one to the other; steps are as long as said.

    6,000 normal steps, of which none is longer than 6 standard deviations (1e-5 that one is), and whose standard
    deviation away from the ends is within 5 % of what was asked for (its own is below 1 %).
    """
    game = RandomWalk(3, 10_000, n_steps=2000, step=0.05, seed=1)
    rows = game.game.means
    steps = np.diff(rows, axis=0)
    assert rows.min() > 0.0 and rows.max() < 1.0 and rows.min() < 0.01 and rows.max() > 0.99
    assert np.abs(steps).max() < 6 * 0.05
    inside = (rows[:-1] > 0.3) & (rows[:-1] < 0.7)
    assert steps[inside].std() == pytest.approx(0.05, rel=0.05)
    assert RandomWalk(3, 50, n_steps=50, step=0.0, seed=1).n_switches == 0


@pytest.mark.parametrize(("K", "S"), [(2, 5), (4, 3), (4, 11), (10, 1)])
def test_hidden_steps(K: int, S: int) -> None:
    game = HiddenSteps(K, 600, S, seed=5)
    best = game.game.path_arms.tolist()
    levels = dict.fromkeys(range(K), 0.75)
    for i in range(S + 1):
        levels[best[i]] = 0.5 * (1 - i / (S + 1))
        assert game.game.means[i].tolist() == [levels[arm] for arm in range(K)]
    assert set(lengths(game).tolist()) <= {600 // (S + 1), 600 // (S + 1) + 1}
    assert np.array_equal(game.losses(), game.means())


def test_late_arm() -> None:
    game = LateArm(4, 90, seed=5)
    losses, (first, late) = game.losses(), game.game.path_arms
    assert lengths(game).tolist() == [60, 30]
    assert sorted(losses[59].tolist()) == [0.5, 0.75, 0.75, 1.0]
    assert (losses[59, first], losses[59, late]) == (0.5, 1.0)
    assert losses[60, late] == 0.0 and np.array_equal(np.delete(losses[60], late), np.delete(losses[59], late))
    assert LateArm(4, 90, start=0.0).n_switches == LateArm(4, 90, start=1.0).n_switches == 0


def test_second_arm() -> None:
    game = SecondArm(4, 100, 3, gap=0.2, seed=5)
    first, second = game.game.path_arms[:2]
    means = game.means()
    assert game.game.path_arms.tolist() == [first, second, first, second] and lengths(game).tolist() == [25] * 4
    assert means[:, first].tolist() == [0.5] * 100
    assert means[:, second].tolist() == pytest.approx([*[0.7] * 25, *[0.3] * 25, *[0.7] * 25, *[0.3] * 25])
    assert np.all(np.delete(means, [first, second], axis=1) == 0.7)


@pytest.mark.parametrize(("budget", "n_bursts"), [(0, 1), (100, 1), (100, 7), (3, 7), (500, 9), (1000, 4), (1000, 1)])
def test_corruption(budget: int, n_bursts: int) -> None:
    """Outside the budget's rounds nothing is touched; inside the best arm costs 1 and the others nothing."""
    game = Corrupted(5, 1000, budget, n_bursts=n_bursts, seed=3)
    clean = Corrupted(5, 1000, 0, seed=3)
    assert np.array_equal(clean.means(), Stationary(5, 1000, seed=3).means())
    best = int(game.planted_path()[0])
    assert game.n_switches == 0 and np.array_equal(game.means(), clean.means())
    losses, untouched = game.losses(), clean.losses()
    overwritten = np.all(losses == (np.arange(5) == best), axis=1)
    touched = np.any(losses != untouched, axis=1)
    corrupted = np.repeat(np.any(game.game.drawn != game.game.means, axis=1), np.diff(game.game.edges))
    assert corrupted.sum() == budget and np.all(overwritten[corrupted]) and not np.any(touched[~corrupted])
    assert np.abs(losses - untouched).max(axis=1).sum() <= budget
    if budget:
        assert corrupted[0]
    starts = np.flatnonzero(np.diff(np.concatenate([[0], corrupted.astype(int)])) == 1)
    assert len(starts) == (1 if budget == 1000 else min(budget, n_bursts))


FIFTHS = [4000, 8000, 12_000, 16_000]
BESSON_1 = [[0.9, 0.5, 0.3], [0.9, 0.2, 0.3], [0.1, 0.2, 0.3], [0.1, 0.7, 0.3], [0.1, 0.7, 0.5]]
BESSON_2 = [[0.9, 0.5, 0.4], [0.7, 0.4, 0.5], [0.5, 0.3, 0.6], [0.3, 0.2, 0.7], [0.1, 0.1, 0.8]]
BESSON_3 = [
    [0.2769, 0.1817, 0.5667, 0.0130, 0.5938],
    [0.5070, 0.1817, 0.5667, 0.2813, 0.7107],
    [0.5070, 0.1817, 0.5667, 0.1631, 0.3575],
    [0.1681, 0.1817, 0.4112, 0.1631, 0.3575],
    [0.1681, 0.1817, 0.4112, 0.1631, 0.0260],
    [0.4364, 0.4062, 0.4734, 0.5587, 0.0260],
]
GARIVIER = [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]]
PUBLISHED = {  # rounds, breaks, mean rewards, and the switches of the best arm, counted by hand
    "Besson et al., problem 1": (20_000, FIFTHS, BESSON_1, 2),
    "Besson et al., problem 2": (20_000, FIFTHS, BESSON_2, 1),
    "Besson et al., problem 3": (20_000, [6947, 9400, 10_887, 13_633, 16_254], BESSON_3, 2),
    "Garivier & Moulines": (10_000, [3000, 5000], GARIVIER, 2),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_games_can_be_said(name: str) -> None:
    T, breaks, rewards, n_switches = PUBLISHED[name]
    game = Piecewise.from_means(T, breaks, 1 - np.array(rewards), seed=1)
    assert game.n_switches == n_switches
    means = game.means()
    for start, row in zip([0, *breaks], rewards, strict=True):
        assert means[start].tolist() == (1 - np.array(row)).tolist()
        assert start == 0 or np.any(means[start - 1] != means[start])


def test_phases_of_growing_length_can_be_said() -> None:
    """Zimmert & Seldin: means alternate between (0, gap) and (1 - gap, 1) after ⌊1.6^i⌋ rounds; the best arm stays."""
    ends = np.cumsum([int(1.6**i) for i in range(1, 20)])
    rows = [[0.0, 0.1] if i % 2 else [0.9, 1.0] for i in range(len(ends))]
    game = Piecewise.from_means(int(ends[-1]), ends[:-1].tolist(), rows)
    assert game.n_switches == 0 and np.array_equal(np.diff(game.game.edges), [int(1.6**i) for i in range(1, 20)])
    same = next(
        one
        for one in (StochasticallyConstrained(2, game.horizon, seed=i) for i in range(9))
        if not one.game.path_arms[0]
    )
    assert np.array_equal(same.means(), game.means())


def test_a_tie_is_no_switch() -> None:
    assert (
        Piecewise.from_means(9, [3, 6], [[0.5, 0.2], [0.2, 0.2], [0.1, 0.2]]).planted_path().tolist()
        == [1] * 6 + [0] * 3
    )
