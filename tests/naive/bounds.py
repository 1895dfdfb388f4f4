"""The bounds of the two theorems, evaluated the slow way: divergences are summed, maxima are searched for.

Kim & Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025, appendix A, with the readings of
docs/mathematics.md. Also a plain game of Algorithm 2, to see its inequalities hold path by path.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tests.naive.solve import REAL, Reals, entropy_step, log_barrier_step, reals


def grid(T: int) -> list[float]:
    """1, r, r², … T with as few steps as make r at most e (a game of one round is tuned as one of two)."""
    T = max(T, 2)
    steps = 1
    while math.e**steps < T:
        steps += 1
    return [math.exp(math.log(T) * i / steps) for i in range(steps + 1)]


def phi(y: float) -> float:
    return y - 1 - math.log(y)


def kl(u: list[float], p: list[float]) -> float:
    return sum(x * math.log(x / y) for x, y in zip(u, p, strict=True) if x > 0)


def corner(n: int, floor: float) -> list[float]:
    """The distribution that leaves the floor to all but the first coordinate."""
    return [1 - (n - 1) * floor] + [floor] * (n - 1)


def theorem_1(T: int, K: int, S: int) -> dict[str, float]:
    """The terms of Theorem 1 for the base that makes their sum least."""
    t, hs = max(T, 2), grid(T)
    H = len(hs)
    alpha = K ** (1 / 3) / (t ** (1 / 3) * H**0.5)
    if alpha * H > 1 + 1e-12:
        alpha = 1 / H / 2
    eta, beta = (t * H) ** -0.5, 1 / K / t
    best: dict[str, float] = {}
    for h in hs:
        xi = h**0.5 / (K ** (1 / 3) * t ** (2 / 3))
        terms = {
            "clipping the master": T * sum([alpha] * (H - 1)),
            "starting the master": kl([1.0] + [0.0] * (H - 1), [1 / H] * H) / eta,
            "master variance": T * sum([eta / 2] * H),
            "clipping the bases": T * sum([beta] * (K - 1)),
            "switches": (kl([1.0] + [0.0] * (K - 1), [1 / K] * K) + S * math.log(K * t)) / xi,
            "base variance": T * sum([xi / 2 / alpha] * K),
        }
        if not best or sum(terms.values()) < sum(best.values()):
            best = terms
    return best


@dataclass
class Two:
    """Algorithm 2's constants at a horizon, and what the proof makes of them."""

    T: int
    K: int
    rate: str
    hs: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.t = max(self.T, 2)
        self.hs = grid(self.T)
        self.H = len(self.hs)
        self.eta = math.sqrt(self.H / self.t) if self.rate == "paper" else math.sqrt(self.H / self.t / self.K)
        self.alpha, self.beta = 1 / self.t / self.H, 1 / self.t / self.K
        self.gamma = math.exp(1 / math.log(self.t))
        self.u = corner(self.H, self.alpha)
        self.most = 0  # the most times rho can more than double, from 2H up to 2/alpha
        while 2 * self.H * 2 ** (self.most + 1) < 2 * self.t * self.H:
            self.most += 1

    def gain(self, rhos: list[float]) -> float:
        """N: what the changes of one base's rate take off, when its rho goes through these values."""
        total = 0.0
        for i, rho in enumerate(rhos):
            before, after = self.eta * self.gamma**i, self.eta * self.gamma ** (i + 1)
            total += (1 / before - 1 / after) * phi(self.u[0] * rho / 2)
        return total

    def slope(self) -> float:
        """D: the last change alone, at the highest rate it can start from, phi(y)/y taken where y is least."""
        y = self.u[0] * 4 * self.H / 2
        last = self.eta * self.gamma ** max(self.most, 1)
        return (self.gamma / last - 1 / last) * self.u[0] / 2 * phi(y) / y

    def xi(self, h: float, rho: float) -> float:
        return math.sqrt(h / self.K / self.t / rho)

    def terms(self, S: int, rho: float) -> dict[str, float]:
        far = math.log(1 / self.beta)
        price = {h: (S + 1) * far / self.xi(h, 1) + self.xi(h, 1) * self.K * self.T / 2 for h in self.hs}
        h = min(self.hs, key=lambda h: price[h])
        first, last = self.xi(h, 2 * self.H), self.xi(h, rho)
        return {
            "clipping the master": self.T * sum(self.u[1:]),
            "starting the master": sum(phi(x * self.H) for x in self.u) / self.eta,
            "master variance": self.T * self.eta * self.gamma**self.most / 2,
            "rising master rates": -self.slope() * (rho - 2 * self.H),
            "clipping the bases": self.T * sum([self.beta] * (self.K - 1)),
            "switches": (S * far + math.log(self.K)) / first,
            "falling base rate": (S + 1) * far * (1 / last - 1 / first),
            "base variance": sum([last * rho * self.T / 2] * self.K),
        }

    def worst(self, S: int) -> float:
        """The largest total over rho in [2H, 2TH], by ternary search (the total is concave)."""
        low, high = 2.0 * self.H, 2.0 * self.t * self.H
        for _ in range(300):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            if sum(self.terms(S, a).values()) < sum(self.terms(S, b).values()):
                low = a
            else:
                high = b
        return sum(self.terms(S, (low + high) / 2).values())


