"""The decision service without HTTP: one object, used by one thread, that does everything `Service` says.

    record.py, draw.py, rewards.py        what comes in, many at a time, in one transaction
    learn.py, aggregates.py               rewards become learning, once each
    changes.py, validation.py, audit.py   experiments and arms change
    queries.py                            what is read back
Any number of engines, in as many processes, may share a PostgreSQL store; SQLite has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from turncoat.service import messages
from turncoat.service.accepted import checked
from turncoat.service.clock import Clock, SystemClock
from turncoat.service.errands import Decide, Done, Errand, Tell
from turncoat.service.errors import Problem
from turncoat.service.experiments import audit, changes, draw, queries, record
from turncoat.service.experiments.aggregates import WIDTHS
from turncoat.service.experiments.early_rewards import adopt, give_up
from turncoat.service.experiments.learn import MOST, apply
from turncoat.service.experiments.randomness import Chance, SystemChance
from turncoat.service.experiments.snapshot_cache import Book, read_present
from turncoat.service.store.interface import Raced, Store, StoreDown

LOOK_FOR_DUE = 0.25  # seconds between looks for windows that have ended
SWEEP = 10.0  # seconds between tidying up the inbox
TIDY = 60.0  # seconds between taking away what is no longer needed

WAITING = "SELECT DISTINCT experiment FROM inbox"
DUE = """
    SELECT e.id FROM experiment e
    WHERE (SELECT MIN(d.expires_at) FROM decision d WHERE d.experiment = e.id AND d.applied_version IS NULL) <= :now
