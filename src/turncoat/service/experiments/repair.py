"""Repair: an experiment's learner is rebuilt from its log and written with what it publishes, as a new version.

The log is replayed as verification does, while the service goes on; then all is written in one transaction, if nothing
has changed meanwhile. A sound experiment is left as it is. Where the log itself is damaged, so that another learner
might come out than the one that was lost, nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from turncoat.service.errors import Conflicting, Unavailable
from turncoat.service.experiments.audit import append_entry
from turncoat.service.experiments.damage import VOID
from turncoat.service.experiments.integrity import Finding, Head, findings, read_head, sentence
from turncoat.service.experiments.learn import advance
from turncoat.service.experiments.snapshot import Learner, to_json
from turncoat.service.experiments.snapshot_cache import checksum, machine, read_snapshot, rule_now
from turncoat.service.experiments.verify import (
    STORED,
    is_close,
    published,
    rebuild,
    release_of,
    replay_start,
    unpublished,
)
from turncoat.service.experiments.waiting import is_record, no_delays
from turncoat.service.store.interface import Session, Store, WriteConflict

TRIES = 3  # while the service learns meanwhile
MEND_PUBLISHED = """
    UPDATE version SET probabilities = :served, checksum = :checksum WHERE experiment = :id AND version = :version
"""
MEND_DELAYS = "UPDATE learner SET delays = :delays WHERE experiment = :id"
MEND_MACHINE = "UPDATE experiment SET machine = :machine WHERE id = :id"


class Repaired(NamedTuple):
    """What was found, and what was done."""

    key: str
    version: int | None  # written; None: nothing was
    learned: int  # rewards that were replayed
    damaged: list[Finding]  # that a repair rebuilds; none: the experiment is sound
    others: list[Finding]  # that it does not
    is_exact: bool  # whether the rebuilt learner is the one that was lost, byte for byte


class _Plan(NamedTuple):
    head: Head
    learner: Learner
    served: dict[str, float]
    digest: str  # of the state that was lost
    delays: str | None
    before: dict[str, Any]
    result: Repaired


def repair(store: Store, now: float, key: str, *, actor: str = "turncoat repair", dry_run: bool = False) -> Repaired:
    """Repair an experiment. Raises Conflicting, and changes nothing, if its log does not say what its learner was."""
    for _ in range(TRIES):
        with store.reading() as session:
            plan = _plan(session, key)
        if dry_run or not plan.result.damaged:
            return plan.result
        try:
            with store.transaction() as session:
                return _write(session, plan, now, actor)
        except WriteConflict:
            continue
    raise Unavailable(f"{key!r} kept learning meanwhile; nothing was written, try again")


def _plan(session: Session, key: str) -> _Plan:
    head, found = read_head(session, key)
    found += findings(session, head)
    _refuse(key, [one for one in found if one.is_source])
    stored, first, made_on, _, digest, rule = session.rows(STORED, id=head.id)[0]
    if rule != rule_now():
        _refuse(key, [Finding("learner", f"its state is of rule {rule}, and this Turncoat has rule {rule_now()}")])
    start = replay_start(session, head, rule, first)
    if not start.good:
        _refuse(key, [Finding(f"checkpoint {start.version}", "its state is not as it was written")])
    releases = {release_of(start.state), release_of(stored)}
    made = rebuild(session, head, start.version, bytes(start.state), releases)
    is_stored = bytes(stored) in made.states
    is_exact = is_stored or digest in map(checksum, made.states)
    if not is_exact and made_on == machine():
        _refuse(key, [Finding("log", f"it leads to another state than version {head.version} had: it was altered")])
    served, is_published = published(session, head, made.learner)
    if not is_published:
        found.append(unpublished(head))
    ((kept, delays),) = session.rows("SELECT checksum, delays FROM learner WHERE experiment = :id", id=head.id)
    if not is_exact and checksum(bytes(stored)) == kept and not is_close(made.states[0], bytes(stored)):
        _refuse(key, [Finding("log", "it leads to another state than the one that is stored, which is whole")])
    ours = {"learner", "snapshot", f"version {head.version}"}
    damaged = [one for one in found if one.where in ours]
    before = {"version": head.version, "checksum": kept, "damage": [str(one) for one in damaged]}
    result = Repaired(key, None, made.learned, damaged, [one for one in found if one.where not in ours], is_exact)
    mended = delays if is_record(delays) else no_delays()
    return _Plan(head, made.learner, served, checksum(bytes(stored)) if is_stored else digest, mended, before, result)


def _refuse(key: str, why: Sequence[Finding]) -> None:
    if why:
        raise Conflicting(
            f"{key!r} cannot be repaired, because its log does not say for sure what was learned "
            f"({sentence(why)}); restore a backup"
        )


def _write(session: Session, plan: _Plan, now: float, actor: str) -> Repaired:
    head = plan.head
    session.lock_settings()
    if session.lock_experiment(head.id, wait=True)() != head.version:
        raise WriteConflict("it has learned meanwhile")
    served = to_json(plan.served)
    session.run(MEND_PUBLISHED, id=head.id, version=head.version, served=served, checksum=plan.digest)
    session.run(MEND_DELAYS, id=head.id, delays=plan.delays)
    if not plan.result.is_exact:  # from now on its numbers are compared to 1e-9 everywhere
        session.run(MEND_MACHINE, id=head.id, machine=f"{head.machine}; repaired on {machine()}")
    snapshot = read_snapshot(session, head.key)
    after = advance(session, snapshot, plan.learner, "repaired", now, detail=to_json(plan.before["damage"]))
    session.run(VOID, id=head.id)
    said = {"version": after.version, "checksum": after.checksum}
    append_entry(session, now, actor, "repair", head.key, before=plan.before, after=said)
    return plan.result._replace(version=after.version)
