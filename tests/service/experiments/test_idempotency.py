"""Asked twice under one key: one decision, the same bytes; another body is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.service.experiments.lab import WINDOW, Lab, uuid
from turncoat.service import messages
from turncoat.service.errors import Conflicting, Unprocessable
from turncoat.service.messages import Decide

DAY = 86_400.0


def n_decisions(lab: Lab) -> int:
    return int(lab.rows("SELECT COUNT(*) FROM decision")[0][0])


def test_the_same_answer_byte_for_byte(labs: Lab) -> None:
    labs.open(arms=[messages.NamedArm(arm="a", payload={"z": [1, 2.5, None], "ä": "é"}), "b"], control=None)
    ask: dict[str, Any] = {"unit_id": "u", "context": {"k": 0.1}, "allowed_arms": ["a"]}
    first = labs.engine.decide("x", idempotency_key="k", **ask)
    labs.work(3.25)
    labs.engine.reward(str(first.decision_id), 1.0)
    labs.work()
    for engine in (labs.engine, labs.restart()):
        again = engine.decide("x", idempotency_key="k", **ask)
        assert msgspec.json.encode(again) == msgspec.json.encode(first)
    assert n_decisions(labs) == 1


def stop(lab: Lab) -> None:
    lab.engine.change("x", messages.ExperimentChange(state="stopped"))


def pause_all(lab: Lab) -> None:
    lab.pause("a")
    lab.pause("b")


def end(lab: Lab) -> None:
    lab.work(WINDOW + 1.0)


@pytest.mark.parametrize("meanwhile", [stop, pause_all, end])
def test_whatever_happened_in_between(labs: Lab, meanwhile: Callable[[Lab], None]) -> None:
    """A caller that saw an error tries again. It was told 409 once the experiment was stopped, or its arms paused."""
    labs.open()
    first = labs.engine.decide("x", allowed_arms=["a"], idempotency_key="k")
    meanwhile(labs)
    assert labs.engine.decide("x", allowed_arms=["a"], idempotency_key="k") == first
    assert n_decisions(labs) == 1


def test_another_body_is_refused(labs: Lab) -> None:
    labs.open()
    labs.engine.decide("x", unit_id="u", idempotency_key="k")
    before = labs.everything()
    others: list[dict[str, Any]] = [{"unit_id": "v"}, {"unit_id": "u", "sticky": True}, {}, {"context": {}}]
    for other in others:
        with pytest.raises(Conflicting, match="'k' was used before with another body") as refused:
            labs.engine.decide("x", idempotency_key="k", **other)
        assert refused.value.field == "Idempotency-Key"
    assert labs.everything() == before


def test_a_key_belongs_to_one_experiment(labs: Lab) -> None:
    labs.open()
    labs.open("y")
    one, other = (labs.engine.decide(key, idempotency_key="k") for key in ("x", "y"))
    assert one.decision_id != other.decision_id


def test_in_one_batch(labs: Lab) -> None:
    labs.open()
    same, other = messages.Ask(unit_id="u"), messages.Ask(unit_id="v")
    answers = labs.engine.serve([Decide("x", ask, "k") for ask in (same, same, other)])
    assert answers[0] == answers[1] and isinstance(answers[2], Conflicting)
    assert n_decisions(labs) == 1


def test_what_was_refused_may_be_granted_later(labs: Lab) -> None:
    labs.open()
    pause_all(labs)
    with pytest.raises(Conflicting, match="no arm is active"):
        labs.engine.decide("x", idempotency_key="k")
    labs.resume("a")
    assert labs.engine.decide("x", idempotency_key="k").arm == "a"


def test_a_used_decision_id_is_not_remembered_under_the_key(labs: Lab) -> None:
    labs.open()
    labs.engine.decide("x", decision_id=uuid(1))
    with pytest.raises(Conflicting, match="was used before; accepted is a new one"):
        labs.engine.decide("x", decision_id=uuid(1), idempotency_key="k")
    assert labs.rows("SELECT * FROM idempotency") == []


def test_keys_are_kept_for_a_day(labs: Lab) -> None:
    labs.open()
    first = labs.engine.decide("x", idempotency_key="k")
    labs.work(DAY - 2.0)
    assert labs.engine.decide("x", idempotency_key="k") == first
    labs.work(61.0)
    assert labs.engine.decide("x", idempotency_key="k") != first


@pytest.mark.parametrize("key", ["", "x" * 256, "a\nb", "\x00", "\ud800"])
def test_keys_that_are_not_accepted(lab: Lab, key: str) -> None:
    lab.open()
    before = lab.everything()
    with pytest.raises(Unprocessable, match="accepted are 1 to 255 printable"):
        lab.engine.decide("x", idempotency_key=key)
    assert lab.everything() == before


def test_keys_that_are(labs: Lab) -> None:
    labs.open()
    for key in ("k", "x" * 255, "é ' \" %s :name ; --", "键"):
        assert labs.engine.decide("x", idempotency_key=key) == labs.engine.decide("x", idempotency_key=key)


def test_they_are_found_by_an_index(lab: Lab) -> None:
    """The key of the table began with the experiment, which the question leaves out: every key was looked at."""
    from turncoat.service.experiments.record import HELD, REPEATED
    from turncoat.service.store.sqlite import _bound

    for sql, word in ((REPEATED, "keys"), (HELD, "units")):
        text, values = _bound(sql, {word: ["a"]})
        plan = " ".join(row[3] for row in lab.rows("EXPLAIN QUERY PLAN " + text, **values))
        assert "SCAN idempotency" not in plan and "SCAN s" not in plan, plan
