"""What must be true of the store, whatever happened: it holds what the model holds; the log explains the learner."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from typing import Any

import msgspec
import pytest

from tests.naive import buckets, shares
from tests.naive.service_model import Model
from tests.naive.service_records import Decision, Experiment
from tests.service.experiments.lab import RULE
from tests.service.simulation.world import World, Wrong
from turncoat.learners import Turncoat, restore
from turncoat.service.experiments.verify import broken_audit, verify

KEPT = {10: 7_200.0, 300: 691_200.0, 10_800: math.inf}
DECISIONS = """
    SELECT d.id, e.key, arm, propensity, d.version, stream, decided_at, expires_at, outcome, reward, rewarded_at,
           applied_version, applied_position FROM decision d JOIN experiment e ON e.id = d.experiment
"""
INBOX = """
    SELECT decision_id, e.key, value, received_at, source
    FROM inbox i LEFT JOIN experiment e ON e.id = i.experiment
"""
REFUSED = """
    SELECT decision_id, e.key, reward_id, value, received_at, status
    FROM refused r LEFT JOIN experiment e ON e.id = r.experiment
"""
VERSIONS = """
    SELECT e.key, v.version, kind, n_learned, m FROM version v JOIN experiment e ON e.id = v.experiment
    ORDER BY e.id, v.version
"""
UNITS = "SELECT id, unit, context FROM decision"
LEARNER = """
    SELECT e.id, l.state, l.first_state FROM learner l JOIN experiment e ON e.id = l.experiment WHERE e.key = :key
"""
POSITIONS = """
    SELECT e.key, applied_version, applied_position FROM decision d JOIN experiment e ON e.id = d.experiment
    WHERE applied_version IS NOT NULL
