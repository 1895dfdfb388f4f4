"""OpenFeature's remote evaluation (OFREP): any OpenFeature application can ask for decisions, with no code of ours.

A flag is an experiment, a variant is an arm, the value is the arm's payload or else its name, and `targetingKey` is the
unit. `metadata.decision_id` is what a reward is told about. Asked for all flags at once, nothing is known to be used:
those decisions are deferred, and kept by the unit, so that asking again gives the same.

    SPLIT      drawn at random          STATIC   only one arm can be served
    DEFAULT    the experiment is stopped, the caller's own default stands
    STALE      the store is down; drawn from what was known last, and not recorded
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from turncoat.service import messages
from turncoat.service.errands import Decide
from turncoat.service.errors import Forbidden, NotFound, Problem, Unauthorised, Unavailable, Unprocessable
from turncoat.service.http.context import Office
from turncoat.service.http.responses import Reply, answer, refusal
from turncoat.service.http.route import Call

Reason = Literal["SPLIT", "STATIC", "DEFAULT", "STALE"]
Code = Literal["PARSE_ERROR", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"]
MAX_UNIT = 255


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


async def evaluate_flag(office: Office, call: Call) -> Evaluation:
    """Evaluate one flag, for OpenFeature."""
    key = call.params["key"]
    return _evaluation(key, await _asked(office, key, _ask(call.body, at_once=False)))


async def evaluate_flags(office: Office, call: Call) -> Evaluations:
    """Evaluate all flags of running experiments, for OpenFeature."""
    ask = _ask(call.body, at_once=True)
    experiments = await office.look(office.experiments)
    keys = [one.key for one in experiments if one.state == "running"]
    waits = [office.desk.leave(Decide(key, ask)) for key in keys]
    flags: list[Evaluation] = []
    for key, wait in zip(keys, waits, strict=True):
        done = await wait
        if isinstance(done, Problem):
            flags.append(_error(key, done))
        elif isinstance(done, Exception):
            raise done
        else:
            flags.append(_evaluation(key, done))
    return Evaluations(flags=flags)


def refuse(problem: Problem, params: Mapping[str, str]) -> Reply:
    """A Problem as OFREP says it."""
    if isinstance(problem, Unauthorised | Forbidden):
        return refusal(problem)
    status = 400 if problem.status in (409, 415, 422) else problem.status
    plain = refusal(problem)
    return answer(_error(params.get("key", ""), problem), status, plain.headers)


def _ask(body: Evaluate, *, at_once: bool) -> messages.Ask:
    rest = dict(body.context)
    unit = rest.pop("targetingKey", None) or None
    if unit is not None and not (isinstance(unit, str) and len(unit) <= MAX_UNIT):
        accepted = f"text of at most {MAX_UNIT} characters"
        raise Unprocessable(f"targetingKey is not {accepted}", field="targetingKey", accepted=accepted)
    return messages.Ask(unit_id=unit, context=rest or None, deferred=at_once, sticky=at_once and unit is not None)


async def _asked(office: Office, key: str, ask: messages.Ask) -> messages.Decided | None:
    """The decision; None if the experiment is stopped."""
    done = await office.desk.leave(Decide(key, ask))
    if isinstance(done, Problem) and done.status == 409:
        found = await office.look(lambda: office.engine.experiment(key))
        if found.state == "stopped":
            return None
    if isinstance(done, Exception):
        raise done
    return done  # type: ignore[no-any-return]


def _evaluation(key: str, decided: messages.Decided | None) -> Evaluation:
    if decided is None:
        return Evaluation(key=key, reason="DEFAULT", variant="")
    reason: Reason = "SPLIT"
    if decided.reason == "stale":
        reason = "STALE"
    elif decided.propensity == 1.0 and decided.stream == "learn":
        reason = "STATIC"
    known = {"decision_id": decided.decision_id} if decided.decision_id else {}
    return Evaluation(
        key=key,
        reason=reason,
        variant=decided.arm,
        value=decided.arm if decided.payload is None else decided.payload,
        metadata={
            **known,
            "propensity": decided.propensity,
            "stream": decided.stream,
            "state_version": decided.state_version,
        },
    )


def _error(key: str, problem: Problem) -> Evaluation:
    code: Code = "GENERAL"
    if isinstance(problem, NotFound):
        code = "FLAG_NOT_FOUND"
    elif not isinstance(problem, Unavailable):
        code = "INVALID_CONTEXT" if isinstance(problem, Unprocessable) else "PARSE_ERROR"
    if problem.status == 409:
        code = "GENERAL"
    return Evaluation(key=key, errorCode=code, errorDetails=problem.detail)
