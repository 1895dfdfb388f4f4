"""A snapshot: one published version of an experiment, from which decisions are drawn. Immutable, only replaced."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errors import Conflicting, Unprocessable
from turncoat.service.experiments.floors_caps import served
from turncoat.service.store.interface import Row

MOST_DISTRIBUTIONS = 256  # cached per snapshot, for callers that name their arms
LEAST_SHARE = 1e-12  # smaller ones are not drawn: 53 random bits are too coarse for them, and 1 / share² too large


class Config(msgspec.Struct, frozen=True):
    """The settings of an experiment that may change, as they are stored."""

    reward: messages.RewardRule
    reward_window_s: float
    default_reward: float | None
    control: messages.Control | None
    holdout_share: float
    stickiness: messages.Stickiness = messages.Stickiness()  # earlier versions stored none
    tags: list[str] = []
    keep_days: float | None = None  # decisions; None: for ever. Experiments of earlier versions have none


class Learner(Protocol):
    """The methods of a learner that the service uses."""

    rule_version: ClassVar[int]

    def probabilities(self, *, allowed: Any = None, m: int | None = None) -> Any:
        """The probability of every arm, by index, where m pulls are planned ahead."""

    def observe(self, index: int, loss: float, propensity: float, *, allowed: Any = None, m: int | None = None) -> None:
        """Learn from a round."""

    def observe_many(self, indices: Any, losses: Any, propensities: Any, *, m: int | None = None) -> None:
        """Learn from rounds, in order, for which as many pulls were planned."""

    def add_arm(self, label: str) -> int:
        """Add an arm; its index."""

    def retire_arm(self, arm: str) -> None:
        """Retire an arm."""

    def explain(self) -> Any:
        """The learner's explanation of itself."""

    def state(self) -> dict[str, Any]:
        """The whole state, for `restore`."""

    @property
    def arms(self) -> Any:
        """The labels of the arms, by index."""

    @property
    def living(self) -> Any:
        """Those that were not retired."""


class ArmRow(NamedTuple):
    """An arm as it is stored."""

    arm: str
    position: int
    state: messages.ArmState
    floor: float
    cap: float
    payload: Any
    tried: bool = False  # whether a reward of it has been learned from


class Distribution(NamedTuple):
    """A distribution to draw from."""

    probabilities: dict[str, float]
    arms: list[str]
    cumulative: list[float]
    stored: str | None  # its JSON for the decision's row; None: that of the version
    allowed: str | None  # the JSON of the arms it is over; None: all the learner has

    def draw(self, u: float) -> str:
        """The arm for a uniform number in [0, 1), by inversion. An arm below LEAST_SHARE is never drawn."""
        return self.arms[bisect_right(self.cumulative, u * self.cumulative[-1])]


