"""An experiment as it was published last: what decisions are drawn from. Never changed, only replaced."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import msgspec

from turncoat.service import messages
from turncoat.service.clock import as_datetime
from turncoat.service.errors import Conflicting, Unprocessable
from turncoat.service.experiments.floors_caps import served

MOST_OFFERS = 256  # kept at a time, for callers that name their arms
LEAST_SHARE = 1e-12  # below this a generator of 53 bits cannot keep its word, and 1 / share² is past all measure


class Config(msgspec.Struct, frozen=True):
    """The settings of an experiment that may change, as they are stored."""

    reward: messages.RewardRule
    reward_window_s: float
    default_reward: float | None
    control: messages.Control | None
    holdout_share: float


class Learner(Protocol):
    """All that the service knows of a learner."""

    def probabilities(self, *, allowed: Any = None) -> Any:
        """Of every arm, by index."""

    def observe(self, index: int, loss: float, propensity: float, *, allowed: Any = None) -> None:
        """Learn from a round."""

    def add_arm(self, label: str) -> int:
        """One more."""

    def retire_arm(self, arm: str) -> None:
        """One less."""

    def explain(self) -> Any:
        """What it thinks."""

    def state(self) -> dict[str, Any]:
        """All of it."""

    @property
    def arms(self) -> Any:
        """Their labels, by index."""


class ArmRow(NamedTuple):
    """An arm as it is stored."""

    arm: str
    position: int
    state: messages.ArmState
    floor: float
    cap: float
    payload: Any
    tried: bool = False  # whether a reward of it has been learned from


class Offer(NamedTuple):
    """A distribution to draw from."""

    probabilities: dict[str, float]
    arms: list[str]
    heights: list[float]  # cumulative
    stored: str | None  # its JSON for the decision's row; None: that of the version
    allowed: str | None  # the JSON of the arms it is over; None: all the learner has

    def draw(self, u: float) -> str:
        """An arm, for a number in [0, 1). One of probability 0 is never drawn, nor one of less than LEAST_SHARE."""
        return self.arms[bisect_right(self.heights, u * self.heights[-1])]


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
    offers: dict[Any, Offer] = field(default_factory=dict, compare=False, repr=False)

    def find(self, arm: str) -> ArmRow | None:
        """The arm of this name."""
        return next((row for row in self.arms if row.arm == arm), None)

    def active(self) -> list[ArmRow]:
        """Those that may be served."""
        return [row for row in self.arms if row.state == "active"]

    def learned(self) -> list[str]:
        """Those the learner has and has not retired."""
        return [row.arm for row in self.arms if row.state in ("active", "paused")]

    def offer(self, stream: str, allowed: Iterable[str] | None, learner: Callable[[], Learner]) -> Offer:
        """What to draw from in this stream, for a caller who can use only these arms."""
        named = None if allowed is None else frozenset(allowed)
        found = self.offers.get((stream, named))
        if found is None:
            if len(self.offers) >= MOST_OFFERS:
                self.offers.clear()
            found = self.offers[stream, named] = self._offer(stream, named, learner)
        return found

    def _offer(self, stream: str, named: frozenset[str] | None, learner: Callable[[], Learner]) -> Offer:
        rows = self.active() if named is None else [row for row in self.active() if row.arm in named]
        if not rows:
            which = "no arm is active" if named is None else f"none of allowed_arms {sorted(named)} is active"
            raise Conflicting(f"{which} in {self.key!r} at present", field="allowed_arms")
        if stream == "learn":
            everything = len(rows) == len(self.probabilities)
            shares = self.probabilities if everything else served_by(learner(), rows)
        else:
            everything = False
            shares = {row.arm: 1.0 / len(rows) for row in rows}
        drawn = [arm for arm, share in shares.items() if share >= LEAST_SHARE]
        return Offer(
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

    def to_experiment(self) -> messages.Experiment:
        """All of it, for callers."""
        return messages.Experiment(
            key=self.key,
            state=self.state,  # type: ignore[arg-type]
            revision=self.revision,
            version=self.version,
            arms=[self.to_arm(row) for row in self.arms],
            reward=self.config.reward,
            reward_window_s=self.config.reward_window_s,
            default_reward=self.config.default_reward,
            control=self.config.control,
            holdout_share=self.config.holdout_share,
            seed=self.seed,
            learner="turncoat",
            created_at=as_datetime(self.created_at),
        )


def served_by(learner: Learner, rows: Iterable[ArmRow]) -> dict[str, float]:
    """What is served of these arms: the learner's word on them, then floors and caps."""
    chosen = list(rows)
    if not chosen:
        return {}
    index_of = {label: index for index, label in enumerate(learner.arms)}
    weights = learner.probabilities(allowed=[row.arm for row in chosen])
    ours = [float(weights[index_of[row.arm]]) for row in chosen]
    shares = served(ours, [row.floor for row in chosen], limits(chosen))
    return {row.arm: share for row, share in zip(chosen, shares, strict=True)}


def limits(rows: list[ArmRow]) -> list[float]:
    """The largest share that each may have now: its cap, and an even share while nothing is known about it.

    A learner tries what is new at once, and would go on until its first reward comes, which may take hours. Where the
    caps of the others leave more than that, those that are new divide it.
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


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(map(repr, listed[:20])) + (f" and {len(listed) - 20} more" if len(listed) > 20 else "")
