"""The HTTP client: the same methods as the engine's.

    with Client("http://localhost:8000", key="tk_...") as service:
        decided = service.decide("checkout")
        service.reward(decided.decision_id, 1.0)

A refusal raises the same Problem as in the engine. Failed requests are retried, with exponential backoff, where that is
safe: reads; decisions, which carry an idempotency key; rewards, which count once however often they are sent.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from turncoat.optional_imports import require
from turncoat.service import errors, messages
from turncoat.service.errors import Problem, Unavailable, Unprocessable
from turncoat.service.gain_messages import Gains

T = TypeVar("T")

TRIES = 4
FIRST_WAIT = 0.05  # seconds; exponential backoff doubles it
LINES = 5000  # rewards sent in one request
DEPTH = 64

KINDS = {
    f"urn:turncoat:problem:{one.__name__.lower()}": one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, Problem)
}
JSON = {"Content-Type": "application/json"}

encode = msgspec.json.Encoder().encode


class Client(messages.DecideMethod):
    """Has the methods of `turncoat.service.engine.Engine`, without `actor`. One may be used by several threads."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0) -> None:
        self._httpx = require("httpx2", "the client", extra="client")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = self._httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # --- settings ---

    def create(self, new: messages.NewExperiment) -> messages.Experiment:
        """Open an experiment."""
        return self._send("POST", "/v1/experiments", new, messages.Experiment)

    def change(
        self, key: str, change: messages.ExperimentChange, *, if_revision: int | None = None
    ) -> messages.Experiment:
        """Change its settings; with `if_revision`, only if this is still its revision (optimistic locking)."""
        return self._send("PATCH", _experiment(key), change, messages.Experiment, _if_match(if_revision))

    def add_arm(self, key: str, arm: messages.NewArm, *, if_revision: int | None = None) -> messages.Arm:
        """Add an arm while it runs."""
        return self._send("POST", _experiment(key, "arms"), arm, messages.Arm, _if_match(if_revision))

    def change_arm(
        self, key: str, arm: str, change: messages.ArmChange, *, if_revision: int | None = None
    ) -> messages.Arm:
        """Pause, resume or retire an arm, or set its floor, cap and payload."""
        path = f"{_experiment(key, 'arms')}/{_part(arm)}"
        return self._send("PATCH", path, change, messages.Arm, _if_match(if_revision))

    def erase(self, unit_id: str, *, experiment: str | None = None) -> messages.Erased:
        """Erase a unit's contexts and its pseudonym, in one experiment or in all."""
        wanted = messages.Erasure(unit_id=unit_id, experiment=experiment)
        return self._send("POST", "/v1/erasures", wanted, messages.Erased, safe=True)

    # --- decisions ---

    def _decide(self, key: str, ask: messages.Ask, idempotency_key: str | None) -> messages.Decided:
        headers = {"Idempotency-Key": uuid.uuid4().hex if idempotency_key is None else _ascii(idempotency_key)}
        return self._send("POST", _experiment(key, "decisions"), ask, messages.Decided, headers, safe=True)

    def reward(
        self, decision_id: str, value: float, *, reward_id: str | None = None, observed_at: Any = None
    ) -> messages.Receipt:
        """Say how a decision turned out."""
        told = messages.Reward(value=value, reward_id=reward_id, observed_at=observed_at)
        return self._send("POST", _decision(decision_id, "reward"), told, messages.Receipt, safe=True)

    def rewards(self, lines: Iterable[messages.RewardLine]) -> list[messages.LineReceipt]:
        """Say it of many at once; one bad line does not hold up the others."""
        receipts: list[messages.LineReceipt] = []
        left = iter(lines)
        while some := list(islice(left, LINES)):
            body = b"".join(encode(_line(line)) + b"\n" for line in some)
            said = self._ask("POST", "/v1/rewards", body, {"Content-Type": "application/x-ndjson"}, safe=True)
            read = msgspec.json.Decoder(messages.LineReceipt).decode_lines(said)
            receipts += [msgspec.structs.replace(one, line=one.line + len(receipts)) for one in read]
        return receipts

    def activate(self, decision_id: str) -> messages.DecisionRecord:
        """The deferred decision was used now: its window begins."""
        return self._get(_decision(decision_id, "activate"), messages.DecisionRecord, "POST")

    # --- reading ---

    def experiments(self) -> list[messages.Experiment]:
        """All experiments, in the order in which they were opened."""
        return self._get("/v1/experiments", list[messages.Experiment])

    def experiment(self, key: str) -> messages.Experiment:
        """One of them."""
        return self._get(_experiment(key), messages.Experiment)

    def arms(self, key: str) -> list[messages.Arm]:
        """Its arms, in the order in which they came."""
        return self._get(_experiment(key, "arms"), list[messages.Arm])

    def decision(self, decision_id: str) -> messages.DecisionRecord:
        """Everything known about a decision."""
        return self._get(_decision(decision_id), messages.DecisionRecord)

    def state(self, key: str) -> messages.LearnerState:
        """What the learner makes of it all."""
        return self._get(_experiment(key, "state"), messages.LearnerState)

    def timeline(self, key: str, *, limit: int = 1000) -> list[messages.VersionPoint]:
        """At most `limit` versions of rewards, evenly taken over its life, and all others, the latest last."""
        return self._get(f"{_experiment(key, 'timeline')}?limit={limit}", list[messages.VersionPoint])

    def switches(self, key: str) -> list[messages.Switch]:
        """The changes of the best arm that the learner believes in."""
        return self._get(_experiment(key, "switches"), list[messages.Switch])

    def gain(self, key: str) -> Gains:
        """What learning has gained, over control first."""
        return self._get(_experiment(key, "gain"), Gains)

    def audit(self, key: str | None = None) -> list[messages.AuditEntry]:
        """Who changed what."""
        return self._get("/v1/audit" if key is None else _experiment(key, "audit"), list[messages.AuditEntry])

    def log(self, key: str) -> Iterator[messages.LogLine]:
        """Every decision with its outcome, in the order of their ids."""
        decode = msgspec.json.Decoder(messages.LogLine).decode
        try:
            with self._http.stream("GET", _experiment(key, "log.ndjson")) as answer:
                if answer.status_code != 200:
                    raise _problem(answer.status_code, answer.read())
                for line in answer.iter_lines():
                    yield decode(line)
        except self._httpx.TransportError as trouble:
            raise Unavailable(f"the service cannot be reached: {trouble}") from trouble

    # --- how it is sent ---

    def _get(self, path: str, kind: type[T], method: str = "GET") -> T:
        return msgspec.json.decode(self._ask(method, path, safe=True), type=kind)

    def _send(
        self,
        method: str,
        path: str,
        message: messages.Message,
        kind: type[T],
        headers: Mapping[str, str] = {},  # never changed
        *,
        safe: bool = False,
    ) -> T:
        _check_finite(msgspec.to_builtins(message), "", 0)
        said = self._ask(method, path, encode(message), {**JSON, **headers}, safe=safe)
        return msgspec.json.decode(said, type=kind)

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, *, safe: bool
    ) -> bytes:
        """The response's body. `safe`: idempotent, so it may be retried."""
        for left in reversed(range(TRIES)):
            try:
                answer = self._http.request(method, path, content=body, headers=headers)
            except self._httpx.TransportError as trouble:
                again = safe or isinstance(trouble, self._httpx.ConnectError)
                if not (again and left):
                    raise Unavailable(f"the service cannot be reached: {trouble}") from trouble
            else:
                if answer.is_success:
                    return bytes(answer.content)
                if not (safe and left and answer.status_code == 503):
                    raise _problem(answer.status_code, answer.content)
            time.sleep(FIRST_WAIT * 2 ** (TRIES - 1 - left))
        raise AssertionError("the last try returns or raises")


