"""Rewards come in. Each is checked against its decision, and waits in the inbox for the applier; or is refused.

accepted            it is the first one in time, and will be learned from
duplicate           the same was told before
conflict            something else was told before, which stands; this one is kept apart
late                the window is over; kept apart, not learned from
pending_decision    no such decision yet: it waits for it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from turncoat.service import messages
from turncoat.service.clock import as_seconds
from turncoat.service.errands import Done, Tell
from turncoat.service.errors import Conflicting, Problem, Unprocessable
from turncoat.service.experiments.early_rewards import adopt, fits
from turncoat.service.experiments.snapshot import Config
from turncoat.service.experiments.snapshot_cache import Book
from turncoat.service.store.interface import Raced, Row, Session
from turncoat.service.tables import INBOX, PART, REFUSED
from turncoat.service.validation import check_id, is_finite

MOST_PARTS = 1000  # rewards that one decision collects: each further one reads all of them
MOST_EARLY = 100_000  # decisions that rewards wait for

# The inbox is looked into decision by decision: PostgreSQL takes it for all but empty, and would join all of it.
KNOWN = """
    SELECT d.id, d.experiment, d.expires_at, d.outcome, d.reward,
           (SELECT i.value FROM inbox i WHERE i.decision_id = d.id),
           (SELECT i.source FROM inbox i WHERE i.decision_id = d.id)
    FROM decision d WHERE d.id IN :ids
