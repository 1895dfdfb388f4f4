"""The mirror-descent inequalities behind both theorems, on the paths of the compiled learners.

They hold on every path, not only on average: a single violation is a wrong step or a wrong proof. In every round, for
every comparator u of the clipped simplex, with D the divergence at the round's rates and p' the distribution after it,
    <p - u, loss>  ≤  D(u, p) - D(u, p') + <p - p', loss> - D(p', p),  an equality if p' touches no floor          (1)
    <p - p', loss> - D(p', p)  ≤  stability                                                                       (2)
    stability = (rate/2) sum_i p_i loss_i²  (entropy),   sum_i (eta_i/2) p_i² loss_i²  (log-barrier).
(1) says that p' is the minimiser, and its equality that the test is sharp. Summed up, with what changing rates add or
take off, they give the lemmas of Kim & Yun's appendix in the reading of docs/mathematics.md. Clipped corners are enough
for comparators in (1): the difference of its sides is linear in u, since D(u, p) - D(u, p') is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.cases import some
from tests.oracle.pairs import MASTERS, draw, feed
from turncoat import kim_yun
from turncoat.types import Matrix, Vector

K, T, S = 3, 1500, 3
ROUNDING = 1e-11  # of the numbers that go into a sum
SEEDS = range(3)
MODES = ["own", "shared"]
ALGORITHM_1 = "master-base {} exact"
ALGORITHM_2 = "adaptive-master-base {} exact paper"


class Path(NamedTuple):
    """A game: distributions and rates before each round and after the last, and the estimates of each round."""

    p: Matrix  # (T + 1, H)
    bases: Any  # (T + 1, H, K)
    eta: Matrix  # (T + 1, H)
    xi: Matrix  # (T + 1, H)
    rho: Matrix  # (T + 1, H); zeros for Algorithm 1
    of_bases: Matrix  # (T, H): the master's estimates l'
    of_arms: Any  # (T, H, K): each base's estimates l''
    alpha: float
    beta: float


def best_arm(t: int) -> int:
    """The comparator: S switches, equal segments."""
    return t * (S + 1) // T % K


def play(name: str, seed: int, boost: float = 1.0) -> Path:
    """One game; a boosted first rate drives bases to the floor, and makes the rates of Algorithm 2 rise often."""
    master: Any = MASTERS[name].make(K, T, seed)
    state = master.view()
    state.eta[:] *= boost
    H, rng = master.candidates.size, np.random.default_rng(seed)
    shown: list[list[Any]] = []
    of_bases, of_arms = np.zeros((T, H)), np.zeros((T, H, K))
    for t in range(T + 1):
        rho = master.rho if hasattr(master, "rho") else np.zeros(H)
        shown.append([state.p.copy(), master.base_probabilities, state.eta.copy(), state.xi.copy(), rho])
        if t == T:
            break
        one: Any = draw(master)
        loss = float(rng.random() * 0.3 if one.a == best_arm(t) else rng.random() < 0.8)
        if master.feedback == "own":
            of_bases[t, one.base] = loss / one.p_master
            of_arms[t, one.base, one.a] = of_bases[t, one.base] / one.p_base
        else:
            of_arms[t, :, one.a] = loss / one.q
            of_bases[t] = shown[t][1][:, one.a] * loss / one.q
        feed(master, one._replace(loss=loss))
    p, bases, eta, xi, rhos = (np.array(column) for column in zip(*shown, strict=True))
    return Path(p, bases, eta, xi, rhos, of_bases, of_arms, float(state.alpha), float(state.beta))


def corners(n: int, floor: float) -> Matrix:
    """The distributions that leave all but one coordinate at the floor, one a row."""
    return np.full((n, n), floor) + (1 - n * floor) * np.eye(n)


def phi(y: Any) -> Any:
    return y - 1 - np.log(y)


class Rounds(NamedTuple):
    """The parts of (1) and (2), one number a round."""

    left: Vector
    before: Vector  # D(u, p)
    after: Vector  # D(u, p')
    moved: Vector  # <p - p', loss> - D(p', p)
    stability: Vector


def entropy_rounds(u: Vector, p: Matrix, rate: Vector, loss: Matrix) -> Rounds:
    def kl(x: Any, y: Any) -> Any:
        return (x * np.log(x / y)).sum(axis=-1) / rate

    p, after = p[:-1], p[1:]
    moved = ((p - after) * loss).sum(axis=-1) - kl(after, p)
    return Rounds(((p - u) * loss).sum(axis=-1), kl(u, p), kl(u, after), moved, rate / 2 * (p * loss**2).sum(axis=-1))


def barrier_rounds(u: Vector, p: Matrix, eta: Matrix, loss: Matrix) -> Rounds:
    def divergence(x: Any, y: Any) -> Any:
        return (phi(x / y) / eta).sum(axis=-1)

    p, after = p[:-1], p[1:]
    moved = ((p - after) * loss).sum(axis=-1) - divergence(after, p)
    stability = (eta / 2 * p**2 * loss**2).sum(axis=-1)
    return Rounds(((p - u) * loss).sum(axis=-1), divergence(u, p), divergence(u, after), moved, stability)


def check(rounds: Rounds, lowest: Vector, floor: float) -> int:
    """(1) and (2) in every round; the number of rounds in which (1) had to be an equality, and something moved."""
    left, before, after, moved, stability = rounds
    close = ROUNDING * (1 + np.abs(left) + before + after)
    slack = before - after + moved - left
    assert (slack >= -close).all(), f"(1) in round {slack.argmin()}: short by {-slack.min():.3g}"
    assert (moved <= stability + close).all(), f"(2) in round {(stability - moved).argmin()}"
    free = lowest > floor * 1.000001
    assert (np.abs(slack) <= close)[free].all(), f"(1) is no equality: {np.abs(slack)[free].max():.3g}"
    return int((free & (stability > 0)).sum())


def segments(path: Path, h: int, rate: Vector) -> tuple[float, float]:
    """Base h against the changing best arm: its estimated regret, and its stability."""
    regret, stability = 0.0, 0.0
    for t in range(T):
        u, p, loss = corners(K, path.beta)[best_arm(t)], path.bases[t, h], path.of_arms[t, h]
        regret += float(((p - u) * loss).sum())
        stability += float(rate[t] / 2 * (p * loss**2).sum())
    return regret, stability


def check_bases(path: Path) -> None:
    """(1) and (2) for every base, and the lemma for bases: with falling rates, if they fall."""
    far = math.log(1 / path.beta)
    n_equal = 0
    for h in range(path.p.shape[1]):
        p, xi = path.bases[:, h], path.xi[:-1, h]
        for u in corners(K, path.beta):
            n_equal += check(entropy_rounds(u, p, xi, path.of_arms[:, h]), p[1:].min(axis=1), path.beta)
        regret, stability = segments(path, h, xi)
        first, last = path.xi[0, h], path.xi[-1, h]
        assert last <= first
        starts = (S * far + math.log(K)) / first + (S + 1) * far * (1 / last - 1 / first)
        assert regret <= starts + stability
    assert n_equal > T / 10


@pytest.mark.parametrize("boost", [1.0, 10.0])
@pytest.mark.parametrize("seed", some(SEEDS, 1))
@pytest.mark.parametrize("feedback", MODES)
def test_algorithm_1(feedback: str, seed: int, boost: float) -> None:
    path = play(ALGORITHM_1.format(feedback), seed, boost)
    H, eta = path.p.shape[1], float(path.eta[0, 0])
    assert (path.eta == eta).all() and (path.xi == path.xi[0]).all()
    n_equal = 0
    for u in corners(H, path.alpha):
        rounds = entropy_rounds(u, path.p, path.eta[:-1, 0], path.of_bases)
        n_equal += check(rounds, path.p[1:].min(axis=1), path.alpha)
        assert rounds.left.sum() <= math.log(H) / eta + rounds.stability.sum()  # the master's lemma
    assert n_equal > T / 10
    check_bases(path)


@pytest.mark.parametrize("boost", [1.0, 25.0, 400.0])
@pytest.mark.parametrize("seed", some(SEEDS, 1))
@pytest.mark.parametrize("feedback", MODES)
def test_algorithm_2(feedback: str, seed: int, boost: float) -> None:
    path = play(ALGORITHM_2.format(feedback), seed, boost)
    H, eta = path.p.shape[1], path.eta
    n_equal = 0
    for h, u in enumerate(corners(H, path.alpha)):
        rounds = barrier_rounds(u, path.p, eta[:-1], path.of_bases)
        n_equal += check(rounds, path.p[1:].min(axis=1), path.alpha)
        gained = ((1 / eta[:-1] - 1 / eta[1:]) * phi(u / path.p[1:])).sum(axis=0)  # by each base whose rate rose
        start, last = float((phi(u * H) / eta[0]).sum()), float((phi(u / path.p[-1]) / eta[-1]).sum())
        right = start - gained.sum() - last + rounds.moved.sum()
        assert rounds.left.sum() <= right + 1e-9 * (start + last + gained.sum() + rounds.moved.sum())  # (1), summed
        assert rounds.left.sum() <= start - gained[h] + rounds.stability.sum()  # the master's lemma
        assert gained[h] >= (path.rho[-1, h] - 2 * H) * u[h] / (40 * eta[0, 0] * math.log(T))  # and its last step
        assert gained[h] == pytest.approx(change_gains(path, h, u[h]), rel=1e-9)
    assert n_equal > T / 10
    check_bases(path)


def change_gains(path: Path, h: int, u: float) -> float:
    """N of docs/mathematics.md: what the rises of base h's rate take off, from the values rho went through."""
    risen = path.rho[1:, h][np.diff(path.rho[:, h]) > 0]
    gamma = kim_yun.growth_2(T)
    gains = [(1 - 1 / gamma) / (path.eta[0, 0] * gamma**i) * float(phi(u * x / 2)) for i, x in enumerate(risen)]
    return math.fsum(gains)


