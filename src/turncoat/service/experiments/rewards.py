"""Rewards are recorded: each is checked against its decision and waits in the inbox for the applier, or is refused.

accepted            the first one in time; it will be learned from
duplicate           the same value was received before
conflict            another value was received before, and stands; this one is recorded as refused
late                the window has ended, or the decision was pruned; recorded as refused, not learned from
pending_decision    the decision is not recorded yet; the reward waits for it
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from turncoat.service import messages
from turncoat.service.clock import as_seconds
from turncoat.service.errors import Conflicting, NotFound, Problem, Unprocessable
from turncoat.service.experiments.early_rewards import INBOX, PART, REFUSED, fits, join_decisions
from turncoat.service.experiments.randomness import time_of
from turncoat.service.experiments.snapshot_cache import SnapshotCache
from turncoat.service.messages import Result, Tell
from turncoat.service.store.interface import Row, Session, WriteConflict
from turncoat.service.validation import check_id, is_finite

MOST_PARTS = 1000  # rewards per decision: each further one reads all of them
MOST_EARLY = 100_000  # unknown decisions that rewards wait for

# Subqueries, not a join: PostgreSQL's statistics say that the inbox is almost empty, and it would join all of it.
KNOWN = """
    SELECT d.id, d.experiment, d.expires_at, d.outcome, d.reward,
           (SELECT i.value FROM inbox i WHERE i.decision_id = d.id),
           (SELECT i.source FROM inbox i WHERE i.decision_id = d.id)
    FROM decision d WHERE d.id IN :ids
