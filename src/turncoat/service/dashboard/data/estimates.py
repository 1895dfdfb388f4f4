"""What arms bring and what learning has gained, from sums alone, each figure with an interval at 95 %.

A decision with weight w = 1 / propensity stands for w decisions. Of the learn stream's decisions that served arm a,
    m = Σwr / Σw                               estimates the mean reward of a, had it always been served;
    V = Σw²(r − m)² / (Σw)²                    is the variance of m: the interval is m ± 1.96 √V;
    (Σw)² / Σw²                                is the number of evenly weighted decisions it is as good as.
What learning has gained over serving a all the time, on the same n decisions with the total reward R, is R − n·m. Both
terms hold the rewards of a's own decisions, so only what was *not* seen of a is uncertain: the variance is
(n / Σw)² Σw(w − 1)(r − m)², and nothing if a was served all the time.
The gain over the control stream is R − n·c with its mean c, and as those are other decisions both variances count:
n²(V of the learn stream, unweighted, + V of control). It estimates the expected gain.

Rewards near an end of their range vary little until the other end has come: five zeros do not show that a sixth is
sure. So intervals are those around the figure that four more decisions would give, two at either end ("plus four":
Agresti & Coull, "Approximate is better than exact for interval estimation of binomial proportions", The American
Statistician, 1998), each with the weight that Σw²/Σw gives. The figure itself is without them.

What the intervals take for granted: decisions are independent given their propensities (one unit that decides a
hundred times counts as a hundred: then they are too narrow), a reward's absence does not depend on its value, and
control's share did not change much while the world did.
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


def gain_over_control(learn: Sums, control: Sums, rewards: RewardRule) -> Estimate | None:
    """What the learn stream brought above n times the mean of the control stream."""
    if learn.n <= 0.0 or control.n <= 0.0:
        return None
    ours, theirs = (_plus_four(sums.unweighted, rewards) for sums in (learn, control))
    half = Z * learn.n * math.sqrt(_square(ours) / ours.n**2 + _square(theirs) / theirs.n**2)
    value, centre = (learn.r - learn.n * sums.r / sums.n for sums in (control, theirs))
    return _around(value, centre, half, control.n)


def gain_over_arm(learn: Sums, arm: Sums, rewards: RewardRule) -> Estimate | None:
    """What the learn stream brought above what the arm would have brought, had it been served in each of its decisions.

    `arm`: those decisions of the learn stream that served the arm.
    """
    return gain_over_path([(learn, arm)], rewards)


def gain_over_path(segments: Sequence[tuple[Sums, Sums]], rewards: RewardRule) -> Estimate | None:
    """The same against a path: of each segment all decisions, and those of the arm that the path has there.

    The values and the variances of the segments add up. A segment whose arm was never served says nothing about it
    and is left out. Where the path was chosen by the same rewards this is an estimate to take with salt: it looks
    better than a path that was known before, so the gain over it looks smaller.
    """
    known = [(learn, arm) for learn, arm in segments if arm.w > 0.0]
    if not known:
        return None
    values = [learn.r - learn.n * arm.wr / arm.w for learn, arm in known]
    centres = [learn.r - learn.n * _unseen_mean(arm, rewards) for learn, arm in known]
    squares = [(learn.n / arm.w) ** 2 * _unseen(_plus_four(arm, rewards)) for learn, arm in known]
    half = Z * math.sqrt(math.fsum(squares))
    return _around(math.fsum(values), math.fsum(centres), half, min(arm.effective for _, arm in known))


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


def _unseen_mean(s: Sums, rewards: RewardRule) -> float:
    """The mean with four more decisions that stand for the unseen ones only: of weight w − 1, not w."""
    w = s.w2 / s.w - 1.0
    return (s.wr + 2.0 * w * (rewards.min + rewards.max)) / (s.w + 4.0 * w)
