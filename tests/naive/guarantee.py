"""A slow band: the master and the clipped bases of docs/guarantee.md, and the two sides of every lemma on that page.

Bases 0, 1, … are clipped, and base 0 is the slow one, which is charged its mix loss. Behind the clipped ones come
specialists, whose proposals are given from outside. Everything is lists of floats and plain loops; `charges` also takes
fractions, so that expectations can be summed without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Number = Any  # float, or Fraction where a sum has to come out exactly
History = list[tuple[int, float]]  # (arm, loss), one a round
Propose = Callable[[History], list[list[float]]]  # the specialists' distributions over arms


def curve(below: float) -> float:
    """The largest value of (e^-x - 1 + x) / x² for x ≥ -below: the one at x = -below."""
    return (math.expm1(below) - below) / below**2


@dataclass(frozen=True)
class Tuning:
    """Rates and floors at a guess N of the horizon. One specialist has the high floor of a detector."""

    K: int
    n_clipped: int
    n_specialists: int
    first: int = 16
    pace: float = 2.0
    most: float = 0.5  # what eta is at most
    trust: float = 0.3
    even: bool = False  # whether the prior is uniform
    grid: float | None = None  # from one rate of a clipped base to the next, as an exponent of N; None: up to N
    shares: tuple[float, ...] = ()  # the prior, if it is a special one
    detector: int | None = None  # which base; None: the first specialist
    few: int = 0  # up to so many arms all are candidates
    slow: float = 1.0  # c_1: the rate of base 0 is c_1/sqrt(KN),
    cap: float = 0.5  # and at most this over K

    @property
    def H(self) -> int:
        return self.n_clipped + self.n_specialists

    def guess(self, t: int) -> int:
        """N in round t = 1, 2, …: the first guess, doubled until it is not below t."""
        N = self.first
        while t > N:
            N *= 2
        return N

    def guesses(self, T: int) -> list[tuple[int, int]]:
        """Every N of T rounds, and for how many of them it stood."""
        found, t, N = [], 0, self.first
        while t < T:
            found.append((N, min(N, T) - t))
            t, N = min(N, T), 2 * N
        return found

    def eta(self, N: int) -> float:
        return min(self.pace / math.sqrt(N), self.most)

    def floors(self, N: int) -> list[float]:
        low = min(1 / (N * self.H), 0.5 / self.H)
        high = self.trust / math.sqrt(N)
        heard = self.n_clipped if self.detector is None else self.detector
        return [high if h == heard else low for h in range(self.H)]

    def beta(self, j: int, N: int) -> float:
        return min(1 / math.sqrt(self.K * N), 1 / (2 * self.K)) if j == 0 else 1 / (self.K * N)

    def xi(self, j: int, N: int) -> float:
        if j == 0:
            return min(self.slow / math.sqrt(self.K * N), self.cap / self.K)
        power = j / max(self.n_clipped - 1, 1) if self.grid is None else j * self.grid
        return math.sqrt(N**power / (self.K * N))

    def prior(self) -> list[float]:
        if self.shares:
            return [share / math.fsum(self.shares) for share in self.shares]
        if self.even:
            return [1 / self.H] * self.H
        shares = [0.5 if h == self.n_clipped else 0.025 if h < self.n_clipped else 0.05 for h in range(self.H)]
        return [share / math.fsum(shares) for share in shares]


class Round(NamedTuple):
    """What happened in a round: the state it was served from, the draw, and what everybody was charged."""

    N: int
    p: list[float]
    P: list[list[float]]  # one distribution over arms a base
    q: list[float]
    g: list[float]  # the baseline of each arm
    a: int
    ell: float
    d: list[float]  # the charge of each base, the mean loss of base 0 too
    x: list[float]  # what the master's step is made with: d, less the refund of base 0
    r: float  # that refund


def mixture(p: Sequence[Number], P: Sequence[Sequence[Number]]) -> list[Number]:
    """The probability of each arm."""
    return [sum(p_h * row[k] for p_h, row in zip(p, P, strict=True)) for k in range(len(P[0]))]


def baselines(q: Sequence[Number], candidates: set[int], eta: Number, b: Number) -> list[Number]:
    """min(b, q(k)/eta) for the candidates, 0 for all other arms."""
    return [min(b, q[k] / eta) if k in candidates else b * 0 for k in range(len(q))]


def charges(P: Sequence[Sequence[Number]], q: Number, g: Sequence[Number], a: int, ell: Number) -> list[Number]:
    """d_h = P_h(a) (loss - g(a)) / q(a) + sum_k P_h(k) g(k)."""
    return [row[a] * (ell - g[a]) / q + sum(x * y for x, y in zip(row, g, strict=True)) for row in P]


def mix_loss(P: float, e: float, xi: float) -> float:
    """-ln(1 - P + P exp(-xi e))/xi: what a base with rate xi loses where its arm of probability P is charged e."""
    return -math.log((1 - P) + P * math.exp(-xi * e)) / xi


def clip(w: Sequence[float], floors: Sequence[float]) -> list[float]:
    """max(floor_i, c w_i) with c such that the sum is 1; those with the smallest w_i/floor_i go to the floor first."""
    order = sorted(range(len(w)), key=lambda i: w[i] / floors[i])
    for m in range(len(w)):
        free = order[m:]
        c = (1 - math.fsum(floors[i] for i in order[:m])) / math.fsum(w[i] for i in free)
        if c * w[free[0]] >= floors[free[0]]:
            return [max(floor, c * weight) for weight, floor in zip(w, floors, strict=True)]
    raise ValueError("the floors sum to more than 1")


def entropy_step(p: Sequence[float], x: Sequence[float], floors: Sequence[float]) -> list[float]:
    """argmin of <q, x> + KL(q || p) over the distributions with q >= floors."""
    least = min(x)
    return clip([p_i * math.exp(least - x_i) for p_i, x_i in zip(p, x, strict=True)], floors)


@dataclass
class Band:
    """The learner. `proposers[i]`: whether specialist i names a candidate, its most probable arm."""

    tuning: Tuning
    propose: Propose
    proposers: list[bool]
    history: History = field(default_factory=list)
    fast: float = 0.5

    def __post_init__(self) -> None:
        K = self.tuning.K
        self.p = self.tuning.prior()
        if any(x < y for x, y in zip(self.p, self.tuning.floors(self.tuning.first), strict=True)):
            raise ValueError("the prior is below a floor")
        self.clipped = [[1 / K] * K for _ in range(self.tuning.n_clipped)]

    def opinions(self) -> list[list[float]]:
        return [list(row) for row in self.clipped] + self.propose(self.history)

    def tell(self, a: int, ell: float) -> Round:
        """One round in which arm a was drawn from the mixture and cost ell."""
        t = len(self.history) + 1
        N = self.tuning.guess(t)
        eta, p, P = self.tuning.eta(N), self.p, self.opinions()
        q = mixture(p, P)
        slow = (0.5 + math.fsum(loss for _, loss in self.history)) / t
        b = self.fast - max(-0.2, min(0.2, self.fast - slow))
        opinions = P[self.tuning.n_clipped :]
        named = {row.index(max(row)) for row, names in zip(opinions, self.proposers, strict=True) if names}
        if self.tuning.few >= self.tuning.K:
            named = set(range(self.tuning.K))
        g = baselines(q, named, eta, b)
        d = charges(P, q[a], g, a, ell)
        mix = mix_loss(P[0][a], ell / q[a], self.tuning.xi(0, N))
        covered = sum(x * y for x, y in zip(P[0], g, strict=True))
        charged = [covered - P[0][a] * g[a] / q[a] + mix, *d[1:]]
        self.p = entropy_step(p, [eta * x_h for x_h in charged], self.tuning.floors(N))
        for j, row in enumerate(self.clipped):
            x = [self.tuning.xi(j, N) * ell / q[a] if k == a else 0.0 for k in range(len(row))]
            self.clipped[j] = entropy_step(row, x, [self.tuning.beta(j, N)] * len(row))
        self.fast += (ell - self.fast) / min(64, t + 1)
        self.history.append((a, ell))
        return Round(N, p, P, q, g, a, ell, d, charged, P[0][a] * ell / q[a] - mix)


def spread(p: Sequence[Number], d: Sequence[Number]) -> Number:
    """The variance of the charges, bases weighted by p."""
    mean = sum(x * y for x, y in zip(p, d, strict=True))
    return sum(x * (y - mean) ** 2 for x, y in zip(p, d, strict=True))


def gap(p: Sequence[float], x: Sequence[float]) -> float:
    """delta = <p, x> + ln sum_i p_i e^-x_i, without cancellation."""
    mean = math.fsum(p_i * x_i for p_i, x_i in zip(p, x, strict=True))
    return math.log1p(math.fsum(p_i * math.expm1(mean - x_i) for p_i, x_i in zip(p, x, strict=True)))


def inside(j: int, floors: Sequence[float]) -> list[float]:
    """The corner of coordinate j pulled inside: the floors, and all the rest at j."""
    rest = 1 - math.fsum(floors)
    return [floor + rest * (i == j) for i, floor in enumerate(floors)]


# --- the right sides, term by term ---


def first_floors(tuning: Tuning) -> float:
    """B: what the floors of the first guess add to every start."""
    pairs = zip(tuning.floors(tuning.first), tuning.prior(), strict=True)
    return math.fsum(floor * math.log(1 / share) for floor, share in pairs) / tuning.eta(tuning.first)


def master_start(tuning: Tuning, h: int, T: int) -> float:
    """Against one base: ln(1/alpha_h at the guess before the last) / eta_T + B."""
    N = tuning.guess(T)
    known = tuning.floors(max(tuning.first, N // 2))[h]
    return math.log(1 / known) / tuning.eta(N) + first_floors(tuning)


def master_switches(tuning: Tuning, T: int, n: int) -> float:
    """Against a sequence of bases that changes n times: (n + 1) ln(1/least floor) / eta_T + B."""
    N = tuning.guess(T)
    return (n + 1) * math.log(1 / min(tuning.floors(N))) / tuning.eta(N) + first_floors(tuning)


def master_floors(tuning: Tuning, T: int, h: int | None = None) -> float:
    """The sum over rounds of all floors; without that of base h, against which it costs nothing."""
    return math.fsum(
        n * (math.fsum(floors) - (0 if h is None else floors[h]))
        for N, n in tuning.guesses(T)
        for floors in [tuning.floors(N)]
    )


def below(tuning: Tuning) -> float:
    """No centred exponent of the master is further below 0."""
    return 1 + 2 * tuning.eta(tuning.first)


def master_variance(tuning: Tuning, rounds: Sequence[Round]) -> float:
    """c sum eta_t Var_t, where c is the curve at 1 + 2 eta_1."""
    return curve(below(tuning)) * math.fsum(tuning.eta(one.N) * spread(one.p, one.x) for one in rounds)


def master_gap(tuning: Tuning, rounds: Sequence[Round]) -> float:
    """sum delta_t / eta_t: what the variance is a bound for."""
    rates = [tuning.eta(one.N) for one in rounds]
    return math.fsum(gap(one.p, [eta * x_h for x_h in one.x]) / eta for one, eta in zip(rounds, rates, strict=True))


def refunds(rounds: Sequence[Round]) -> float:
    """sum p_t(0) r_t: what the master pays for charging base 0 less than its mean loss."""
    return math.fsum(one.p[0] * one.r for one in rounds)


def base_clipping(tuning: Tuning, j: int, T: int) -> float:
    """(K - 1) sum beta_t."""
    return (tuning.K - 1) * math.fsum(n * tuning.beta(j, N) for N, n in tuning.guesses(T))


def base_switches(tuning: Tuning, j: int, T: int, S: int) -> float:
    """(S + 1) (1 - K beta_T) L/xi_T, less ((1 - K beta_1) L - ln K)/xi_1 for the uniform start; L = ln(1/beta_T)."""
    N, first, K = tuning.guess(T), tuning.first, tuning.K
    far = math.log(1 / tuning.beta(j, N))
    less = (far * (1 - K * tuning.beta(j, first)) - math.log(K)) / tuning.xi(j, first)
    return (S + 1) * far * (1 - K * tuning.beta(j, N)) / tuning.xi(j, N) - less


def known_before(tuning: Tuning, T: int, S: int) -> float:
    """The terms of Theorem W that do not depend on the game."""
    start, floors = master_start(tuning, 0, T), master_floors(tuning, T, 0)
    return start + floors + base_clipping(tuning, 0, T) + base_switches(tuning, 0, T, S)


def certificate(tuning: Tuning, rounds: Sequence[Round], S: int) -> float:
    """Theorem W with its two sums as they came about."""
    return known_before(tuning, len(rounds), S) + master_gap(tuning, rounds) + refunds(rounds)


def worst_case(tuning: Tuning, T: int, S: int) -> float:
    """W(T, K, S): with both sums at the largest that their means can be."""
    etas = math.fsum(n * tuning.eta(N) for N, n in tuning.guesses(T))
    xis = math.fsum(n * tuning.xi(0, N) for N, n in tuning.guesses(T))
    gaps = curve(below(tuning)) * (min(tuning.K, tuning.H) + 1) * etas
    return known_before(tuning, T, S) + gaps + tuning.K / 2 * xis