def test_rates_rise_and_fall_and_floors_are_met_in_these_games() -> None:
    path = play(ALGORITHM_2.format("own"), 0, boost=25.0)
    rises = (np.diff(path.eta, axis=0) > 0).sum(axis=0)
    assert rises.max() >= 3 and (rises > 0).sum() >= 3
    assert (path.xi[-1] < 0.5 * path.xi[0]).sum() >= 2
    for path in (play(ALGORITHM_1.format("own"), 0, boost=10.0), play(ALGORITHM_2.format("own"), 0, boost=400.0)):
        assert path.bases.min() == pytest.approx(path.beta)
        assert path.p.min() == pytest.approx(path.alpha)


@pytest.mark.parametrize("name", [ALGORITHM_1, ALGORITHM_2])
def test_the_stability_is_sharp_at_small_rates(name: str) -> None:
    # In (2) the right side is not much more than is needed: 80 % of it would be violated.
    path = play(name.format("own"), 0, boost=0.1)
    u = corners(path.p.shape[1], path.alpha)[0]
    if name == ALGORITHM_1:
        rounds = entropy_rounds(u, path.p, path.eta[:-1, 0], path.of_bases)
    else:
        rounds = barrier_rounds(u, path.p, path.eta[:-1], path.of_bases)
    assert rounds.moved.sum() > 0.8 * rounds.stability.sum()
