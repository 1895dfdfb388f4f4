"""The engine: the decision service without HTTP, one object used by one thread. `client.Client` has its methods.

    experiments/record, draw, rewards     commands are recorded, many at a time, in one transaction
    experiments/learn, aggregates         rewards become learning, once each
    experiments/changes, audit            experiments and arms change
    experiments/queries                   what is read back
    experiments/retention, erasure        what is old is pruned, and units are erased
Any number of engines, in as many processes, may share a PostgreSQL store; SQLite has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from typing import Any, TypeVar

from turncoat.service import messages
from turncoat.service.clock import Clock, SystemClock
from turncoat.service.errors import Problem
from turncoat.service.experiments import audit, changes, draw, erasure, queries, record
from turncoat.service.experiments.aggregates import WIDTHS
from turncoat.service.experiments.damage import DamagedExperiments
from turncoat.service.experiments.early_rewards import expire_orphans, join_decisions
from turncoat.service.experiments.gain import read_gains
from turncoat.service.experiments.learn import MOST, apply
from turncoat.service.experiments.randomness import Randomness, SystemRandomness
from turncoat.service.experiments.retention import Pruner
from turncoat.service.experiments.snapshot_cache import SnapshotCache, read_snapshot
from turncoat.service.experiments.unused import end_unused
from turncoat.service.experiments.waiting import GROWING, MARGIN, has_doubled, is_record, pulls_to_plan
from turncoat.service.gain_messages import Gains
from turncoat.service.messages import Command, Decide, Result, Tell
from turncoat.service.store.interface import Store, StoreDown, WriteConflict
from turncoat.service.validation import checked

T = TypeVar("T")

LOOK_FOR_DUE = 0.25  # seconds between queries for windows that have ended, and for m that has doubled
SWEEP = 10.0  # seconds between vacuums of the inbox
TIDY = 60.0  # seconds between deletions of expired rows

WAITING = "SELECT DISTINCT experiment FROM inbox"
DUE = """
    SELECT e.id FROM experiment e
    WHERE (SELECT MIN(d.expires_at) FROM decision d WHERE d.experiment = e.id AND d.applied_version IS NULL) <= :now
