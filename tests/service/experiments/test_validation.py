"""What is refused: by name, with what is accepted, and nothing has changed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.service.experiments.lab import Lab
from turncoat.service import messages
from turncoat.service.errors import Conflicting, Malformed, NotFound, Problem, Stale, Unprocessable

NAN, INF = float("nan"), float("inf")
NOT_NUMBERS: list[Any] = [NAN, INF, -INF, True, "0.5", 10**400]
SHARES: list[Any] = [*NOT_NUMBERS, -0.1, 1.1, None]


def refused(lab: Lab, kind: type[Problem], text: str, field: str | None, call: Any) -> None:
    before = lab.everything()
    with pytest.raises((kind, Malformed) if kind is Unprocessable else kind) as problem:
        call()
    assert re.search(text, problem.value.detail), problem.value.detail
    assert problem.value.field == field
    assert lab.everything() == before


def new(**more: Any) -> messages.NewExperiment:
    return messages.NewExperiment(**{"key": "y", "arms": ["a", "b"]} | more)


KEEPS: list[Any] = [*NOT_NUMBERS, 0.0, -1.0, 1e9]

# Spaces and fillers are accepted by Python's `isprintable`; the others never were.
BLANK = [
    " ",
    "   ",
    "\u3164",
    " \u3164\u2800",
    "\uffa0",
    "\u115f",
    "\ufe0f",
    "\u034f",
    "\u00a0",
    "\u200b",
    "\u2060",
    "\ufeff",
]

ACCEPTED = r"accepted (is|are)"

OPENINGS: list[tuple[str, dict[str, Any], str | None]] = [
    *(("reward.min", {"reward": messages.RewardRule(min=value)}, "reward.min") for value in NOT_NUMBERS),
    *(("reward.max", {"reward": messages.RewardRule(max=value)}, "reward.max") for value in NOT_NUMBERS),
    ("reward.min is 1.0 and reward.max 1.0; accepted", {"reward": messages.RewardRule(min=1.0)}, "reward.max"),
    ("1e\\+101.*accepted.*1e\\+100", {"reward": messages.RewardRule(max=1e101)}, "reward.max"),
    ("1e\\+308", {"reward": messages.RewardRule(min=-1e308, max=1e308)}, "reward.max"),
    ("accepted is one of", {"reward": messages.RewardRule(aggregation="median")}, "reward.aggregation"),  # type: ignore[arg-type]
    *(("reward_window_s", {"reward_window_s": value}, "reward_window_s") for value in (*NOT_NUMBERS, 0.0, -1.0, None)),
    ("reward_window_s", {"reward_window_s": 1e9}, "reward_window_s"),
    *(("default_reward", {"default_reward": value}, "default_reward") for value in (*NOT_NUMBERS, 1.5, -0.5)),
    *(("control.share", {"control": messages.Control(arm="a", share=share)}, "control.share") for share in SHARES),
    ("control.arm is 'z'; accepted is one", {"control": messages.Control(arm="z", share=0.1)}, "control.arm"),
    *(("holdout_share", {"holdout_share": share}, "holdout_share") for share in SHARES),
    *(("stickiness.keep_s", {"stickiness": messages.Stickiness(keep_s=value)}, "stickiness.keep_s") for value in KEEPS),
    ("stickiness.flags", {"stickiness": messages.Stickiness(flags=1)}, "stickiness.flags"),  # type: ignore[arg-type]
    ("sum to 1.0; accepted is less than 1", {"holdout_share": 1.0}, "holdout_share"),
    (
        "sum to 1.0; accepted is less than 1",
        {"holdout_share": 0.5, "control": messages.Control(arm="a", share=0.5)},
        "holdout_share",
    ),
    *(("floors", {"floors": {"a": share}}, "floors[...]") for share in (*NOT_NUMBERS, -0.1, 1.1)),
    *(("caps", {"caps": {"a": share}}, "caps[...]") for share in (-0.1, 1.1, True)),
    ("floors has 'z'; accepted are names of arms", {"floors": {"z": 0.1}}, "floors"),
    ("caps has 'z'; accepted are names of arms", {"caps": {"z": 0.1}}, "caps"),
    ("'a' has floor 0.5 above its cap 0.25", {"floors": {"a": 0.5}, "caps": {"a": 0.25}}, "floor"),
    ("the floors sum to 1.2; accepted is 1 at most", {"floors": {"a": 0.6, "b": 0.6}}, "floor"),
    ("arms has 'a' twice; accepted are distinct names", {"arms": ["a", "b", "a"]}, "arms"),
    ("accepted is", {"arms": []}, "arms"),
    ("accepted is", {"arms": [""]}, "arms[0]"),
    ("accepted is", {"arms": ["x" * 101]}, "arms[0]"),
    ("accepted is", {"arms": ["a\nb"]}, "arms[0]"),
    ("arms has '[.][.]'; accepted are .* other than", {"arms": ["a", ".."]}, "arms"),
    ("arms has 'a.u2028b'; accepted are 1 to 100 printable", {"arms": ["a\u2028b"]}, "arms"),
    *(("arms has .*one of them visible", {"arms": ["a", blank]}, "arms") for blank in BLANK),
    *(("key is", {"key": key}, "key") for key in ("", "a b", "/", "é", "x" * 101, "a\n", "-a", *BLANK)),
    *(("seed is", {"seed": seed}, "seed") for seed in (-1, 2**63, 1.5, "1", True)),
    ("payload has 16386 bytes as JSON", {"arms": [messages.NamedArm(arm="a", payload="x" * 16384)]}, "payload"),
]


@pytest.mark.parametrize("text, more, field", OPENINGS)
def test_an_experiment_that_is_not_opened(lab: Lab, text: str, more: dict[str, Any], field: str | None) -> None:
    lab.open()
    refused(lab, Unprocessable, text, field, lambda: lab.engine.create(new(**more)))
    refused(lab, Unprocessable, ACCEPTED, field, lambda: lab.engine.create(new(**more)))


CHANGES: list[tuple[str, dict[str, Any], str | None]] = [
    *(("reward_window_s", {"reward_window_s": value}, "reward_window_s") for value in (*NOT_NUMBERS, 0.0, None)),
    *(("default_reward", {"default_reward": value}, "default_reward") for value in (*NOT_NUMBERS, 1.5)),
    *(("holdout_share", {"holdout_share": share}, "holdout_share") for share in SHARES),
    *(("stickiness.keep_s", {"stickiness": messages.Stickiness(keep_s=value)}, "stickiness.keep_s") for value in KEEPS),
    ("stickiness", {"stickiness": None}, "stickiness"),
    ("control.arm is 'z'", {"control": messages.Control(arm="z", share=0.1)}, "control.arm"),
    ("accepted is one of", {"state": "broken"}, "state"),
]


@pytest.mark.parametrize("text, more, field", CHANGES)
def test_settings_that_are_not_changed(lab: Lab, text: str, more: dict[str, Any], field: str | None) -> None:
    lab.open()
    refused(lab, Unprocessable, text, field, lambda: lab.engine.change("x", messages.ExperimentChange(**more)))


ARMS: list[tuple[str, dict[str, Any], str | None]] = [
    *(("floor", {"floor": share}, "floor") for share in SHARES),
    *(("cap", {"cap": share}, "cap") for share in SHARES),
    ("floor 0.5 above its cap 0.25", {"floor": 0.5, "cap": 0.25}, "floor"),
    ("accepted is one of", {"state": "broken"}, "state"),
    ("cannot be written as JSON", {"payload": object()}, None),
]


@pytest.mark.parametrize("text, more, field", ARMS)
def test_arms_that_are_not_added_or_changed(lab: Lab, text: str, more: dict[str, Any], field: str | None) -> None:
    lab.open()
    refused(lab, Unprocessable, text, field, lambda: lab.engine.add_arm("x", messages.NewArm(**{"arm": "c"} | more)))
    refused(lab, Unprocessable, text, field, lambda: lab.engine.change_arm("x", "a", messages.ArmChange(**more)))


ASKS: list[tuple[type[Problem], str, dict[str, Any], str | None]] = [
    (Unprocessable, "has 'z'; accepted are arms of 'x': 'a', 'b'", {"allowed_arms": ["z"]}, "allowed_arms"),
    (Unprocessable, "accepted is", {"allowed_arms": []}, "allowed_arms"),
    (Unprocessable, "accepted is", {"unit_id": ""}, "unit_id"),
    (Unprocessable, "accepted is", {"unit_id": "u" * 256}, "unit_id"),
    (Unprocessable, "sticky is true and there is no unit_id", {"sticky": True}, "sticky"),
    (Unprocessable, "decision_id", {"decision_id": "1"}, "decision_id"),
    (Unprocessable, "context has .* bytes as JSON; accepted are 16384", {"context": {"k": "x" * 20_000}}, "context"),
    (Unprocessable, "cannot be written as JSON", {"context": {"k": object()}}, None),
]


@pytest.mark.parametrize("kind, text, ask, field", ASKS)
def test_decisions_that_are_not_made(
    lab: Lab, kind: type[Problem], text: str, ask: dict[str, Any], field: str | None
) -> None:
    lab.open()
    refused(lab, kind, text, field, lambda: lab.engine.decide("x", **ask))


def test_what_is_not_there(lab: Lab) -> None:
    lab.open()
    engine, text = lab.engine, "there is no experiment 'nobody'"
    for call in (engine.decide, engine.experiment, engine.arms, engine.state, engine.timeline, engine.switches):
        refused(lab, NotFound, text, "key", lambda call=call: call("nobody"))
    refused(lab, NotFound, text, "key", lambda: engine.change("nobody", messages.ExperimentChange()))
    refused(lab, NotFound, text, "key", lambda: engine.add_arm("nobody", messages.NewArm(arm="a")))
    refused(lab, NotFound, text, "key", lambda: engine.change_arm("nobody", "a", messages.ArmChange()))
    refused(lab, NotFound, text, "key", lambda: list(engine.log("nobody")))
    refused(lab, NotFound, "no decision 'nothing'", "decision_id", lambda: engine.decision("nothing"))


@pytest.mark.parametrize("blank", BLANK)
def test_an_arm_is_not_added_under_a_blank_name(lab: Lab, blank: str) -> None:
    lab.open()
    refused(lab, Unprocessable, "visible", "arm", lambda: lab.engine.add_arm("x", messages.NewArm(arm=blank)))


def test_what_conflicts(lab: Lab) -> None:
    lab.open()
    refused(lab, Conflicting, "there is an experiment 'x' already", "key", lambda: lab.open())
    revision = lab.engine.experiment("x").revision
    change = messages.ExperimentChange(state="stopped")
    refused(lab, Stale, "If-Match is 9", "If-Match", lambda: lab.engine.change("x", change, if_revision=9))
    lab.engine.change("x", change, if_revision=revision)
    refused(lab, Conflicting, "'x' is stopped", None, lambda: lab.engine.decide("x"))


def test_what_is_accepted_at_the_edges(lab: Lab) -> None:
    """Sums that are 1 up to rounding, the longest names, odd but printable ones."""
    lab.open("y", arms=["a", "b", "c"], floors={"a": 0.7, "b": 0.2, "c": 0.1})
    lab.open("z", arms=[f"arm {i}" for i in range(20)], floors={f"arm {i}": 0.05 for i in range(20)})
    lab.open(
        "A" * 100,
        arms=["x" * 100, "é'\"; DROP TABLE arm; --", "<b>", "%s :name {text}", "键", " \u3164 한", "👍\ufe0f"],
    )
    for key in ("y", "z", "A" * 100):
        assert lab.engine.decide(key).propensity > 0.0
    again = lab.restart()
    assert [arm.arm for arm in again.arms("A" * 100)][1] == "é'\"; DROP TABLE arm; --"