"""
RAW = "SELECT experiment, decided_at, arm, stream, outcome, reward, propensity FROM decision WHERE outcome IS NOT NULL"
TABLES = ("experiment", "learner", "arm", "version", "decision", "inbox", "part", "refused", "bucket", "comparison")


def same(what: str, stored: Any, expected: Any) -> None:
    if stored == expected:
        return
    if isinstance(stored, set) and isinstance(expected, set):
        raise Wrong(f"{what}: stored alone {stored - expected}; in the model alone {expected - stored}")
    raise Wrong(f"{what}: stored {stored}; in the model {expected}")


def check(world: World) -> None:
    """All of it."""
    model = world.model
    same("decisions", set(world.rows(DECISIONS)), set(expected_decisions(model)))
    same("units", set(world.rows(UNITS)), {(one.id, *expected_unit(model, one)) for one in model.decisions.values()})
    same("what waits", set(world.rows(INBOX)), set(expected_inbox(model)))
    same("refused rewards", Counter(world.rows(REFUSED)), Counter(tuple(one) for one in model.refused))
    parts = {(one, name, *part) for one, several in model.parts.items() for name, part in several.items()}
    same("parts", set(world.rows("SELECT decision_id, reward_id, value, received_at FROM part")), parts)
    same("versions", world.rows(VERSIONS), expected_versions(model))
    same("damage", world.rows("SELECT part, detail FROM damage"), [])  # no pass failed
    check_keys_and_arms(world)
    check_positions(world)
    check_buckets(world)
    check_comparisons(world)
    for table in TABLES:
        for row in world.rows(f"SELECT * FROM {table}"):
            if any(isinstance(value, float) and not math.isfinite(value) for value in row):
                raise Wrong(f"{table} holds {row}")
    for experiment in model.experiments.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Turncoat, "rule_version", experiment.rule)  # nothing was written by a newer one
            check_learner(world, experiment)
        check_replay(world, experiment)


def expected_decisions(model: Model) -> list[tuple[Any, ...]]:
    return [
        (one.id, one.experiment, one.arm, one.propensity, one.version, one.stream, one.decided_at, one.expires_at,
         one.outcome, one.reward, one.rewarded_at, *(one.applied or (None, None)))
        for one in model.decisions.values()
    ]  # fmt: skip


def expected_unit(model: Model, decision: Decision) -> tuple[str | None, str | None]:
    """Its hash, and the context that `play` gives it."""
    if decision.unit is None:
        return None, None
    key = model.experiments[decision.experiment].salt.encode()
    digest = hashlib.blake2b(decision.unit.encode(), key=key, digest_size=16).hexdigest()
    return digest, json.dumps({"of": decision.unit}, separators=(",", ":"))


def expected_inbox(model: Model) -> list[tuple[Any, ...]]:
    waiting = [(one, model.decisions[one].experiment, *waiting) for one, waiting in model.inbox.items()]
    return [*waiting, *((one, None, None, last, "early") for one, last in model.early.items())]


def expected_versions(model: Model) -> list[tuple[Any, ...]]:
    return [
        (key, number, version.kind, version.n_learned, version.m)
        for key, experiment in model.experiments.items()
        for number, version in enumerate(experiment.versions, 1)
        if number not in experiment.thinned
    ]


def check_keys_and_arms(world: World) -> None:
    model = world.model
    keys = world.rows("SELECT e.key, i.key FROM idempotency i JOIN experiment e ON e.id = i.experiment")
    same("idempotency keys", set(keys), set(model.keys))
    arms = world.rows("SELECT e.key, arm, a.state, floor, cap FROM arm a JOIN experiment e ON e.id = a.experiment")
    expected = {
        (key, name, arm.state, arm.floor, arm.cap)
        for key, experiment in model.experiments.items()
        for name, arm in experiment.now.arms.items()
    }
    same("arms", set(arms), expected)
    heads = {
        (key, "running" if one.now.settings.running else "stopped", one.number, n_revisions(one))
        for key, one in model.experiments.items()
    }
    same("experiments", set(world.rows("SELECT key, state, version, revision FROM experiment")), heads)
    with world.store.reading() as session:
        if broken_audit(session) is not None:
            raise Wrong(f"the audit is broken at {broken_audit(session)}")


def n_revisions(experiment: Experiment) -> int:
    return sum(version.kind not in ("rewards", "planned", "checkpoint") for version in experiment.versions)


def check_positions(world: World) -> None:
    """Dense and unique in each version: nothing was applied twice, nothing skipped. What was pruned counts."""
    places: dict[tuple[str, int], list[int]] = {}
    for key, version, position in world.rows(POSITIONS):
        places.setdefault((key, version), []).append(position)
    for one in world.model.pruned:
        if one.applied is not None:
            places.setdefault((one.experiment, one.applied[0]), []).append(one.applied[1])
    for (key, version), positions in places.items():
        if sorted(positions) != list(range(len(positions))):
            raise Wrong(f"version {version} of {key} has decisions at positions {sorted(positions)}")


def closed_rows(world: World) -> list[tuple[Any, ...]]:
    """As in RAW, and those that were pruned."""
    number = dict(world.rows("SELECT key, id FROM experiment"))
    pruned = [
        (number[one.experiment], one.decided_at, one.arm, one.stream, one.outcome, one.reward, one.propensity)
        for one in world.model.pruned
    ]
    return [*world.rows(RAW), *pruned]


def check_buckets(world: World) -> None:
    """Sums are those of the rows, and of those that were pruned; fine ones only as far back as they are kept."""

    def is_kept(cell: tuple[Any, ...]) -> bool:
        return cell[2] >= int(world.model.tidied_until - KEPT[cell[1]]) if math.isfinite(KEPT[cell[1]]) else True

    stored = {tuple(row[:5]): row[5:] for row in world.rows("SELECT * FROM bucket") if is_kept(row)}
    expected = {cell: sums for cell, sums in buckets.recomputed(closed_rows(world)).items() if is_kept(cell)}
    same("buckets", set(stored), set(expected))
    for cell, sums in stored.items():
        if not all(
            math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
            for one, other in zip(sums, expected[cell], strict=True)
        ):
            raise Wrong(f"bucket {cell} has {sums}; the rows have {expected[cell]}")  # fmt: skip


def check_comparisons(world: World) -> None:
    """Every decision with a reward is in one stratum of control, or under the reason why not; none is there twice."""
    stored = world.rows("""
        SELECT experiment, SUM(n), SUM(r), SUM(rival_n), SUM(wr) FROM comparison
        WHERE width = 10800 AND rival = 'control' GROUP BY experiment ORDER BY experiment
    """)
    expected: dict[int, list[float]] = {}
    for experiment, _, _, stream, outcome, reward, _ in closed_rows(world):
        if outcome is not None and reward is not None and stream != "holdout":
            sums, place = expected.setdefault(experiment, [0.0] * 4), 0 if stream == "learn" else 2
            sums[place], sums[place + 1] = sums[place] + 1.0, sums[place + 1] + reward
    for row, (experiment, wanted) in zip(stored, sorted(expected.items()), strict=True):
        if row != pytest.approx((experiment, *wanted), rel=1e-9, abs=1e-9):
            raise Wrong(f"comparisons hold {row}; the rows have {wanted}")


def check_learner(world: World, experiment: Experiment) -> None:
    """Told the story again, a learner ends in the stored bytes, and says on the way what was served in each version."""
    number, state, first = world.rows(LEARNER, key=experiment.key)[0]
    learner: Any = restore(msgspec.json.decode(bytes(first)))
    story = list(experiment.story)
    sql = "SELECT version, probabilities FROM version WHERE experiment = :id ORDER BY version"
    for version, probabilities in world.rows(sql, id=number):
        while story and story[0][0] <= version:
            tell(learner, story.pop(0)[1], experiment)
        served(learner, experiment, version, json.loads(probabilities))
        for one in world.model.decisions.values():
            if (one.experiment, one.version, one.stream) == (experiment.key, version, "learn"):
                served(learner, experiment, version, one.probabilities, narrowed=True)
    same(f"the learner of {experiment.key}", msgspec.json.encode(learner.state()), bytes(state))


def check_replay(world: World, experiment: Experiment) -> None:
    """`verify` replays all that was learned since the checkpoint, if there is one, and finds the stored bytes."""
    first = experiment.checkpoint
    reason, at = (experiment.at(first).reason, experiment.at(first).at) if first else (None, None)
    if experiment.rule < world.model.rule:
        first, reason = experiment.number + 1, "a new rule"
    n_learned = sum(version.n_learned for version in experiment.versions[max(first - 1, 0) :])
    with world.store.reading() as session:
        verified = verify(session, experiment.key)
    if not (verified.identical and verified.first_difference is None and not verified.findings):
        raise Wrong(f"replayed: {verified}")
    same("what is replayed", (verified.first, verified.learned), (first, n_learned))
    same("the older rule", verified.older_rule, RULE if reason == "a new rule" else None)
    same("when it was pruned", verified.pruned_at, at if reason == "pruned" else None)


def tell(learner: Any, event: tuple[Any, ...], experiment: Experiment) -> None:
    what, arm, *more = event
    if what == "add":
        learner.add_arm(arm)
    elif what == "retire":
        learner.retire_arm(arm)
    else:
        reward, propensity, allowed, m = more
        settings = experiment.now.settings
        loss = (settings.high - reward) / (settings.high - settings.low)
        arms = list(learner.arms)
        among = None if allowed is None else [arms.index(one) for one in allowed]
        learner.observe(arms.index(arm), loss, propensity, allowed=among, m=m)


def served(
    learner: Any, experiment: Experiment, version: int, probabilities: dict[str, float], narrowed: bool = False
) -> None:
    """Was this what the learner says, after floors and caps?"""
    arms, m = experiment.at(version).arms, experiment.at(version).m
    active = [name for name, arm in arms.items() if arm.state == "active"]
    if not narrowed and list(probabilities) != active:
        raise Wrong(f"version {version} serves {probabilities}; active are {active}")
    if not probabilities:
        return
    labels, weights = list(learner.arms), learner.probabilities(allowed=list(probabilities), m=m)
    own = [float(weights[labels.index(name)]) for name in probabilities]
    wanted = shares.with_floors(own, [arms[name].floor for name in probabilities])
    tried = {event[1] for number, event in experiment.story if number <= version and event[0] == "observe"}
    floors, caps = ([getattr(arms[name], limit) for name in probabilities] for limit in ("floor", "cap"))
    caps = shares.limits(caps, floors, [name in tried for name in probabilities])
    if any(share > cap for share, cap in zip(wanted, caps, strict=True)):
        wanted = shares.with_caps(wanted, caps)
    for name, share in zip(probabilities, wanted, strict=True):
        if not math.isclose(probabilities[name], share, rel_tol=1e-9, abs_tol=1e-12):
            raise Wrong(f"version {version} serves {name} with {probabilities[name]}; it should be {share}")