"""
EARLY = "SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE experiment IS NULL LIMIT :limit) AS early"
PRUNED_TO = "SELECT MAX(pruned_to) FROM experiment"
PARTS = "SELECT decision_id, reward_id, value FROM part WHERE decision_id IN :ids"
CLOSED = "SELECT id FROM decision WHERE id IN :ids AND outcome IS NOT NULL"
HOLD = "UPDATE decision SET reason = reason WHERE id IN :ids AND outcome IS NULL"
WAIT_ON = "UPDATE inbox SET received_at = :now WHERE source = 'early' AND decision_id IN :ids"


class KnownDecision(NamedTuple):
    """A decision that a reward is about."""

    id: str
    experiment: int
    expires_at: float | None
    outcome: str | None
    reward: float | None
    waiting: float | None
    source: str | None

    def is_over(self, now: float) -> bool:
        """Closed, about to be closed, or past its window. (The clock may have been set back since.)"""
        ended = self.expires_at is not None and self.expires_at <= now
        return ended or self.outcome is not None or self.source in ("default", "collected")


def record_rewards(
    session: Session, cache: SnapshotCache, tells: Mapping[int, Tell], now: float, *, shared: bool
) -> dict[int, Result]:
    """Record rewards; the result of each."""
    batch = _RewardBatch(session, cache, [tell.decision_id for tell in tells.values()], now)
    done: dict[int, Result] = {}
    for place, tell in tells.items():
        try:
            status = batch.status(tell)
            done[place] = messages.Receipt(decision_id=tell.decision_id, status=status)
        except Problem as problem:
            done[place] = problem
    batch.write(shared=shared)
    return done


class _RewardBatch:
    """The rewards of one transaction."""

    def __init__(self, session: Session, cache: SnapshotCache, ids: list[str], now: float) -> None:
        self._session, self._cache, self._now = session, cache, now
        self._known = self._find_decisions(ids)
        self._waiting = {row.id: row.waiting for row in self._known.values() if row.source}
        collected = [one for one in ids if one not in self._known or self._collects(self._known[one])]
        rows = session.rows(PARTS, ids=collected) if collected else []
        self._parts = {(decision, reward_id): value for decision, reward_id, value in rows}
        self._is_full: bool | None = None  # whether MOST_EARLY is reached; None: not counted yet
        self._pruned_to: float | None = None  # the time of the latest decision that was pruned; None: not read yet
        self._counts = Counter(decision for decision, _ in self._parts)
        self._inbox: list[Row] = []
        self._new_parts: list[Row] = []
        self._refused: list[Row] = []

    def _find_decisions(self, ids: list[str]) -> dict[str, KnownDecision]:
        """The decisions that are recorded. Their early rewards are joined first."""
        known = {row[0]: KnownDecision(*row) for row in self._session.rows(KNOWN, ids=ids)}
        early = [one.id for one in known.values() if one.source == "early"]
        if not early:
            return known
        join_decisions(self._session, self._cache, early)
        return known | {row[0]: KnownDecision(*row) for row in self._session.rows(KNOWN, ids=early)}

    def _rule(self, known: KnownDecision) -> messages.RewardRule:
        return self._cache.config(known.experiment).reward

    def _collects(self, known: KnownDecision) -> bool:
        if self._cache.lacks_config(known.experiment):  # `status` says so
            return False
        return self._rule(known).aggregation != "first"

    def status(self, tell: Tell) -> messages.Status:
        """The reward's status; the rows to write are collected for `write`."""
        check_id(tell.decision_id)
        value, known = tell.reward.value, self._known.get(tell.decision_id)
        if not is_finite(value):
            raise Unprocessable(f"value is {value!r}; accepted are finite numbers", field="value")
        if tell.only is not None and not (known is not None and self._cache.key(known.experiment) in tell.only):
            raise NotFound(f"there is no decision {tell.decision_id!r}", field="decision_id")
        if known is None:
            if self._may_be_pruned(tell.decision_id):
                return self._refuse(tell, None, "late")
            self._check_room()
            return self._part(tell, None, "pending_decision")
        rule = self._rule(known)
        if not fits(value, rule):
            raise Unprocessable(f"value is {value!r}; accepted are {rule.min!r} to {rule.max!r}", field="value")
        if known.is_over(self._now):
            return self._after_all(tell, known, rule)
        if rule.aggregation != "first":
            return self._part(tell, known.experiment, "accepted")
        return self._first(tell, known.experiment)

    def _may_be_pruned(self, decision_id: str) -> bool:
        """Whether an unknown decision was pruned, as far as its id says when it was made (retention.py)."""
        made_at = time_of(decision_id)
        if made_at is None:
            return False
        if self._pruned_to is None:
            until = self._session.rows(PRUNED_TO)[0][0]
            self._pruned_to = -math.inf if until is None else until
        return made_at <= self._pruned_to

    def _check_room(self) -> None:
        """Limit the early rewards: invented decision ids would fill the store."""
        if self._is_full is None:
            self._is_full = self._session.rows(EARLY, limit=MOST_EARLY)[0][0] >= MOST_EARLY
        if self._is_full:
            raise Conflicting(
                f"there is no such decision, and rewards wait for {MOST_EARLY} others that have not come either; "
                "accepted are rewards of decisions that are there",
                field="decision_id",
            )

    def _first(self, tell: Tell, experiment: int) -> messages.Status:
        """Aggregation `first`: the first counts, whatever its reward_id."""
        if tell.decision_id in self._waiting:
            return self._again(tell, experiment, self._waiting[tell.decision_id])
        self._waiting[tell.decision_id] = tell.reward.value
        row = (tell.decision_id, experiment, tell.reward.value, self._now, observed_at(tell.reward), "real")
        self._inbox.append(row)
        return "accepted"

    def _part(self, tell: Tell, experiment: int | None, fresh: messages.Status) -> messages.Status:
        """Every other aggregation: one of several parts, identified by its reward_id."""
        name = tell.reward.reward_id or ""
        if (tell.decision_id, name) in self._parts:
            return self._again(tell, experiment, self._parts[tell.decision_id, name])
        self._counts[tell.decision_id] += 1
        if self._counts[tell.decision_id] > MOST_PARTS:
            raise Unprocessable(
                f"the decision has {MOST_PARTS} rewards already; accepted are no more", field="reward_id"
            )
        self._parts[tell.decision_id, name] = tell.reward.value
        self._new_parts.append((tell.decision_id, name, tell.reward.value, self._now, observed_at(tell.reward)))
        return fresh

    def _after_all(self, tell: Tell, known: KnownDecision, rule: messages.RewardRule) -> messages.Status:
        """Late, unless it repeats a reward that was in time."""
        if rule.aggregation != "first":
            name = tell.decision_id, tell.reward.reward_id or ""
            if name in self._parts:
                return self._again(tell, known.experiment, self._parts[name])
        elif known.outcome == "rewarded":
            return self._again(tell, known.experiment, known.reward)
        elif known.source == "real":
            return self._again(tell, known.experiment, known.waiting)
        return self._refuse(tell, known.experiment, "late")

    def _again(self, tell: Tell, experiment: int | None, before: float | None) -> messages.Status:
        return self._refuse(tell, experiment, "duplicate" if tell.reward.value == before else "conflict")

    def _refuse(self, tell: Tell, experiment: int | None, status: messages.Status) -> messages.Status:
        row = (tell.decision_id, experiment, tell.reward.reward_id, tell.reward.value, self._now, status)
        self._refused.append(row)
        return status

    def write(self, *, shared: bool) -> None:
        """Insert all new rows, sorted: a fixed lock order, so that no two processes deadlock."""
        if self._inbox:
            self._session.insert("inbox", INBOX, sorted(self._inbox))
        if self._new_parts:
            self._session.insert("part", PART, sorted(self._new_parts))
        self._mark_early({row[0] for row in self._new_parts if row[0] not in self._known})
        if shared:
            self._check_still_open()
        if self._refused:
            self._session.insert("refused", REFUSED, self._refused)

    def _mark_early(self, ids: set[str]) -> None:
        """Early rewards have one marker row per decision in the inbox, with the time of the last of them."""
        if not ids:
            return
        marks = [(one, None, None, self._now, None, "early") for one in sorted(ids)]
        new = {key[0] for key in self._session.insert_new("inbox", INBOX, marks, key=1)}
        marked = sorted(ids - new)
        if marked and self._session.run(WAIT_ON, now=self._now, ids=marked) != len(marked):
            raise WriteConflict("their decision has just come")

    def _check_still_open(self) -> None:
        """Another applier may have closed a decision meanwhile; the row lock of HOLD keeps the others open."""
        ids = [row[0] for row in self._inbox]
        if ids and self._session.rows(CLOSED, ids=ids):
            raise WriteConflict("its window has just ended")
        held = sorted({row[0] for row in self._new_parts if row[0] in self._known})
        if held and self._session.run(HOLD, ids=held) != len(held):
            raise WriteConflict("its window has just ended")


def observed_at(reward: messages.Reward) -> float | None:
    """The time of the event, as the caller reports it."""
    return None if reward.observed_at is None else as_seconds(reward.observed_at)
