"""Commands are recorded: decisions and rewards, many at a time, in one transaction.

Optimistic concurrency: everything is looked up first and only what is new is written. Where two processes write the
same row at the same moment, one gets `WriteConflict`, rolls back and tries again, now seeing the other's row. So the
database's keys alone decide what happens once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from turncoat.service import messages
from turncoat.service.clock import Clock, as_datetime
from turncoat.service.errors import Conflicting, Damaged, Problem, Unavailable
from turncoat.service.experiments.draw import COLUMNS, Drawn, draw
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.rewards import record_rewards
from turncoat.service.experiments.snapshot_cache import SnapshotCache
from turncoat.service.messages import Command, Decide, Result, Tell
from turncoat.service.store.interface import Row, Session, Store, StoreDown, WriteConflict

KEPT = 86_400.0  # seconds for which an idempotency key is remembered
TRIES = 20

REPEATED = "SELECT experiment, key, body_hash, answer FROM idempotency WHERE key IN :keys"
HELD = """
    SELECT s.experiment, s.unit, s.decision_id, s.answer, d.decided_at, d.expires_at, d.applied_version
    FROM sticky s JOIN decision d ON d.id = s.decision_id WHERE s.unit IN :units
"""
LET_GO = "DELETE FROM sticky WHERE experiment = :experiment AND unit = :unit AND decision_id = :id"
USED = "SELECT id FROM decision WHERE id IN :ids"

Place = tuple[int, str]  # experiment, and a key or unit in it


def serve(
    store: Store, cache: SnapshotCache, clock: Clock, randomness: Randomness, commands: Sequence[Command]
) -> list[Result]:
    """Record all commands in one transaction and return their results in order, once they are on the disk."""
    try:
        is_known = all(cache.has(command.key) for command in commands if isinstance(command, Decide))
        if cache.needs_refresh or not is_known:  # another process may have opened it
            cache.refresh()
        for _ in range(TRIES):
            try:
                return _serve(store, cache, clock.now(), randomness, commands)
            except WriteConflict:
                cache.refresh()
    except StoreDown as down:
        raise Unavailable(f"{down}; whether it was recorded is not known") from down
    raise Unavailable("others kept changing the same things at the same time; nothing was recorded, try again")


def _serve(
    store: Store, cache: SnapshotCache, now: float, randomness: Randomness, commands: Sequence[Command]
) -> list[Result]:
    done: dict[int, Result] = {}
    drawn: dict[int, Drawn] = {}
    tells: dict[int, Tell] = {}
    for place, command in enumerate(commands):
        if isinstance(command, Tell):
            tells[place] = command
            continue
        try:
            one = draw(cache, now, randomness, command)
        except Problem as problem:
            done[place] = problem
            continue
        if isinstance(one.answer, Problem) and one.body_hash is None:
            done[place] = one.answer
        else:
            drawn[place] = one
    if drawn or tells:
        with store.transaction() as session:
            if drawn:
                answers = _Recording(session, drawn.values(), now).answers()
                done.update(zip(drawn, answers, strict=True))
            if tells:
                done.update(record_rewards(session, cache, tells, now, shared=store.shared))
    return [done[place] for place in range(len(commands))]


class _Recording:
    """The decisions of one transaction: a repeated idempotency key gets its stored answer, the others are written."""

    def __init__(self, session: Session, drawn: Iterable[Drawn], now: float) -> None:
        self._session, self._drafts, self._now = session, list(drawn), now
        self._repeated = self._asked_before()
        self._held = self._held_by_units()
        chosen = [one.command.ask.decision_id for one in self._drafts if one.command.ask.decision_id]
        self._used = {row[0] for row in session.rows(USED, ids=chosen)} if chosen else set()
        self._decisions: list[Row] = []
        self._keys: list[Row] = []
        self._sticky: list[Row] = []

    def answers(self) -> list[Result]:
        """The result of each, once all are written."""
        answers = [self._answer(one) for one in self._drafts]
        self._write()
        return answers

    def _asked_before(self) -> dict[Place, tuple[str, messages.Decided | None]]:
        keys = {one.command.idempotency_key for one in self._drafts if one.command.idempotency_key is not None}
        rows = self._session.rows(REPEATED, keys=sorted(keys)) if keys else []
        return {(experiment, key): (body_hash, _stored_answer(answer)) for experiment, key, body_hash, answer in rows}

    def _held_by_units(self) -> dict[Place, messages.Decided]:
        """Sticky decisions by unit. One that is closed or kept no longer is deleted only when another replaces it."""
        keep = {one.experiment: one.keep_s for one in self._drafts if one.keep_s is not None}
        units = {one.unit for one in self._drafts if one.keep_s is not None and one.unit is not None}
        rows = self._session.rows(HELD, units=sorted(units)) if units else []
        self._stored = {(experiment, unit): decision_id for experiment, unit, decision_id, *_ in rows}
        held: dict[Place, messages.Decided] = {}
        for experiment, unit, _, stored, decided_at, expires_at, applied in rows:
            is_open = applied is None and (expires_at is None or expires_at > self._now)
            if is_open and decided_at + keep.get(experiment, 0.0) > self._now:
                answer = _stored_answer(stored)
                until = None if expires_at is None else as_datetime(expires_at)  # set when a deferred one is activated
                if answer is not None:
                    held[experiment, unit] = msgspec.structs.replace(answer, expires_at=until)
        return held

    def _answer(self, one: Drawn) -> Result:
        key = None if one.command.idempotency_key is None else (one.experiment, one.command.idempotency_key)
        if key is not None and key in self._repeated:
            body_hash, answer = self._repeated[key]
            if body_hash != one.body_hash:
                return Conflicting(
                    f"the key {key[1]!r} was used before with another body; accepted is the same body again",
                    field="Idempotency-Key",
                )
            return answer or Damaged.of(one.command.key, "log", f"the answer kept for {key[1]!r} cannot be read")
        decided = self._decided(one)
        if key is not None and isinstance(decided, messages.Decided):
            self._repeated[key] = str(one.body_hash), decided
            self._keys.append((*key, one.body_hash, msgspec.json.encode(decided), self._now + KEPT))
        return decided

    def _decided(self, one: Drawn) -> Result:
        """The unit's sticky decision, or the one just drawn, which then is written."""
        ask, answer = one.command.ask, one.answer
        if isinstance(answer, Problem):
            return answer
        place = (one.experiment, one.unit) if one.keep_s is not None and one.unit is not None else None
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
        """Make this the unit's sticky decision, in place of any earlier one."""
        before = self._stored.pop(place, None)
        if before is not None:
            self._session.run(LET_GO, experiment=place[0], unit=place[1], id=before)
        self._held[place] = answer
        self._sticky = [row for row in self._sticky if row[:2] != place]
        self._sticky.append((*place, answer.decision_id, msgspec.json.encode(answer)))

    def _write(self) -> None:
        """Keys first and sorted: a fixed lock order, so that no two processes deadlock."""
        self._add("idempotency", ("experiment", "key", "body_hash", "answer", "expires_at"), self._keys)
        self._add("sticky", ("experiment", "unit", "decision_id", "answer"), self._sticky)
        self._add("decision", COLUMNS, self._decisions)

    def _add(self, table: str, columns: Sequence[str], rows: list[Row]) -> None:
        if rows:
            self._session.insert(table, columns, sorted(rows))


def _stored_answer(stored: bytes) -> messages.Decided | None:
    """An answer that was kept, or None if it is damaged."""
    try:
        return msgspec.json.decode(bytes(stored), type=messages.Decided)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