"""
BEGIN_WINDOW = "UPDATE decision SET expires_at = :at WHERE id = :id AND expires_at IS NULL AND outcome IS NULL"


class Engine(messages.DecideMethod):
    """Decides and learns. Every method raises a `Problem` when it refuses, and then nothing has changed."""

    def __init__(self, store: Store, clock: Clock | None = None, randomness: Randomness | None = None) -> None:
        self.store = store
        self.clock = clock or SystemClock()
        self.randomness = randomness or SystemRandomness()
        self.cache = SnapshotCache(store)
        self.damaged = DamagedExperiments(store)
        self.cache.refresh()
        self.pruner = Pruner(store, self.cache)
        self._looked = self._swept = self._tidied = float("-inf")

    # --- hot: batches ---

    def serve(self, commands: Sequence[Command]) -> list[Result]:
        """Record all commands in one transaction; a result each, of which some may be Problems."""
        return record.serve(self.store, self.cache, self.clock, self.randomness, commands)

    def stale(self, command: Decide, *, from_snapshot: bool = False) -> Result:
        """A decision while the store is down, marked stale. Nothing is recorded.

        `from_snapshot`: without the learner, so that a thread other than the engine's may ask.
        """
        return draw.stale(self.cache, self.randomness, command, from_snapshot=from_snapshot)

    def _one(self, command: Command) -> Any:
        (done,) = self.serve([command])
        if isinstance(done, Problem):
            raise done
        return done

    def _decide(self, key: str, ask: messages.Ask, idempotency_key: str | None) -> messages.Decided:
        decided: messages.Decided = self._one(Decide(key, checked(ask), idempotency_key))
        return decided

    def reward(
        self, decision_id: str, value: float, *, reward_id: str | None = None, observed_at: Any = None
    ) -> messages.Receipt:
        """Say how a decision turned out."""
        told = messages.RewardLine(decision_id=decision_id, value=value, reward_id=reward_id, observed_at=observed_at)
        receipt: messages.Receipt = self._one(Tell(decision_id, checked(told)))
        return receipt

    def rewards(self, lines: Iterable[messages.RewardLine]) -> list[messages.LineReceipt]:
        """Say it of many at once; one bad line does not hold up the others."""
        told = [_told(line) for line in lines]
        done = iter(self.serve([one for one in told if isinstance(one, Tell)]))
        answers = [next(done) if isinstance(one, Tell) else one for one in told]
        return [line_receipt(number, one) for number, one in enumerate(answers, 1)]

    def activate(self, decision_id: str) -> messages.DecisionRecord:
        """The deferred decision was used now: its window begins."""
        with self.store.transaction() as session:
            record = queries.read_decision(session, decision_id)
            window = read_snapshot(session, record.experiment).config.reward_window_s
            session.run(BEGIN_WINDOW, at=self.clock.now() + window, id=decision_id)
            return queries.read_decision(session, decision_id)

    # --- the applier ---

    def work(self) -> bool:
        """One pass: learn the inbox, close ended windows, delete what is expired or old. True: there may be more."""
        now = self.clock.now()
        with self.store.reading() as session:
            found = session.send(WAITING)
            is_shared = self.store.shared or self.damaged  # `turncoat repair` writes from another process
            others = self.cache.refresh_from(session) if is_shared or self.cache.needs_refresh else set()
            waiting = {number for (number,) in found()}
        for number in others:
            self.damaged.changed(number)
        ready = waiting - {None}
        if not 0.0 <= now - self._looked < LOOK_FOR_DUE:  # the clock may be set back
            since, self._looked = max(min(self._looked, now) - MARGIN, 0.0), now
            if None in waiting:
                self._join_early(now)
            ready |= self._due(now) | self._growing(now, since, ready)
            ready |= {one.id for one in self.cache.unreadable()} | self.damaged.due(now)
        if not 0.0 <= now - self._swept < SWEEP:
            self._swept = now
            self.store.tidy()
        if not 0.0 <= now - self._tidied < TIDY:
            self._tidied = now
            self._tidy(now)
        self.pruner.work(now)
        if self.store.shared:
            ready -= others  # affinity: the learner's process goes on; reading the learner again costs more than a pass
        return self._apply_all(sorted(ready - self.damaged.waiting(now)), now)

    def _apply_all(self, ready: Sequence[int], now: float) -> bool:
        """A pass over each. An error in one, such as a damaged state, is recorded, and does not hold up the others."""
        most = 0
        for number in ready:
            try:
                most = max(most, self._apply(number))
                self.damaged.passed(number)
            except StoreDown:
                raise
            except Exception as problem:
                self.damaged.failed(number, problem, now)
        return most >= MOST

    def _apply(self, number: int) -> int:
        snapshot = self.cache.by_id(number) or self.cache.read_again(number)
        if snapshot is None:
            return 0
        try:
            return apply(self.store, self.cache, self.clock, snapshot)
        except WriteConflict:
            return 0  # the next pass will do it

    def _due(self, now: float) -> set[int]:
        """Experiments in which a window has ended."""
        return {number for (number,) in self.read(lambda session: session.rows(DUE, now=now))}

    def _growing(self, now: float, since: float, ready: Set[int]) -> set[int]:
        """Experiments in which m has doubled, of those that are not ready and have open decisions made `since`."""
        with self.store.reading() as session:
            skipped = ready | self.damaged.waiting(now)
            asked = [row for row in session.rows(GROWING, after=since) if row[0] not in skipped]
            damaged = {number for number, before, delays in asked if before is None or not is_record(delays)}
            asked = [row for row in asked if row[0] not in damaged]
            pulls = [pulls_to_plan(session, number, delays, now) for number, _, delays in asked]
            grown = {number for (number, before, _), m in zip(asked, pulls, strict=True) if has_doubled(before, m())}
        return grown | damaged  # a pass over these says what is damaged

    def _join_early(self, now: float) -> None:
        """Join early rewards to their decisions; record as orphans those that have waited too long."""
        with suppress(WriteConflict), self.store.transaction() as session:  # another process does it
            join_decisions(session, self.cache)
            expire_orphans(session, now)

    def _tidy(self, now: float) -> None:
        with suppress(WriteConflict), self.store.transaction() as session:
            session.run("DELETE FROM idempotency WHERE expires_at <= :now", now=now)
            end_unused(session, now)
            for width, kept in WIDTHS.items():
                for table in ("bucket", "comparison") if kept < float("inf") else ():
                    session.run(f"DELETE FROM {table} WHERE width = :width AND start < :start",
                                width=width, start=int(now - kept))  # fmt: skip

    def check_writable(self) -> None:
        """Write a little, where decisions are written too: raises StoreDown while nothing can be written."""
        with suppress(WriteConflict), self.store.transaction() as session:  # another worker writes the same: it can
            session.run("UPDATE decision SET reason = reason WHERE id = ''")
            session.run("DELETE FROM fact WHERE name = 'writable'")
            session.insert("fact", ("name", "value"), [("writable", f"{self.clock.now()}")])

    def refresh(self) -> None:
        """Read what other processes have changed."""
        self.cache.refresh()

    # --- settings ---

    def create(self, new: messages.NewExperiment, *, actor: str = "local") -> messages.Experiment:
        """Open an experiment."""
        made = changes.create(self.store, self.cache, self.randomness, self.clock.now(), checked(new), actor)
        return made.to_experiment()

    def change(
        self, key: str, change: messages.ExperimentChange, *, if_revision: int | None = None, actor: str = "local"
    ) -> messages.Experiment:
        """Change its settings; with `if_revision`, only if this is still its revision (optimistic locking)."""
        now = self.clock.now()
        after = changes.change(self.store, self.cache, now, key, checked(change), if_revision=if_revision, actor=actor)
        return after.to_experiment()

    def add_arm(
        self, key: str, arm: messages.NewArm, *, if_revision: int | None = None, actor: str = "local"
    ) -> messages.Arm:
        """Add an arm while it runs."""
        now = self.clock.now()
        after = changes.add_arm(self.store, self.cache, now, key, checked(arm), if_revision=if_revision, actor=actor)
        return after.to_arm(after.arms[-1])

    def change_arm(
        self, key: str, arm: str, change: messages.ArmChange, *, if_revision: int | None = None, actor: str = "local"
    ) -> messages.Arm:
        """Pause, resume or retire an arm, or set its floor, cap and payload."""
        now = self.clock.now()
        after = changes.change_arm(
            self.store, self.cache, now, key, arm, checked(change), if_revision=if_revision, actor=actor
        )
        return next(after.to_arm(row) for row in after.arms if row.arm == arm)

    def erase(self, unit_id: str, *, experiment: str | None = None, actor: str = "local") -> messages.Erased:
        """Erase a unit's contexts and its pseudonym, in one experiment or in all. From any thread."""
        wanted = checked(messages.Erasure(unit_id=unit_id, experiment=experiment))
        return erasure.erase(self.store, self.clock.now(), wanted, actor)

    # --- reading ---

    def read(self, query: Callable[..., T], *arguments: Any) -> T:
        """Run a query, a function of a session, in a read-only transaction."""
        with self.store.reading() as session:
            return query(session, *arguments)

    def experiments(self) -> list[messages.Experiment]:
        """All experiments that can be read, in the order in which they were opened."""
        return self.read(queries.read_experiments)

    def experiment(self, key: str) -> messages.Experiment:
        """One of them."""
        return self.read(queries.read_experiment, key)

    def arms(self, key: str) -> list[messages.Arm]:
        """Its arms, in the order in which they came."""
        return self.experiment(key).arms

    def decision(self, decision_id: str) -> messages.DecisionRecord:
        """Everything known about a decision."""
        return self.read(queries.read_decision, decision_id)

    def state(self, key: str) -> messages.LearnerState:
        """What the learner makes of it all."""
        return self.read(queries.read_state, key)

    def timeline(self, key: str, *, limit: int = 1000) -> list[messages.VersionPoint]:
        """At most `limit` versions of rewards, evenly taken over its life, and all others, the latest last."""
        return self.read(queries.read_timeline, key, limit)

    def switches(self, key: str) -> list[messages.Switch]:
        """The changes of the best arm that the learner believes in."""
        return self.read(queries.read_switches, key)

    def gain(self, key: str) -> Gains:
        """What learning has gained, over control first."""
        return self.read(read_gains, key, self.clock.now())

    def audit(self, key: str | None = None) -> list[messages.AuditEntry]:
        """Who changed what."""
        return self.read(audit.read, key)

    def log(self, key: str) -> Iterator[messages.LogLine]:
        """Every decision with its outcome, in the order of their ids."""
        return queries.read_log(self.store, key)


def _told(line: messages.RewardLine) -> Tell | Problem:
    try:
        return Tell(line.decision_id, checked(line))
    except Problem as problem:
        return problem


def line_receipt(number: int, done: Result) -> messages.LineReceipt:
    """What became of one line of a batch."""
    if isinstance(done, messages.Receipt):
        return messages.LineReceipt(line=number, decision_id=done.decision_id, status=done.status)
    detail = done.detail if isinstance(done, Problem) else None
    return messages.LineReceipt(line=number, detail=detail)
