"""Gains compare like with like: only decisions that chance alone divided, under the settings they were drawn with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.naive import comparisons as naive
from tests.service.experiments.lab import WINDOW, Lab
from turncoat.service import messages
from turncoat.service.errors import NotFound
from turncoat.service.gain_messages import Gain, Gains
from turncoat.service.messages import Ask, Command, Control, Decide, Decided, ExperimentChange, Tell

RAW = """
    SELECT d.decided_at, d.arm, d.stream, d.reward, d.propensity, d.allowed, COALESCE(d.probabilities, v.probabilities),
           d.version, d.unit
    FROM decision d JOIN version v ON v.experiment = d.experiment AND v.version = d.version WHERE d.reward IS NOT NULL
"""


def told(lab: Lab, n: int, pays: Callable[[float, Ask], float], asks: Callable[[], Ask] = Ask, seed: int = 1) -> None:
    """n decisions with their rewards, 50 at a time. `pays`: the mean reward at a share of these decisions."""
    chance = random.Random(seed)
    for done in range(0, n, 50):
        some = [asks() for _ in range(50)]
        commands: list[Command] = [Decide("x", ask) for ask in some]
        decided = [one for one in lab.engine.serve(commands) if isinstance(one, Decided)]
        values = [float(chance.random() < pays(done / n, ask)) for ask in some]
        tells: list[Command] = [
            Tell(one.decision_id or "", messages.Reward(value=value))
            for one, value in zip(decided, values, strict=True)
        ]
        lab.engine.serve(tells)
        lab.work()


def over(gains: Gains, rival: str) -> Gain:
    (found,) = [one for one in gains.gains if rival in (one.over, one.arm if one.over == "arm" else None)]
    return found


def holds_zero(one: Gain) -> bool:
    assert one.total is not None and one.per_decision is not None
    assert one.per_decision.value == pytest.approx(one.total.value / one.n)
    return one.total.low <= 0.0 <= one.total.high


def left(one: Gain) -> dict[str, int]:
    return {part.reason: part.n for part in one.left_out}


def test_requests_that_could_not_be_control_are_left_out(lab: Lab) -> None:
    """All arms alike; half of the requests name b and c, and pay 0.8, the others 0.3. This was a gain of hundreds."""
    chance = random.Random(2)
    lab.open(arms=["a", "b", "c"], control=Control(arm="a", share=0.2))
    named = Ask(allowed_arms=["b", "c"])
    told(lab, 4_000, lambda _, ask: 0.8 if ask.allowed_arms else 0.3, lambda: chance.choice([named, Ask()]))
    found = lab.engine.gain("x")
    gain = over(found, "control")
    assert holds_zero(gain) and gain.arm == "a" and left(gain).keys() == {"control_not_allowed"}
    assert (
        gain.n + left(gain)["control_not_allowed"] == found.n_learn
        and 1_900 < left(gain)["control_not_allowed"] < 2_100
    )
    assert all(holds_zero(over(found, arm)) for arm in "bc")
    assert "a" not in [one.arm for one in found.gains if one.over == "arm"]  # control measures it


def test_a_share_that_changes_with_the_world(lab: Lab) -> None:
    """Share 0.5 while all arms pay 0.2, then 0.05 while all pay 0.8: the learn stream had more of the good time."""
    lab.open(arms=["a", "b", "c"], control=Control(arm="a", share=0.5))
    told(lab, 1_500, lambda _, ask: 0.2)
    lab.engine.change("x", ExperimentChange(control=Control(arm="a", share=0.05)))
    told(lab, 2_500, lambda _, ask: 0.8, seed=3)
    gain = over(lab.engine.gain("x"), "control")
    assert holds_zero(gain) and not gain.left_out
    assert {one.control_share for one in gain.strata} == {0.5, 0.05} and gain.n == sum(one.n for one in gain.strata)
    assert gain.total is not None and gain.total.value == pytest.approx(sum(one.gain or 0.0 for one in gain.strata))


def test_a_control_arm_that_was_paused(lab: Lab) -> None:
    lab.open(arms=["a", "b", "c"], control=Control(arm="a", share=0.2))
    told(lab, 1_200, lambda _, ask: 0.2)
    lab.pause("a")
    told(lab, 1_500, lambda _, ask: 0.8, seed=4)
    lab.resume("a")
    told(lab, 1_200, lambda _, ask: 0.2, seed=5)
    found = lab.engine.gain("x")
    gain = over(found, "control")
    assert holds_zero(gain) and left(gain) == {"control_paused": 1_500}
    assert len(gain.strata) == 1  # the same settings before and after
    assert holds_zero(over(found, "b")) and holds_zero(over(found, "c"))


def test_decisions_count_under_the_settings_they_were_drawn_with(lab: Lab) -> None:
    """Rewards that come after a change of the share belong to the stratum of before."""
    lab.open(control=Control(arm="a", share=0.4))
    made = [lab.engine.decide("x") for _ in range(200)]
    lab.engine.change("x", ExperimentChange(control=None))
    for one in made:
        lab.engine.reward(one.decision_id or "", 1.0)
    lab.work()
    gain = over(lab.engine.gain("x"), "control")
    assert [(one.control_share, one.n + one.n_rival) for one in gain.strata] == [(0.4, 200)]
    assert gain.n_rival == sum(one.stream == "control" for one in made)


def test_what_cannot_be_estimated_is_said(lab: Lab) -> None:
    lab.open(arms=["a", "b"])
    found = lab.engine.gain("x")
    assert found.n_learn == 0 and [one.total for one in found.gains] == [None] * 3
    lab.engine.change_arm("x", "a", messages.ArmChange(floor=0.2))
    lab.engine.change_arm("x", "b", messages.ArmChange(floor=0.2))
    told(lab, 100, lambda _, ask: 0.5)
    found = lab.engine.gain("x")
    assert [(one.over, one.arm, one.total, one.n, left(one)) for one in found.gains] == [
        ("control", None, None, 0, {"no_control": 100}),
        ("arm", "a", None, 0, {"too_few": 100}),
        ("arm", "b", None, 0, {"too_few": 100}),
    ]
    lab.engine.change("x", ExperimentChange(control=Control(arm="a", share=0.05), holdout_share=0.05))
    told(lab, 50, lambda _, ask: 0.5)
    found = lab.engine.gain("x")
    assert over(found, "control").total is None and left(over(found, "control")).keys() == {"no_control", "too_few"}
    assert left(over(found, "holdout")).keys() == {"no_holdout", "too_few"}
    assert sum(left(over(found, "holdout")).values()) == found.n_learn
    assert over(found, "holdout").strata[0].gain is None
    with pytest.raises(NotFound):
        lab.engine.gain("y")


def test_an_arm_is_judged_where_it_could_be_served(lab: Lab) -> None:
    """Arm c is capped to nothing, then not: only the time after counts, and the good time before is nobody's gain."""
    lab.open(arms=["a", "b", "c"], caps={"c": 0.0})
    told(lab, 600, lambda _, ask: 0.9)
    lab.engine.change_arm("x", "c", messages.ArmChange(cap=1.0, floor=0.2))
    told(lab, 1_000, lambda _, ask: 0.1, seed=6)
    gain = over(lab.engine.gain("x"), "c")
    assert holds_zero(gain) and gain.n == 1_000 and left(gain) == {"below_1_percent": 600}