@dataclass(frozen=True)
class Snapshot:
    """One version of one experiment."""

    id: int
    key: str
    created_at: float
    config: Config
    state: str
    revision: int
    version: int
    seed: int
    salt: str
    arms: tuple[ArmRow, ...]
    probabilities: dict[str, float]
    learner_version: int
    checksum: str  # of the learner's state
    rule: int  # that the learner's state is of
    m: int  # pulls planned ahead in this version
    delays: str | None  # of its rewards so far (waiting.py)
    distributions: dict[Any, Distribution] = field(default_factory=dict, compare=False, repr=False)

    def find(self, arm: str) -> ArmRow | None:
        """The arm of this name."""
        return next((row for row in self.arms if row.arm == arm), None)

    def active(self) -> list[ArmRow]:
        """The arms that may be served."""
        return [row for row in self.arms if row.state == "active"]

    def learned(self) -> list[str]:
        """The arms that the learner has and has not retired."""
        return [row.arm for row in self.arms if row.state in ("active", "paused")]

    def distribution(self, stream: str, allowed: Iterable[str] | None, learner: Callable[[], Learner]) -> Distribution:
        """The distribution to draw from in this stream, for a caller who can use only these arms."""
        named = None if allowed is None else frozenset(allowed)
        found = self.distributions.get((stream, named))
        if found is None:
            if len(self.distributions) >= MOST_DISTRIBUTIONS:
                self.distributions.clear()
            found = self.distributions[stream, named] = self._distribution(stream, named, learner)
        return found

    def _distribution(self, stream: str, named: frozenset[str] | None, learner: Callable[[], Learner]) -> Distribution:
        rows = self.active() if named is None else [row for row in self.active() if row.arm in named]
        if not rows:
            which = "no arm is active" if named is None else f"none of allowed_arms {sorted(named)} is active"
            raise Conflicting(f"{which} in {self.key!r} at present", field="allowed_arms")
        if stream == "learn":
            everything = len(rows) == len(self.probabilities)
            shares = self.probabilities if everything else served_by(learner(), rows, self.m)
        else:
            everything = False
            shares = {row.arm: 1.0 / len(rows) for row in rows}
        drawn = [arm for arm, share in shares.items() if share >= LEAST_SHARE]
        return Distribution(
            shares,
            drawn,
            list(accumulate(shares[arm] for arm in drawn)),
            None if everything else to_json(shares),
            None if len(rows) == len(self.learned()) else to_json([row.arm for row in rows]),
        )

    def check_named(self, allowed: Iterable[str]) -> None:
        """Is there an arm of each of these names?"""
        names = {row.arm for row in self.arms}
        for arm in allowed:
            if arm not in names:
                raise Unprocessable(
                    f"allowed_arms has {arm!r}; accepted are arms of {self.key!r}: {_some(names)}", field="allowed_arms"
                )

    def to_arm(self, row: ArmRow) -> messages.Arm:
        """One of its arms, for callers."""
        return messages.Arm(
            arm=row.arm,
            state=row.state,
            floor=row.floor,
            cap=row.cap,
            payload=row.payload,
            probability=self.probabilities.get(row.arm, 0.0),
        )

    def to_experiment(self, damage: messages.Damage | None = None) -> messages.Experiment:
        """All of it, for callers."""
        return messages.Experiment(
            key=self.key,
            state=self.state,  # type: ignore[arg-type]
            revision=self.revision,
            version=self.version,
            arms=[self.to_arm(row) for row in self.arms],
            **msgspec.structs.asdict(self.config),
            seed=self.seed,
            learner="turncoat",
            created_at=as_datetime(self.created_at),
            damage=damage,
        )


def served_by(learner: Learner, rows: Iterable[ArmRow], m: int) -> dict[str, float]:
    """The probabilities served for these arms: the learner's, where m pulls are planned, after floors and caps."""
    chosen = list(rows)
    if not chosen:
        return {}
    index_of = {label: index for index, label in enumerate(learner.arms)}
    is_all = m > 1 and len(chosen) == len(learner.living)  # what `observe` takes the decision for: plans differ
    weights = learner.probabilities(allowed=None if is_all else [row.arm for row in chosen], m=m)
    ours = [float(weights[index_of[row.arm]]) for row in chosen]
    shares = served(ours, [row.floor for row in chosen], share_limits(chosen))
    return {row.arm: share for row, share in zip(chosen, shares, strict=True)}


def share_limits(rows: list[ArmRow]) -> list[float]:
    """The largest share that each may have now: its cap, and an even share while nothing is known about it.

    A learner tries what is new at once, and from a version with m = 1 it would go on until the next version: planning
    limits new arms only from m = 2 on. Where the caps of the others leave more than that, those that are new divide it.
    """
    even = 1.0 / len(rows)
    most = [row.cap if row.tried else max(min(row.cap, even), row.floor) for row in rows]
    rooms = [row.cap - share for row, share in zip(rows, most, strict=True)]
    left, room = 1.0 - math.fsum(most), math.fsum(rooms)
    if left <= 0.0 or room <= 0.0:
        return most
    part = min(left / room, 1.0)
    return [min(share + part * more, row.cap) for row, share, more in zip(rows, most, rooms, strict=True)]


def to_json(thing: Any) -> str:
    """As text, floats exactly."""
    return msgspec.json.encode(thing).decode()


def read_row(names: Sequence[str], row: Row, *, json: Sequence[str] = ()) -> dict[str, Any]:
    """A row as the fields of a message: times as datetimes (`at`, `…_at`), the columns in `json` decoded."""
    values = dict(zip(names, row, strict=True))
    for name, value in values.items():
        if value is not None and (name in json or name == "at" or name.endswith("_at")):
            values[name] = msgspec.json.decode(value) if name in json else as_datetime(value)
    return values


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(map(repr, listed[:20])) + (f" and {len(listed) - 20} more" if len(listed) > 20 else "")