def _if_match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"{revision}"'}


def _problem(status: int, body: bytes) -> Problem:
    """The service's answer as the Problem that the engine would have raised."""
    try:
        said = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        said = {}
    by_status = (one for one in KINDS.values() if one.status == status and one is not Problem)
    kind = KINDS.get(str(said.get("type"))) or next(by_status, Problem)
    detail = said.get("detail") or f"the service answered {status}"
    return kind(str(detail), field=said.get("field"), accepted=said.get("accepted"))


def _line(line: messages.RewardLine) -> Any:
    """The line itself; NaN or an infinity is sent as a string, so that only this line is refused."""
    if isinstance(line.value, float) and not math.isfinite(line.value):
        return {**msgspec.to_builtins(line), "value": repr(line.value)}
    return line


def _check_finite(value: Any, path: str, depth: int) -> None:
    """JSON has no NaN and no infinities: they would arrive as null."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Unprocessable(f"{path} is {value!r}; accepted are finite numbers", field=path)
    if isinstance(value, dict | list):
        if depth > DEPTH:
            raise Unprocessable(f"{path[:100]} is nested too deeply; accepted are {DEPTH} levels", field=path[:100])
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            where = f"{path}.{name}".lstrip(".") if isinstance(value, dict) else f"{path}[{name}]"
            _check_finite(inner, where, depth + 1)


def _ascii(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise Unprocessable(f"the idempotency key is {key!r}; accepted is printable ASCII", field="Idempotency-Key")
    return key


def _part(text: str) -> str:
    """A segment of a path, percent-encoded."""
    return quote(text, safe="").replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def _experiment(key: str, *more: str) -> str:
    return "/".join(("/v1/experiments", _part(key), *more))


def _decision(decision_id: str, *more: str) -> str:
    return "/".join(("/v1/decisions", _part(decision_id), *more))
