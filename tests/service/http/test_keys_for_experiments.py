"""A key for some experiments: it sees, decides, rewards and changes these, and cannot find out what else there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.service.http.direct import JSON, Direct, Said, direct
from tests.service.http.served import make_context
from tests.service.http.test_auth import a_path, each
from turncoat.service import api_keys
from turncoat.service.api_keys import SCOPES, NewKey
from turncoat.service.http.route import Route
from turncoat.service.http.routes import ROUTES

UNKNOWN = "00000000-0000-7000-8000-000000000000"
# Routes without an experiment in their address: what each does for a key for `mine` alone is tested below.
TESTED = {
    *("reward", "reward_many", "activate", "get_decision"),
    *("create_experiment", "list_experiments", "get_whole_audit", "evaluate_flags", "erase_unit"),
    *("healthz", "readyz", "get_openapi"),  # nothing of any experiment
}


class Trial:
    """Experiments `mine` and `other`, and a key for the first."""

    def __init__(self, asked: Direct) -> None:
        self.asked = asked
        for key in ("mine", "other"):
            assert asked.post("/v1/experiments", {"key": key, "arms": ["a", "b"], "seed": 1}).status == 201
        self.boss, self.bearer = self.made(None), self.made(["mine"])
        self.decisions = {key: self.decided(key) for key in ("mine", "other")}

    def made(self, experiments: list[str] | None) -> dict[str, str]:
        new = NewKey(name="n", scopes=list(SCOPES), experiments=experiments)
        key = self.asked.write(lambda session: api_keys.issue(session, new, self.asked.context.clock.now())).key
        return {"authorization": f"Bearer {key}"}

    def decided(self, key: str) -> str:
        said = self.asked.post(f"/v1/experiments/{key}/decisions", {"deferred": True}, **self.boss)
        found: str = said.json()["decision_id"]
        return found

    def get(self, path: str) -> Said:
        return self.asked.ask("GET", path, headers=self.bearer)

    def post(self, path: str, message: Any) -> Said:
        return self.asked.post(path, message, **self.bearer)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with direct(make_context(tmp_path_factory.mktemp("only"))) as asked:
        yield Trial(asked)


def without_id(said: Said, key: str) -> bytes:
    """An answer's body without its request id, whichever experiment it is about."""
    body = {name: value for name, value in said.json().items() if name != "request_id"}
    return json.dumps(body).replace(key, "").encode()


def test_no_route_is_forgotten() -> None:
    assert {one.name for one in ROUTES if not (one.is_shared or "{key}" in one.path)} == TESTED


@each([route for route in ROUTES if "{key}" in route.path])
def test_another_experiment_is_as_one_that_is_not_there(trial: Trial, route: Route) -> None:
    answers = []
    for key in ("other", "nothing"):
        for body in (b"{}", b"nonsense"):
            said = trial.asked.ask(route.method, path_of(route, key), body, {**JSON, **trial.bearer})
            assert said.status == 404, (key, said)
            answers.append(without_id(said, key))
    assert len(set(answers)) == 1
    said = trial.asked.ask(route.method, path_of(route, "mine"), b"{}", {**JSON, **trial.bearer})
    assert said.status not in (403, 404) or b"experiment" not in said.body


def path_of(route: Route, key: str) -> str:
    return a_path(Route(route.method, route.path.replace("{key}", key), route.scope, route.handler))


@each([route for route in ROUTES if route.is_shared])
def test_what_is_about_the_whole_service_needs_a_key_for_all(trial: Trial, route: Route) -> None:
    """A key that could make keys would make itself one for all."""
    said = trial.asked.ask(route.method, a_path(route), b"{}", {**JSON, **trial.bearer})
    assert said.status == 403 and "this one is for mine" in said.json()["detail"]


