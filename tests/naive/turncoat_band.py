"""Turncoat's rule, slow and obvious: whole distributions, whole histories, roots by halving. Rewards are 1 - loss.

H bases share every round: clipped and signed mirror descent, each a distribution over all K arms, then detectors and
followers, each the arm of its largest index, or the shares it plans for the next m pulls (planning.py). The first
clipped one, the slow one, is charged its mix loss. q(k) = sum_h p_h P_h(k) is what is played. Arithmetic is numpy's
long double. The constants are the test's to give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.naive.changes import glr, kl
from tests.naive.planning import Known, largest, spread
from tests.naive.solve import REAL, Reals, entropy_projection, reals

HALVINGS = 80
UNTRIED = 2.0


class Recipe(NamedTuple):
    """Who is in the band, and the constants of its rates."""

    n_clipped: int
    n_signed: int
    n_detectors: int
    windows: tuple[float, ...]  # of the followers
    prior: tuple[float, ...]
    first_guess: float
    eta: float
    most_eta: float
    few: int  # up to so many arms all have a baseline; of more, the leaders
    detector_floor: float
    detector_index: float
    alarm: float
    test_every: int
    least_pulls: float
    noise_prior: float
    least_noise: float
    recalled: float
    doubted: float
    follower_index: tuple[float, ...]
    pseudo_samples: float
    largest: float  # what a charge counts at most
    slow_rate: float
    most_slow_rate: float
    all_planned: int  # up to so many arms all are planned; of more, the m of the largest indices, or as many as this
    most_planned: int  # and so many at most
    many: int  # of more arms, a restart moves what is known of those only whose index was computed since the last one


def kl_upper(p: REAL, level: REAL) -> REAL:
    """The largest q in [p, 1] with kl(p, q) ≤ level, by halving."""
    if p >= 1:
        return REAL(1)

    def divergence(q: REAL) -> REAL:
        heads = p * np.log(p / q) if p > 0 else REAL(0)
        return REAL(heads + (1 - p) * np.log((1 - p) / (1 - q)))

    low, high = p, REAL(1)
    for _ in range(HALVINGS):
        q = (low + high) / 2
        low, high = (q, high) if q < 1 and divergence(q) <= level else (low, q)
    return low


def step_with_floors(p: Reals, x: Reals, floors: Reals) -> Reals:
    """argmin over q of <q, x> + KL(q, p) where q ≥ floors: q_i = max(floor_i, c w_i), w_i = p_i exp(-x_i).

    The sum grows with c. Halving finds who is free at its root, and they share what the floors leave.
    """
    w = p * np.exp(x.min() - x)
    low, high = REAL(0), 1 / w.max()
    for _ in range(HALVINGS):
        c = (low + high) / 2
        low, high = (c, high) if np.maximum(floors, c * w).sum() < 1 else (low, c)
    free = high * w > floors
    c = (1 - floors[~free].sum()) / w[free].sum()
    q: Reals = np.where(free, c * w, floors)
    return q


def means_around_a_change(rewards: list[float]) -> tuple[REAL, REAL]:
    """The means before and after the split at which the GLR statistic is largest."""
    values = reals(rewards)
    n, m = len(rewards), values.mean()

    def means(s: int) -> tuple[REAL, REAL]:
        return values[:s].mean(), values[s:].mean()

    def found(s: int) -> REAL:
        parts = kl(reals(means(s)), m)
        return REAL(s * parts[0] + (n - s) * parts[1])

    return means(max(range(1, n), key=found))


class TurncoatBand:
    """The band over K arms that all stay."""

    def __init__(self, K: int, recipe: Recipe) -> None:
        self.K, self.recipe = K, recipe
        self.t = 0
        self.N = recipe.first_guess
        self.n_mirrors = recipe.n_clipped + recipe.n_signed
        self.n_leaders = recipe.n_detectors + len(recipe.windows)
        self.H = self.n_mirrors + self.n_leaders
        self.p = reals(recipe.prior) / reals(recipe.prior).sum()
        self.mirrors = [reals([1 / REAL(K)] * K) for _ in range(self.n_mirrors)]
        self.indices = np.full((self.n_leaders, K), UNTRIED)
        self.leaders = [0] * self.n_leaders
        self.arms: list[int] = []  # every round's
        self.rewards: list[float] = []
        self.since = [[0] * K for _ in range(recipe.n_detectors)]  # rounds before this one a detector has forgotten
        self.recalled = [[(REAL(0), REAL(0))] * K for _ in range(recipe.n_detectors)]  # but for samples, and their sum
        self.n_restarts = [0] * recipe.n_detectors
        self.computed: list[set[int]] = [
            set() for _ in range(recipe.n_detectors)
        ]  # whose index, since the last restart
        self.means: list[list[list[float]]] = [[[] for _ in range(K)] for _ in range(recipe.n_detectors)]
        self.fast = REAL(0.5)

    # -- rates ------------------------------------------------------------------------------------------------------

    def master_rate(self) -> float:
        return min(self.recipe.eta / math.sqrt(self.N), self.recipe.most_eta)

    def floors(self) -> list[float]:
        quiet = min(1 / (self.N * self.H), 0.5 / self.H)
        heard = self.recipe.detector_floor / math.sqrt(self.N)
        first = self.n_mirrors
        return [heard if first <= h < first + self.recipe.n_detectors else quiet for h in range(self.H)]

    def rates(self) -> list[float]:
        c, s, N, K = self.recipe.n_clipped, self.recipe.n_signed, self.N, self.K
        clipped = [min(self.recipe.slow_rate / math.sqrt(K * N), self.recipe.most_slow_rate / K)]
        clipped += [math.sqrt(N ** (i / 4) / (K * N)) for i in range(1, c)]
        likely = [N ** (0.9 * i / (s - 1)) * math.log(K * N) + math.log(K) for i in range(s)]
        return clipped + [math.sqrt(2 * x / (K * N)) for x in likely]

    def slow(self) -> REAL:
        return REAL((REAL(0.5) + (1 - reals(self.rewards)).sum()) / (1 + self.t))

    def baseline(self) -> REAL:
        return self.fast - min(max(self.fast - self.slow(), REAL(-0.2)), REAL(0.2))

    # -- what is played ---------------------------------------------------------------------------------------------

    def proposals(self, m: int = 1) -> Reals:
        """P, a row for each base, for the next m pulls."""
        points = [reals([float(k == leader) for k in range(self.K)]) for leader in self.leaders]
        rows: Reals = np.array(self.mirrors + (points if m == 1 else [self.planned(i, m) for i in range(len(points))]))
        return rows

    def planned(self, i: int, m: int) -> Reals:
        """The shares of m pulls under detector or follower i."""
        with_kl, sizes = i < self.recipe.n_detectors, (self.recipe.all_planned, self.recipe.most_planned)
        arms = largest(self.indices[i].tolist(), range(self.K), m, *sizes)
        if with_kl:
            rho = reals([self.noise(i, k) for k in arms])  # in pulls, of which each counts as 1/rho samples
            pulls = reals([len(self.history(i, k)) for k in arms]) + rho * reals([self.recalled[i][k][0] for k in arms])
            sums = reals([reals(self.history(i, k)).sum() for k in arms])
            sums += rho * reals([self.recalled[i][k][1] for k in arms])
            c: Reals = rho * REAL(self.recipe.detector_index)
            c *= np.log(reals([max(self.t - self.since[i][k], 2) for k in arms]))
            known = Known(sums / np.where(pulls > 0, pulls, 1), pulls, c, (pulls > 0).tolist())
        else:
            f = i - self.recipe.n_detectors
            felt = [self.felt(f, k) for k in arms]
            c = reals([REAL(self.recipe.follower_index[f]) * np.log(max(felt[0][2], REAL(2)))] * len(arms))
            known = Known(reals([x[0] for x in felt]), reals([x[1] for x in felt]), c, [k in self.arms for k in arms])
        return spread(known, arms, m, self.K, self.K, with_kl=with_kl)

    def probabilities(self, m: int = 1) -> Reals:
        q: Reals = self.p @ self.proposals(m)
        return q

    # -- learning ---------------------------------------------------------------------------------------------------

    def tell(self, a: int, q: float, loss: float, lot: Callable[[int, int], float], m: int = 1) -> None:
        """`lot(i, k)`: the number in [0, 1) drawn for arm k when detector i begins anew."""
        if self.t + 1 > self.N:
            self.N *= 2
        if self.K > 1:
            self.p, self.mirrors = self.trust_after(a, REAL(q), loss, m), self.mirrors_after(a, REAL(q), loss)
        self.fast += (loss - self.fast) / min(64, self.t + 2)
        self.t += 1
        self.arms.append(a)
        self.rewards.append(1.0 - loss)
        for i in range(self.recipe.n_detectors):
            self.look_for_a_change(i, a, lot)
        for k in (a, self.t % self.K):
            self.refresh(k)
        self.leaders = [int(np.argmax(row)) for row in self.indices]

    def charges(self, a: int, q: REAL, loss: float, m: int = 1) -> Reals:
        """d_h, unbiased for sum_k P_h(k) loss(k): what an arm's baseline takes off when it is told is added always.

        The slow base is charged -ln(sum_k P(k) exp(-xi estimate(k)))/xi in the place of its mean estimate.
        """
        P, b = self.proposals(m), self.baseline()
        q_now: Reals = self.p @ P
        q_now[a] = q
        baselines = np.minimum(b, q_now / self.master_rate())
        for k in range(self.K):
            if self.recipe.few < self.K and k not in self.leaders:
                baselines[k] = 0
        seen = P[:, a] * ((loss - baselines[a]) / q)
        d: Reals = np.minimum(seen, self.recipe.largest) + P @ baselines
        xi, estimate = self.rates()[0], min(loss / q, REAL(self.recipe.largest))
        mix = -np.log(P[0].sum() - P[0, a] + P[0, a] * np.exp(-xi * estimate)) / xi
        d[0] = P[0] @ baselines - P[0, a] * baselines[a] / q + mix
        return d

    def trust_after(self, a: int, q: REAL, loss: float, m: int) -> Reals:
        return step_with_floors(self.p, self.master_rate() * self.charges(a, q, loss, m), reals(self.floors()))

    def mirrors_after(self, a: int, q: REAL, loss: float) -> list[Reals]:
        after, b = [], self.baseline()
        for i, (P, rate) in enumerate(zip(self.mirrors, self.rates(), strict=True)):
            w = P.copy()
            if i < self.recipe.n_clipped:
                w[a] *= np.exp(-rate * loss / q)
                slow = REAL(min(1 / math.sqrt(self.K * self.N), 0.5 / self.K))
                after.append(entropy_projection(w, slow if i == 0 else 1 / REAL(self.K * self.N)))
            else:
                w[a] *= np.exp(min(REAL(1), -rate * (loss - b) / q))
                after.append((1 - 1 / REAL(self.N)) * w / w.sum() + 1 / REAL(self.N) / self.K)
        return after

    def history(self, i: int, k: int) -> list[float]:
        """What detector i remembers of arm k."""
        rounds = range(self.since[i][k], self.t)
        return [self.rewards[s] for s in rounds if self.arms[s] == k]

    def noise(self, i: int, k: int) -> REAL:
        """The variance of all rewards of arm k over that of 0/1 rewards with the means that detector i had."""
        mine = reals([r for arm, r in zip(self.arms, self.rewards, strict=True) if arm == k])
        means = reals(self.means[i][k])
        below = (mine * (1 - mine)).sum() / ((means * (1 - means)).sum() + REAL(self.recipe.noise_prior))
        return max(1 - below, REAL(self.recipe.least_noise))

    def look_for_a_change(self, i: int, a: int, lot: Callable[[int, int], float]) -> None:
        self.means[i][a].append(float(reals(self.history(i, a)).mean()))
        n = sum(arm == a for arm in self.arms[self.since[i][a] :])
        if n < self.recipe.least_pulls or n % self.recipe.test_every:
            return
        if glr(self.history(i, a)) > self.noise(i, a) * math.log(self.recipe.alarm * n * self.N**0.25):
            self.n_restarts[i] += 1
            before, after = means_around_a_change(self.history(i, a))
            moved = sorted(self.computed[i]) if self.recipe.many < self.K else range(self.K)
            for k in moved:
                self.recalled[i][k] = self.idea(i, k, before, after) if k != a else (REAL(0), REAL(0))
            self.since[i], self.computed[i] = [self.t] * self.K, set()
            for k in moved:
                n_k, total = self.recalled[i][k]
                level = self.recipe.detector_index * np.log(REAL(2))
                self.indices[i, k] = kl_upper(total / n_k, level / n_k) if n_k > 0 else UNTRIED + lot(i, k)

    def idea(self, i: int, k: int, before: REAL, after: REAL) -> tuple[REAL, REAL]:
        """What detector i recalls of arm k when another changed: a few samples, moved as that one was, and to it."""
        n, total = self.known(i, k)
        if n == 0:
            return n, total
        mean = min(max(total / n + after - before, REAL(0)), REAL(1))
        few = min(n, REAL(self.recipe.recalled))
        return few, few * (mean + REAL(self.recipe.doubted) * (after - mean))

    def known(self, i: int, k: int) -> tuple[REAL, REAL]:
        """All that detector i knows of arm k: how many samples, and their sum."""
        seen, (n, total) = self.history(i, k), self.recalled[i][k]
        return n + len(seen), total + reals(seen).sum()

    def refresh(self, k: int) -> None:
        """Every base's index of one arm, from all of its history."""
        for i in range(self.recipe.n_detectors):
            seen, (few, sum_of_few), rho = reals(self.history(i, k)), self.recalled[i][k], self.noise(i, k)
            n = len(seen) / rho + few  # a reward counts as 1/rho of those that are 0 or 1
            if n > 0:
                self.computed[i].add(k)
                u = max(self.t - self.since[i][k], 2)
                mean = (seen.sum() / rho + sum_of_few) / n
                self.indices[i, k] = kl_upper(mean, REAL(self.recipe.detector_index) * np.log(REAL(u)) / n)
        for i in range(len(self.recipe.windows)):
            mean, n, n_all = self.felt(i, k)
            bonus = np.sqrt(REAL(self.recipe.follower_index[i]) * np.log(max(n_all, REAL(1))) / n)
            self.indices[self.recipe.n_detectors + i, k] = mean + bonus

    def felt(self, f: int, k: int) -> tuple[REAL, REAL, REAL]:
        """Of follower f: arm k's mean and samples, with the pseudo-samples, and the samples of all arms."""
        X, mine, m = reals(self.rewards), np.array(self.arms) == k, REAL(self.recipe.pseudo_samples)
        weights = (1 - 1 / REAL(self.recipe.windows[f])) ** np.arange(self.t - 1, -1, -1)
        n, n_all = weights[mine].sum() + m, weights.sum()
        average = (weights * X).sum() / n_all if self.t else REAL(0)
        return REAL(((weights * X)[mine].sum() + m * average) / n), REAL(n), REAL(n_all)