"""
BEGIN_WINDOW = "UPDATE decision SET expires_at = :at WHERE id = :id AND expires_at IS NULL AND outcome IS NULL"


class Engine:
    """Decides and learns. Implements `turncoat.service.surface.Service`."""

    def __init__(self, store: Store, clock: Clock | None = None, chance: Chance | None = None) -> None:
        self.store = store
        self.clock = clock or SystemClock()
        self.chance = chance or SystemChance()
        self.book = Book(store)
        self.book.refresh()
        self._looked = self._swept = self._tidied = float("-inf")

    # --- hot: batches ---

    def serve(self, errands: Sequence[Errand]) -> list[Done]:
        """Do all of them in one transaction; an answer each, of which some may be Problems."""
        return record.serve(self.store, self.book, self.clock, self.chance, errands)

    def stale(self, errand: Decide) -> Done:
        """A decision while the store is down, said to be stale. Nothing is recorded."""
        return draw.stale(self.book, self.chance, errand)

    def _one(self, errand: Errand) -> Any:
        (done,) = self.serve([errand])
        if isinstance(done, Problem):
            raise done
        return done

    def decide(
        self,
        key: str,
        *,
        unit_id: str | None = None,
        allowed_arms: Sequence[str] | None = None,
        sticky: bool = False,
        deferred: bool = False,
        context: dict[str, Any] | None = None,
        decision_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> messages.Decided:
        """Draw an arm, and record how probable it was."""
        ask = messages.Ask(
            unit_id=unit_id,
            allowed_arms=None if allowed_arms is None else list(allowed_arms),
            sticky=sticky,
            deferred=deferred,
            context=context,
            decision_id=decision_id,
        )
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
            window = read_present(session, record.experiment).config.reward_window_s
            session.run(BEGIN_WINDOW, at=self.clock.now() + window, id=decision_id)
            return queries.read_decision(session, decision_id)

    # --- the applier ---

    def work(self) -> bool:
        """One pass: learn what waits, close what is due, tidy up now and then. True: there may be more at once."""
        now = self.clock.now()
        with self.store.reading() as session:
            found = session.send(WAITING)
            others = self.book.look(session) if self.store.shared or self.book.in_doubt else set()
            waiting = {number for (number,) in found()}
        ready = waiting - {None}
        if not 0.0 <= now - self._looked < LOOK_FOR_DUE:  # the clock may be set back
            self._looked = now
            if None in waiting:
                self._adopt(now)
            ready |= self._due(now)
        if not 0.0 <= now - self._swept < SWEEP:
            self._swept = now
            self.store.tidy()
        if not 0.0 <= now - self._tidied < TIDY:
            self._tidied = now
            self._tidy(now)
        if self.store.shared:
            ready -= others  # whoever has the learner goes on with it: to read it again takes longer than to teach it
        return self._apply_all(sorted(ready))

    def _apply_all(self, ready: Sequence[int]) -> bool:
        """A pass over each. One whose state is damaged, say, does not hold up the others."""
        most, trouble = 0, None
        for number in ready:
            try:
                most = max(most, self._apply(number))
            except StoreDown:
                raise
            except Exception as problem:
                trouble = trouble or problem
        if trouble is not None:
            raise trouble
        return most >= MOST

    def _apply(self, number: int) -> int:
        if self.book.of(number) is None:
            self.book.refresh()
        snapshot = self.book.of(number)
        if snapshot is None:
            return 0
        try:
            return apply(self.store, self.book, self.clock, snapshot)
        except Raced:
            return 0  # the next pass will do it

    def _due(self, now: float) -> set[int]:
        """Experiments in which a window has ended."""
        with self.store.reading() as session:
            return {row[0] for row in session.rows(DUE, now=now)}

    def _adopt(self, now: float) -> None:
        """Rewards that came before their decision find it, or are given up after a while."""
        with suppress(Raced), self.store.transaction() as session:  # whoever is slower leaves it to the other
            adopt(session, self.book)
            give_up(session, now)

    def _tidy(self, now: float) -> None:
        with suppress(Raced), self.store.transaction() as session:
            session.run("DELETE FROM idempotency WHERE expires_at <= :now", now=now)
            for width, kept in WIDTHS.items():
                if kept < float("inf"):
                    session.run("DELETE FROM bucket WHERE width = :width AND start < :start",
                                width=width, start=int(now - kept))  # fmt: skip

    def refresh(self) -> None:
        """Read what other processes have changed."""
        self.book.refresh()

    # --- settings ---

    def create(self, new: messages.NewExperiment, *, actor: str = "local") -> messages.Experiment:
        """Open an experiment."""
        made = changes.create(self.store, self.book, self.chance, self.clock.now(), checked(new), actor)
        return made.to_experiment()

    def change(
        self, key: str, change: messages.ExperimentChange, *, if_revision: int | None = None, actor: str = "local"
    ) -> messages.Experiment:
        """Change its settings; with `if_revision`, only if nobody has since."""
        now = self.clock.now()
        after = changes.change(self.store, self.book, now, key, checked(change), if_revision=if_revision, actor=actor)
        return after.to_experiment()

    def add_arm(self, key: str, arm: messages.NewArm, *, actor: str = "local") -> messages.Arm:
        """Add an arm while it runs."""
        after = changes.add_arm(self.store, self.book, self.clock.now(), key, checked(arm), actor=actor)
        return after.to_arm(after.arms[-1])

    def change_arm(self, key: str, arm: str, change: messages.ArmChange, *, actor: str = "local") -> messages.Arm:
        """Pause, resume or retire an arm, or set its floor, cap and payload."""
        after = changes.change_arm(self.store, self.book, self.clock.now(), key, arm, checked(change), actor=actor)
        return next(after.to_arm(row) for row in after.arms if row.arm == arm)

    # --- reading ---

    def experiments(self) -> list[messages.Experiment]:
        """All experiments, in the order in which they were opened."""
        self.book.refresh()
        return [snapshot.to_experiment() for snapshot in self.book]

    def experiment(self, key: str) -> messages.Experiment:
        """One of them."""
        with self.store.reading() as session:
            return read_present(session, key).to_experiment()

    def arms(self, key: str) -> list[messages.Arm]:
        """Its arms, in the order in which they came."""
        return self.experiment(key).arms

    def decision(self, decision_id: str) -> messages.DecisionRecord:
        """Everything known about a decision."""
        with self.store.reading() as session:
            return queries.read_decision(session, decision_id)

    def state(self, key: str) -> messages.LearnerState:
        """What the learner makes of it all."""
        with self.store.reading() as session:
            return queries.read_state(session, key)

    def timeline(self, key: str, *, limit: int = 1000) -> list[messages.VersionPoint]:
        """At most `limit` versions of rewards, evenly taken over its life, and all others, the latest last."""
        with self.store.reading() as session:
            return queries.read_timeline(session, key, limit)

    def switches(self, key: str) -> list[messages.Switch]:
        """The changes of the best arm that the learner believes in."""
        with self.store.reading() as session:
            return queries.read_switches(session, key)

    def audit(self, key: str | None = None) -> list[messages.AuditEntry]:
        """Who changed what."""
        with self.store.reading() as session:
            return audit.read(session, key)

    def log(self, key: str) -> Iterator[messages.LogLine]:
        """Every decision with its outcome, in the order of their ids."""
        return queries.read_log(self.store, key)


def _told(line: messages.RewardLine) -> Tell | Problem:
    try:
        return Tell(line.decision_id, checked(line))
    except Problem as problem:
        return problem


def line_receipt(number: int, done: Done) -> messages.LineReceipt:
    """What became of one line of a batch."""
    if isinstance(done, messages.Receipt):
        return messages.LineReceipt(line=number, decision_id=done.decision_id, status=done.status)
    detail = done.detail if isinstance(done, Problem) else None
    return messages.LineReceipt(line=number, detail=detail)
