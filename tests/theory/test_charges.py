"""The charges of docs/guarantee.md, Lemmas 1 to 3: one round, every draw it can have, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import compiles_nothing
from tests.naive import guarantee as naive

pytestmark = compiles_nothing


class State(NamedTuple):
    """What a round is served from, and the losses it will meet."""

    p: list[Fraction]
    P: list[list[Fraction]]
    q: list[Fraction]
    g: list[Fraction]
    losses: list[Fraction]
    eta: Fraction
    b: Fraction


def shares(numbers: list[int]) -> list[Fraction]:
    return [Fraction(number, sum(numbers)) for number in numbers]


@st.composite
def states(draw: st.DrawFn) -> State:
    K, H = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    units = st.integers(0, 12).map(lambda n: Fraction(n, 12))
    p = shares(draw(st.lists(st.sampled_from([1, 2, 30, 1000]), min_size=H, max_size=H)))
    P = [shares(draw(st.lists(st.sampled_from([1, 5, 200]), min_size=K, max_size=K)))]  # clipped: no arm has none
    for _ in range(H - 1):
        arm = draw(st.integers(0, K - 1))
        point = [Fraction(k == arm) for k in range(K)]
        P.append(draw(st.sampled_from([point, P[0][::-1]])))
    losses = draw(st.lists(units, min_size=K, max_size=K))
    b, eta = draw(units), draw(st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(1, 50)]))
    q = naive.mixture(p, P)
    g = naive.baselines(q, draw(st.sets(st.integers(0, K - 1))), eta, b)
    return State(p, P, q, g, losses, eta, b)


def dot(x: list[Fraction], y: list[Fraction]) -> Fraction:
    return sum((i * j for i, j in zip(x, y, strict=True)), Fraction(0))


def draws(state: State) -> list[tuple[Fraction, list[Fraction]]]:
    """Every arm that can be drawn: its probability, and the charges of that round."""
    return [
        (q, naive.charges(state.P, q, state.g, a, loss))
        for a, (q, loss) in enumerate(zip(state.q, state.losses, strict=True))
    ]


@given(states())
def test_charges_are_unbiased(state: State) -> None:
    for h, row in enumerate(state.P):
        assert sum(q * d[h] for q, d in draws(state)) == dot(row, state.losses)


@given(states())
def test_the_variance_estimate_of_a_clipped_base_is_unbiased(state: State) -> None:
    P = state.P[0]
    arms = list(zip(P, state.q, state.losses, strict=True))
    assert sum(q * (x * (loss / q) ** 2) for x, q, loss in arms) == sum(x * loss**2 / q for x, q, loss in arms)


@given(states())
def test_how_far_exponents_are_below_0(state: State) -> None:
    for _, d in draws(state):
        mean = dot(state.p, d)
        assert min(state.eta * d_h for d_h in d) >= -1
        assert min(state.eta * (d_h - mean) for d_h in d) >= -1 - state.eta * state.b


@given(states())
def test_second_moments(state: State) -> None:
    K, H = len(state.q), len(state.p)
    mean_spread = sum(q * naive.spread(state.p, d) for q, d in draws(state))
    L = [dot(row, state.losses) for row in state.P]
    rest = [dot(row, state.losses) - dot(row, state.g) for row in state.P]
    importance = sum(
        (loss - g) ** 2 * (sum(p * row[a] ** 2 for p, row in zip(state.p, state.P, strict=True)) / q - q)
        for a, (q, g, loss) in enumerate(zip(state.q, state.g, state.losses, strict=True))
    )
    assert mean_spread == importance + naive.spread(state.p, L) - naive.spread(state.p, rest)
    assert mean_spread <= min(K, H) - Fraction(3, 4)
    assert sum(q * dot(state.p, [d_h**2 for d_h in d]) for q, d in draws(state)) <= min(K, H) + 1


@given(states(), st.lists(st.integers(0, 12).map(lambda n: Fraction(n, 12)), min_size=5, max_size=5))
def test_the_same_with_any_refund_of_base_0(state: State, kept: list[Fraction]) -> None:
    """Lemmas 2 and 3 for x, where `kept[a]` of the mean loss is the mix loss when arm a is drawn."""
    K, H = len(state.q), len(state.p)
    square = paid = Fraction(0)
    for a, (q, d) in enumerate(draws(state)):
        mean = state.P[0][a] * state.losses[a] / q
        refund = mean * (1 - kept[a])
        x = [d[0] - refund, *d[1:]]
        centre = dot(state.p, x)
        assert min(state.eta * x_h for x_h in x) >= -1
        assert min(state.eta * (x_h - centre) for x_h in x) >= -1 - 2 * state.eta
        assert state.p[0] * refund <= 1
        square += q * dot(state.p, [x_h**2 for x_h in x])
        paid += q * state.p[0] * refund
    assert square <= min(K, H) + 1
    assert paid <= dot(state.P[0], state.losses) * state.p[0]


def test_the_second_moment_and_the_refund_come_near_their_bounds() -> None:
    # K bases, each sure of an arm of its own, all as likely, without baselines: the second moment is K, of K + 1.
    K = 20
    points = [[Fraction(k == h) for k in range(K)] for h in range(K)]
    p = [Fraction(1, K)] * K
    d = naive.charges(points, Fraction(1, K), [Fraction(0)] * K, 0, Fraction(1))
    assert dot(p, [x * x for x in d]) == K
    # The slow base alone, uniform, with a small rate: its refund is xi (K - 1)/2, of xi K/2.
    xi = 1e-4
    refund = 1.0 - naive.mix_loss(1 / K, float(K), xi)
    assert 0.94 * xi * K / 2 < refund < xi * K / 2


SURE = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]  # two bases, each sure of an arm


def test_minus_one_and_what_is_below_it_are_approached() -> None:
    # Arm 0, which is rarely served, costs nothing; arm 1, with its whole baseline, makes the mean.
    eta, b, rare = Fraction(1, 2), Fraction(1), Fraction(1, 1000)
    p = [rare, 1 - rare]
    d = naive.charges(SURE, p[0], naive.baselines(p, {0, 1}, eta, b), 0, Fraction(0))
    assert eta * d[0] == -1 + rare
    assert -1 - eta * b <= eta * (d[0] - dot(p, d)) < -1 - eta * b + 4 * rare


def test_with_the_curve_at_one_the_gap_can_be_larger_than_the_variance() -> None:
    # Why c is not e - 2: the case above, with the rate that ships.
    eta, rare = 0.04, 1e-4
    p, P = [rare, 1 - rare], [[1.0, 0.0], [0.0, 1.0]]
    d = naive.charges(P, rare, naive.baselines(p, {0, 1}, eta, 1.0), 0, 0.0)
    gap, variance = naive.gap(p, [eta * d_h for d_h in d]), eta**2 * naive.spread(p, d)
    assert naive.curve(1) * variance < gap <= naive.curve(1 + eta) * variance


def test_with_the_whole_baseline_an_exponent_falls_below_minus_one() -> None:
    p = [Fraction(1, 100), Fraction(99, 100)]
    assert naive.baselines(p, {0}, Fraction(1, 2), Fraction(1)) == [Fraction(1, 50), 0]
    assert Fraction(1, 2) * min(naive.charges(SURE, p[0], [Fraction(1), Fraction(0)], 0, Fraction(0))) < -1
