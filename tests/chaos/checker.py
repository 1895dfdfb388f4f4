"""Compares what clients remember with what the store holds, after everything has been applied.

missing     acknowledged, and not there; or accepted, and not applied
doubled     there or applied more than once
wrong       anything else that must never be
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal, NamedTuple

import msgspec

from tests.chaos.clients import DEFAULT
from tests.chaos.memory import Asked, Memory, Told
from turncoat.service.experiments.verify import broken_audit, verify
from turncoat.service.store import Session

Kind = Literal["missing", "doubled", "wrong"]
ACCEPTED = ("accepted", "pending_decision")
REFUSED = ("duplicate", "conflict", "late")

DECISIONS = """
    SELECT d.id, e.key, d.arm, d.propensity, COALESCE(d.probabilities, v.probabilities), d.version, d.stream, d.reason,
           d.decided_at, d.expires_at, d.outcome, d.reward, d.applied_version, d.applied_position
    FROM decision d JOIN experiment e ON e.id = d.experiment
    JOIN version v ON v.experiment = d.experiment AND v.version = d.version
"""
VERSIONS = "SELECT experiment, version, n_learned FROM version ORDER BY experiment, version"
CLOSED = """
    SELECT experiment, applied_version, COUNT(*), MIN(applied_position), MAX(applied_position),
           COUNT(DISTINCT applied_position),
           SUM(CASE WHEN stream = 'learn' AND reward IS NOT NULL THEN 1 ELSE 0 END)
    FROM decision WHERE applied_version IS NOT NULL GROUP BY experiment, applied_version
