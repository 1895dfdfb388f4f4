"""The model of the service on lives worked out by hand: an oracle that is wrong would agree with a wrong service."""

from __future__ import annotations

from typing import Any

import pytest

from tests.naive import buckets, service_decisions
from tests.naive.service_decisions import Answer, Ask
from tests.naive.service_model import Model
from tests.naive.service_records import Arm, Gates, Settings

SETTINGS = Settings(0.0, 1.0, "first", 10.0, 0.25, None, 0.0)


def opened(most: int = 1000, **more: Any) -> Model:
    model = Model(most)
    settings = Settings(**{**vars(SETTINGS), **more})
    model.create("x", "salt", settings, {"a": Arm("active"), "b": Arm("active")})
    return model


def decide(model: Model, name: str, now: float, arm: str = "a", **ask: Any) -> str | None:
    expires_at = None if ask.get("deferred") else now + model.experiments["x"].now.settings.window
    version = model.experiments["x"].number
    answer = Answer(name, arm, 0.5, {"a": 0.5, "b": 0.5}, version, "learn", "split", expires_at, name.encode())
    return service_decisions.decide(model, Ask("x", ask, **ask), now, answer, [version])


def work(model: Model, now: float) -> int:
    """How many transactions the pass had."""
    return len(list(model.work(Gates(tidied=now), now))) - 1


def closed(model: Model) -> dict[str, tuple[Any, ...]]:
    return {one.id: (one.outcome, one.reward, one.applied) for one in model.decisions.values()}


def test_a_short_life() -> None:
    model = opened()
    assert decide(model, "1", 0.0) is None and decide(model, "2", 1.0, arm="b") is None
    assert model.tell("2", 1.0, None, 2.0) == "accepted"
    assert model.tell("2", 1.0, "other", 2.5) == "duplicate"
    assert model.tell("2", 0.5, None, 2.5) == "conflict"
    assert model.tell("2", 1.5, None, 2.5) == 422
    assert work(model, 3.0) == 1
    assert model.tell("1", 1.0, None, 10.0) == "late"  # at 10 the window of 0 to 10 is over
    assert work(model, 10.0) == 1
    assert model.tell("2", 0.5, None, 20.0) == "conflict"
    assert closed(model) == {"1": ("defaulted", 0.25, (3, 0)), "2": ("rewarded", 1.0, (2, 0))}
    told = [("observe", "b", 1.0, 0.5, None, 1), ("observe", "a", 0.25, 0.5, None, 1)]
    assert [event for _, event in model.experiments["x"].story] == told
    assert [one.status for one in model.refused] == ["duplicate", "conflict", "late", "conflict"]
    assert work(model, 30.0) == 0


def test_rewards_are_applied_as_they_were_received_a_few_at_a_time() -> None:
    model = opened(most=2)
    for name in "123":
        decide(model, name, 0.0)
    for name, now in (("3", 1.0), ("1", 2.0), ("2", 2.0)):
        model.tell(name, 0.0, None, now)
    work(model, 3.0)
    assert closed(model)["2"] == (None, None, None)
    work(model, 3.0)
    assert [closed(model)[name][2] for name in "312"] == [(2, 0), (2, 1), (3, 0)]


def test_a_pile_up_has_versions_without_news() -> None:
    """m is the open decisions plus one, as a power of two, of the 200 ms that a reward took at most."""
    model = opened()
    gates = Gates(tidied=0.0)

    def work_on(now: float) -> int:
        nonlocal gates
        *before, gates = model.work(gates, now)
        return len(before)

    for number in range(20):
        decide(model, str(number), 0.1 * number)
    assert work_on(2.0) == 1  # 16
    assert work_on(2.2) == 0 and work_on(2.3) == 0
    for number in range(20, 40):
        decide(model, str(number), 2.3)
    assert work_on(2.6) == 1  # 32
    model.tell("39", 1.0, None, 2.7)  # a delay of 400 ms, of which 430 is the class's end
    assert work_on(2.7) == 1
    versions = model.experiments["x"].versions
    assert [(one.kind, one.m) for one in versions] == [("opened", 1), ("planned", 16), ("planned", 32), ("rewards", 16)]
    assert model.experiments["x"].delays.reach == 430
    assert [event[-1] for _, event in model.experiments["x"].story] == [16]  # the m that it was drawn with


