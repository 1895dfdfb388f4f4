"""What the decision service does, said again in plain Python: dictionaries, one thing at a time, no database.

It cannot know which arm is drawn, so it is shown each answer and says whether it is one that may be given
(service_decisions.py); everything else it foretells: what becomes of every reward, what closes which decision when and
in which order, what the learner is told. Times are seconds, refusals HTTP's numbers.
"""

from __future__ import annotations

import copy
import math
import statistics
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tests.naive.delays import Delays

HOUR, DAY = 3_600.0, 86_400.0
LOOK, SLACK, TIDY = 0.25, 1.0, 60.0
AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "sum": sum,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
}


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
    """When a worker last looked for what is due, and last tidied up."""

    looked: float = -math.inf
    tidied: float = -math.inf


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

    @property
    def now(self) -> Version:
        return self.versions[-1]

    @property
    def number(self) -> int:
        """Of the present version; the first is 1."""
        return len(self.versions)

    def at(self, version: int) -> Version:
        return self.versions[version - 1]


class Model:
    """The service. `most`: how many decisions are closed in a pass; `rule`: the version of the learners' rule; `least`:
    the smallest m of a version without news."""

    def __init__(self, most: int, rule: int = 1, least: int = 8) -> None:
        self.most = most
        self.rule = rule
        self.least = least
        self.experiments: dict[str, Experiment] = {}
        self.decisions: dict[str, Decision] = {}
        self.inbox: dict[str, Waiting] = {}
        self.early: dict[str, float] = {}  # decisions that are not there yet, and when they were last rewarded
        self.parts: dict[str, dict[str, Part]] = {}
        self.refused: list[Refused] = []
        self.keys: dict[tuple[str, str], tuple[Any, Any, float]] = {}
        self.sticky: dict[tuple[str, str], str] = {}
        self.tidied_until = -math.inf

    # --- rewards come in ---

    def tell(self, decision_id: str, value: float, reward_id: str | None, now: float) -> str | int:
        """What becomes of a reward. A query for a decision returns it with the rewards that arrived before it."""
        self._adopt([decision_id])
        if not math.isfinite(value):
            return 422
        decision, name = self.decisions.get(decision_id), reward_id or ""
        if decision is None:
            return self._part(decision_id, None, name, value, now)
        settings = self.experiments[decision.experiment].now.settings
        if not fits(value, settings):
            return 422
        waiting = self.inbox.get(decision_id)
        over = decision.ended(now) or decision.outcome is not None
        over = over or (waiting is not None and waiting.source != "real")
        if settings.aggregation != "first":
            if over and name not in self.parts.get(decision_id, {}):
                return self._refuse(decision_id, decision.experiment, reward_id, value, now, "late")
            return self._part(decision_id, decision.experiment, name, value, now)
        counted = decision.reward if decision.outcome == "rewarded" else None
        counted = waiting.value if waiting is not None and waiting.source == "real" else counted
        if counted is not None:
            status = "duplicate" if value == counted else "conflict"
            return self._refuse(decision_id, decision.experiment, reward_id, value, now, status)
        if over:
            return self._refuse(decision_id, decision.experiment, reward_id, value, now, "late")
        self.inbox[decision_id] = Waiting(value, now, "real")
        return "accepted"

    def _part(self, decision_id: str, experiment: str | None, name: str, value: float, now: float) -> str:
        parts = self.parts.setdefault(decision_id, {})
        if name in parts:
            status = "duplicate" if value == parts[name].value else "conflict"
            return self._refuse(decision_id, experiment, name or None, value, now, status)
        parts[name] = Part(value, now)
        if experiment is not None:
            return "accepted"
        self.early[decision_id] = now
        return "pending_decision"

    def _refuse(
        self, decision_id: str, experiment: str | None, reward_id: str | None, value: float, at: float, status: str
    ) -> str:
        self.refused.append(Refused(decision_id, experiment, reward_id, value, at, status))
        return status

    def _adopt(self, ids: Sequence[str]) -> None:
        """What came before its decision is taken as if it had come just after it."""
        for decision_id in [one for one in ids if one in self.early and one in self.decisions]:
            decision = self.decisions[decision_id]
            settings = self.experiments[decision.experiment].now.settings
            del self.early[decision_id]
            told = self.parts.pop(decision_id)
            for name, part in sorted(told.items(), key=lambda item: (item[1].received_at, item[0])):
                if not fits(part.value, settings):
                    self._refuse(decision_id, decision.experiment, name or None, *part, "out_of_range")
                elif settings.aggregation != "first":
                    self.parts.setdefault(decision_id, {})[name] = part
                elif decision_id in self.inbox:
                    status = "duplicate" if part.value == self.inbox[decision_id].value else "conflict"
                    self._refuse(decision_id, decision.experiment, name or None, *part, status)
                else:
                    self.inbox[decision_id] = Waiting(part.value, part.received_at, "real")
            self.refused = [
                one._replace(experiment=decision.experiment) if one.decision_id == decision_id else one
                for one in self.refused
            ]

    def activate(self, decision_id: str, now: float) -> int | None:
        """The window of a deferred decision begins."""
        decision = self.decisions.get(decision_id)
        if decision is None:
            return 404
        if decision.expires_at is None and decision.applied is None:
            decision.expires_at = now + self.experiments[decision.experiment].now.settings.window
        return None

    # --- rewards are applied ---

    def work(self, gates: Gates, now: float, others: Collection[str] = ()) -> Iterator[Gates]:
        """One pass of a worker, a transaction at a time: before each it says how the worker's gates stand.

        `others`: experiments that another worker has just changed, and is still working on.
        """
        ready = {self.decisions[one].experiment for one in self.inbox}
        if not 0.0 <= now - gates.looked < LOOK:
            since = max(min(gates.looked, now) - SLACK, 0.0)
            gates = gates._replace(looked=now)
            if self.early:
                yield gates
                self._adopt(list(self.early))
                self._give_up(now)
            ready |= {one.experiment for one in self.decisions.values() if one.outcome is None and one.ended(now)}
            asked = {one.experiment for one in self.decisions.values() if one.trains() and one.decided_at > since}
            ready |= {key for key in asked if self._has_doubled(self.experiments[key], now)}
        if not 0.0 <= now - gates.tidied < TIDY:
            gates = gates._replace(tidied=now)
            yield gates
            self.keys = {place: kept for place, kept in self.keys.items() if kept[2] > now}
            self.tidied_until = max(self.tidied_until, now)
        for key in [key for key in self.experiments if key in ready and key not in others]:
            yield gates
            self._apply(key, now)
        yield gates

    def _give_up(self, now: float) -> None:
        for decision_id in [one for one, last in self.early.items() if last <= now - HOUR]:
            del self.early[decision_id]
            for name, part in self.parts.pop(decision_id).items():
                self._refuse(decision_id, None, name or None, *part, "orphan")

    def _apply(self, key: str, now: float) -> None:
        experiment = self.experiments[key]
        self._end_windows(experiment, now)
        ours = [one for one in self.inbox if self.decisions[one].experiment == key]
        ours = sorted(ours, key=lambda one: (self.inbox[one].received_at, one))[: self.most]
        if not ours:
            self._plan_ahead(experiment, now)
            return
        self._checkpoint(experiment)
        number, n_learned = experiment.number + 1, 0
        for position, decision_id in enumerate(ours):
            decision, waiting = self.decisions[decision_id], self.inbox.pop(decision_id)
            decision.outcome = "rewarded"
            if waiting.source == "default":
                decision.outcome = "expired" if waiting.value is None else "defaulted"
            decision.reward, decision.rewarded_at = waiting.value, waiting.received_at
            decision.applied = number, position
            if decision.stream == "learn" and waiting.value is not None:
                n_learned += 1
                experiment.story.append((number, self._lesson(experiment, decision)))
                experiment.delays.add(max(round(1e3 * (now - decision.decided_at)), 1))
        m = self._pulls(experiment, now)
        experiment.versions.append(replace(experiment.now, kind="rewards", n_learned=n_learned, m=m))

    def _pulls(self, experiment: Experiment, now: float) -> int:
        """Open decisions, but those that are older than almost all rewards were, plus one: as a power of two."""
        reach = experiment.delays.reach
        after = -math.inf if reach is None else now - 1e-3 * reach
        ours = [one for one in self.decisions.values() if one.experiment == experiment.key and one.trains()]
        n = 1 + sum(one.decided_at > after for one in ours)
        return max(1 << j for j in range(21) if 1 << j <= n)

    def _has_doubled(self, experiment: Experiment, now: float) -> bool:
        return self._pulls(experiment, now) >= max(2 * experiment.now.m, self.least)

    def _plan_ahead(self, experiment: Experiment, now: float) -> None:
        """So many decisions are open that more pulls are planned, in a version that changes nothing else."""
        if self._has_doubled(experiment, now):
            self._checkpoint(experiment)
            m = self._pulls(experiment, now)
            experiment.versions.append(replace(experiment.now, kind="planned", n_learned=0, m=m))

    def _checkpoint(self, experiment: Experiment) -> None:
        """A learner of an older rule is migrated before anything else is written: in a version that changes nothing."""
        if experiment.rule != self.rule:
            experiment.rule = self.rule
            experiment.versions.append(replace(experiment.now, kind="checkpoint", n_learned=0))

    def _end_windows(self, experiment: Experiment, now: float) -> None:
        settings = experiment.now.settings
        due = [
            one
            for one in self.decisions.values()
            if one.experiment == experiment.key and one.outcome is None and one.ended(now)
            and one.id not in self.inbox and one.id not in self.early
        ]  # fmt: skip
        for decision in sorted(due, key=lambda one: (one.expires_at, one.id))[: self.most]:
            told = sorted(self.parts.get(decision.id, {}).items(), key=lambda item: (item[1].received_at, item[0]))
            made = AGGREGATES[settings.aggregation]([part.value for _, part in told]) if told else None
            if made is not None and settings.low <= made <= settings.high:
                self.inbox[decision.id] = Waiting(made, now, "collected")
                continue
            if made is not None:
                shown = min(max(made, -1e308), 1e308)
                self._refuse(decision.id, experiment.key, None, shown, now, "out_of_range")
            self.inbox[decision.id] = Waiting(settings.default, now, "default")

    def _lesson(self, experiment: Experiment, decision: Decision) -> tuple[Any, ...]:
        version = experiment.at(decision.version)
        had = version.named("active", "paused")
        allowed = None if len(decision.probabilities) == len(had) else tuple(decision.probabilities)
        return "observe", decision.arm, decision.reward, decision.propensity, allowed, version.m

    # --- settings ---

    def create(self, key: str, salt: str, settings: Settings, arms: dict[str, Arm]) -> None:
        self.experiments[key] = Experiment(key, salt, [Version("opened", 0, settings, arms)], self.rule)

    def change(self, key: str, settings: Settings) -> None:
        experiment = self.experiments[key]
        self._checkpoint(experiment)
        changed = replace(experiment.now, kind="settings_changed", n_learned=0, settings=settings)
        experiment.versions.append(changed)

    def set_arm(self, key: str, name: str, arm: Arm) -> int | None:
        """Add an arm or change one; the number of the refusal, if it is refused."""
        experiment = self.experiments[key]
        arms = copy.copy(experiment.now.arms)
        old = arms.get(name)
        arms[name] = arm
        if old is not None and old.state != arm.state:
            living = [one for one in experiment.now.named("active", "paused") if one != name]
            ends = old.state in ("active", "paused") and arm.state == "retired"
            if old.state == "retired" or (old.state, arm.state) == ("pending", "paused") or (ends and not living):
                return 409
        living_arms = [one for one in arms.values() if one.state != "retired"]
        if any(one.floor > one.cap for one in living_arms) or math.fsum(one.floor for one in living_arms) > 1.0:
            return 422
        if old is not None and arm.cap != old.cap and math.fsum(one.cap for one in living_arms) < 1.0:
            return 422
        self._checkpoint(experiment)
        kind = "arm_added" if old is None else "arm_changed"
        experiment.versions.append(replace(experiment.now, kind=kind, n_learned=0, arms=arms))
        before = "pending" if old is None else old.state
        if before == "pending" and arm.state == "active":
            experiment.story.append((experiment.number, ("add", name)))
        elif before in ("active", "paused") and arm.state == "retired":
            experiment.story.append((experiment.number, ("retire", name)))
        return None


def fits(value: float, settings: Settings) -> bool:
    """May it be one of the rewards?"""
    return settings.aggregation == "sum" or settings.low <= value <= settings.high
