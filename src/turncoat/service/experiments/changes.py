"""Changes of experiments and arms: each is a new version and an entry in the audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET

from turncoat.errors import ArmsError
from turncoat.service import messages
from turncoat.service.errors import Conflicting, NotFound, Stale, Unavailable, Unprocessable
from turncoat.service.experiments.audit import append_entry
from turncoat.service.experiments.learn import advance, take_learner
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.snapshot import ArmRow, Config, Learner, Snapshot, to_json
from turncoat.service.experiments.snapshot_cache import (
    SnapshotCache,
    checksum,
    dump_learner,
    machine,
    new_learner,
    read_snapshot,
)
from turncoat.service.experiments.waiting import no_delays
from turncoat.service.store.interface import Session, Store, WriteConflict
from turncoat.service.validation import check_arms, check_caps, check_config, check_name, checked_payload, named_arms

EXPERIMENT = ("id", "key", "created_at", "config", "state", "revision", "version", "seed", "salt", "machine")
ARM = ("experiment", "arm", "position", "state", "floor", "cap", "payload", "added_at", "tried")
LEARNER = ("experiment", "version", "state", "first_state", "checksum", "rule", "delays")
MOST_ARMS = 1000
TRIES = 5  # after write conflicts


def create(
    store: Store, cache: SnapshotCache, randomness: Randomness, now: float, new: messages.NewExperiment, actor: str
) -> Snapshot:
    """Open an experiment."""
    rows = named_arms(new)
    check_name(new.key, "key")
    config = Config(**{name: getattr(new, name) for name in Config.__struct_fields__})
    check_config(config, [row.arm for row in rows])
    check_arms(rows)
    check_caps(rows)
    seed = randomness.bits(53) if new.seed is None else new.seed
    learner = new_learner([row.arm for row in rows], seed)
    state = dump_learner(learner)
    digest = checksum(state)
    with store.transaction() as session:
        session.lock_settings()
        if session.rows("SELECT id FROM experiment WHERE key = :key", key=new.key):
            raise Conflicting(f"there is an experiment {new.key!r} already; keys are never used twice", field="key")
        number = session.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM experiment")[0][0]
        salt = f"{randomness.bits(128):032x}"
        head = (number, new.key, now, to_json(config), "running", 0, 0, seed, salt, machine())
        session.insert("experiment", EXPERIMENT, [head])
        session.insert("arm", ARM, [_stored(number, row, now) for row in rows])
        learned = (0, state, state, digest, learner.rule_version, no_delays())
        session.insert("learner", LEARNER, [(number, *learned)])
        numbers = number, new.key, now, config, "running", 0, 0, seed, salt
        blank = Snapshot(*numbers, tuple(rows), {}, 0, digest, learner.rule_version, 1, no_delays())
        snapshot = advance(session, blank, learner, "opened", now)
        append_entry(session, now, actor, "open", new.key, before=None, after=new)
    cache.publish(snapshot, learner)
    return snapshot


def change(
    store: Store,
    cache: SnapshotCache,
    now: float,
    key: str,
    wanted: messages.ExperimentChange,
    *,
    if_revision: int | None,
    actor: str,
) -> Snapshot:
    """Change an experiment's settings."""
    given = {name: getattr(wanted, name) for name in wanted.__struct_fields__ if getattr(wanted, name) is not UNSET}

    def changed(session: Session, before: Snapshot, learner: Learner) -> tuple[Snapshot, Any, Any]:
        _check_revision(before, if_revision)
        settings = {name: value for name, value in given.items() if name != "state"}
        config = msgspec.structs.replace(before.config, **settings)
        check_config(config, [row.arm for row in before.arms])
        state = given.get("state", before.state)
        session.run("UPDATE experiment SET config = :config, state = :state WHERE id = :id",
                    config=to_json(config), state=state, id=before.id)  # fmt: skip
        old = {name: before.state if name == "state" else getattr(before.config, name) for name in given}
        return replace(before, config=config, state=state), old, given

    return _apply_change(store, cache, now, key, "settings_changed", "change", actor, changed)