def test_rewards_that_come_early() -> None:
    model = opened(aggregation="sum", high=5.0)
    assert [model.tell("1", 1.0, name, 0.0) for name in ("p", "p", "q")] == [
        "pending_decision",
        "duplicate",
        "pending_decision",
    ]
    assert decide(model, "1", 1.0, decision_id="1") is None
    assert work(model, 2.0) == 1 and not model.early
    assert model.tell("1", 2.5, None, 3.0) == "accepted"
    assert work(model, 11.0) == 1
    assert closed(model)["1"] == ("rewarded", 4.5, (2, 0))
    assert {one.experiment for one in model.refused} == {"x"}


def test_rewards_that_are_never_claimed() -> None:
    model = opened()
    model.tell("1", 1.0, None, 0.0)
    assert work(model, 3599.0) == 1 and model.early
    assert work(model, 3600.0) == 1 and not model.early
    assert [one.status for one in model.refused] == ["orphan"]


@pytest.mark.parametrize(
    "aggregation, expected", [("last", 0.5), ("sum", None), ("mean", 0.625), ("min", 0.5), ("max", 0.75)]
)
def test_several_made_into_one(aggregation: str, expected: float | None) -> None:
    model = opened(aggregation=aggregation)
    decide(model, "1", 0.0)
    model.tell("1", 0.75, "q", 1.0)
    model.tell("1", 0.5, "p", 2.0)
    work(model, 10.0)
    if expected is None:  # 1.25 is out of range
        assert closed(model)["1"] == ("defaulted", 0.25, (2, 0)) and model.refused[0].value == 1.25
    else:
        assert closed(model)["1"] == ("rewarded", expected, (2, 0))


def test_arms() -> None:
    model = opened()
    assert model.set_arm("x", "c", Arm("pending")) is None
    assert model.set_arm("x", "c", Arm("paused")) == 409
    assert model.set_arm("x", "c", Arm("active", floor=0.6)) is None
    assert model.set_arm("x", "a", Arm("active", floor=0.5)) == 422
    assert model.set_arm("x", "a", Arm("active", floor=0.2, cap=0.1)) == 422
    assert model.set_arm("x", "a", Arm("retired")) is None
    assert model.set_arm("x", "a", Arm("active")) == 409
    assert model.set_arm("x", "b", Arm("retired")) is None
    assert model.set_arm("x", "c", Arm("retired")) == 409  # the last
    assert [event for _, event in model.experiments["x"].story] == [("add", "c"), ("retire", "a"), ("retire", "b")]


def test_answers_that_may_not_be_given() -> None:
    model = opened()
    good = Answer("1", "a", 0.5, {"a": 0.5, "b": 0.5}, 1, "learn", "split", 10.0, b"raw")

    def verdict(ask: Ask, answer: Answer | int | None) -> str | None:
        return service_decisions.decide(model, ask, 0.0, answer, [1])

    plain = Ask("x", None)
    for wrong in (
        {"arm": "c"},
        {"propensity": 0.4},
        {"probabilities": {"a": 0.5}},
        {"probabilities": {"a": 0.6, "b": 0.5}},
        {"version": 2},
        {"stream": "holdout"},
        {"reason": "sticky"},
        {"expires_at": 11.0},
    ):
        assert verdict(plain, Answer(**{**vars(good), **wrong})) is not None, wrong
    assert verdict(plain, 409) is not None and verdict(Ask("y", None), good) is not None
    assert verdict(Ask("y", None), 404) is None
    keyed = Ask("x", "body", idempotency_key="k", decision_id="1")
    assert verdict(keyed, good) is None and verdict(keyed, good) is None
    assert verdict(keyed, Answer(**{**vars(good), "raw": b"other"})) is not None
    assert verdict(Ask("x", "other", idempotency_key="k"), 409) is None
    assert verdict(Ask("x", None, decision_id="1"), 409) is None
    assert verdict(Ask("x", None, allowed=("z",)), 422) is None


