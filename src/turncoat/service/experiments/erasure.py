"""Erasure of a unit: its contexts and its pseudonym are taken out of all that is stored.

A unit is known by its keyed hash, one per experiment. Its decisions lose hash and context, open ones too; arm,
propensity and reward stay, so that the learner can still be verified. Its sticky assignments are deleted, as are the
stored answers to requests with an Idempotency-Key: their body hash was computed from the unit's name.

There is no index of units, so all decisions are read, a page at a time, before anything is written. Each transaction
has an entry in the audit with what it erased, without the unit. Decisions keep the hash until the transaction that
takes it out: an erasure that was interrupted is repeated. What the unit does meanwhile is not erased.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from turncoat.service import messages
from turncoat.service.errors import NotFound, Unavailable
from turncoat.service.experiments.audit import append_entry
from turncoat.service.experiments.randomness import unit_hash
from turncoat.service.store.interface import Row, Session, Store, WriteConflict

PAGE = 5000  # rows read per transaction
MOST = 1000  # decisions changed per transaction
TRIES = 20  # after write conflicts

SALTS = "SELECT id, key, salt FROM experiment ORDER BY id"
UNITS = "SELECT id, experiment, unit FROM decision WHERE id > :after ORDER BY id LIMIT :limit"
ANSWERS = """
    SELECT key, experiment, answer FROM idempotency WHERE (key, experiment) > (:after, :number)
    ORDER BY key, experiment LIMIT :limit
"""
FORGET_STICKY = "DELETE FROM sticky WHERE experiment = :experiment AND unit = :unit"
FORGET_ANSWERS = "DELETE FROM idempotency WHERE experiment = :experiment AND key IN :keys"
FORGET_UNIT = "UPDATE decision SET unit = NULL, context = NULL WHERE id IN :ids AND unit = :unit"
COUNT = "UPDATE experiment SET erasures = erasures + 1 WHERE id = :experiment"


class _Answered(msgspec.Struct):
    """What is needed of a stored answer."""

    decision_id: str


class _Found(NamedTuple):
    """What is stored of the unit in one experiment."""

    experiment: int
    key: str
    unit: str
    ids: list[str]
    answers: list[str]


def erase(store: Store, now: float, wanted: messages.Erasure, actor: str) -> messages.Erased:
    """Erase a unit; how much was erased."""
    erased = [0, 0, 0]
    for found in _find(store, wanted):
        for first in range(0, len(found.ids), MOST):
            part = found._replace(ids=found.ids[first : first + MOST], answers=found.answers if first == 0 else [])
            erased = [total + n for total, n in zip(erased, _erase_some(store, now, part, actor), strict=True)]
    return messages.Erased(decisions=erased[0], sticky=erased[1], answers=erased[2])


def _find(store: Store, wanted: messages.Erasure) -> list[_Found]:
    with store.reading() as session:
        rows = session.rows(SALTS)
    named = [row for row in rows if wanted.experiment in (None, row[1])]
    if wanted.experiment is not None and not named:
        raise NotFound(f"there is no experiment {wanted.experiment!r}", field="experiment")
    found = {number: _Found(number, key, unit_hash(salt, wanted.unit_id), [], []) for number, key, salt in named}
    of_decision: dict[str, int] = {}
    for number, unit, decision_id in _decisions(store):
        if number in found and unit == found[number].unit:
            found[number].ids.append(decision_id)
            of_decision[decision_id] = number
    for key, number, answer in _answers(store) if of_decision else ():
        if msgspec.json.decode(bytes(answer), type=_Answered).decision_id in of_decision:
            found[number].answers.append(key)
    return [one for one in found.values() if one.ids]


def _decisions(store: Store) -> Iterator[tuple[int, str, str]]:
    """Of all decisions that have a unit: experiment, unit, id. A transaction per page, so that none is long."""
    after = ""
    while rows := _read(store, UNITS, after=after, limit=PAGE):
        for decision_id, number, unit in rows:
            if unit is not None:
                yield number, unit, decision_id
        after = rows[-1][0]


def _answers(store: Store) -> Iterator[Row]:
    after, number = "", -1
    while rows := _read(store, ANSWERS, after=after, number=number, limit=PAGE):
        yield from rows
        after, number = rows[-1][:2]


def _read(store: Store, sql: str, **values: object) -> list[Row]:
    with store.reading() as session:
        return session.rows(sql, **values)


def _erase_some(store: Store, now: float, found: _Found, actor: str) -> tuple[int, int, int]:
    for _ in range(TRIES):
        try:
            with store.transaction() as session:
                return _erase(session, now, found, actor)
        except WriteConflict:
            continue
    raise Unavailable("others kept changing the same things at the same time; erase the unit again")


def _erase(session: Session, now: float, found: _Found, actor: str) -> tuple[int, int, int]:
    session.lock_settings()  # for the audit, and first, as changes do, so that the two cannot deadlock
    number = found.experiment
    answers = session.run(FORGET_ANSWERS, experiment=number, keys=sorted(found.answers)) if found.answers else 0
    sticky = session.run(FORGET_STICKY, experiment=number, unit=found.unit)
    decisions = session.run(FORGET_UNIT, ids=found.ids, unit=found.unit)
    if decisions or sticky or answers:
        after = {"decisions": decisions, "sticky": sticky, "answers": answers}
        append_entry(session, now, actor, "erase unit", found.key, before=None, after=after)
        session.run(COUNT, experiment=number)
    return decisions, sticky, answers
