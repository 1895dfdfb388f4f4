"""What the service answers about gains: over control, over holdout and over each arm."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import field

from turncoat.service.messages import Answer

Reason: TypeAlias = Literal[
    "no_control",
    "no_holdout",
    "control_paused",
    "control_not_allowed",
    "too_few",
    "below_1_percent",
    "before_upgrade",
]


class Interval(Answer, frozen=True, kw_only=True):
    """A figure with its interval."""

    value: float
    low: float
    high: float


class LeftOut(Answer, frozen=True, kw_only=True):
    """Decisions of the learn stream that a gain says nothing about, and why."""

    n: int
    reason: Reason
    meaning: str


class GainStratum(Answer, frozen=True, kw_only=True):
    """Decisions whose stream was drawn with the same chances: n that learned and n_rival that had the rival."""

    control_arm: str | None
    control_share: float
    holdout_share: float
    n: int
    mean: float | None
    n_rival: int
    rival_mean: float | None
    gain: float | None


class Gain(Answer, frozen=True, kw_only=True):
    """What n decisions of the learn stream brought above what they would have brought with a rival.

    `total`: rewards, sum over n decisions; None: it cannot be estimated, for the reasons in `left_out`. `arm`: the
    rival, where it is one arm. `effective`: the evenly weighted decisions of the rival that the figure is as good as.
    """

    over: Literal["control", "holdout", "arm"]
    arm: str | None
    total: Interval | None = None
    per_decision: Interval | None = None
    n: int
    n_rival: int
    effective: float = 0.0
    left_out: list[LeftOut] = field(default_factory=list)
    strata: list[GainStratum] = field(default_factory=list)


class Gains(Answer, frozen=True, kw_only=True):
    """The gains of an experiment, over control first. They count decisions made before `until` that had a reward."""

    key: str
    unit: str
    level: float
    until: datetime
    n_learn: int
    n_expired: int
    gains: list[Gain]
