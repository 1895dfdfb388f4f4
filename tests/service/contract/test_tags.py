"""Tags, the state paused, and optimistic locking of arms: the same in this process and over HTTP."""

from __future__ import annotations

import pytest

from tests.service.contract.conftest import World
from turncoat.service import messages
from turncoat.service.errors import Conflicting, Problem, Stale


def test_tags_come_with_an_experiment_and_are_changed(world: World) -> None:
    key = world.name()
    made = world.service.create(messages.NewExperiment(key=key, arms=["a"], tags=["web", "eu-1"]))
    assert made.tags == ["web", "eu-1"] and world.service.experiment(key) == made
    assert world.service.create(messages.NewExperiment(key=world.name(), arms=["a"])).tags == []
    changed = world.service.change(key, messages.ExperimentChange(tags=["shop"]))
    assert (changed.tags, changed.revision) == (["shop"], 2)
    assert world.service.change(key, messages.ExperimentChange(holdout_share=0.1)).tags == ["shop"]
    entry = world.service.audit(key)[1]
    assert (entry.before, entry.after) == ({"tags": ["web", "eu-1"]}, {"tags": ["shop"]})


@pytest.mark.parametrize("tags", [["Web"], [""], ["a b"], ["a\n"], ["-a"], ["x" * 41], ["a", "a"], ["a"] * 21, ["é"]])
def test_a_tag_is_a_short_word(world: World, tags: list[str]) -> None:
    key = world.opened()
    with pytest.raises(Problem) as refused:
        world.service.change(key, messages.ExperimentChange(tags=tags))
    assert refused.value.status in (400, 422) and (refused.value.field or "").startswith("tags")
    assert world.service.experiment(key).revision == 1


def test_a_paused_experiment_decides_nothing_and_goes_on(world: World) -> None:
    key = world.opened()
    made = world.service.decide(key)
    assert world.service.change(key, messages.ExperimentChange(state="paused")).state == "paused"
    with pytest.raises(Conflicting, match="is paused; decisions are made while it is running"):
        world.service.decide(key)
    assert world.service.reward(made.decision_id or "", 1.0).status == "accepted"
    world.service.change(key, messages.ExperimentChange(state="running"))
    assert world.service.decide(key).decision_id


def test_an_arm_is_changed_only_at_the_revision_that_was_seen(world: World) -> None:
    key = world.opened()
    arm = world.service.arms(key)[0].arm
    world.service.add_arm(key, messages.NewArm(arm="new"), if_revision=1)
    with pytest.raises(Stale, match="is at revision 2 now"):
        world.service.add_arm(key, messages.NewArm(arm="newer"), if_revision=1)
    with pytest.raises(Stale, match="is at revision 2 now"):
        world.service.change_arm(key, arm, messages.ArmChange(state="paused"), if_revision=1)
    assert world.service.change_arm(key, arm, messages.ArmChange(state="paused"), if_revision=2).state == "paused"
    assert world.service.experiment(key).revision == 3