def test_lists_show_its_own(trial: Trial) -> None:
    assert [one["key"] for one in trial.get("/v1/experiments").json()] == ["mine"]
    assert {one["experiment"] for one in trial.get("/v1/audit").json()} == {"mine"}
    flags = trial.post("/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "u"}}).json()["flags"]
    assert [one["key"] for one in flags] == ["mine"]


def test_it_opens_what_it_is_for_alone(trial: Trial) -> None:
    for key, expected in (("mine", 409), ("third", 403), ("other", 403)):  # 403 whether or not it is there
        assert trial.post("/v1/experiments", {"key": key, "arms": ["a"]}).status == expected, key
    later = trial.made(["later"])
    assert trial.asked.post("/v1/experiments", {"key": "later", "arms": ["a"]}, **later).status == 201
    assert trial.asked.post("/v1/experiments/later/decisions", {}, **later).status == 201


def test_decisions_of_others_are_unknown(trial: Trial) -> None:
    other, mine = trial.decisions["other"], trial.decisions["mine"]
    for do in ("", "/activate"):
        method = "POST" if do else "GET"
        said = [trial.asked.ask(method, f"/v1/decisions/{one}{do}", headers=trial.bearer) for one in (other, UNKNOWN)]
        assert [one.status for one in said] == [404, 404]
        assert without_id(said[0], other) == without_id(said[1], UNKNOWN)
    assert trial.asked.ask("GET", f"/v1/decisions/{other}", headers=trial.boss).json()["expires_at"] is None
    assert trial.get(f"/v1/decisions/{mine}").status == 200
    assert trial.asked.ask("POST", f"/v1/decisions/{mine}/activate", headers=trial.bearer).status == 200


def test_a_reward_for_another_experiment_is_refused_and_never_learned(trial: Trial) -> None:
    other = trial.decisions["other"]
    said = [trial.post(f"/v1/decisions/{one}/reward", {"value": 1.0}) for one in (other, UNKNOWN)]
    assert [one.status for one in said] == [404, 404]
    assert without_id(said[0], other) == without_id(said[1], UNKNOWN)
    lines = b"".join(b'{"decision_id": "%b", "value": 1}\n' % one.encode() for one in (other, UNKNOWN))
    headers = {**trial.bearer, "content-type": "application/x-ndjson"}
    receipts = [json.loads(one) for one in trial.asked.ask("POST", "/v1/rewards", lines, headers).body.splitlines()]
    assert [one["status"] for one in receipts] == ["refused", "refused"]
    # Nothing waits for a decision that may come later in another experiment.
    chosen = {"decision_id": UNKNOWN}
    assert trial.asked.post("/v1/experiments/other/decisions", chosen, **trial.boss).status == 201
    trial.asked.work()
    for one in (other, UNKNOWN):
        record = trial.asked.ask("GET", f"/v1/decisions/{one}", headers=trial.boss).json()
        assert (record["outcome"], record["reward"], record["refused"]) == ("open", None, [])


def test_a_reward_for_its_own_is_learned(trial: Trial) -> None:
    one = trial.post("/v1/experiments/mine/decisions", {}).json()["decision_id"]
    assert trial.post(f"/v1/decisions/{one}/reward", {"value": 1.0}).json()["status"] == "accepted"
    assert trial.post(f"/v1/decisions/{one}/reward", {"value": 1.0}).json()["status"] == "duplicate"
    trial.asked.work()
    assert trial.get(f"/v1/decisions/{one}").json()["outcome"] == "rewarded"


def test_it_erases_units_in_its_own_alone(trial: Trial) -> None:
    for experiment, expected in (("mine", 200), ("other", 404), ("nothing", 404), (None, 403)):
        wanted = {"unit_id": "u"} | ({} if experiment is None else {"experiment": experiment})
        assert trial.post("/v1/erasures", wanted).status == expected, experiment


def test_a_key_is_shown_with_what_it_is_for(trial: Trial) -> None:
    wanted = {"name": "shop", "scopes": ["decide"], "experiments": ["mine", "mine", "new"]}
    made = trial.asked.post("/v1/keys", wanted, **trial.boss)
    assert made.json()["experiments"] == ["mine", "new"]
    audit = trial.asked.ask("GET", "/v1/audit", headers=trial.boss).json()[-1]
    assert audit["action"] == "make key" and audit["after"]["experiments"] == ["mine", "new"]
    for wrong in ([], ["no spaces"], [""], "mine"):
        said = trial.asked.post("/v1/keys", {**wanted, "experiments": wrong}, **trial.boss)
        assert said.status in (400, 422) and said.json()["field"].startswith("experiments"), wrong
