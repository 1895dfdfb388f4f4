"""What arms bring and what learning has gained, from sums alone, each figure with an interval at 95 %.

A decision with weight w = 1 / propensity stands for w decisions. Of the learn stream's decisions that served arm a,
    m = Σwr / Σw                               estimates the mean reward of a, had it always been served;
    V = Σw²(r − m)² / (Σw)²                    is the variance of m: the interval is m ± 1.96 √V;
    (Σw)² / Σw²                                is the number of evenly weighted decisions it is as good as.
A gain is the reward R of n decisions of the learn stream minus what the same decisions would have brought, had they
had the rival. R is known: only the rival's part is uncertain. (comparisons.py says which decisions may be compared.)
    arm                    R − n·m. What was seen of a is known too: the variance is (n / Σw)² Σw(w − 1)(r − m)², or
                           Σ(1/p − 1) over all n decisions, of which a had the probability p, times that of a reward.
                           The first is right however rewards change, but noisy: its largest terms are the rarest. The
                           second is steady. We take their geometric mean.
    control, holdout       Σ over strata of R − n·c with the mean c of the rival's N decisions. They are a random sample
                           of all n + N, so the variance of n·c is n²(1/N + 1/n) S² (Neyman 1923), with the rival's S².
Units stay in their stream, and the decisions of one have things in common: the variance of n·c is then larger, by the
factor that the sums of 64 random groups of units show (`clustering`). Arms are drawn anew for every decision, also of
one unit, so gains over arms need no such factor.

Rewards near an end of their range vary little until the other end has come: five zeros do not show that a sixth is
sure. So intervals are those around the figure that four more decisions would give, two at either end ("plus four":
Agresti & Coull, "Approximate is better than exact for interval estimation of binomial proportions", The American
Statistician, 1998), each with the weight that Σw²/Σw gives; strata share the four in proportion to n. The figure itself
is without them.

What the intervals take for granted: a reward's absence does not depend on its value, nor whether a deferred decision is
used on its arm; and what one decision gets changes nothing for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from turncoat.service.messages import RewardRule

Z = 1.959963984540054  # of a normal variable, 2.5 % lie above this
THIN = 30.0  # fewer effective decisions than this, and an estimate is shown in grey
MISMATCH = 0.001  # the level of the sample-ratio check
EVERYTHING = RewardRule(min=-math.inf, max=math.inf)


class Sums(NamedTuple):
    """Sums over decisions whose reward is known, given or by default: of 1, r, r², w, w², wr, wr², w²r and w²r²."""

    n: float = 0.0
    r: float = 0.0
    r2: float = 0.0
    w: float = 0.0
    w2: float = 0.0
    wr: float = 0.0
    wr2: float = 0.0
    w2r: float = 0.0
    w2r2: float = 0.0

    @property
    def effective(self) -> float:
        """The number of evenly weighted decisions they are as good as."""
        return self.w * self.w / self.w2 if self.w2 > 0.0 else 0.0

    @property
    def unweighted(self) -> Sums:
        """The same decisions, all of weight 1."""
        return Sums(self.n, self.r, self.r2, self.n, self.n, self.r, self.r2, self.r, self.r2)


class Estimate(NamedTuple):
    """A figure with its interval at 95 %, and how many effective decisions it rests on."""

    value: float
    low: float
    high: float
    effective: float = 0.0

    @property
    def is_thin(self) -> bool:
        """Too few decisions to lean on."""
        return self.effective < THIN

    @property
    def is_sure(self) -> bool:
        """Zero lies outside the interval."""
        return self.low > 0.0 or self.high < 0.0


def add(sums: Iterable[Sums]) -> Sums:
    """All of them together."""
    return Sums(*map(math.fsum, zip(*sums, strict=True)))


def mean_reward(arm: Sums, rewards: RewardRule) -> Estimate | None:
    """The importance-weighted mean reward of an arm, or None if it has none. (The unweighted mean, where all w = 1.)"""
    if arm.w <= 0.0:
        return None
    four = _plus_four(arm, rewards)
    centre, half = four.wr / four.w, Z * math.sqrt(_square(four) / (four.w * four.w))
    return _around(arm.wr / arm.w, centre, half, arm.effective, rewards)


class ComparedSums(NamedTuple):
    """The decisions of one stratum: n of the learn stream, which brought r, and those that had the rival.

    `iw`: the sum of 1 / the probability of the rival, where it is an arm. `groups`: of the decisions that had the
    rival, the sums n, r, r² of each group of units, for those that have a unit.
    """

    n: float
    r: float
    rival: Sums
    iw: float = 0.0
    groups: Mapping[int, tuple[float, float, float]] = {}

    @property
    def gain(self) -> float:
        """R − n·c."""
        return self.r - self.n * self.rival.r / self.rival.n


def gain_over_stream(strata: Sequence[ComparedSums], rewards: RewardRule, factor: float = 1.0) -> Estimate:
    """What the learn stream brought above what control or holdout would have brought in its place.

    Every stratum has decisions of both streams. `factor`: see `clustering`.
    """
    total = math.fsum(one.n for one in strata)
    fours = [_some_more(one.rival, 4.0 * one.n / total, rewards) for one in strata]
    value = math.fsum(one.gain for one in strata)
    centre = math.fsum(one.r - one.n * four.r / four.n for one, four in zip(strata, fours, strict=True))
    squares = [one.n**2 * (1.0 / four.n + 1.0 / one.n) * _spread(four) for one, four in zip(strata, fours, strict=True)]
    half = Z * math.sqrt(factor * math.fsum(squares))
    effective = total**2 / math.fsum(one.n**2 / one.rival.n for one in strata) / factor
    return _around(value, centre, half, effective)


def clustering(strata: Sequence[ComparedSums]) -> float:
    """How many times larger a variance is because decisions of one unit have things in common; at least 1.

    A unit is in one group in all strata. So the rival's deviations, summed by group over all strata, vary as those of
    independent decisions would, or more.
    """
    sums: dict[int, float] = {}
    alone = every = have_unit = 0.0
    for one in strata:
        weight = one.n * math.sqrt(1.0 / one.rival.n**2 + 1.0 / (one.rival.n * one.n))
        every += one.rival.n * weight**2
        counts, totals, _ = map(math.fsum, zip(*one.groups.values(), strict=True)) if one.groups else (1.0, 0.0, 0.0)
        mean = totals / counts
        for number, (n, r, r2) in one.groups.items():
            sums[number] = sums.get(number, 0.0) + weight * (r - mean * n)
            alone += weight**2 * (r2 - 2.0 * mean * r + mean * mean * n)
            have_unit += n * weight**2
    if len(sums) < 2 or alone <= 0.0:
        return 1.0
    together = math.fsum(one * one for one in sums.values()) * len(sums) / (len(sums) - 1.0)
    return 1.0 + min(have_unit / every, 1.0) * max(together / alone - 1.0, 0.0)


def gain_over_arm(one: ComparedSums, rewards: RewardRule) -> Estimate | None:
    """What decisions brought above what the arm would have brought, served in each of them; None: it never was."""
    arm = one.rival
    if arm.w <= 0.0:
        return None
    four = _plus_four(arm, rewards)
    seen = (one.n / arm.w) ** 2 * _unseen(four)
    expected = max(four.wr2 / four.w - (four.wr / four.w) ** 2, 0.0) * max(one.iw - one.n, 0.0)
    half = Z * math.sqrt(math.sqrt(seen * expected))
    return _around(one.r - one.n * arm.wr / arm.w, one.r - one.n * _unseen_mean(arm, rewards), half, arm.effective)


def worth(n: float, to: Sums, left: Sums, rewards: RewardRule) -> Estimate | None:
    """What serving one arm n times brings above serving another: n times the difference of their weighted means."""
    if to.w <= 0.0 or left.w <= 0.0:
        return None
    fours = [_plus_four(sums, rewards) for sums in (to, left)]
    half = Z * n * math.sqrt(sum(_square(four) / (four.w * four.w) for four in fours))
    value, centre = (n * (a.wr / a.w - b.wr / b.w) for a, b in ((to, left), fours))
    return _around(value, centre, half, min(to.effective, left.effective))


class SampleRatio(NamedTuple):
    """How often arms were served against how often they should have been. `odd`: the arms that are out of bounds."""

    n: int
    level: float
    odd: tuple[str, ...]

    @property
    def is_fine(self) -> bool:
        """No arm is out of bounds."""
        return not self.odd


def sample_ratio(n: int, served: Mapping[str, int], expected: Mapping[str, tuple[float, float]]) -> SampleRatio:
    """Whether the arms served are as frequent as their probabilities: a false alarm in at most 1 look of 1,000.

    `expected`: of each arm Σp and Σp(1 − p) over the n decisions. Bernstein's inequality bounds how far a count strays
    from Σp, at any n, with a chance of at most `MISMATCH` over all arms together:
        |count − Σp| ≤ √(2vL) + L/3,    v = Σp(1 − p),    L = ln(2K / level)
    """
    log = math.log(2.0 * max(len(expected), 1) / MISMATCH)
    odd = [
        arm
        for arm, (mean, variance) in expected.items()
        if abs(served.get(arm, 0) - mean) > math.sqrt(2.0 * variance * log) + log / 3.0 + 1e-9 * n
    ]
    odd += [arm for arm, count in served.items() if count and arm not in expected]
    return SampleRatio(n, MISMATCH, tuple(odd))


def _around(value: float, centre: float, half: float, effective: float, ends: RewardRule = EVERYTHING) -> Estimate:
    low, high = min(value, centre - half), max(value, centre + half)
    return Estimate(value, max(low, ends.min), min(high, ends.max), effective)


def _square(s: Sums) -> float:
    """Σw²(r − m)²."""
    mean = s.wr / s.w
    return max(s.w2r2 - 2.0 * mean * s.w2r + mean * mean * s.w2, 0.0)


def _spread(s: Sums) -> float:
    """The variance of evenly weighted rewards."""
    return max(s.r2 / s.n - (s.r / s.n) ** 2, 0.0)


def _unseen(s: Sums) -> float:
    """Σw(w − 1)(r − m)²: what the decisions that served another arm leave open about this one."""
    mean = s.wr / s.w
    return max(_square(s) - (s.wr2 - 2.0 * mean * s.wr + mean * mean * s.w), 0.0)


def _plus_four(s: Sums, rewards: RewardRule) -> Sums:
    """With four more decisions, two at either end of the range, each of the weight Σw² / Σw."""
    w = s.w2 / s.w
    once, square = 2.0 * (rewards.min + rewards.max), 2.0 * (rewards.min**2 + rewards.max**2)
    four = Sums(4.0, once, square, 4.0 * w, 4.0 * w * w, w * once, w * square, w * w * once, w * w * square)
    return add((s, four))


def _some_more(s: Sums, more: float, rewards: RewardRule) -> Sums:
    """With so many more decisions of weight 1, half of them at either end of the range."""
    ends, squares = rewards.min + rewards.max, rewards.min**2 + rewards.max**2
    return s._replace(n=s.n + more, r=s.r + 0.5 * more * ends, r2=s.r2 + 0.5 * more * squares)


def _unseen_mean(s: Sums, rewards: RewardRule) -> float:
    """The mean with four more decisions that stand for the unseen ones only: of weight w − 1, not w."""
    w = s.w2 / s.w - 1.0
    return (s.wr + 2.0 * w * (rewards.min + rewards.max)) / (s.w + 4.0 * w)
