"""The route table: the one source of the routes, the OpenAPI description and the tests of every route."""

from __future__ import annotations

from functools import partial

from turncoat.service import messages as m
from turncoat.service.api_keys import IssuedKey, KeyRecord, NewKey
from turncoat.service.gain_messages import Gains
from turncoat.service.http import limits
from turncoat.service.http.fast_path import FastAnswer, FastCommand
from turncoat.service.http.route import Route
from turncoat.service.http.routes import decisions as d
from turncoat.service.http.routes import experiments as e
from turncoat.service.http.routes import ofrep
from turncoat.service.http.routes import operators as o

EXPERIMENTS, EXPERIMENT = "/v1/experiments", "/v1/experiments/{key}"
DECISIONS, DECISION = EXPERIMENT + "/decisions", "/v1/decisions/{decision_id}"
ARM, FLAGS = EXPERIMENT + "/arms/{arm:path}", "/ofrep/v1/evaluate/flags"

_Decision, _Service = (partial(Route, group=group) for group in ("decisions", "service"))
_Key = partial(Route, group="keys", is_shared=True)
_Flag = partial(Route, takes=ofrep.Evaluate, refuses=ofrep.refuse, group="openfeature")

_DECIDE = _Decision(
    "POST", DECISIONS, "decide", d.decide, m.Ask, m.Decided, 201, other_status=200, headers=("Idempotency-Key",)
)
_REWARD = _Decision("POST", f"{DECISION}/reward", "reward", d.reward, m.Reward, m.Receipt, 202)
HOT: tuple[tuple[Route, FastCommand, FastAnswer], ...] = (
    (_DECIDE, d.decide_at_once, d.decided),
    (_REWARD, d.reward_command, d.rewarded),
)
HEALTH = (
    _Service("GET", "/healthz", None, o.healthz, gives=o.Health),
    _Service("GET", "/readyz", None, o.readyz, gives=o.Health),
    _Service("GET", "/metrics", "read", o.get_metrics, is_shared=True),
)
ROUTES = (
    _DECIDE,
    _REWARD,
    # experiments
    Route("POST", EXPERIMENTS, "admin", e.create_experiment, m.NewExperiment, m.Experiment, 201),
    Route("PATCH", EXPERIMENT, "admin", e.change_experiment, m.ExperimentChange, m.Experiment, headers=("If-Match",)),
    Route("POST", f"{EXPERIMENT}/arms", "admin", e.add_arm, m.NewArm, m.Arm, 201, headers=("If-Match",)),
    Route("PATCH", ARM, "admin", e.change_arm, m.ArmChange, m.Arm, headers=("If-Match",)),
    Route("GET", EXPERIMENTS, "read", e.list_experiments, gives=list[m.Experiment], query=("tag",)),
    Route("GET", EXPERIMENT, "read", e.get_experiment, gives=m.Experiment),
    Route("GET", f"{EXPERIMENT}/arms", "read", e.get_arms, gives=list[m.Arm]),
    Route("GET", f"{EXPERIMENT}/state", "read", e.get_state, gives=m.LearnerState),
    Route("GET", f"{EXPERIMENT}/timeline", "read", e.get_timeline, gives=list[m.VersionPoint], query=("limit",)),
    Route("GET", f"{EXPERIMENT}/switches", "read", e.get_switches, gives=list[m.Switch]),
    Route("GET", f"{EXPERIMENT}/gain", "read", e.get_gain, gives=Gains),
    Route("GET", f"{EXPERIMENT}/audit", "read", e.get_audit, gives=list[m.AuditEntry]),
    Route("GET", f"{EXPERIMENT}/log.ndjson", "read", d.get_log, each=m.LogLine),
    Route("POST", "/v1/erasures", "admin", e.erase_unit, m.Erasure, m.Erased),
    Route("GET", "/v1/audit", "read", e.get_whole_audit, gives=list[m.AuditEntry]),
    _Decision("GET", DECISION, "read", d.get_decision, gives=m.DecisionRecord),
    # decisions and rewards
    _Decision(
        "POST", "/v1/rewards", "reward", d.reward_many, bytes, m.LineReceipt, each=m.RewardLine, limit=limits.BATCH_BODY
    ),
    _Decision("POST", f"{DECISION}/activate", "decide", d.activate, gives=m.DecisionRecord),
    # OpenFeature
    _Flag("POST", FLAGS + "/{key}", "decide", ofrep.evaluate_flag, gives=ofrep.Evaluation),
    _Flag("POST", FLAGS, "decide", ofrep.evaluate_flags, gives=ofrep.Evaluations),
    # API keys
    _Key("POST", "/v1/keys", "admin", o.create_key, NewKey, IssuedKey, 201),
    _Key("GET", "/v1/keys", "admin", o.list_keys, gives=list[KeyRecord]),
    _Key("DELETE", "/v1/keys/{id}", "admin", o.revoke_key, gives=KeyRecord),
    # the service
    *HEALTH,
    _Service("GET", "/openapi.json", "read", o.get_openapi),
)