def test_units_widen_the_interval(lab: Lab) -> None:
    """Each of 60 units decides 50 times and has one reward for ever: 3,000 decisions are worth 60."""
    for key, named in (("x", True), ("y", False)):
        lab.open(key, control=Control(arm="a", share=0.5))
        for unit in range(60):
            made = [lab.engine.decide(key, unit_id=f"u{unit}" if named else None) for _ in range(50)]
            lines = [messages.RewardLine(decision_id=one.decision_id or "", value=float(unit % 2)) for one in made]
            lab.engine.rewards(lines)
            lab.work()
    wide, narrow = (over(lab.engine.gain(key), "control") for key in "xy")
    assert wide.effective < 0.1 * narrow.effective
    assert wide.per_decision is not None and narrow.per_decision is not None
    half = [one.high - one.low for one in (wide.per_decision, narrow.per_decision)]
    assert half[0] > 3.0 * half[1]


def test_only_time_whose_rewards_are_all_in_is_counted(lab: Lab) -> None:
    lab.open(default_reward=0.0, control=Control(arm="a", share=0.2))
    made = [lab.engine.decide("x") for _ in range(20)]
    lab.engine.reward(next(one for one in made if one.stream == "learn").decision_id or "", 1.0)
    lab.work()
    assert lab.engine.gain("x").n_learn == 0
    lab.work(WINDOW)
    lab.work(10.0)
    assert lab.engine.gain("x").n_learn == sum(one.stream == "learn" for one in made)


