"""Slow, obvious versions of rules that begin anew at random: every copy, set and round is kept as it was.

Chance is handed in: `chance(m)` is the number in [0, 1) for order m after this tell. A rule draws when a round is told,
never when it is asked.
Rewards are 1 - loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.naive.solve import REAL

Chance = Callable[[int], float]


class Copy(NamedTuple):
    """A UCB1 that lives from round `start` of its block to round `end`, that one not included."""

    order: int
    start: int
    end: int
    samples: list[tuple[int, float]]  # arm, reward

    def indices(self, K: int, exploration: float) -> list[float]:
        found = []
        for a in range(K):
            rewards = [reward for arm, reward in self.samples if arm == a]
            n = len(rewards)
            bonus = np.sqrt(REAL(exploration) * np.log(REAL(max(len(self.samples), 1))) / max(n, 1))
            found.append(float(math.fsum(rewards) / REAL(n) + bonus) if n else math.inf)
        return found


class MasterUCB:
    """Wei & Luo, COLT 2021: MALG (copies of random starts and lengths 2^m) and MASTER (tests 1 and 2) over UCB1."""

    def __init__(
        self, K: int, T: int, chance: Chance, *, scale: float = 1.0, exploration: float = 2.0, replays: float = 1.0
    ) -> None:
        self.K, self.chance, self.exploration, self.replays = K, chance, exploration, replays
        self.last = math.floor(math.log2(T))
        T = max(T, 2)
        self.factor = scale * 6 * (math.log2(T) + 1) * 2 * math.log(T)
        self.n_restarts = 0
        self.fired: list[str] = []
        self.begin(0)

    def rho(self, t: float) -> float:
        return math.sqrt(self.K / t) + self.K / t

    def begin(self, n: int) -> None:
        """Block n."""
        self.n = n
        self.copies: list[Copy] = []
        self.g: list[float] = []
        self.R: list[float] = []
        self.schedule()

    def schedule(self) -> None:
        """The copies that start in the coming round."""
        tau = len(self.R)
        for m in range(self.n + 1):
            if tau % 2**m == 0:
                p = 1.0 if m == self.n else self.replays * self.rho(2.0**self.n) / self.rho(2.0**m)
                if p == 1.0 or self.chance(m) < p:
                    self.copies.append(Copy(m, tau, tau + 2**m, []))

    def acting(self) -> Copy:
        tau = len(self.R)
        return min((copy for copy in self.copies if copy.start <= tau < copy.end), key=lambda copy: copy.order)

    def indices(self) -> list[float]:
        return self.acting().indices(self.K, self.exploration)

    def changed(self) -> bool:
        t = len(self.R)
        if math.fsum(g - r for g, r in zip(self.g, self.R, strict=True)) / t >= 3 * self.factor * self.rho(t):
            self.fired.append("test 2")
            return True
        for copy in self.copies:
            if copy.end == t:
                mean = math.fsum(self.R[copy.start : copy.end]) / (copy.end - copy.start)
                if mean >= min(self.g) + 9 * self.factor * self.rho(copy.end - copy.start):
                    self.fired.append("test 1")
                    return True
        return False

    def tell(self, a: int, loss: float) -> None:
        copy = self.acting()
        self.g.append(min(1.0, max(self.indices())))
        self.R.append(1 - loss)
        copy.samples.append((a, 1 - loss))
        if self.changed():
            self.n_restarts += 1
            self.begin(0)
        elif len(self.R) == 2**self.n:
            self.begin(min(self.n + 1, self.last))
        else:
            self.schedule()


class Base(NamedTuple):
    """A base of META: it plays from round `start` of the episode to round `end`, that one included, arms of its set."""

    start: int
    end: float
    A: set[int]


class Meta:
    """Suk & Kpotufe, COLT 2022: bases on a stack, each with its own set; d(a', a) for every pair of arms and interval.

    Intervals end now and begin at the last but one multiple of each power of 2.
    """

    def __init__(
        self,
        K: int,
        T: int,
        chance: Chance,
        *,
        eviction: float,
        replays: float = 1.0,
    ) -> None:
        self.K, self.T, self.chance, self.replays = K, T, chance, replays
        self.factor = eviction * math.log(max(T, 2))
        self.n_restarts = self.n_replays = 0
        self.begin()

    def begin(self) -> None:
        """An episode."""
        self.rounds: list[tuple[int, float, set[int]]] = []  # arm, reward over probability, the set it was drawn from
        self.master = set(range(self.K))
        self.stack = [Base(0, math.inf, set(range(self.K)))]

    def probabilities(self) -> list[float]:
        A = self.stack[-1].A
        return [float(a in A) / len(A) for a in range(self.K)]

    def starts(self) -> list[int]:
        t = len(self.rounds)
        powers = [2**j for j in range(math.floor(math.log2(self.T)) + 1) if 2**j <= t]
        return [t - t % power - power for power in powers]

    def d(self, s: int, other: int, a: int) -> float:
        arm, x, A = self.rounds[s]
        return (x * (arm == other) - x * (arm == a)) * (a in A)

    def is_worse(self, a: int, s1: int) -> bool:
        t = len(self.rounds)
        most = max(math.fsum(self.d(s, other, a) for s in range(s1, t)) for other in range(self.K))
        return most > self.factor * math.sqrt(max(self.K * (t - 1 - s1), self.K**2))

    def longest(self, u: float) -> int | None:
        """The longest replay that starts now: m with u < P(one of m or more starts)."""
        t = len(self.rounds)
        none, m = 1.0, 1 << max(math.ceil(math.log2(self.T)), 1)
        while m >= 2:
            none *= 1 - min(self.replays / math.sqrt(m * t), 1.0)
            if u < 1 - none:
                return m
            m //= 2
        return None

    def tell(self, a: int, loss: float, q: float) -> None:
        self.rounds.append((a, (1 - loss) / q, set(self.stack[-1].A)))
        for s1 in self.starts():
            for arm in [arm for arm in range(self.K) if self.is_worse(arm, s1)]:
                self.master.discard(arm)
                for base in self.stack:
                    if base.start <= s1:
                        base.A.discard(arm)
        if not self.master:
            self.n_restarts += 1
            self.begin()
            return
        t = len(self.rounds)
        while t > self.stack[-1].end:
            self.stack.pop()
        if self.replays > 0 and (m := self.longest(self.chance(0))) is not None:
            self.n_replays += 1
            self.stack.append(Base(t, t + m, set(range(self.K))))