"""
EARLY = "SELECT COUNT(*) FROM (SELECT 1 FROM inbox WHERE experiment IS NULL LIMIT :limit) AS early"
PARTS = "SELECT decision_id, reward_id, value FROM part WHERE decision_id IN :ids"
CLOSED = "SELECT id FROM decision WHERE id IN :ids AND outcome IS NOT NULL"
HOLD = "UPDATE decision SET reason = reason WHERE id IN :ids AND outcome IS NULL"
WAIT_ON = "UPDATE inbox SET received_at = :now WHERE source = 'early' AND decision_id IN :ids"


class Known(NamedTuple):
    """A decision that a reward is about."""

    id: str
    experiment: int
    expires_at: float | None
    outcome: str | None
    reward: float | None
    waiting: float | None
    source: str | None

    def is_over(self, now: float) -> bool:
        """Closed, about to be, or its window has ended. (The clock may have been set back since it was closed.)"""
        ended = self.expires_at is not None and self.expires_at <= now
        return ended or self.outcome is not None or self.source in ("default", "collected")


def take(session: Session, book: Book, tells: Mapping[int, Tell], now: float, *, shared: bool) -> dict[int, Done]:
    """Record rewards; what became of each."""
    taking = _Taking(session, book, [tell.decision_id for tell in tells.values()], now)
    done: dict[int, Done] = {}
    for place, tell in tells.items():
        try:
            status = taking.status(tell)
            done[place] = messages.Receipt(decision_id=tell.decision_id, status=status)
        except Problem as problem:
            done[place] = problem
    taking.write(shared=shared)
    return done


class _Taking:
    """Some rewards, in one transaction."""

    def __init__(self, session: Session, book: Book, ids: list[str], now: float) -> None:
        self._session, self._book, self._now = session, book, now
        self._known = self._look(ids)
        self._waiting = {row.id: row.waiting for row in self._known.values() if row.source}
        collected = [one for one in ids if one not in self._known or self._collects(self._known[one])]
        rows = session.rows(PARTS, ids=collected) if collected else []
        self._parts = {(decision, reward_id): value for decision, reward_id, value in rows}
        self._is_full: bool | None = None  # whether no more can wait for their decision, once it is known
        self._counts = Counter(decision for decision, _ in self._parts)
        self._inbox: list[Row] = []
        self._new_parts: list[Row] = []
        self._refused: list[Row] = []

    def _look(self, ids: list[str]) -> dict[str, Known]:
        """The decisions that are there. What was told of them before they were comes first."""
        known = {row[0]: Known(*row) for row in self._session.rows(KNOWN, ids=ids)}
        early = [one.id for one in known.values() if one.source == "early"]
        if not early:
            return known
        adopt(self._session, self._book, early)
        return known | {row[0]: Known(*row) for row in self._session.rows(KNOWN, ids=early)}

    def _collects(self, known: Known) -> bool:
        return self._config(known).reward.aggregation != "first"

    def _config(self, known: Known) -> Config:
        snapshot = self._book.of(known.experiment)
        if snapshot is None:  # opened by another process a moment ago
            raise Raced("the experiment is new here")
        return snapshot.config

    def status(self, tell: Tell) -> messages.Status:
        """What becomes of it; what is to be written is remembered."""
        check_id(tell.decision_id)
        value, known = tell.reward.value, self._known.get(tell.decision_id)
        check_finite(value)
        if known is None:
            self._check_room()
            return self._part(tell, None, "pending_decision")
        rule = self._config(known).reward
        check_reward(value, rule)
        if known.is_over(self._now):
            return self._after_all(tell, known, rule)
        if rule.aggregation != "first":
            return self._part(tell, known.experiment, "accepted")
        return self._first(tell, known.experiment)

    def _check_room(self) -> None:
        """Anyone can make up ids: so many decisions are waited for, and no more."""
        if self._is_full is None:
            self._is_full = self._session.rows(EARLY, limit=MOST_EARLY)[0][0] >= MOST_EARLY
        if self._is_full:
            raise Conflicting(
                f"there is no such decision, and rewards wait for {MOST_EARLY} others that have not come either; "
                "accepted are rewards of decisions that are there",
                field="decision_id",
            )

    def _first(self, tell: Tell, experiment: int) -> messages.Status:
        """The first counts, whatever its reward_id."""
        if tell.decision_id in self._waiting:
            return self._again(tell, experiment, self._waiting[tell.decision_id])
        self._waiting[tell.decision_id] = tell.reward.value
        self._inbox.append(
            (tell.decision_id, experiment, tell.reward.value, self._now, observed_at(tell.reward), "real")
        )
        return "accepted"

    def _part(self, tell: Tell, experiment: int | None, fresh: messages.Status) -> messages.Status:
        """One of several, known by its reward_id."""
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

    def _after_all(self, tell: Tell, known: Known, rule: messages.RewardRule) -> messages.Status:
        """Too late, unless it says again what was said in time."""
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
        """All that is new, in order, so that no two processes wait for each other."""
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
        """Rewards that wait for their decision are found by a mark in the inbox, as old as the last of them."""
        if not ids:
            return
        marks = [(one, None, None, self._now, None, "early") for one in sorted(ids)]
        new = {key[0] for key in self._session.insert_new("inbox", INBOX, marks, key=1)}
        marked = sorted(ids - new)
        if marked and self._session.run(WAIT_ON, now=self._now, ids=marked) != len(marked):
            raise Raced("their decision has just come")

    def _check_still_open(self) -> None:
        """An applier may have closed a decision while we waited for its key; it does not close one that is held."""
        ids = [row[0] for row in self._inbox]
        if ids and self._session.rows(CLOSED, ids=ids):
            raise Raced("its window has just ended")
        held = sorted({row[0] for row in self._new_parts if row[0] in self._known})
        if held and self._session.run(HOLD, ids=held) != len(held):
            raise Raced("its window has just ended")


def check_finite(value: float) -> None:
    """A reward is a finite number."""
    if not is_finite(value):
        raise Unprocessable(f"value is {value!r}; accepted are finite numbers", field="value")


def check_reward(value: float, rule: messages.RewardRule) -> None:
    """A reward is in its range."""
    if not fits(value, rule):
        raise Unprocessable(f"value is {value!r}; accepted are {rule.min!r} to {rule.max!r}", field="value")


def observed_at(reward: messages.Reward) -> float | None:
    """When the caller says it happened."""
    return None if reward.observed_at is None else as_seconds(reward.observed_at)
