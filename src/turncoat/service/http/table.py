"""Everything the service answers: one table, from which come the routes, their description and their tests."""

from __future__ import annotations

from turncoat.service import api_keys, messages
from turncoat.service.http import limits
from turncoat.service.http.route import Row
from turncoat.service.http.routes import batches, decisions, experiments, health, key_routes, ofrep

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
        takes=messages.Ask,
        gives=messages.Decided,
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
        takes=messages.Reward,
        gives=messages.Receipt,
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
        takes=messages.NewExperiment,
        gives=messages.Experiment,
        status=201,
    ),
    Row(
        "PATCH",
        EXPERIMENT,
        "admin",
        _E.change_experiment,
        takes=messages.ExperimentChange,
        gives=messages.Experiment,
        headers=("If-Match",),
    ),
    Row("POST", f"{EXPERIMENT}/arms", "admin", _E.add_arm, takes=messages.NewArm, gives=messages.Arm, status=201),
    Row("PATCH", EXPERIMENT + "/arms/{arm:path}", "admin", _E.change_arm, takes=messages.ArmChange, gives=messages.Arm),
)

LOOKS = (
    Row("GET", EXPERIMENTS, "read", _E.list_experiments, gives=list[messages.Experiment]),
    Row("GET", EXPERIMENT, "read", _E.get_experiment, gives=messages.Experiment),
    Row("GET", f"{EXPERIMENT}/arms", "read", _E.get_arms, gives=list[messages.Arm]),
    Row("GET", f"{EXPERIMENT}/state", "read", _E.get_state, gives=messages.LearnerState),
    Row("GET", f"{EXPERIMENT}/timeline", "read", _E.get_timeline, gives=list[messages.VersionPoint], query=("limit",)),
    Row("GET", f"{EXPERIMENT}/switches", "read", _E.get_switches, gives=list[messages.Switch]),
    Row("GET", f"{EXPERIMENT}/audit", "read", _E.get_audit, gives=list[messages.AuditEntry]),
    Row("GET", f"{EXPERIMENT}/log.ndjson", "read", batches.get_log, each=messages.LogLine),
    Row("GET", "/v1/audit", "read", _E.get_whole_audit, gives=list[messages.AuditEntry]),
    Row("GET", DECISION, "read", decisions.get_decision, gives=messages.DecisionRecord, group="decisions"),
)

MORE_DECISIONS = (
    Row(
        "POST",
        "/v1/rewards",
        "reward",
        batches.reward_many,
        takes=bytes,
        each=messages.RewardLine,
        gives=messages.LineReceipt,
        limit=limits.BATCH_BODY,
        group="decisions",
    ),
    Row("POST", f"{DECISION}/activate", "decide", decisions.activate, gives=messages.DecisionRecord, group="decisions"),
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
        takes=api_keys.NewKey,
        gives=api_keys.IssuedKey,
        status=201,
        group="keys",
    ),
    Row("GET", "/v1/keys", "admin", key_routes.list_keys, gives=list[api_keys.KeyRecord], group="keys"),
    Row("DELETE", "/v1/keys/{id}", "admin", key_routes.revoke_key, gives=api_keys.KeyRecord, group="keys"),
)

HEALTH = (
    Row("GET", "/healthz", None, health.healthz, gives=health.Health, group="service"),
    Row("GET", "/readyz", None, health.readyz, gives=health.Health, group="service"),
    Row("GET", "/metrics", "read", health.get_metrics, group="service"),
)
DESCRIPTION = Row("GET", "/openapi.json", "read", health.get_openapi, group="service")

TABLE = (*HOT, *SETTINGS, *LOOKS, *MORE_DECISIONS, *OPENFEATURE, *KEYS, *HEALTH, DESCRIPTION)
