"""OpenFeature's remote evaluation (OFREP): any OpenFeature application can ask for decisions, with no code of ours.

A flag is an experiment, a variant is an arm, the value is the arm's payload or else its name, and `targetingKey` is the
unit. `metadata.decision_id` is what a reward is told about.

One flag: the decision is used, and its window begins. The unit keeps it (`stickiness` of the experiment), as programs
ask for a flag wherever they need it. Without a targetingKey each evaluation is a decision of its own.

All flags: nothing is known to be used, so the decisions are deferred (`metadata.deferred`), and the unit always keeps
them, as providers ask again and again. Without a targetingKey there is no unit to keep them, and each request would
leave as many open for 30 days: every flag is answered with TARGETING_KEY_MISSING, and nothing is drawn.

    SPLIT      drawn at random          STATIC   only one arm can be served
    DEFAULT    the experiment is paused or stopped, the caller's own default stands
    STALE      the store is down; drawn from what was known last, and not recorded
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from turncoat.service import messages
from turncoat.service.errors import (
    Conflicting,
    Damaged,
    Forbidden,
    NotFound,
    Problem,
    Unauthorised,
    Unavailable,
    Unprocessable,
)
from turncoat.service.http.context import AppContext
from turncoat.service.http.responses import Response, json_response, problem_response
from turncoat.service.http.route import Call
from turncoat.service.messages import Decide

Reason = Literal["SPLIT", "STATIC", "DEFAULT", "STALE"]
Code = Literal["PARSE_ERROR", "INVALID_CONTEXT", "TARGETING_KEY_MISSING", "FLAG_NOT_FOUND", "GENERAL"]
CODES: dict[type[Problem], Code] = {
    NotFound: "FLAG_NOT_FOUND",
    Unprocessable: "INVALID_CONTEXT",
    Unavailable: "GENERAL",
    Damaged: "GENERAL",
    Conflicting: "GENERAL",
}
MAX_UNIT = 255
NO_UNIT = (
    "all flags were asked for without a targetingKey; accepted is one that stays with the user, such as an account "
    "or a random id kept in the browser"
)


class Evaluate(Struct, frozen=True, kw_only=True):
    """What an OpenFeature provider sends."""

    context: dict[str, Any] = {}


class Evaluation(messages.Answer, frozen=True, kw_only=True):
    """A flag's value, or why it has none."""

    key: str
    reason: Reason | UnsetType = UNSET
    variant: str | UnsetType = UNSET
    value: Any = UNSET
    metadata: dict[str, str | int | float | bool] | UnsetType = UNSET
    errorCode: Code | UnsetType = UNSET
    errorDetails: str | UnsetType = UNSET


class Evaluations(messages.Answer, frozen=True, kw_only=True):
    """All flags."""

    flags: list[Evaluation]


async def evaluate_flag(context: AppContext, call: Call) -> Evaluation:
    """Evaluate one flag, for OpenFeature."""
    key = call.params["key"]
    decided = await _asked(context, key, _ask(call.body, at_once=False))
    if decided is not None and decided.decision_id is not None and decided.expires_at is None:
        # drawn when all flags were asked for, and used now
        await context.engine_thread.run(partial(context.engine.activate, decided.decision_id))
    return _evaluation(key, decided, is_used=True)


async def evaluate_flags(context: AppContext, call: Call) -> Evaluations:
    """Evaluate all flags of running experiments, for OpenFeature."""
    ask = _ask(call.body, at_once=True)
    experiments = await context.query(context.experiments)
    keys = [one.key for one in experiments if one.state == "running" and call.holder.sees(one.key)]
    if ask.unit_id is None:
        return Evaluations(
            flags=[Evaluation(key=key, errorCode="TARGETING_KEY_MISSING", errorDetails=NO_UNIT) for key in keys]
        )
    waits = [context.engine_thread.submit(Decide(key, ask)) for key in keys]
    flags: list[Evaluation] = []
    for key, wait in zip(keys, waits, strict=True):
        done = await wait
        if isinstance(done, Exception) and not isinstance(done, Problem):
            raise done
        flags.append(_error(key, done) if isinstance(done, Problem) else _evaluation(key, done, is_used=False))
    return Evaluations(flags=flags)


def refuse(problem: Problem, params: Mapping[str, str]) -> Response:
    """A Problem as OFREP says it."""
    if isinstance(problem, Unauthorised | Forbidden):
        return problem_response(problem)
    status = 400 if problem.status in (409, 415, 422) else problem.status
    plain = problem_response(problem)
    return json_response(_error(params.get("key", ""), problem), status, plain.headers)


def _ask(body: Evaluate, *, at_once: bool) -> messages.Ask:
    rest = dict(body.context)
    unit = rest.pop("targetingKey", None) or None
    if unit is not None and not (isinstance(unit, str) and len(unit) <= MAX_UNIT):
        accepted = f"text of at most {MAX_UNIT} characters"
        raise Unprocessable(f"targetingKey is not {accepted}", field="targetingKey", accepted=accepted)
    return messages.Ask(unit_id=unit, context=rest or None, deferred=at_once, sticky=at_once and unit is not None)


async def _asked(context: AppContext, key: str, ask: messages.Ask) -> messages.Decided | None:
    """The decision; None if the experiment is paused or stopped."""
    done = await context.engine_thread.submit(Decide(key, ask, is_flag=True))
    if isinstance(done, Problem) and done.status == 409:
        found = await context.query(lambda: context.engine.experiment(key))
        if found.state != "running":
            return None
    if isinstance(done, Exception):
        raise done
    return done  # type: ignore[no-any-return]


def _evaluation(key: str, decided: messages.Decided | None, *, is_used: bool) -> Evaluation:
    if decided is None:
        return Evaluation(key=key, reason="DEFAULT", variant="")
    is_static = decided.propensity == 1.0 and decided.stream == "learn"
    reason: Reason = "STALE" if decided.reason == "stale" else "STATIC" if is_static else "SPLIT"
    known = {name: getattr(decided, name) for name in ("decision_id", "propensity", "stream", "state_version")}
    if not is_used and decided.decision_id is not None and decided.expires_at is None:
        known["deferred"] = True
    return Evaluation(
        key=key,
        reason=reason,
        variant=decided.arm,
        value=decided.arm if decided.payload is None else decided.payload,
        metadata={name: value for name, value in known.items() if value is not None},
    )


def _error(key: str, problem: Problem) -> Evaluation:
    code = CODES.get(type(problem), "PARSE_ERROR")
    return Evaluation(key=key, errorCode=code, errorDetails=problem.detail)