def add_arm(
    store: Store,
    cache: SnapshotCache,
    now: float,
    key: str,
    new: messages.NewArm,
    *,
    if_revision: int | None = None,
    actor: str,
) -> Snapshot:
    """Add an arm."""
    check_name(new.arm, "arm")

    def changed(session: Session, before: Snapshot, learner: Learner) -> tuple[Snapshot, Any, Any]:
        _check_revision(before, if_revision)
        if before.find(new.arm) is not None:
            raise Conflicting(f"{key!r} has or had an arm {new.arm!r}; names are never used twice", field="arm")
        if len(before.arms) >= MOST_ARMS:
            raise Unprocessable(f"{key!r} has had {len(before.arms)} arms; accepted are {MOST_ARMS}", field="arm")
        row = ArmRow(new.arm, len(before.arms), new.state, new.floor, new.cap, checked_payload(new.payload))
        rows = (*before.arms, row)
        check_arms(rows)
        session.insert("arm", ARM, [_stored(before.id, row, now)])
        if row.state == "active":
            learner.add_arm(row.arm)
        return replace(before, arms=rows), None, new

    return _apply_change(store, cache, now, key, "arm_added", "add arm", actor, changed)


def change_arm(
    store: Store,
    cache: SnapshotCache,
    now: float,
    key: str,
    arm: str,
    wanted: messages.ArmChange,
    *,
    if_revision: int | None = None,
    actor: str,
) -> Snapshot:
    """Change an arm."""
    given = {name: getattr(wanted, name) for name in wanted.__struct_fields__ if getattr(wanted, name) is not UNSET}

    def changed(session: Session, before: Snapshot, learner: Learner) -> tuple[Snapshot, Any, Any]:
        _check_revision(before, if_revision)
        old = before.find(arm)
        if old is None:
            raise NotFound(f"{key!r} has no arm {arm!r}", field="arm")
        new = old._replace(**given)
        if "payload" in given:
            new = new._replace(payload=checked_payload(wanted.payload))
        _move(learner, old, new)
        rows = tuple(new if row.arm == arm else row for row in before.arms)
        check_arms(rows)
        if new.cap != old.cap:
            check_caps(rows)
        session.run("UPDATE arm SET state = :state, floor = :floor, cap = :cap, payload = :payload "
                    "WHERE experiment = :id AND arm = :arm", state=new.state, floor=new.floor, cap=new.cap,
                    payload=to_json(new.payload), id=before.id, arm=arm)  # fmt: skip
        was = {name: getattr(old, name) for name in given}
        return replace(before, arms=rows), {"arm": arm, **was}, {"arm": arm, **given}

    return _apply_change(store, cache, now, key, "arm_changed", "change arm", actor, changed)


def _check_revision(before: Snapshot, seen: int | None) -> None:
    """Optimistic locking: refuse a change by a caller who has seen another revision."""
    if seen is not None and seen != before.revision:
        said = f"If-Match is {seen}; {before.key!r} is at revision {before.revision} now"
        raise Stale(said, field="If-Match")


def _move(learner: Learner, old: ArmRow, new: ArmRow) -> None:
    """Add the arm to the learner or retire it there, if its state says so."""
    if old.state == new.state:
        return
    if old.state == "retired":
        raise Conflicting(f"arm {old.arm!r} is retired, and stays so; add one under a new name", field="state")
    if old.state == "pending":
        if new.state == "active":
            learner.add_arm(new.arm)
        elif new.state == "paused":
            raise Conflicting(f"arm {old.arm!r} is pending; accepted are active and retired", field="state")
    elif new.state == "retired":
        try:
            learner.retire_arm(new.arm)
        except ArmsError as problem:
            raise Conflicting(f"{problem}", field="state") from problem


Changed = Callable[[Session, Snapshot, Learner], tuple[Snapshot, Any, Any]]


def _apply_change(
    store: Store, cache: SnapshotCache, now: float, key: str, kind: str, action: str, actor: str, changed: Changed
) -> Snapshot:
    """Every change goes through here: under both locks, as a new version, with an audit entry."""
    for _ in range(TRIES):
        number: int | None = None
        try:
            with store.transaction() as session:
                session.lock_settings()
                number = read_snapshot(session, key).id
                session.lock_experiment(number, wait=True)()
                before, learner = take_learner(session, cache, read_snapshot(session, key), now)
                between, old, new = changed(session, before, learner)
                after = advance(session, between, learner, kind, now, detail=to_json(new))
                append_entry(session, now, actor, action, key, before=old, after=new)
        except BaseException as problem:
            if number is not None:
                cache.invalidate(number)
            if not isinstance(problem, WriteConflict):
                raise
        else:
            cache.publish(after, learner)
            return after
    raise Unavailable("others kept changing the same things at the same time; nothing was recorded, try again")


def _stored(experiment: int, row: ArmRow, now: float) -> tuple[Any, ...]:
    return (experiment, row.arm, row.position, row.state, row.floor, row.cap, to_json(row.payload), now, int(row.tried))
