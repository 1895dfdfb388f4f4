"""What comes in: decisions asked for and rewards told, many at a time, in one transaction.

Everything is looked up first and only what is new is written. Where another process writes the same thing at the same
moment, one of the two finds its row taken (`Raced`), forgets the transaction and does it all again, now seeing the
other's row. So the database's keys alone decide what happens once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turncoat.service import messages
from turncoat.service.clock import Clock, as_datetime
from turncoat.service.errands import Decide, Done, Errand, Tell
from turncoat.service.errors import Conflicting, Problem, Unavailable
from turncoat.service.experiments.draw import COLUMNS, Draft, draft
from turncoat.service.experiments.randomness import Chance
from turncoat.service.experiments.rewards import take
from turncoat.service.experiments.snapshot_cache import Book
from turncoat.service.store.interface import Raced, Row, Session, Store, StoreDown

KEPT = 86_400.0  # seconds for which a repeated request is known again
TRIES = 20

REPEATED = "SELECT experiment, key, body_hash, answer FROM idempotency WHERE key IN :keys"
HELD = """
    SELECT s.experiment, s.unit, s.decision_id, s.answer, d.expires_at, d.applied_version
    FROM sticky s JOIN decision d ON d.id = s.decision_id WHERE s.unit IN :units
"""
LET_GO = "DELETE FROM sticky WHERE experiment = :experiment AND unit = :unit AND decision_id = :id"
USED = "SELECT id FROM decision WHERE id IN :ids"

Place = tuple[int, str]  # experiment, and a key or unit in it


def serve(store: Store, book: Book, clock: Clock, chance: Chance, errands: Sequence[Errand]) -> list[Done]:
    """Do all of them at once; the answers, in order, of which each may be a Problem. All are on the disk by then."""
    try:
        if book.in_doubt or any(isinstance(errand, Decide) and not book.has(errand.key) for errand in errands):
            book.refresh()  # another process may have opened it
        for _ in range(TRIES):
            try:
                return _serve(store, book, clock.now(), chance, errands)
            except Raced:
                book.refresh()
    except StoreDown as down:
        raise Unavailable(f"{down}; whether it was recorded is not known") from down
    raise Unavailable("others kept changing the same things at the same time; nothing was recorded, try again")


def _serve(store: Store, book: Book, now: float, chance: Chance, errands: Sequence[Errand]) -> list[Done]:
    done: dict[int, Done] = {}
    drafts: dict[int, Draft] = {}
    tells: dict[int, Tell] = {}
    for place, errand in enumerate(errands):
        if isinstance(errand, Tell):
            tells[place] = errand
            continue
        try:
            one = draft(book, now, chance, errand)
        except Problem as problem:
            done[place] = problem
            continue
        if isinstance(one.answer, Problem) and one.body_hash is None:
            done[place] = one.answer
        else:
            drafts[place] = one
    if drafts or tells:
        with store.transaction() as session:
            if drafts:
                answers = _Recording(session, drafts.values(), now).answers()
                done.update(zip(drafts, answers, strict=True))
            if tells:
                done.update(take(session, book, tells, now, shared=store.shared))
    return [done[place] for place in range(len(errands))]


class _Recording:
    """Some drafts, in one transaction: those asked before get the same answer, the others are written."""

    def __init__(self, session: Session, drafts: Iterable[Draft], now: float) -> None:
        self._session, self._drafts, self._now = session, list(drafts), now
        self._repeated = self._asked_before()
        self._held = self._held_by_units()
        chosen = [one.errand.ask.decision_id for one in self._drafts if one.errand.ask.decision_id]
        self._used = {row[0] for row in session.rows(USED, ids=chosen)} if chosen else set()
        self._decisions: list[Row] = []
        self._keys: list[Row] = []
        self._sticky: list[Row] = []

    def answers(self) -> list[Done]:
        """What each gets, once all is written."""
        answers = [self._answer(one) for one in self._drafts]
        self._write()
        return answers

    def _asked_before(self) -> dict[Place, tuple[str, messages.Decided]]:
        keys = {one.errand.idempotency_key for one in self._drafts if one.errand.idempotency_key is not None}
        rows = self._session.rows(REPEATED, keys=sorted(keys)) if keys else []
        return {
            (experiment, key): (body_hash, msgspec.json.decode(bytes(answer), type=messages.Decided))
            for experiment, key, body_hash, answer in rows
        }

    def _held_by_units(self) -> dict[Place, messages.Decided]:
        """The decisions that units keep. One that is over is let go only when there is another."""
        units = {one.unit for one in self._drafts if one.errand.ask.sticky and one.unit is not None}
        rows = self._session.rows(HELD, units=sorted(units)) if units else []
        self._stored = {(experiment, unit): decision_id for experiment, unit, decision_id, *_ in rows}
        held: dict[Place, messages.Decided] = {}
        for experiment, unit, _, stored, expires_at, applied in rows:
            if applied is None and (expires_at is None or expires_at > self._now):
                answer = msgspec.json.decode(bytes(stored), type=messages.Decided)
                until = None if expires_at is None else as_datetime(expires_at)  # set when a deferred one is activated
                held[experiment, unit] = msgspec.structs.replace(answer, expires_at=until)
        return held

    def _answer(self, one: Draft) -> Done:
        key = None if one.errand.idempotency_key is None else (one.experiment, one.errand.idempotency_key)
        if key is not None and key in self._repeated:
            body_hash, answer = self._repeated[key]
            if body_hash != one.body_hash:
                return Conflicting(
                    f"the key {key[1]!r} was used before with another body; accepted is the same body again",
                    field="Idempotency-Key",
                )
            return answer
        decided = self._decided(one)
        if key is not None and isinstance(decided, messages.Decided):
            self._repeated[key] = str(one.body_hash), decided
            self._keys.append((*key, one.body_hash, msgspec.json.encode(decided), self._now + KEPT))
        return decided

    def _decided(self, one: Draft) -> Done:
        """What the unit keeps, or the draft itself, which then is written."""
        ask, answer = one.errand.ask, one.answer
        if isinstance(answer, Problem):
            return answer
        place = (one.experiment, one.unit) if ask.sticky and one.unit is not None else None
        held = None if place is None else self._held.get(place)
        if held is not None and held.arm in answer.probabilities:
            return msgspec.structs.replace(held, reason="sticky")
        if ask.decision_id in self._used:
            return Conflicting(
                f"decision_id {ask.decision_id!r} was used before; accepted is a new one", field="decision_id"
            )
        if ask.decision_id is not None:
            self._used.add(ask.decision_id)
        if place is not None:
            self._keep(place, answer)
        self._decisions.append(one.row)
        return answer

    def _keep(self, place: Place, answer: messages.Decided) -> None:
        """From now on the unit has this one, whatever it had before."""
        before = self._stored.pop(place, None)
        if before is not None:
            self._session.run(LET_GO, experiment=place[0], unit=place[1], id=before)
        self._held[place] = answer
        self._sticky = [row for row in self._sticky if row[:2] != place]
        self._sticky.append((*place, answer.decision_id, msgspec.json.encode(answer)))

    def _write(self) -> None:
        """Keys first, and in order, so that no two processes wait for each other."""
        self._add("idempotency", ("experiment", "key", "body_hash", "answer", "expires_at"), self._keys)
        self._add("sticky", ("experiment", "unit", "decision_id", "answer"), self._sticky)
        self._add("decision", COLUMNS, self._decisions)

    def _add(self, table: str, columns: Sequence[str], rows: list[Row]) -> None:
        if rows:
            self._session.insert(table, columns, sorted(rows))
