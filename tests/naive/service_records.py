"""What the model of the service remembers: settings, versions, decisions, rewards, experiments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tests.naive.delays import Delays

HOUR, DAY = 3_600.0, 86_400.0


@dataclass(frozen=True)
class Settings:
    """Of an experiment."""

    low: float
    high: float
    aggregation: str
    window: float
    default: float | None
    control: tuple[str, float] | None
    holdout: float
    running: bool = True
    flags: bool = True  # whether OpenFeature's evaluations are sticky
    keep: float = math.inf  # seconds for which a unit keeps its decision
    keep_days: float | None = None  # that a decision is kept once it is closed


@dataclass(frozen=True)
class Arm:
    """Of an experiment."""

    state: str
    floor: float = 0.0
    cap: float = 1.0


@dataclass(frozen=True)
class Version:
    """An experiment as decisions may have been drawn from it."""

    kind: str
    n_learned: int
    settings: Settings
    arms: dict[str, Arm]
    m: int = 1  # pulls that are planned ahead
    at: float = 0.0
    reason: str | None = None  # of a checkpoint: a new rule, or pruned

    def named(self, *states: str) -> list[str]:
        return [name for name, arm in self.arms.items() if arm.state in states]


@dataclass
class Decision:
    """One decision, all its life."""

    id: str
    experiment: str
    arm: str
    propensity: float
    probabilities: dict[str, float]
    version: int
    stream: str
    decided_at: float
    expires_at: float | None
    outcome: str | None = None
    reward: float | None = None
    rewarded_at: float | None = None
    applied: tuple[int, int] | None = None
    unit: str | None = None

    def ended(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def trains(self) -> bool:
        """Will it be learned from, if it is rewarded?"""
        return self.outcome is None and self.stream == "learn"


class Waiting(NamedTuple):
    """What will close a decision."""

    value: float | None
    received_at: float
    source: str


class Part(NamedTuple):
    """One of several rewards."""

    value: float
    received_at: float


class Refused(NamedTuple):
    """A reward that does not count."""

    decision_id: str
    experiment: str | None
    reward_id: str | None
    value: float
    received_at: float
    status: str


class Gates(NamedTuple):
    """When a worker last looked for what is due, tidied up, and looked for what is old, of which so much is left."""

    looked: float = -math.inf
    tidied: float = -math.inf
    pruned: float = -math.inf
    old: tuple[str, ...] = ()


@dataclass
class Experiment:
    """With its past, and with what its learner was told, each with the version it belongs to: ("add", arm),
    ("retire", arm), ("observe", arm, reward, propensity, allowed, m)."""

    key: str
    salt: str
    versions: list[Version]
    rule: int  # of the learner, as it is stored
    story: list[tuple[int, tuple[Any, ...]]] = field(default_factory=list)
    delays: Delays = field(default_factory=Delays)  # of what was learned, in milliseconds
    thinned: set[int] = field(default_factory=set)  # versions that are no longer stored

    @property
    def now(self) -> Version:
        return self.versions[-1]

    @property
    def number(self) -> int:
        """Of the present version; the first is 1."""
        return len(self.versions)

    @property
    def checkpoint(self) -> int:
        """The latest. 0: there is none."""
        return max((n for n, one in enumerate(self.versions, 1) if one.kind == "checkpoint"), default=0)

    def at(self, version: int) -> Version:
        return self.versions[version - 1]

    def add(self, **changed: Any) -> None:
        """The next version, and what is new in it."""
        self.versions.append(replace(self.now, **{"reason": None, **changed}))
