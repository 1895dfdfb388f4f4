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
from dataclasses import replace
from typing import Any

from tests.naive.service_records import (
    DAY,
    HOUR,
    Arm,
    Decision,
    Experiment,
    Gates,
    Part,
    Refused,
    Settings,
    Version,
    Waiting,
)

LOOK, SLACK, TIDY, PRUNE = 0.25, 1.0, 60.0, 60.0
AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "sum": sum,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
}


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
        self.keys: dict[tuple[str, str], tuple[Any, Any, float, str]] = {}  # body, answer, end, decision
        self.sticky: dict[tuple[str, str], str] = {}
        self.tidied_until = -math.inf
        self.pruned: list[Decision] = []

    # --- rewards come in ---

    def tell(self, decision_id: str, value: float, reward_id: str | None, now: float) -> str | int:
        """What becomes of a reward. A query for a decision returns it with the rewards that arrived before it."""
        self._adopt([decision_id])
        if not math.isfinite(value):
            return 422
        decision, name = self.decisions.get(decision_id), reward_id or ""
        if decision is None:
            if made_at(decision_id) <= max((one.decided_at for one in self.pruned), default=-math.inf):
                return self._refuse(decision_id, None, reward_id, value, now, "late")
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
        if not 0.0 <= now - gates.pruned < PRUNE:
            gates = gates._replace(pruned=now, old=tuple(key for key in self.experiments if self._old(key, now)))
        if gates.old:
            yield gates
            more = self._prune(gates.old[0], now) == self.most
            gates = gates if more else gates._replace(old=gates.old[1:])
        for key in [key for key in self.experiments if key in ready and key not in others]:
            yield gates
            self._apply(key, now)
        yield gates

    def _give_up(self, now: float) -> None:
        for decision_id in [one for one, last in self.early.items() if last <= now - HOUR]:
            del self.early[decision_id]
            for name, part in self.parts.pop(decision_id).items():
                self._refuse(decision_id, None, name or None, *part, "orphan")

    def _old(self, key: str, now: float) -> list[Decision]:
        """Those that were closed long ago, as far as nothing that was closed before them is younger."""
        experiment = self.experiments[key]
        closed = [one for one in self.decisions.values() if one.experiment == key and one.applied is not None]
        old: list[Decision] = []
        for one in sorted(closed, key=lambda one: one.applied or (0, 0)):
            days = experiment.now.settings.keep_days
            if days is None or one.applied is None or experiment.at(one.applied[0]).at > now - days * DAY:
                break
            old.append(one)
        return old

    def _prune(self, key: str, now: float) -> int:
        experiment, old = self.experiments[key], self._old(key, now)[: self.most]
        if old and max(one.applied or (0, 0) for one in old)[0] > experiment.checkpoint:
            experiment.add(kind="checkpoint", n_learned=0, at=now, reason="pruned")
        for one in old:
            del self.decisions[one.id]
            self.parts.pop(one.id, None)
            self.sticky = {place: held for place, held in self.sticky.items() if held != one.id}
            self.pruned.append(one)
        gone = {one.id for one in old}
        self.refused = [one for one in self.refused if one.decision_id not in gone]
        return len(old)

    def thin(self, key: str, now: float, least: int) -> None:
        """Of versions whose decisions are pruned, multiples of a power of two stay: at least so many, if possible."""
        experiment = self.experiments[key]
        ours = [one for one in self.decisions.values() if one.experiment == key]
        left = [one.applied[0] - 1 for one in ours if one.applied is not None]
        until = min([experiment.checkpoint - 1, *left])
        step = max([1, *(1 << j for j in range(40) if until >> j >= least)])
        needed = {one.version for one in ours}
        needed |= {n - 1 for n, one in enumerate(experiment.versions, 1) if one.kind == "checkpoint"}
        for number in range(1, until - until % step + 1):
            version = experiment.at(number)
            plain = version.kind in ("rewards", "planned") and version.at <= now - DAY
            if plain and number % step and number not in needed and number not in experiment.thinned:
                experiment.thinned.add(number)
                kept = -(-number // step) * step
                total = experiment.at(kept).n_learned + version.n_learned
                experiment.versions[kept - 1] = replace(experiment.at(kept), n_learned=total)

    def erase(self, unit: str, key: str | None) -> int:
        """Forget who its decisions were for; how many there were."""
        ours = [one for one in self.decisions.values() if one.unit == unit and key in (None, one.experiment)]
        ids = {one.id for one in ours}
        for one in ours:
            one.unit = None
            self.sticky.pop((one.experiment, unit), None)
        self.keys = {place: kept for place, kept in self.keys.items() if kept[3] not in ids}
        return len(ours)

    def _apply(self, key: str, now: float) -> None:
        experiment = self.experiments[key]
        self._end_windows(experiment, now)
        ours = [one for one in self.inbox if self.decisions[one].experiment == key]
        ours = sorted(ours, key=lambda one: (self.inbox[one].received_at, one))[: self.most]
        if not ours:
            self._plan_ahead(experiment, now)
            return
        self._checkpoint(experiment, now)
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
        experiment.add(kind="rewards", n_learned=n_learned, m=m, at=now)

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
            self._checkpoint(experiment, now)
            m = self._pulls(experiment, now)
            experiment.add(kind="planned", n_learned=0, m=m, at=now)

    def _checkpoint(self, experiment: Experiment, now: float) -> None:
        """A learner of an older rule is migrated before anything else is written: in a version that changes nothing."""
        if experiment.rule != self.rule:
            experiment.rule = self.rule
            experiment.add(kind="checkpoint", n_learned=0, at=now, reason="a new rule")

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

    def create(self, key: str, salt: str, settings: Settings, arms: dict[str, Arm], now: float = 0.0) -> None:
        self.experiments[key] = Experiment(key, salt, [Version("opened", 0, settings, arms, at=now)], self.rule)

    def change(self, key: str, settings: Settings, now: float) -> None:
        experiment = self.experiments[key]
        self._checkpoint(experiment, now)
        experiment.add(kind="settings_changed", n_learned=0, settings=settings, at=now)

    def set_arm(self, key: str, name: str, arm: Arm, now: float = 0.0) -> int | None:
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
        self._checkpoint(experiment, now)
        kind = "arm_added" if old is None else "arm_changed"
        experiment.add(kind=kind, n_learned=0, arms=arms, at=now)
        before = "pending" if old is None else old.state
        if before == "pending" and arm.state == "active":
            experiment.story.append((experiment.number, ("add", name)))
        elif before in ("active", "paused") and arm.state == "retired":
            experiment.story.append((experiment.number, ("retire", name)))
        return None


def fits(value: float, settings: Settings) -> bool:
    """May it be one of the rewards?"""
    return settings.aggregation == "sum" or settings.low <= value <= settings.high


def made_at(decision_id: str) -> float:
    """What its id says, in seconds; a time that never comes, if it is not one that is made of the time."""
    digits = decision_id.replace("-", "")
    return int(digits[:12], 16) / 1000.0 if digits[12:13] == "7" else math.inf