"""
BUCKETS = "SELECT experiment, width, SUM(n) FROM bucket GROUP BY experiment, width"


class Violation(NamedTuple):
    """Something that must not be."""

    kind: Kind
    text: str


class Decision(NamedTuple):
    """A stored decision."""

    id: str
    experiment: str
    arm: str
    propensity: float
    probabilities: str
    version: int
    stream: str
    reason: str
    decided_at: float
    expires_at: float | None
    outcome: str | None
    reward: float | None
    applied_version: int | None
    applied_position: int | None


@dataclass
class Verdict:
    """What was found."""

    decisions: int = 0  # acknowledged, each counted once
    rewards: int = 0  # acknowledged as accepted
    refused: Counter[str] = field(default_factory=Counter)  # acknowledged as duplicate, conflict, late
    unknown: int = 0  # requests of which an attempt was sent and not answered
    committed: int = 0  # of them: recorded by that attempt all the same
    verified: int = 0  # rewards learned again from the log
    differing: int = 0  # learners that came out differently
    violations: list[Violation] = field(default_factory=list)

    def count(self, kind: Kind) -> int:
        """Violations of a kind."""
        return sum(violation.kind == kind for violation in self.violations)


def check(session: Session, memory: Memory) -> Verdict:
    """Everything."""
    return _Check(session, memory).run()


class _Check:
    def __init__(self, session: Session, memory: Memory) -> None:
        self._session, self._memory = session, memory
        self._stored = {row[0]: Decision(*row) for row in session.rows(DECISIONS)}
        self._told: dict[str, list[Told]] = defaultdict(list)
        for told in memory.told:
            self._told[told.decision_id].append(told)
        self._verdict = Verdict()

    def run(self) -> Verdict:
        for text in self._memory.wrong:
            self._say("wrong", text)
        self._decisions()
        self._rewards()
        self._parts()
        self._refusals()
        self._versions()
        self._changes()
        self._learners()
        return self._verdict

    def _say(self, kind: Kind, text: str) -> None:
        self._verdict.violations.append(Violation(kind, text))

    # --- decisions ---

    def _decisions(self) -> None:
        known: set[str] = set()
        for asked in self._memory.asked:
            decided = asked.decided()
            known.add(decided["decision_id"])
            self._decision(asked, decided)
        self._verdict.decisions = len(known)
        for extra in self._stored.keys() - known:
            self._say("doubled", f"decision {extra} is stored, but was never answered to a caller")

    def _decision(self, asked: Asked, decided: dict[str, Any]) -> None:
        row = self._stored.get(decided["decision_id"])
        if row is None:
            self._say("missing", f"decision {decided['decision_id']} of {asked.key} was acknowledged")
            return
        if asked.unknown:
            self._verdict.unknown += 1
            self._verdict.committed += row.decided_at < asked.sent and decided["reason"] != "sticky"
        stored = (row.experiment, row.arm, row.propensity, row.version, row.stream)
        said = (asked.experiment, *(decided[name] for name in ("arm", "propensity", "state_version", "stream")))
        if stored != said or decided["reason"] not in (row.reason, "sticky"):
            self._say("wrong", f"decision {row.id} is stored as {stored}, was answered as {said}")
        if decided["probabilities"] != msgspec.json.decode(row.probabilities):
            self._say("wrong", f"decision {row.id}: other probabilities were answered than are stored")

    # --- rewards ---

    def _rewards(self) -> None:
        for told in self._memory.told:
            self._verdict.rewards += told.status in ACCEPTED
            self._verdict.refused[told.status] += told.status in REFUSED
            self._verdict.unknown += bool(told.unknown)
            self._verdict.committed += bool(told.unknown and told.status == "duplicate")
        for row in self._stored.values():
            if (row.applied_version is None) != (row.outcome is None):
                self._say("wrong", f"decision {row.id} has outcome {row.outcome} at version {row.applied_version}")
            if row.expires_at is None and row.id in self._memory.activated and row.outcome is None:
                self._say("missing", f"decision {row.id} was activated, which was acknowledged")
            if row.experiment != "mean":
                for kind, text in _history(row, self._told.get(row.id, [])):
                    self._say(kind, f"decision {row.id}: {text}")
        for decision in self._told.keys() - self._stored.keys():
            self._say("missing", f"decision {decision} was told a reward")
        if waiting := self._session.rows("SELECT COUNT(*) FROM inbox")[0][0]:
            self._say("missing", f"{waiting} rewards still wait after everything should have been applied")

    def _parts(self) -> None:
        """Rewards of which the mean counts: all that were accepted, and nothing else but attempts not answered."""
        parts: dict[str, dict[str, float]] = defaultdict(dict)
        for decision, name, value in self._session.rows("SELECT decision_id, reward_id, value FROM part"):
            parts[decision][name] = value
        for row in self._stored.values():
            if row.experiment != "mean":
                continue
            told = self._told.get(row.id, [])
            maybe = {(one.reward_id, one.value) for one in told if one.status == "accepted" or one.unknown}
            for one in told:
                if one.status == "accepted" and parts[row.id].get(str(one.reward_id)) != one.value:
                    self._say("missing", f"decision {row.id}: {one.reward_id} = {one.value!r} was accepted")
            if strange := set(parts[row.id].items()) - maybe:
                self._say("wrong", f"decision {row.id} has {strange}, which no caller sent")
            expected = fmean(parts[row.id].values()) if parts[row.id] else None
            if row.reward != expected and abs((row.reward or 0.0) - (expected or 0.0)) > 1e-12:
                self._say("missing", f"decision {row.id} learned {row.reward!r}, the mean is {expected!r}")

    def _refusals(self) -> None:
        """What was answered as refused is kept; and nothing more, but for attempts not answered."""
        stored: Counter[tuple[str, str]] = Counter()
        for decision, status in self._session.rows("SELECT decision_id, status FROM refused"):
            stored[decision, status] += 1
        said = Counter((told.decision_id, told.status) for told in self._memory.told if told.status in REFUSED)
        for (decision, status), n in (said - stored).items():
            self._say("missing", f"decision {decision}: {n} rewards refused as {status} are not kept")
        spare = Counter({decision: sum(one.unknown for one in told) for decision, told in self._told.items()})
        for (decision, status), n in (stored - said).items():
            spare[decision] -= n
            if spare[decision] < 0:
                self._say("doubled", f"decision {decision}: {n} more rewards refused as {status} than were told")

    # --- the whole ---

    def _versions(self) -> None:
        """Versions are dense; what a version learned is what was closed at it, in order, once."""
        learned = {(experiment, version): n for experiment, version, n in self._session.rows(VERSIONS)}
        last: dict[int, int] = {}
        for experiment, version in learned:
            if version != last.get(experiment, 0) + 1:
                self._say("wrong", f"experiment {experiment} has no version {last.get(experiment, 0) + 1}")
            last[experiment] = version
        for experiment, version in self._session.rows("SELECT id, version FROM experiment"):
            if last.get(experiment) != version:
                self._say("wrong", f"experiment {experiment} is at version {version}, the last is {last[experiment]}")
        closed: Counter[int] = Counter()
        for experiment, version, n, first, end, distinct, n_learned in self._session.rows(CLOSED):
            closed[experiment] += n
            told = learned.pop((experiment, version), -1)
            if told > n_learned or (first, end, distinct) != (0, n - 1, n):
                self._say("doubled", f"version {version} of {experiment} learned {told}; {n_learned} were closed by it")
            elif told < n_learned:
                self._say("missing", f"version {version} of {experiment} learned {told} of {n_learned}")
        for (experiment, version), n in learned.items():
            if n:
                self._say("doubled", f"version {version} of {experiment} learned {n}; none was closed by it")
        for experiment, width, n in self._session.rows(BUCKETS):
            if n != closed[experiment]:
                self._say("wrong", f"buckets of {width} s of {experiment} hold {n} decisions, not {closed[experiment]}")

    def _changes(self) -> None:
        if broken := broken_audit(self._session):
            self._say("wrong", f"the audit is broken at entry {broken}")
        kept: dict[str, int] = dict(self._session.rows("SELECT action, COUNT(*) FROM audit GROUP BY action"))
        for action, changed in self._memory.changed.items():
            if not changed.made <= kept.get(action, 0) <= changed.made + changed.unknown:
                kind: Kind = "missing" if kept.get(action, 0) < changed.made else "doubled"
                self._say(kind, f"{action}: {changed.made} acknowledged, {changed.unknown} unknown, {kept.get(action)}")

    def _learners(self) -> None:
        for (key,) in self._session.rows("SELECT key FROM experiment ORDER BY id"):
            try:
                verified = verify(self._session, key)
            except Exception as problem:
                self._verdict.differing += 1
                self._say("wrong", f"{key}: the log cannot be replayed: {problem!r}")
                continue
            self._verdict.verified += verified.learned
            if not verified.identical:
                self._verdict.differing += 1
                when = verified.first_difference
                self._say("wrong", f"{key}: replaying the log leads to other bytes, from about version {when}")


def _history(row: Decision, told: list[Told]) -> Iterator[tuple[Kind, str]]:
    """One decision's rewards, of which the first counts."""
    sure = [one for one in told if one.status in ACCEPTED]
    winners = sure or [one for one in told if one.unknown and one.value == row.reward]
    if len(sure) > 1:
        yield "doubled", f"{len(sure)} rewards were accepted"
    if sure and (row.outcome, row.reward) != ("rewarded", sure[0].value):
        yield "missing", f"{sure[0].value!r} was accepted; it is {row.outcome}, {row.reward!r}"
    if not sure and row.outcome == "rewarded" and not winners:
        yield "wrong", f"it is rewarded with {row.reward!r}, which no caller sent"
    if row.experiment == "brief" and row.outcome not in ("rewarded", None) and row.reward != DEFAULT:
        yield "wrong", f"the default is {DEFAULT}; it is {row.outcome}, {row.reward!r}"
    for one in told:
        if one.status in ("duplicate", "conflict"):
            if row.outcome != "rewarded" or (one.status == "duplicate") != (one.value == row.reward):
                yield "wrong", f"{one.value!r} was answered {one.status}; it is {row.outcome}, {row.reward!r}"
            elif winners and not one.unknown and min(other.first_sent for other in winners) > one.answered:
                yield "wrong", f"{one.value!r} was answered {one.status} before any other was told"
        if one.status == "late" and (row.expires_at is None or one.answered < row.expires_at):
            yield "wrong", f"{one.value!r} was answered late before the window ended"
        if one.status == "accepted" and row.expires_at is not None and one.sent > row.expires_at:
            yield "wrong", f"{one.value!r} was accepted after the window ended"
