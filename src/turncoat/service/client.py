"""The service from afar: the same verbs as the engine's, over HTTP.

    with Client("http://localhost:8000", key="tk_...") as service:
        decided = service.decide("checkout")
        service.reward(decided.decision_id, 1.0)

What the service refuses is raised as the same Problem that the engine raises. What fails on the way is tried again
where that is safe: reading; decisions, which carry an idempotency key; rewards, which count once however often told.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from turncoat.optional_imports import require
from turncoat.service import errors, messages
from turncoat.service.errors import Problem, Unavailable, Unprocessable

T = TypeVar("T")

TRIES = 4
FIRST_WAIT = 0.05  # seconds; twice as long each time
LINES = 5000  # rewards sent in one request
DEPTH = 64

KINDS = {
    f"urn:turncoat:problem:{one.__name__.lower()}": one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, Problem)
}
JSON = {"Content-Type": "application/json"}

encode = msgspec.json.Encoder().encode


class Client:
    """Implements `turncoat.service.surface.Service`. One may be used by several threads."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0) -> None:
        self._httpx = require("httpx2", "the client", extra="client")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = self._httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    # --- settings ---

    def create(self, new: messages.NewExperiment) -> messages.Experiment:
        """Open an experiment."""
        return self._send("POST", "/v1/experiments", new, messages.Experiment)

    def change(
        self, key: str, change: messages.ExperimentChange, *, if_revision: int | None = None
    ) -> messages.Experiment:
        """Change its settings; with `if_revision`, only if nobody has since."""
        headers = {} if if_revision is None else {"If-Match": f'"{if_revision}"'}
        return self._send("PATCH", _experiment(key), change, messages.Experiment, headers)

    def add_arm(self, key: str, arm: messages.NewArm) -> messages.Arm:
        """Add an arm while it runs."""
        return self._send("POST", _experiment(key, "arms"), arm, messages.Arm)

    def change_arm(self, key: str, arm: str, change: messages.ArmChange) -> messages.Arm:
        """Pause, resume or retire an arm, or set its floor, cap and payload."""
        return self._send("PATCH", f"{_experiment(key, 'arms')}/{_part(arm)}", change, messages.Arm)

    # --- decisions ---

    def decide(
        self,
        key: str,
        *,
        unit_id: str | None = None,
        allowed_arms: Sequence[str] | None = None,
        sticky: bool = False,
        deferred: bool = False,
        context: dict[str, Any] | None = None,
        decision_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> messages.Decided:
        """Draw an arm, and record how probable it was."""
        ask = messages.Ask(
            unit_id=unit_id,
            allowed_arms=None if allowed_arms is None else list(allowed_arms),
            sticky=sticky,
            deferred=deferred,
            context=context,
            decision_id=decision_id,
        )
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
            receipts += self._told(some, before=len(receipts))
        return receipts

    def _told(self, lines: list[messages.RewardLine], before: int) -> list[messages.LineReceipt]:
        body = b"".join(encode(_line(line)) + b"\n" for line in lines)
        said = self._ask("POST", "/v1/rewards", body, {"Content-Type": "application/x-ndjson"}, safe=True)
        read = msgspec.json.Decoder(messages.LineReceipt).decode_lines(said)
        return [msgspec.structs.replace(one, line=one.line + before) for one in read]

    def activate(self, decision_id: str) -> messages.DecisionRecord:
        """The deferred decision was used now: its window begins."""
        said = self._ask("POST", _decision(decision_id, "activate"), safe=True)
        return msgspec.json.decode(said, type=messages.DecisionRecord)

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

    def _get(self, path: str, kind: type[T]) -> T:
        return msgspec.json.decode(self._ask("GET", path, safe=True), type=kind)

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
        said = self._ask(method, path, encode(_sendable(message)), {**JSON, **headers}, safe=safe)
        return msgspec.json.decode(said, type=kind)

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, *, safe: bool
    ) -> bytes:
        """The answer's body. `safe`: doing it twice does no more than doing it once."""
        wait = FIRST_WAIT
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
            time.sleep(wait)
            wait *= 2
        raise AssertionError("the last try returns or raises")


def _problem(status: int, body: bytes) -> Problem:
    """What the service said, as what the engine would have raised."""
    try:
        said = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        said = {}
    kind = KINDS.get(str(said.get("type")))
    if kind is None:
        kind = next((one for one in KINDS.values() if one.status == status and one is not Problem), Problem)
    detail = said.get("detail") or f"the service answered {status}"
    return kind(str(detail), field=said.get("field"), accepted=said.get("accepted"))


def _sendable(message: messages.Message) -> messages.Message:
    """The same, if JSON can say it: NaN and the infinities would arrive as null."""
    _check_finite(msgspec.to_builtins(message), "", 0)
    return message


def _line(line: messages.RewardLine) -> Any:
    """As it is; a value that JSON cannot say goes as text, so that this line alone is refused."""
    if isinstance(line.value, float) and not math.isfinite(line.value):
        return {**msgspec.to_builtins(line), "value": repr(line.value)}
    return line


def _check_finite(value: Any, path: str, depth: int) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Unprocessable(f"{path} is {value!r}; accepted are finite numbers", field=path)
    if isinstance(value, dict | list) and depth > DEPTH:
        raise Unprocessable(f"{path[:100]} is nested too deeply; accepted are {DEPTH} levels", field=path[:100])
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_finite(inner, f"{path}.{name}".lstrip("."), depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_finite(inner, f"{path}[{number}]", depth + 1)


def _ascii(key: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise Unprocessable(f"the idempotency key is {key!r}; accepted is printable ASCII", field="Idempotency-Key")
    return key


def _part(text: str) -> str:
    """Part of a path, every character meant as it stands."""
    return quote(text, safe="").replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def _experiment(key: str, *more: str) -> str:
    return "/".join(("/v1/experiments", _part(key), *more))


def _decision(decision_id: str, *more: str) -> str:
    return "/".join(("/v1/decisions", _part(decision_id), *more))
