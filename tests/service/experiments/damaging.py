"""Damage to what is stored of an experiment, as a failing disk does it, written past the service."""

from __future__ import annotations

import base64
from collections.abc import Callable

import msgspec

from tests.service.experiments.lab import Lab
from turncoat.service.store.interface import Session


def flipped(state: bytes) -> bytes:
    """A learner's state with one bit of one of its numbers flipped: it can still be decoded."""
    decoded = msgspec.json.decode(state)
    numbers = bytearray(base64.b64decode(decoded["buffer"]))
    numbers[-8] ^= 1
    decoded["buffer"] = base64.b64encode(numbers).decode()
    return msgspec.json.encode(decoded)


def damage_learner(session: Session, number: int) -> None:
    ((state,),) = session.rows("SELECT state FROM learner WHERE experiment = :id", id=number)
    session.run("UPDATE learner SET state = :bad WHERE experiment = :id", bad=flipped(bytes(state)), id=number)


def damage_snapshot(session: Session, number: int) -> None:
    session.run(
        'UPDATE version SET probabilities = \'{"a": 0.7, "b"\' WHERE experiment = :id '
        "AND version = (SELECT version FROM experiment WHERE id = :id)",
        id=number,
    )


def damage_settings(session: Session, number: int) -> None:
    session.run("UPDATE experiment SET config = substr(config, 3) WHERE id = :id", id=number)


def damage_log(session: Session, number: int) -> None:
    session.run("UPDATE decision SET allowed = '[\"a' WHERE experiment = :id AND outcome IS NULL", id=number)


DAMAGES: dict[str, Callable[[Session, int], None]] = {
    "learner": damage_learner,
    "snapshot": damage_snapshot,
    "settings": damage_settings,
    "log": damage_log,
}


def damage(lab: Lab, part: str, number: int = 1) -> None:
    """Damage a part of an experiment, and start the service again: what it has in memory is whole."""
    with lab.store.transaction() as session:
        DAMAGES[part](session, number)
    lab.restart()


def taught(lab: Lab, key: str, rewards: int = 5) -> None:
    """Some rewards are learned, each in a version of its own."""
    for i in range(rewards):
        lab.engine.reward(str(lab.engine.decide(key).decision_id), (i % 3) / 2)
        lab.work()
