"""docs/guarantee.md, Lemmas 4 and 5 and the certificate: inequalities that hold on every path, however it came about.

Nothing here is statistical: a single violation is a wrong step or a wrong proof, and only rounding is forgiven. The
lemmas do not ask how arms were drawn, so in some games they are drawn to make the estimates as wild as they can be.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import compiles_nothing
from tests.naive import guarantee as naive
from tests.naive.comparator import recursion
from tests.naive.guarantee import Tuning
from tests.theory.games import TUNINGS, Game, estimates, play

pytestmark = compiles_nothing

ROUNDING = 1e-10  # of the numbers that go into a sum
S_MAX = 4


# --- one step ---


def kl(v: list[float], p: list[float]) -> float:
    return math.fsum(x * math.log(x / y) for x, y in zip(v, p, strict=True))


@st.composite
def steps(draw: st.DrawFn) -> tuple[list[float], list[float], list[float]]:
    """A distribution, exponents, and floors below it."""
    n = draw(st.integers(2, 6))
    floors = [10**power / n for power in draw(st.lists(st.floats(-6, -0.1), min_size=n, max_size=n))]
    weights = [10**power for power in draw(st.lists(st.floats(-6, 0), min_size=n, max_size=n))]
    p = naive.clip([w / math.fsum(weights) for w in weights], floors)
    fallen = draw(st.sampled_from([1.0, 0.5, 1e-3]))
    x = draw(st.lists(st.floats(-1, 1) | st.floats(-30, 30), min_size=n, max_size=n))
    return p, x, [fallen * floor for floor in floors]


@given(steps())
def test_one_step_of_the_master(case: tuple[list[float], list[float], list[float]]) -> None:
    p, x, floors = case
    after = naive.entropy_step(p, x, floors)
    assert math.fsum(after) == pytest.approx(1, rel=1e-12)
    assert all(y >= floor for y, floor in zip(after, floors, strict=True))
    untouched = all(y > floor for y, floor in zip(after, floors, strict=True))
    for j in range(len(p)):
        v = naive.inside(j, floors)
        left = math.fsum((p_i - v_i) * x_i for p_i, v_i, x_i in zip(p, v, x, strict=True))
        right = kl(v, p) - kl(v, after) + naive.gap(p, x)
        size = 1 + abs(left) + kl(v, p) + kl(v, after)
        assert left <= right + ROUNDING * size
        if untouched:
            assert left == pytest.approx(right, abs=ROUNDING * size)


@given(steps())
def test_the_gap_is_at_most_the_curve_times_the_variance(case: tuple[list[float], list[float], list[float]]) -> None:
    p, x, _ = case
    mean = math.fsum(p_i * x_i for p_i, x_i in zip(p, x, strict=True))
    scale = max(1.0, mean - min(x))  # now no centred exponent is below -1
    x = [x_i / scale for x_i in x]
    close = 1e-14 * (1 + max(abs(x_i) for x_i in x))
    assert -close <= naive.gap(p, x) <= naive.curve(1) * naive.spread(p, x) * (1 + ROUNDING) + close


def test_projection_by_hand() -> None:
    assert naive.clip([0.5, 0.4, 0.1], [0.1, 0.1, 0.1]) == pytest.approx([0.5, 0.4, 0.1])
    assert naive.clip([2.0, 1.0, 0.0], [0.1, 0.1, 0.4]) == pytest.approx([0.4, 0.2, 0.4])
    # Lifting the last leaves 0.6 for 8:1, so that the second falls under its own floor.
    assert naive.clip([8.0, 1.0, 0.01], [0.1, 0.09, 0.4]) == pytest.approx([0.51, 0.09, 0.4])
    with pytest.raises(ValueError, match="floors"):
        naive.clip([1.0, 1.0], [0.7, 0.7])


# --- whole games ---

GAMES = [(tuning, drawn, seed) for tuning in TUNINGS for drawn in ("served", "uniform", "rare") for seed in range(2)]


@pytest.fixture(scope="module", params=GAMES, ids=lambda case: f"{TUNINGS.index(case[0])}-{case[1]}-{case[2]}")
def game(request: pytest.FixtureRequest) -> Game:
    tuning, drawn, seed = request.param
    return play(tuning, 300, drawn, seed)


def not_above(left: float, right: float, size: float) -> None:
    assert left <= right + ROUNDING * size, f"{left} > {right}"


def test_the_master_against_every_base(game: Game) -> None:
    tuning, rounds, _ = game
    gaps, variance = naive.master_gap(tuning, rounds), naive.master_variance(tuning, rounds)
    not_above(gaps, variance, variance)
    for h in range(tuning.H):
        pairs = []
        for one in rounds:
            v = naive.inside(h, tuning.floors(one.N))
            pairs += [(p - v_i) * x for p, v_i, x in zip(one.p, v, one.x, strict=True)]
        size = math.fsum(abs(x) for x in pairs)
        not_above(math.fsum(pairs), naive.master_start(tuning, h, len(rounds)) + gaps, size)


def test_the_master_against_the_worst_sequences_of_bases(game: Game) -> None:
    tuning, rounds, _ = game
    gaps = naive.master_gap(tuning, rounds)
    left, rows = [], []
    for one in rounds:
        floors = tuning.floors(one.N)
        left += [(p - floor) * x for p, floor, x in zip(one.p, floors, one.x, strict=True)]
        rows.append([(1 - math.fsum(floors)) * x for x in one.x])
    size = math.fsum(abs(x) for x in left) + math.fsum(abs(x) for row in rows for x in row)
    for n, least in enumerate(recursion(rows, S_MAX)):
        not_above(math.fsum(left) - least, naive.master_switches(tuning, len(rounds), n) + gaps, size)


def dearest_paths(game: Game, j: int) -> tuple[float, list[float]]:
    """sum beta_t sum_k estimate, and the least sum of (1 - K beta_t) estimate over paths of 0, 1, … switches."""
    tuning, rounds, _ = game
    betas = [tuning.beta(j, one.N) for one in rounds]
    weighted = [[(1 - tuning.K * beta) * x for x in estimates(one)] for one, beta in zip(rounds, betas, strict=True)]
    shared = math.fsum(beta * sum(estimates(one)) for one, beta in zip(rounds, betas, strict=True))
    return shared, recursion(weighted, S_MAX)


def test_the_mix_loss_of_every_clipped_base_against_the_worst_paths(game: Game) -> None:
    """Lemma 5 with its gap as it is, for all; that of base 0 is what is refunded."""
    tuning, rounds, _ = game
    for j in range(tuning.n_clipped):
        shared, least = dearest_paths(game, j)
        mixes = [naive.mix_loss(one.P[j][one.a], one.ell / one.q[one.a], tuning.xi(j, one.N)) for one in rounds]
        mean = math.fsum(one.P[j][one.a] * one.ell / one.q[one.a] for one in rounds)
        if j == 0:
            assert mean - math.fsum(mixes) == pytest.approx(math.fsum(one.r for one in rounds), rel=1e-9, abs=1e-9)
        for S, path in enumerate(least):
            allowed = naive.base_switches(tuning, j, len(rounds), S)
            not_above(math.fsum(mixes) - shared - path, allowed, mean + shared + path + allowed)


def test_the_certificate_holds_on_every_path(game: Game) -> None:
    """The two inequalities of the proof of Theorem W, added up."""
    tuning, rounds, _ = game
    shared, least = dearest_paths(game, 0)
    T = len(rounds)
    master = math.fsum(p * x for one in rounds for p, x in zip(one.p, one.x, strict=True))
    others = math.fsum(
        floor * (x - one.x[0]) for one in rounds for floor, x in zip(tuning.floors(one.N)[1:], one.x[1:], strict=True)
    )
    covered = math.fsum(
        one.x[0] - naive.mix_loss(one.P[0][one.a], one.ell / one.q[one.a], tuning.xi(0, one.N)) for one in rounds
    )
    sizes = math.fsum(abs(x) for one in rounds for x in one.x)
    for S, path in enumerate(least):
        right = naive.certificate(tuning, rounds, S) - naive.refunds(rounds)
        right -= naive.master_floors(tuning, T, 0) + naive.base_clipping(tuning, 0, T)
        not_above(master - covered - others - shared - path, right, sizes + shared + path + abs(right))


def test_exponents_refunds_and_gaps_are_as_small_as_the_proof_says(game: Game) -> None:
    tuning, rounds, _ = game
    for one in rounds:
        eta, xi, P, e = tuning.eta(one.N), tuning.xi(0, one.N), one.P[0][one.a], one.ell / one.q[one.a]
        mean = math.fsum(p * x for p, x in zip(one.p, one.x, strict=True))
        assert min(eta * (x - mean) for x in one.x) >= -1 - 2 * eta - ROUNDING
        assert min(eta * x for x in one.x) >= -1 - ROUNDING
        assert -ROUNDING * P * e <= one.r <= min(P * e, xi * P * e * e / 2) * (1 + ROUNDING) + ROUNDING * P * e
        assert one.p[0] * one.r <= 1 + ROUNDING
        delta = naive.gap(one.p, [eta * x for x in one.x]) / eta
        assert -ROUNDING <= delta <= 1 + max(one.g) + (math.e - 2) * one.g[one.a] + ROUNDING


def test_these_games_double_and_meet_every_floor() -> None:
    for tuning in TUNINGS:
        rounds = [one for seed in range(2) for one in play(tuning, 300, "rare", seed).rounds]
        assert len({one.N for one in rounds}) >= 5
        late = [one for one in rounds if one.N == 512]
        clipped = [(tuning.beta(j, 512), row) for one in late for j, row in enumerate(one.P[: tuning.n_clipped])]
        arms = [x / beta for beta, row in clipped for x in row]
        bases = [x / floor for one in late for x, floor in zip(one.p, tuning.floors(512), strict=True)]
        assert min(arms) == pytest.approx(1) and min(bases) == pytest.approx(1)


# --- the master alone: charges that no band would make ---

CHARGE = st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1.0, 20.0)


@given(st.lists(st.lists(CHARGE, min_size=3, max_size=3), min_size=1, max_size=80), st.sampled_from([0.1, 0.5, 2.0]))
def test_changing_rates_and_floors(exponents: list[list[float]], pace: float) -> None:
    tuning = Tuning(K=2, n_clipped=2, n_specialists=1, first=2, pace=pace, trust=0.4, even=True)
    p = tuning.prior()
    left, gaps, size = [0.0] * 3, 0.0, 0.0
    for t, x in enumerate(exponents, 1):
        N = tuning.guess(t)
        eta, floors = tuning.eta(N), tuning.floors(N)
        for h in range(3):
            v = naive.inside(h, floors)
            left[h] += math.fsum((p_i - v_i) * x_i for p_i, v_i, x_i in zip(p, v, x, strict=True)) / eta
        gaps += naive.gap(p, x) / eta
        size += max(abs(x_i) for x_i in x) / eta
        p = naive.entropy_step(p, x, floors)
    for h in range(3):
        not_above(left[h], naive.master_start(tuning, h, len(exponents)) + gaps, size)