def test_expired_decisions_are_out(lab: Lab) -> None:
    lab.open()
    lab.engine.decide("x")
    lab.engine.reward(lab.engine.decide("x").decision_id or "", 1.0)
    lab.work(WINDOW + 1.0)
    found = lab.engine.gain("x")
    assert (found.n_learn, found.n_expired) == (1, 1)


def test_sums_are_those_of_the_log(labs: Lab) -> None:
    """All that changes, at random; the settings in force are noted by version, from outside."""
    chosen = random.Random(7)
    labs.open(arms=["a", "b", "c"], control=Control(arm="a", share=0.3), holdout_share=0.2, default_reward=0.25)
    settings: dict[int, Any] = {}

    def note() -> None:
        now = labs.engine.experiment("x")
        state = next((one.state for one in now.arms if now.control and one.arm == now.control.arm), "")
        control = (None, 0.0) if now.control is None else (now.control.arm, now.control.share)
        settings[now.version] = (*control, state, now.holdout_share)

    changes: list[Callable[[], Any]] = [
        lambda: labs.pause("a"),
        lambda: labs.engine.change("x", ExperimentChange(holdout_share=0.0)),
        lambda: labs.resume("a"),
        lambda: labs.engine.change("x", ExperimentChange(control=Control(arm="b", share=0.4))),
        lambda: labs.engine.add_arm("x", messages.NewArm(arm="d", floor=0.1)),
        lambda: labs.engine.change("x", ExperimentChange(control=None, holdout_share=0.3, default_reward=None)),
        lambda: labs.engine.change("x", ExperimentChange(control=Control(arm="c", share=0.1))),
    ]
    open_ones: list[str] = []
    for turn in range(240):
        labs.clock.move(chosen.random() * 3.0)
        note()
        allowed = chosen.choice([None, ["b", "c"], ["a", "c"]])
        unit = chosen.choice([None, f"u{chosen.randrange(30)}"])
        open_ones.append(str(labs.engine.decide("x", unit_id=unit, allowed_arms=allowed).decision_id))
        if chosen.random() < 0.8:
            labs.engine.reward(open_ones.pop(chosen.randrange(len(open_ones))), chosen.random())
        if turn % 5 == 0:
            labs.engine.work()
            note()
        if turn % 34 == 33:
            changes[turn // 34]()
            note()
    labs.work(2.0 * WINDOW)
    some = [
        naive.Decision(
            *(at, arm, stream, reward, q, allowed and json.loads(allowed), json.loads(shares), settings[version]),
            None if unit is None else int(unit[-4:], 16) % 64,
        )
        for at, arm, stream, reward, q, allowed, shares, version, unit in labs.rows(RAW)
    ]
    for table, n_keys, expected in (("comparison", 4, naive.comparisons(some)), ("unit_group", 3, naive.groups(some))):
        stored = {tuple(row[1 : n_keys + 1]): row[n_keys + 1 :] for row in labs.rows(f"SELECT * FROM {table}")}
        assert stored.keys() == expected.keys() and len(stored) > 10
        assert all(stored[key] == pytest.approx(sums, rel=1e-9, abs=1e-9) for key, sums in expected.items())
    labs.work(7_300.0)
    assert {row[0] for row in labs.rows("SELECT DISTINCT width FROM comparison")} == {300, 10_800}


def test_what_an_earlier_turncoat_wrote_is_left_out(lab: Lab) -> None:
    """Versions without a record of their settings, and decisions that were closed before there were comparisons."""
    lab.open(control=Control(arm="a", share=0.3))
    told(lab, 200, lambda _, ask: 0.5)
    made = [lab.engine.decide("x") for _ in range(20)]
    with lab.store.transaction() as session:
        session.run("UPDATE version SET control = NULL")
        session.run("DELETE FROM comparison")
    lab.restart()
    told(lab, 400, lambda _, ask: 0.5, seed=8)
    for one in made:
        lab.engine.reward(one.decision_id or "", 1.0)
    lab.work()
    found = lab.engine.gain("x")
    gain = over(found, "control")
    n_before = left(gain)["before_upgrade"]
    assert gain.total is not None and n_before + gain.n == found.n_learn
    assert 200 * 0.5 < n_before < 220
