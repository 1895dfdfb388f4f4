"""AdSwitch, slow and obvious: the whole episode is kept, and every interval is summed anew.

Auer, Gajane & Ortner, COLT 2019. Rewards are 1 - loss. `starts="all"` tries every start of an interval, as the paper
does; "kept" tries those that a bounded memory keeps: the start of the episode, and for each j the latest odd multiple
of 2^j rounds after it. Where the paper tosses a coin in every round, waiting times are drawn, from `chance`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import NamedTuple


class Interval(NamedTuple):
    """An arm's samples in an interval: how many, and their mean."""

    n: int
    mean: float


class Obligation(NamedTuple):
    """n samples, counted from round s of the episode."""

    n: int
    s: int


def apart(one: Interval, other: Interval, c: float) -> bool:
    """Do the means of two intervals differ by more than both their widths?"""
    return abs(one.mean - other.mean) > math.sqrt(c / one.n) + math.sqrt(c / other.n)


def alarm_by_pairs(rewards: list[float], c: float) -> int:
    """The sample at which (3) first holds for one arm, or 0: every s1 ≤ s2 against every s ≤ t, as it is written."""

    def interval(first: int, last: int) -> Interval:
        n = last - first + 1
        return Interval(n, math.fsum(rewards[first : last + 1]) / n)

    for t in range(len(rewards)):
        for s1, s2 in combinations_with_replacement(range(t + 1), 2):
            if any(apart(interval(s1, s2), interval(s, t), c) for s in range(t + 1)):
                return t + 1
    return 0


def alarm_by_bounds(rewards: list[float], c: float) -> int:
    """The same: have all mean ± width of intervals so far a point in common?"""
    lo, hi = -math.inf, math.inf
    for t in range(len(rewards)):
        for s in range(t + 1):
            n = t - s + 1
            mean = math.fsum(rewards[s : t + 1]) / n
            lo, hi = max(lo, mean - math.sqrt(c / n)), min(hi, mean + math.sqrt(c / n))
        if lo > hi:
            return t + 1
    return 0


