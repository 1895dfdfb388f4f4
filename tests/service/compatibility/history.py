"""The history of the databases that write.py writes, as requests over HTTP. Only write.py uses this file."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

YEAR = 31_536_000.0
SHORT = 1.5  # seconds of a window whose end is waited for

EXPERIMENTS: dict[str, dict[str, Any]] = {
    "checkout": {
        "arms": ["classic", {"arm": "one-click", "payload": {"label": "Buy now", "size": [1, 2.5]}}, "banner"],
        "reward_window_s": SHORT,
        "default_reward": 0.0,
        "control": {"arm": "classic", "share": 0.15},
        "holdout_share": 0.1,
        "floors": {"classic": 0.05},
        "caps": {"banner": 0.6},
        "seed": 7,
    },
    "line-up": {"arms": ["a", "b", "c"], "reward_window_s": YEAR},
    "prices": {
        "arms": ["9.90", "12.50"],
        "reward": {"min": -1.0, "max": 3.0, "aggregation": "sum"},
        "reward_window_s": SHORT,
    },
    "stars": {
        "arms": ["old", "new"],
        "reward": {"min": 1.0, "max": 5.0, "aggregation": "mean"},
        "reward_window_s": SHORT,
        "default_reward": 1.0,
        "seed": 2**63 - 1,
    },
    "many": {"arms": [f"№ {number}" for number in range(12)], "reward_window_s": YEAR},
    "seasons": {"arms": ["summer", "winter"], "reward_window_s": YEAR, "seed": 3},
    "untouched": {"arms": ["yes", "no"]},
}


class Caller:
    """HTTP client with an API key."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address, key

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and body."""
        given = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(f"{self._address}{path}", body, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()

    def get(self, path: str) -> Any:
        """The JSON at a path; a list for lines of JSON."""
        status, body = self.send("GET", path)
        assert status == 200, body
        return [json.loads(line) for line in body.splitlines()] if path.endswith(".ndjson") else json.loads(body)

    def say(self, method: str, path: str, message: Any, **headers: str) -> Any:
        """Send a message; the answer."""
        status, body = self.send(method, path, json.dumps(message).encode(), **headers)
        assert status in (200, 201, 202), (status, body)
        return json.loads(body)

    def decide(self, key: str, message: Any = None, **headers: str) -> Any:
        """A decision."""
        return self.say("POST", f"/v1/experiments/{key}/decisions", message or {}, **headers)

    def reward(self, decision: Any, value: float, expected: str = "accepted", **more: Any) -> None:
        """Send a reward, and check its receipt."""
        number = decision if isinstance(decision, str) else decision["decision_id"]
        said = self.say("POST", f"/v1/decisions/{number}/reward", {"value": value, **more})
        assert said["status"] == expected, said

    def rewards(self, lines: list[dict[str, Any]]) -> list[Any]:
        """Send many rewards as lines of JSON; their receipts."""
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        status, said = self.send("POST", "/v1/rewards", body, Content_Type="application/x-ndjson")
        assert status == 200, said
        return [json.loads(line) for line in said.splitlines()]


def wait_until_applied(service: Caller, *keys: str) -> None:
    """Until no reward of a known decision waits, in these experiments or in all."""
    while any(service.get(f"/v1/experiments/{key}/state")["pending_rewards"] for key in keys or EXPERIMENTS):
        time.sleep(0.02)


def live(service: Caller) -> dict[str, Any]:
    """Experiments, arms, decisions and rewards, in every state they can reach."""
    for key, settings in EXPERIMENTS.items():
        service.say("POST", "/v1/experiments", {"key": key, **settings})
    closed = [*_windows(service), *_collected(service), *_early(service)]
    for key in ("checkout", "prices", "stars"):
        service.say("PATCH", f"/v1/experiments/{key}", {"reward_window_s": YEAR})
    _switches(service)
    closed += _arms(service)
    for number in range(30):
        decided = service.decide("many", {"context": {"page": number, "text": "naïve ☂"}})
        service.reward(decided, (number % 4) / 3, observed_at="2025-01-02T03:04:05Z")
    wait_until_applied(service)
    service.say("PATCH", "/v1/experiments/many", {"state": "stopped", "control": {"arm": "№ 3", "share": 0.5}})
    return {"closed": closed}


def _windows(service: Caller) -> list[str]:
    """Rewards in time, duplicate, conflicting and late; windows that end with the default."""
    first = [service.decide("checkout", {"unit_id": f"visitor {number}"}) for number in range(24)]
    for number, one in enumerate(first[:15]):
        service.reward(one, number % 2)
    service.reward(first[0], 0.0, "duplicate")
    service.reward(first[1], 0.0, "conflict")
    time.sleep(2 * SHORT)
    service.reward(first[20], 1.0, "late", reward_id="too late")
    return [first[number]["decision_id"] for number in (0, 1, 20, 21)]


def _collected(service: Caller) -> list[str]:
    """Several rewards for one decision, aggregated at the window's end: in range, out of range, none."""
    prices = [service.decide("prices") for _ in range(12)]
    stars = [service.decide("stars") for _ in range(8)]
    for number, one in enumerate(prices[:10]):
        for part in range(1 + number % 3):
            service.reward(one, 1.5 - 0.75 * part, reward_id=f"part {part}")
    service.reward(prices[9], 2.5, reward_id="one more")  # the sum is out of range
    service.reward(prices[1], 7.0, "conflict", reward_id="part 0")
    for number, one in enumerate(stars[:6]):
        service.reward(one, 1 + number % 5, reward_id="first")
        service.reward(one, 5 - number % 3, reward_id="second")
    time.sleep(2 * SHORT)
    return [prices[number]["decision_id"] for number in (1, 4, 9, 11)] + [stars[0]["decision_id"]]


