"""Everything the service answers: one table, from which come the routes, their description and their tests."""

from __future__ import annotations

from turncoat.service import keys, words
from turncoat.service.http import batches, decisions, experiments, health, key_routes, limits, ofrep
from turncoat.service.http.row import Row

EXPERIMENTS, EXPERIMENT = "/v1/experiments", "/v1/experiments/{key}"
DECISION = "/v1/decisions/{decision_id}"
FLAGS = "/ofrep/v1/evaluate/flags"

_E = experiments

HOT = (
    Row(
        "POST",
        f"{EXPERIMENT}/decisions",
        "decide",
        decisions.decide,
        takes=words.Ask,
        gives=words.Decided,
        status=201,
        other_status=200,
        headers=("Idempotency-Key",),
        group="decisions",
    ),
    Row(
        "POST",
        f"{DECISION}/reward",
        "reward",
        decisions.reward,
        takes=words.Reward,
        gives=words.Receipt,
        status=202,
        group="decisions",
    ),
)

SETTINGS = (
    Row(
        "POST",
        EXPERIMENTS,
        "admin",
        _E.create_experiment,
        takes=words.NewExperiment,
        gives=words.Experiment,
        status=201,
    ),
    Row(
        "PATCH",
        EXPERIMENT,
        "admin",
        _E.change_experiment,
        takes=words.ExperimentChange,
        gives=words.Experiment,
        headers=("If-Match",),
    ),
    Row("POST", f"{EXPERIMENT}/arms", "admin", _E.add_arm, takes=words.NewArm, gives=words.Arm, status=201),
    Row("PATCH", EXPERIMENT + "/arms/{arm:path}", "admin", _E.change_arm, takes=words.ArmChange, gives=words.Arm),
)

LOOKS = (
    Row("GET", EXPERIMENTS, "read", _E.list_experiments, gives=list[words.Experiment]),
    Row("GET", EXPERIMENT, "read", _E.get_experiment, gives=words.Experiment),
    Row("GET", f"{EXPERIMENT}/arms", "read", _E.get_arms, gives=list[words.Arm]),
    Row("GET", f"{EXPERIMENT}/state", "read", _E.get_state, gives=words.LearnerState),
    Row("GET", f"{EXPERIMENT}/timeline", "read", _E.get_timeline, gives=list[words.VersionPoint], query=("limit",)),
    Row("GET", f"{EXPERIMENT}/switches", "read", _E.get_switches, gives=list[words.Switch]),
    Row("GET", f"{EXPERIMENT}/audit", "read", _E.get_audit, gives=list[words.AuditEntry]),
    Row("GET", f"{EXPERIMENT}/log.ndjson", "read", batches.get_log, each=words.LogLine),
    Row("GET", "/v1/audit", "read", _E.get_whole_audit, gives=list[words.AuditEntry]),
    Row("GET", DECISION, "read", decisions.get_decision, gives=words.DecisionRecord, group="decisions"),
)

MORE_DECISIONS = (
    Row(
        "POST",
        "/v1/rewards",
        "reward",
        batches.reward_many,
        takes=bytes,
        each=words.RewardLine,
        gives=words.LineReceipt,
        limit=limits.BATCH_BODY,
        group="decisions",
    ),
    Row("POST", f"{DECISION}/activate", "decide", decisions.activate, gives=words.DecisionRecord, group="decisions"),
)

OPENFEATURE = (
    Row(
        "POST",
        FLAGS + "/{key}",
        "decide",
        ofrep.evaluate_flag,
        takes=ofrep.Evaluate,
        gives=ofrep.Evaluation,
        refuses=ofrep.refuse,
        group="openfeature",
    ),
    Row(
        "POST",
        FLAGS,
        "decide",
        ofrep.evaluate_flags,
        takes=ofrep.Evaluate,
        gives=ofrep.Evaluations,
        refuses=ofrep.refuse,
        group="openfeature",
    ),
)

KEYS = (
    Row(
        "POST",
        "/v1/keys",
        "admin",
        key_routes.create_key,
        takes=keys.NewKey,
        gives=keys.IssuedKey,
        status=201,
        group="keys",
    ),
    Row("GET", "/v1/keys", "admin", key_routes.list_keys, gives=list[keys.KeyRecord], group="keys"),
    Row("DELETE", "/v1/keys/{id}", "admin", key_routes.revoke_key, gives=keys.KeyRecord, group="keys"),
)

HEALTH = (
    Row("GET", "/healthz", None, health.healthz, gives=health.Health, group="service"),
    Row("GET", "/readyz", None, health.readyz, gives=health.Health, group="service"),
    Row("GET", "/metrics", "read", health.get_metrics, group="service"),
)
DESCRIPTION = Row("GET", "/openapi.json", "read", health.get_openapi, group="service")

TABLE = (*HOT, *SETTINGS, *LOOKS, *MORE_DECISIONS, *OPENFEATURE, *KEYS, *HEALTH, DESCRIPTION)