class AdSwitch:
    """The rule of the paper's Algorithm 1, with its constants for the user to choose."""

    def __init__(
        self,
        K: int,
        T: int,
        chance: Callable[[], float],
        *,
        confidence: float,
        elimination: float,
        precision: float,
        exploration: float,
        starts: str = "kept",
    ) -> None:
        self.K, self.T, self.chance, self.starts = K, T, chance, starts
        self.L = math.log(max(T, 2))
        self.confidence, self.elimination = confidence, elimination
        self.precision, self.exploration = precision, exploration
        self.t = 0
        self.episode_number = 0
        self.n_plays = 0
        self.played = [0] * K
        self.causes: list[str] = []
        self.n_obligations = 0
        self.begin()

    def begin(self) -> None:
        self.episode_number += 1
        self.episode: list[tuple[int, float]] = []
        self.seen: list[list[Interval]] = [[] for _ in range(self.K)]
        self.bad: dict[int, Interval] = {}
        self.gaps: dict[int, float] = {}
        self.obligations: dict[int, list[Obligation]] = {a: [] for a in range(self.K)}
        self.coming: dict[tuple[int, int], int] = {}

    # -- what is known ----------------------------------------------------------------------------------------------

    def candidates(self) -> list[int]:
        """How many rounds of the episode come before the intervals [s, t] that are looked at."""
        t = len(self.episode)
        if self.starts == "all":
            return list(range(t))
        found = [0]
        for j in range(self.T.bit_length()):
            found += [before for before in range(t) if before % 2 ** (j + 1) == 2**j][-1:]
        return found

    def interval(self, a: int, before: int) -> Interval:
        rewards = [reward for arm, reward in self.episode[before:] if arm == a]
        return Interval(len(rewards), math.fsum(rewards) / len(rewards) if rewards else math.nan)

    def good(self) -> list[int]:
        return [a for a in range(self.K) if a not in self.bad]

    def owed(self, a: int) -> int:
        """How many samples arm a still owes."""
        return max([one.n - self.interval(a, one.s).n for one in self.obligations[a]], default=0)

    def bounds(self, a: int) -> tuple[float, float]:
        """What all intervals of an arm have in common, inside [0, 1]."""
        lows = [one.mean - math.sqrt(self.confidence * self.L / one.n) for one in self.seen[a]]
        highs = [one.mean + math.sqrt(self.confidence * self.L / one.n) for one in self.seen[a]]
        return max([0.0, *lows]), min([1.0, *highs])

    # -- a round ----------------------------------------------------------------------------------------------------

    def turn(self) -> int:
        playable = [a for a in range(self.K) if a not in self.bad or self.owed(a) > 0]
        return min(playable, key=lambda a: self.played[a])

    def ask(self) -> int:
        a = self.turn()
        self.play(a)
        return a

    def play(self, a: int) -> None:
        self.n_plays += 1
        self.played[a] = self.n_plays

    def tell(self, a: int, loss: float) -> None:
        self.t += 1
        self.play(a)
        self.episode.append((a, 1 - loss))
        if self.good_arm_changed() or self.bad_arm_changed():
            self.begin()
            return
        self.drop_fulfilled()
        self.evict()
        if not self.good():
            self.causes.append("none left")
            self.begin()
            return
        self.add_obligations()

    def good_arm_changed(self) -> bool:
        a = self.episode[-1][0]  # no other arm has an interval that was not looked at before
        if a in self.bad:
            return False
        new = [one for one in (self.interval(a, before) for before in self.candidates()) if one.n > 0]
        self.seen[a] += new
        changed = any(apart(one, other, self.confidence * self.L) for one in new for other in set(self.seen[a]))
        self.causes += ["good"] * changed
        return changed

    def bad_arm_changed(self) -> bool:
        for a, known in self.bad.items():
            for before in self.candidates():
                one = self.interval(a, before)
                if one.n == 0:
                    continue
                if abs(one.mean - known.mean) > self.gaps[a] / 4 + math.sqrt(self.confidence * self.L / one.n):
                    self.causes.append("bad")
                    return True
        return False

    def drop_fulfilled(self) -> None:
        for a in self.bad:
            self.obligations[a] = [one for one in self.obligations[a] if self.interval(a, one.s).n < one.n]

    def evict(self) -> None:
        worse: dict[int, tuple[float, Interval, float]] = {}
        for before in self.candidates():
            intervals = {a: self.interval(a, before) for a in self.good()}
            best = max([one.mean for one in intervals.values() if one.n > 0], default=0.0)
            for a, one in intervals.items():
                gap = best - one.mean
                if one.n < 2 or not gap > math.sqrt(self.elimination * self.L / (one.n - 1)):
                    continue
                evidence = gap * gap * (one.n - 1)
                if a not in worse or evidence > worse[a][0]:
                    worse[a] = evidence, one, gap
        for a in sorted(worse):
            _, self.bad[a], self.gaps[a] = worse[a]
            for i in self.sizes(a):
                self.coming[a, i] = self.t + self.wait(i)

    def sizes(self, a: int) -> list[int]:
        """The i of the sizes 2^-i of changes that are looked for."""
        least = math.sqrt(self.elimination * self.L / self.T)  # no gap is smaller before the horizon
        found = [i for i in range(1, 60) if 2.0**-i >= self.gaps[a] / self.precision]
        return [i for i in found if i == 1 or 2.0**-i >= least / self.precision]

    def wait(self, i: int) -> int:
        p = self.exploration * 2.0**-i * math.sqrt(self.episode_number / (self.K * self.T * self.L))
        return 1 if p >= 1 else 1 + math.floor(math.log1p(-self.chance()) / math.log1p(-p))

    def add_obligations(self) -> None:
        for a, i in sorted(self.coming):
            if self.coming[a, i] == self.t + 1:
                n = math.floor(self.confidence * 4**i * self.L)
                self.obligations[a].append(Obligation(n, len(self.episode)))
                self.n_obligations += 1
                self.coming[a, i] = self.t + 1 + self.wait(i)