def _early(service: Caller) -> list[str]:
    """Rewards that arrive before their decision; the last one's decision never arrives."""
    ids = [str(uuid.uuid4()) for _ in range(4)]
    for number, one in enumerate(ids):
        service.reward(one, number / 4, "pending_decision")
    service.reward(ids[1], 7.0, "pending_decision", reward_id="out of range")
    for one in ids[:3]:
        service.decide("line-up", {"decision_id": one})
    return ids[:3]


def _switches(service: Caller) -> None:
    """The best arm changes. Turncoat reports a switch only from a belief that stood for 192 rounds."""
    rounds = (("checkout", "one-click", 60), ("checkout", "banner", 60), ("seasons", "summer", 240))
    for key, best, n in (*rounds, ("seasons", "winter", 140)):
        for _ in range(n // 10):
            some = [service.decide(key) for _ in range(10)]
            told = [{"decision_id": one["decision_id"], "value": float(one["arm"] == best)} for one in some]
            service.rewards(told)
            wait_until_applied(service, key)
    assert len(service.get("/v1/experiments/seasons/switches")) == 1


def _arms(service: Caller) -> list[str]:
    """Arms added, paused, resumed and retired; decisions among some arms only; a deferred decision, activated."""
    arms = "/v1/experiments/line-up/arms"
    open_for_c = service.decide("line-up", {"allowed_arms": ["c"]})
    for number in range(12):
        service.reward(service.decide("line-up", {"allowed_arms": ["a", "b"]} if number % 2 else {}), number % 3 / 2)
    service.say("POST", arms, {"arm": "d", "payload": [1, {"two": None}], "cap": 0.5})
    service.say("POST", arms, {"arm": "e", "state": "pending"})
    service.say("PATCH", f"{arms}/b", {"state": "paused"})
    for number in range(12):
        service.reward(service.decide("line-up"), number % 4 / 3)
    service.say("PATCH", f"{arms}/e", {"state": "active", "floor": 0.1})
    service.say("PATCH", f"{arms}/c", {"state": "retired"})
    service.reward(open_for_c, 1.0)
    service.say("PATCH", f"{arms}/b", {"state": "active"})
    service.say("PATCH", f"{arms}/a", {"state": "paused", "payload": "on holiday"})
    for number in range(12):
        service.reward(service.decide("line-up"), number % 5 / 4)
    deferred = service.decide("line-up", {"deferred": True})
    service.say("POST", f"/v1/decisions/{deferred['decision_id']}/activate", {})
    service.reward(deferred, 0.5)
    return [open_for_c["decision_id"], deferred["decision_id"]]


def leave_open(service: Caller) -> dict[str, Any]:
    """Rewards that wait in the inbox; open decisions: restricted, deferred, sticky, with an idempotency key."""
    waiting = [service.decide(key) for key in ("checkout", "line-up") for _ in range(6)]
    for number, one in enumerate(waiting):
        service.reward(one, number % 3 / 2)
    collecting = [service.decide(key) for key in ("prices", "stars")]
    for one in collecting:
        service.reward(one, 1.25, reward_id="so far")
    left = [service.decide("checkout", {"unit_id": f"later visitor {number}"}) for number in range(8)]
    left += [service.decide("line-up", {"allowed_arms": ["b", "d"], "context": {"n": number}}) for number in range(4)]
    left += [service.decide("line-up", {"deferred": True}) for _ in range(2)]
    message: dict[str, Any] = {"unit_id": "repeating visitor", "context": {"b": 1, "a": [1.5, None]}}
    answer = service.decide("checkout", message, Idempotency_Key="order 1")
    repeated = {"path": "/v1/experiments/checkout/decisions", "key": "order 1", "message": message, "answer": answer}
    holding = {"unit_id": "returning visitor", "sticky": True}
    kept = service.decide("line-up", holding)
    held = {"path": "/v1/experiments/line-up/decisions", "message": holding, "answer": kept}
    left += [answer, kept]
    return {
        "waiting": [one["decision_id"] for one in waiting + collecting],
        "open": [one["decision_id"] for one in left],
        "repeated": repeated,
        "held": held,
    }