def test_a_unit_keeps_its_decision() -> None:
    model = opened()
    ask = Ask("x", None, unit="u", sticky=True)
    first = Answer("1", "a", 0.5, {"a": 0.5, "b": 0.5}, 1, "learn", "split", 10.0, b"")
    again, other = Answer(**{**vars(first), "reason": "sticky"}), Answer(**{**vars(first), "decision_id": "2"})
    assert service_decisions.decide(model, ask, 0.0, first, [1]) is None
    assert service_decisions.decide(model, ask, 5.0, again, [1]) is None
    assert service_decisions.decide(model, ask, 5.0, other, [1]) is not None
    late = Answer(**{**vars(first), "decision_id": "2", "expires_at": 20.0})
    assert service_decisions.decide(model, ask, 10.0, again, [1]) is not None
    assert service_decisions.decide(model, ask, 10.0, late, [1]) is None


def test_buckets_by_hand() -> None:
    """Two decisions of an arm in one cell: rewarded with 0.5 at propensity 0.25, and expired."""
    rows = [(1, 305.0, "a", "learn", "rewarded", 0.5, 0.25), (1, 307.0, "a", "learn", "expired", None, 0.5)]
    cells = buckets.recomputed(rows)
    assert set(cells) == {(1, width, start, "a", "learn") for width, start in ((10, 300), (300, 300), (10_800, 0))}
    assert cells[1, 300, 300, "a", "learn"] == (2, 1, 0, 1, 0.5, 0.25, 4.0, 16.0, 2.0, 8.0, 4.0)


def test_what_closed_long_ago_is_pruned() -> None:
    model = opened(keep_days=100.0 / 86_400.0)
    old, new = ("019f0000-0000-7000-8000-000000000001", "019f0000-0000-7000-8000-000000000002")
    at = int("019f00000000", 16) / 1000.0
    for name, when in ((old, at), ("own", at + 1.0), (new, at + 50.0)):
        decide(model, name, when)
        model.tell(name, 1.0, None, when)
        work(model, when + 1.0)
    assert work(model, at + 101.0) == 1 and set(model.decisions) == {"own", new}
    assert work(model, at + 102.0) == 1 and set(model.decisions) == {new}
    assert work(model, at + 103.0) == 0
    kinds = [version.kind for version in model.experiments["x"].versions]
    assert kinds == ["opened", "rewards", "rewards", "rewards", "checkpoint"]  # one is enough for both
    assert [model.tell(name, 1.0, None, at + 103.0) for name in (old, "own", new)] == [
        "late",
        "pending_decision",
        "duplicate",
    ]


def test_versions_are_thinned() -> None:
    model = opened(keep_days=100.0 / 86_400.0)
    for number in range(8):
        decide(model, f"d{number}", float(number))
        model.tell(f"d{number}", 1.0, None, float(number))
        work(model, float(number))
    work(model, 200.0)
    model.thin("x", 200.0, 2)
    assert model.experiments["x"].thinned == set()  # younger than a day
    model.thin("x", 90_000.0, 2)
    experiment = model.experiments["x"]
    assert experiment.checkpoint == 10 and experiment.thinned == {2, 3, 5, 6, 7}
    assert [experiment.at(number).n_learned for number in (4, 8, 9)] == [3, 4, 1]


def test_a_unit_is_erased() -> None:
    model = opened()
    ask = Ask("x", None, unit="u", sticky=True, idempotency_key="k")
    first = Answer("1", "a", 0.5, {"a": 0.5, "b": 0.5}, 1, "learn", "split", 10.0, b"")
    assert service_decisions.decide(model, ask, 0.0, first, [1]) is None
    assert (model.erase("v", None), model.erase("u", "y"), model.erase("u", "x")) == (0, 0, 1)
    assert model.decisions["1"].unit is None and not model.sticky and not model.keys
