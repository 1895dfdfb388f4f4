"""Opening, changing and looking at experiments and arms."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.service.contract.conftest import World
from turncoat.service import messages
from turncoat.service.errors import Conflicting, NotFound, Problem, Stale, Unprocessable

NAN, INF = float("nan"), float("inf")


def test_an_experiment_is_as_it_was_asked_for(world: World) -> None:
    key = world.name()
    made = world.service.create(
        messages.NewExperiment(
            key=key,
            arms=["a", messages.NamedArm(arm="b", payload={"colour": [1, None, "red"]})],
            reward=messages.RewardRule(min=-1.0, max=3.0),
            reward_window_s=60.0,
            default_reward=0.5,
            control=messages.Control(arm="a", share=0.25),
            holdout_share=0.125,
            stickiness=messages.Stickiness(flags=False, keep_s=30.0),
            floors={"a": 0.1},
            caps={"b": 0.75},
            seed=7,
        )
    )
    assert (made.key, made.state, made.revision, made.seed) == (key, "running", 1, 7)
    assert (made.reward_window_s, made.default_reward, made.holdout_share) == (60.0, 0.5, 0.125)
    assert made.stickiness == messages.Stickiness(flags=False, keep_s=30.0)
    assert made.control == messages.Control(arm="a", share=0.25) and made.reward == messages.RewardRule(
        min=-1.0, max=3.0
    )
    a, b = made.arms
    assert (a.arm, a.state, a.floor, a.cap, a.payload) == ("a", "active", 0.1, 1.0, None)
    assert (b.arm, b.state, b.floor, b.cap, b.payload) == ("b", "active", 0.0, 0.75, {"colour": [1, None, "red"]})
    assert a.probability + b.probability == pytest.approx(1.0, abs=1e-12) and b.probability <= 0.75
    assert made.created_at.timestamp() == world.clock.now()
    assert world.service.experiment(key) == made
    assert world.service.arms(key) == made.arms
    assert world.service.experiments()[-1] == made


def test_left_out_settings_have_their_defaults(world: World) -> None:
    made = world.service.create(messages.NewExperiment(key=world.name(), arms=["only"]))
    assert (made.reward, made.reward_window_s, made.default_reward) == (messages.RewardRule(), 86_400.0, None)
    assert (made.control, made.holdout_share, made.stickiness) == (None, 0.0, messages.Stickiness())
    assert made.arms[0].probability == 1.0


def test_a_key_is_used_once(world: World) -> None:
    key = world.opened()
    with pytest.raises(Conflicting) as refused:
        world.service.create(messages.NewExperiment(key=key, arms=["x"]))
    assert refused.value.field == "key" and repr(key) in refused.value.detail


BAD: list[tuple[str, dict[str, Any]]] = [
    ("arms", {"arms": ["a", "a"]}),
    ("arms", {"arms": []}),
    ("control", {"control": messages.Control(arm="nobody", share=0.1)}),
    ("control", {"control": messages.Control(arm="a", share=1.5)}),
    ("holdout_share", {"holdout_share": 0.5, "control": messages.Control(arm="a", share=0.5)}),
    ("holdout_share", {"holdout_share": NAN}),
    ("floor", {"floors": {"a": 0.6, "b": 0.6}}),
    ("floor", {"floors": {"a": 0.6}, "caps": {"a": 0.5}}),
    ("floors", {"floors": {"nobody": 0.1}}),
    ("floors", {"floors": {"a": -0.1}}),
    ("caps", {"caps": {"a": 1.1}}),
    ("reward", {"reward": messages.RewardRule(min=1.0, max=1.0)}),
    ("reward", {"reward": messages.RewardRule(min=-1e308, max=1e308)}),
    ("reward", {"reward": messages.RewardRule(min=0.0, max=INF)}),
    ("default_reward", {"default_reward": 1.5}),
    ("default_reward", {"default_reward": NAN}),
    ("reward_window_s", {"reward_window_s": 0.0}),
    ("reward_window_s", {"reward_window_s": -INF}),
    ("key", {"key": "with space"}),
    ("key", {"key": ""}),
    ("key", {"key": "-first"}),
    ("key", {"key": "newline\n"}),
    ("key", {"key": "x" * 101}),
    ("arms", {"arms": ["a", ""]}),
    ("arms", {"arms": ["a", "b\n"]}),
    ("seed", {"seed": -1}),
]


@pytest.mark.parametrize("field, wrong", BAD, ids=[f"{field}-{number}" for number, (field, _) in enumerate(BAD)])
def test_settings_that_make_no_sense_are_refused(world: World, field: str, wrong: dict[str, Any]) -> None:
    before = world.service.experiments()
    with pytest.raises(Unprocessable) as refused:
        world.service.create(messages.NewExperiment(**{"key": world.name(), "arms": ["a", "b"], **wrong}))
    assert (refused.value.field or "").startswith(field), refused.value.detail
    assert world.service.experiments() == before


def test_settings_change_and_what_is_left_out_stays(world: World) -> None:
    key = world.opened(default_reward=0.5, holdout_share=0.1)
    changed = world.service.change(key, messages.ExperimentChange(reward_window_s=5.0, default_reward=None))
    assert (changed.reward_window_s, changed.default_reward, changed.holdout_share) == (5.0, None, 0.1)
    changed = world.service.change(key, messages.ExperimentChange(stickiness=messages.Stickiness(keep_s=9.0)))
    assert (changed.reward_window_s, changed.stickiness) == (5.0, messages.Stickiness(keep_s=9.0))
    assert changed.revision == 3
    assert world.service.experiment(key) == changed


def test_a_change_may_depend_on_the_revision_seen(world: World) -> None:
    key = world.opened()
    first = world.service.change(key, messages.ExperimentChange(reward_window_s=5.0), if_revision=1)
    assert first.revision == 2
    with pytest.raises(Stale):
        world.service.change(key, messages.ExperimentChange(reward_window_s=9.0), if_revision=1)
    assert world.service.experiment(key) == first


@pytest.mark.parametrize(
    "change",
    [
        messages.ExperimentChange(default_reward=2.0),
        messages.ExperimentChange(holdout_share=1.0),
        messages.ExperimentChange(control=messages.Control(arm="nobody", share=0.1)),
        messages.ExperimentChange(reward_window_s=NAN),
    ],
    ids=str,
)
def test_a_change_that_makes_no_sense_changes_nothing(world: World, change: messages.ExperimentChange) -> None:
    key = world.opened()
    before = world.service.experiment(key)
    with pytest.raises(Unprocessable):
        world.service.change(key, change)
    assert world.service.experiment(key) == before


def test_arms_come_pause_and_go(world: World) -> None:
    key = world.opened("a", "b")
    added = world.service.add_arm(key, messages.NewArm(arm="c", payload="p", floor=0.2))
    assert (added.arm, added.state, added.floor, added.payload) == ("c", "active", 0.2, "p")
    assert added.probability >= 0.2
    paused = world.service.change_arm(key, "a", messages.ArmChange(state="paused"))
    assert (paused.state, paused.probability) == ("paused", 0.0)
    retired = world.service.change_arm(key, "b", messages.ArmChange(state="retired"))
    assert (retired.state, retired.probability) == ("retired", 0.0)
    assert [arm.state for arm in world.service.arms(key)] == ["paused", "retired", "active"]
    assert {world.service.decide(key).arm for _ in range(20)} == {"c"}
    assert world.service.change_arm(key, "a", messages.ArmChange(state="active", payload=[1])).payload == [1]


def test_a_pending_arm_is_not_served_until_it_is_active(world: World) -> None:
    key = world.opened("a")
    assert world.service.add_arm(key, messages.NewArm(arm="later", state="pending")).probability == 0.0
    assert {world.service.decide(key).arm for _ in range(20)} == {"a"}
    assert world.service.change_arm(key, "later", messages.ArmChange(state="active")).probability > 0.0


def test_names_of_arms_are_never_used_twice(world: World) -> None:
    key = world.opened("a", "b")
    world.service.change_arm(key, "b", messages.ArmChange(state="retired"))
    for name in ("a", "b"):
        with pytest.raises(Conflicting):
            world.service.add_arm(key, messages.NewArm(arm=name))
    with pytest.raises(Conflicting):
        world.service.change_arm(key, "b", messages.ArmChange(state="active"))


@pytest.mark.parametrize("name", ["a/b", "...", "ü ?#%", "%2F", "a//b", " space ", "decisions", "'; DROP TABLE arm"])
def test_an_arm_may_have_any_printable_name(world: World, name: str) -> None:
    key = world.opened("plain", name)
    assert world.service.change_arm(key, name, messages.ArmChange(payload=name)).payload == name
    assert world.service.decide(key, allowed_arms=[name]).arm == name


@pytest.mark.parametrize(
    "arm, field",
    [
        (messages.NewArm(arm="d", floor=1.5), "floor"),
        (messages.NewArm(arm="d", cap=NAN), "cap"),
        (messages.NewArm(arm="d", floor=0.5, cap=0.25), "floor"),
        (messages.NewArm(arm=""), "arm"),
        (messages.NewArm(arm="d", payload="x" * 70_000), "payload"),
    ],
)
def test_an_arm_that_makes_no_sense_is_refused(world: World, arm: messages.NewArm, field: str) -> None:
    key = world.opened()
    before = world.service.arms(key)
    with pytest.raises(Problem) as refused:
        world.service.add_arm(key, arm)
    assert refused.value.status in (413, 422)
    assert refused.value.status == 413 or refused.value.field == field
    assert world.service.arms(key) == before


def test_nobody_knows_an_experiment_that_was_not_opened(world: World) -> None:
    service = world.service
    for ask in (
        lambda: service.experiment("nobody"),
        lambda: service.arms("nobody"),
        lambda: service.state("nobody"),
        lambda: service.timeline("nobody"),
        lambda: service.switches("nobody"),
        lambda: list(service.log("nobody")),
        lambda: service.decide("nobody"),
        lambda: service.change("nobody", messages.ExperimentChange(state="stopped")),
        lambda: service.add_arm("nobody", messages.NewArm(arm="x")),
        lambda: service.change_arm("nobody", "x", messages.ArmChange(state="paused")),
    ):
        with pytest.raises(NotFound) as refused:
            ask()
        assert refused.value.field == "key" and "'nobody'" in refused.value.detail
    with pytest.raises(NotFound) as refused:
        service.change_arm(world.opened(), "nobody", messages.ArmChange(state="paused"))
    assert refused.value.field == "arm"


def test_who_changed_what_is_written_down(world: World) -> None:
    key = world.opened("a", "b")
    world.service.add_arm(key, messages.NewArm(arm="c"))
    world.service.change(key, messages.ExperimentChange(reward_window_s=5.0))
    entries = world.service.audit(key)
    assert [entry.action for entry in entries] == ["open", "add arm", "change"]
    assert {entry.actor for entry in entries} == {"local"} and {entry.experiment for entry in entries} == {key}
    assert entries[-1].before == {"reward_window_s": 86_400.0} and entries[-1].after == {"reward_window_s": 5.0}
    everything = world.service.audit()
    assert everything[-3:] == entries
    assert all(after.previous_hash == before.hash for before, after in itertools.pairwise(everything))