@dataclass
class Sums:
    """For one base as h*: both sides of the two pathwise inequalities, and what they are made of."""

    n_increases: int
    rho: float
    gain: float
    master_regret: float
    master_bound: float
    base_regret: float
    base_bound: float


def play_two(two: Two, losses: list[list[float]], path: list[int], seed: int) -> list[Sums]:
    """One game of Algorithm 2, own feedback; for each base the estimated regrets and what the lemmas allow."""
    K, H, rng = two.K, two.H, random.Random(seed)
    p = reals([1 / H] * H)
    bases = [reals([1 / K] * K) for _ in range(H)]
    rho, eta = reals([2 * H] * H), reals([two.eta] * H)
    u = [reals([two.u[0] if i == h else two.alpha for i in range(H)]) for h in range(H)]
    seen: list[list[float]] = [[] for _ in range(H)]  # the values rho went through
    master_regret, base_regret, base_variance, master_variance = [0.0] * H, [0.0] * H, [0.0] * H, 0.0
    for row, best in zip(losses, path, strict=True):
        h = rng.choices(range(H), weights=[float(x) for x in p])[0]
        a = rng.choices(range(K), weights=[float(x) for x in bases[h]])[0]
        one, two_ = np.zeros(H, dtype=REAL), np.zeros(K, dtype=REAL)
        one[h] = REAL(row[a]) / p[h]
        two_[a] = one[h] / bases[h][a]
        for i in range(H):
            master_regret[i] += float(((p - u[i]) * one).sum())
        v = reals([1 - (K - 1) * two.beta if k == best else two.beta for k in range(K)])
        xi = REAL(two.xi(two.hs[h], float(rho[h])))
        base_regret[h] += float(((bases[h] - v) * two_).sum())
        base_variance[h] += float((xi / 2 * bases[h] * two_ * two_).sum())
        master_variance += float((eta / 2 * p * p * one * one).sum())
        p = log_barrier_step(p, one, eta, REAL(two.alpha))
        bases[h] = entropy_step(bases[h], two_, xi, REAL(two.beta))
        rho, eta = _risen(p, rho, eta, two.gamma, seen)
    S = sum(a != b for a, b in pairwise(path))
    far, start = math.log(1 / two.beta), sum(phi(x * H) for x in two.u) / two.eta
    found = []
    for i in range(H):
        first, last = two.xi(two.hs[i], 2 * H), two.xi(two.hs[i], float(rho[i]))
        starts = (S * far + math.log(K)) / first + (S + 1) * far * (1 / last - 1 / first)
        gain = two.gain(seen[i])
        master = start - gain + master_variance
        base = starts + base_variance[i]
        found.append(Sums(len(seen[i]), float(rho[i]), gain, master_regret[i], master, base_regret[i], base))
    return found


def one_base(K: int, beta: float, charges: list[tuple[int, float, float]]) -> tuple[list[float], float]:
    """A base charged again and again, (arm, estimate, rate): its regret against each arm's corner, and its variance."""
    p, regret, variance = reals([1 / K] * K), [0.0] * K, 0.0
    for a, estimate, rate in charges:
        for k in range(K):
            regret[k] += (float(p[a]) - (1 - (K - 1) * beta if k == a else beta)) * estimate
        variance += rate / 2 * float(p[a]) * estimate**2
        loss = np.zeros(K, dtype=REAL)
        loss[a] = estimate
        p = entropy_step(p, loss, REAL(rate), REAL(beta))
    return regret, variance


def _risen(p: Reals, rho: Reals, eta: Reals, gamma: float, seen: list[list[float]]) -> tuple[Reals, Reals]:
    rho, eta = rho.copy(), eta.copy()
    for i in range(len(p)):
        if 1 / p[i] > rho[i] * (1 + 1e-12):
            rho[i], eta[i] = 2 / p[i], eta[i] * gamma
            seen[i].append(float(rho[i]))
    return rho, eta
