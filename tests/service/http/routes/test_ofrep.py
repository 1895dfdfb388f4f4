"""OpenFeature's own SDK and OFREP provider ask for flags, over a socket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason

from tests.service.http.direct import Direct
from tests.service.http.served import Served
from turncoat.service import api_keys, messages
from turncoat.service.client import Client

FLAGS = "/ofrep/v1/evaluate/flags"


@pytest.fixture
def flags(served: Served) -> Iterator[OpenFeatureClient]:
    provider = OFREPProvider(served.url)
    api.set_provider(provider)
    yield api.get_client()
    provider.session.close()
    api.clear_providers()


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with Client(served.url) as one:
        yield one


def test_a_flag_is_a_decision_that_can_be_rewarded(served: Served, flags: OpenFeatureClient, client: Client) -> None:
    client.create(messages.NewExperiment(key="colour", arms=["red", messages.NamedArm(arm="green", payload="#0f0")]))
    for number in range(10):
        somebody = EvaluationContext(f"user {number}", {"country": "nl", "age": 7})
        found = flags.get_string_details("colour", "blue", somebody)
        assert found.error_code is None and found.reason == Reason.SPLIT
        assert found.value == {"red": "red", "green": "#0f0"}[str(found.variant)]
        decision_id = found.flag_metadata["decision_id"]
        record = client.decision(str(decision_id))
        assert (record.arm, record.propensity) == (found.variant, found.flag_metadata["propensity"])
        assert record.context == {"country": "nl", "age": 7}
        assert client.reward(str(decision_id), 1.0).status == "accepted"
    units = {line.unit for line in client.log("colour")}
    assert len(units) == 10 and None not in units


def test_values_have_the_type_of_the_payload(flags: OpenFeatureClient, client: Client) -> None:
    payloads = {"yes": True, "seven": 7, "half": 0.5, "thing": {"a": [1, 2]}}
    for key, payload in payloads.items():
        client.create(messages.NewExperiment(key=key, arms=[messages.NamedArm(arm="only", payload=payload)]))
    assert flags.get_boolean_value("yes", False) is True
    assert flags.get_integer_value("seven", 0) == 7
    assert flags.get_float_value("half", 0.0) == 0.5
    assert flags.get_object_value("thing", {}) == {"a": [1, 2]}
    found = flags.get_boolean_details("yes", False)
    assert (found.reason, found.variant) == (Reason.STATIC, "only")
    wrong = flags.get_boolean_details("seven", False)
    assert wrong.value is False and wrong.error_code == ErrorCode.TYPE_MISMATCH


def test_what_goes_wrong_is_said_as_ofrep_says_it(flags: OpenFeatureClient, client: Client) -> None:
    missing = flags.get_string_details("nobody", "mine")
    assert (missing.value, missing.error_code) == ("mine", ErrorCode.FLAG_NOT_FOUND)
    assert "'nobody'" in str(missing.error_message)
    client.create(messages.NewExperiment(key="colour", arms=["red"]))
    long = flags.get_string_details("colour", "mine", EvaluationContext("x" * 256))
    assert (long.value, long.error_code) == ("mine", ErrorCode.INVALID_CONTEXT)


def test_a_stopped_experiment_leaves_the_caller_s_default(flags: OpenFeatureClient, client: Client) -> None:
    client.create(messages.NewExperiment(key="colour", arms=["red"]))
    client.change("colour", messages.ExperimentChange(state="stopped"))
    found = flags.get_string_details("colour", "mine")
    assert (found.value, found.reason, found.error_code) == ("mine", Reason.DEFAULT, None)


def test_with_keys_the_provider_shows_one(served: Served, client: Client) -> None:
    client.create(messages.NewExperiment(key="colour", arms=["red"]))

    def issue() -> str:
        with served.context.store.transaction() as session:
            return api_keys.issue(
                session, api_keys.NewKey(name="flags", scopes=["decide"]), served.context.clock.now()
            ).key

    async def issued() -> str:
        made: str = await served.context.engine_thread.run(issue)
        served.context.ring.refresh()
        return made

    key = served.run(issued)
    for headers, reason in ({}, Reason.ERROR), ({"Authorization": f"Bearer {key}"}, Reason.STATIC):
        provider = OFREPProvider(served.url, headers_factory=lambda headers=headers: headers)  # type: ignore[misc]
        api.set_provider(provider)
        assert api.get_client().get_string_details("colour", "mine").reason == reason
        provider.session.close()
    api.clear_providers()


def test_all_flags_at_once_are_deferred_and_kept_by_the_unit(asked: Direct) -> None:
    asked.post("/v1/experiments", {"key": "f", "arms": ["x"]})
    asked.post("/v1/experiments", {"key": "stopped", "arms": ["x"]})
    asked.ask("PATCH", "/v1/experiments/stopped", b'{"state": "stopped"}', {"content-type": "application/json"})
    first = asked.post(FLAGS, {"context": {"targetingKey": "u"}}).json()["flags"]
    assert [flag["key"] for flag in first] == ["e", "f"]
    again = asked.post(FLAGS, {"context": {"targetingKey": "u"}}).json()["flags"]
    assert again == first
    record = asked.ask("GET", f"/v1/decisions/{first[0]['metadata']['decision_id']}").json()
    assert record["expires_at"] is None and record["outcome"] == "open"
    assert first[0]["metadata"]["deferred"] is True
    used = asked.post(f"{FLAGS}/e", {"context": {"targetingKey": "u"}}).json()["metadata"]
    assert used == {name: value for name, value in first[0]["metadata"].items() if name != "deferred"}
    record = asked.ask("GET", f"/v1/decisions/{used['decision_id']}").json()
    assert record["expires_at"] is not None  # now it was used
    assert asked.post(FLAGS, {"context": {"targetingKey": "u"}}).json()["flags"][0]["metadata"] == used


@pytest.mark.parametrize("body", [{}, {"context": {}}, {"context": {"targetingKey": ""}}], ids=str)
def test_all_flags_without_a_targeting_key_leave_nothing_open(asked: Direct, body: dict[str, object]) -> None:
    """Each such request left one deferred decision per experiment, which no one could find again and nothing closed."""
    asked.post("/v1/experiments", {"key": "f", "arms": ["x"]})
    said = asked.post(FLAGS, body)
    assert said.status == 200
    assert [(flag["key"], flag["errorCode"]) for flag in said.json()["flags"]] == [
        (key, "TARGETING_KEY_MISSING") for key in ("e", "f")
    ]
    assert all("accepted is" in flag["errorDetails"] and "value" not in flag for flag in said.json()["flags"])
    for key in ("e", "f"):
        assert asked.ask("GET", f"/v1/experiments/{key}/state").json()["open_decisions"] == 0


def test_one_user_keeps_a_flag_and_fails_once(asked: Direct) -> None:
    """Twelve evaluations gave 5 green and 7 red, and with a default reward each counted as a failure."""
    colour = {"key": "colour", "arms": ["green", "red"], "default_reward": 0.0, "seed": 1}
    assert asked.post("/v1/experiments", colour).json()["stickiness"] == {"flags": True, "keep_s": None}
    u, v = {"context": {"targetingKey": "u"}}, {"context": {"targetingKey": "v"}}
    found = [asked.post(f"{FLAGS}/colour", u).json() for _ in range(12)]
    assert len({(one["variant"], one["metadata"]["decision_id"]) for one in found}) == 1
    assert asked.post(f"{FLAGS}/colour", v).json()["metadata"]["decision_id"] != found[0]["metadata"]["decision_id"]
    assert asked.ask("GET", "/v1/experiments/colour/state").json()["open_decisions"] == 2
    change = b'{"stickiness": {"flags": false}}'
    assert asked.ask("PATCH", "/v1/experiments/colour", change, {"content-type": "application/json"}).status == 200
    ids = {asked.post(f"{FLAGS}/colour", u).json()["metadata"]["decision_id"] for _ in range(12)}
    assert len(ids) == 12


def test_an_arm_that_cannot_be_served_is_an_error_of_its_flag_alone(asked: Direct) -> None:
    asked.post("/v1/experiments", {"key": "f", "arms": ["x"]})
    headers = {"content-type": "application/json"}
    assert asked.ask("PATCH", "/v1/experiments/f/arms/x", b'{"state": "paused"}', headers).status == 200
    good, bad = asked.post(FLAGS, {"context": {"targetingKey": "u"}}).json()["flags"]
    assert good["reason"] == "SPLIT" and bad["errorCode"] == "GENERAL" and "value" not in bad
    said = asked.post(f"{FLAGS}/f", {"context": {}})
    assert said.status == 400 and said.json()["errorCode"] == "GENERAL"


@pytest.mark.parametrize(
    "body, code",
    [
        ({"context": 5}, "PARSE_ERROR"),
        ([], "PARSE_ERROR"),
        ({"context": {"targetingKey": 5}}, "INVALID_CONTEXT"),
        ({"context": {"targetingKey": "x" * 256}}, "INVALID_CONTEXT"),
    ],
)
def test_errors_have_their_codes(asked: Direct, body: object, code: str) -> None:
    for path in (f"{FLAGS}/e", FLAGS):
        said = asked.post(path, body)
        assert said.status == 400 and said.json()["errorCode"] == code and said.json()["errorDetails"]
