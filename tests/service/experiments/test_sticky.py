"""A unit that asks to keep its decision: the same one again, for as long as it is open and may be served."""

from __future__ import annotations

import pytest

from tests.service.experiments.lab import WINDOW, Lab, uuid
from turncoat.service import messages
from turncoat.service.errors import Conflicting, Unprocessable
from turncoat.service.messages import Decide


def ask(lab: Lab, **more: object) -> messages.Decided:
    return lab.engine.decide("x", unit_id="u", sticky=True, **more)  # type: ignore[arg-type]


def test_the_same_decision_again(labs: Lab) -> None:
    labs.open(arms=["a", "b", "c"])
    first = ask(labs)
    assert first.reason == "split"
    labs.work(10.0)
    for engine in (labs.engine, labs.restart()):
        again = engine.decide("x", unit_id="u", sticky=True)
        assert again.reason == "sticky"
        assert (again.decision_id, again.arm, again.propensity, again.expires_at, again.probabilities) == (
            first.decision_id, first.arm, first.propensity, first.expires_at, first.probabilities)  # fmt: skip
    assert labs.rows("SELECT COUNT(*) FROM decision") == [(1,)]
    assert labs.engine.decide("x", unit_id="u").decision_id != first.decision_id  # who does not ask for it
    assert labs.engine.decide("x", unit_id="v", sticky=True).decision_id != first.decision_id


@pytest.mark.parametrize("applied", [False, True])
def test_until_its_window_ends(labs: Lab, applied: bool) -> None:
    labs.open()
    first = ask(labs)
    labs.clock.move(WINDOW - 0.5)
    assert ask(labs).decision_id == first.decision_id
    labs.clock.move(0.5)
    if applied:
        labs.engine.work()
    second = ask(labs)
    assert second.decision_id != first.decision_id and second.reason == "split"
    assert ask(labs).decision_id == second.decision_id


def test_until_it_is_closed_by_its_reward(labs: Lab) -> None:
    labs.open()
    first = ask(labs)
    labs.engine.reward(str(first.decision_id), 1.0)
    labs.work()
    assert ask(labs).decision_id != first.decision_id


def test_until_its_arm_may_not_be_served(labs: Lab) -> None:
    labs.open(arms=["a", "b", "c"])
    first = ask(labs)
    others = [arm for arm in "abc" if arm != first.arm]
    second = ask(labs, allowed_arms=others)
    assert second.decision_id != first.decision_id and second.arm in others
    assert ask(labs).decision_id == second.decision_id
    labs.pause(second.arm)
    third = ask(labs)
    assert third.decision_id not in (first.decision_id, second.decision_id) and third.arm != second.arm


def test_a_deferred_one_ends_with_the_window_that_began_when_it_was_used(labs: Lab) -> None:
    """The answer that was kept said "no end", and went on being given after the window was over."""
    labs.open()
    first = ask(labs, deferred=True)
    assert first.expires_at is None
    labs.clock.move(10.0 * WINDOW)
    assert ask(labs).decision_id == first.decision_id
    record = labs.engine.activate(str(first.decision_id))
    assert ask(labs).expires_at == record.expires_at is not None
    labs.clock.move(WINDOW)
    assert ask(labs).decision_id != first.decision_id


def test_a_refused_request_lets_nothing_go(labs: Lab) -> None:
    """Its own id was used before, and the decision that the unit had was let go nevertheless."""
    labs.open(arms=["a", "b", "c"])
    labs.engine.decide("x", decision_id=uuid(1))
    first = ask(labs)
    before = labs.everything()
    with pytest.raises(Conflicting, match="was used before"):
        ask(labs, allowed_arms=[arm for arm in "abc" if arm != first.arm], decision_id=uuid(1))
    assert labs.everything() == before
    assert ask(labs).decision_id == first.decision_id


def test_the_clock_is_set_back_after_it_was_found_over(labs: Lab) -> None:
    """Looking at a decision that is over let it go, even for a request that was then refused."""
    labs.open()
    first = ask(labs)
    labs.engine.decide("x", idempotency_key="k")
    labs.clock.move(WINDOW)
    before = labs.everything()
    with pytest.raises(Conflicting, match="another body"):
        ask(labs, idempotency_key="k")
    assert labs.everything() == before
    labs.clock.move(-WINDOW)
    assert ask(labs).decision_id == first.decision_id


def test_in_one_batch(labs: Lab) -> None:
    labs.open(arms=["a", "b"])
    commands = [
        Decide("x", messages.Ask(unit_id="u", sticky=True, allowed_arms=arms)) for arms in (["a"], None, ["b"], None)
    ]
    a, again, b, after = labs.engine.serve(commands)
    assert isinstance(a, messages.Decided) and isinstance(again, messages.Decided)
    assert isinstance(b, messages.Decided) and isinstance(after, messages.Decided)
    assert again.decision_id == a.decision_id and b.decision_id != a.decision_id and after.decision_id == b.decision_id
    assert ask(labs).decision_id == b.decision_id


def test_units_are_not_kept_by_name_and_not_shared_by_experiments(labs: Lab) -> None:
    labs.open()
    labs.open("y")
    for key in ("x", "y"):
        labs.engine.decide(key, unit_id="anna@example.org", sticky=True)
    units = [row[0] for row in labs.rows("SELECT unit FROM sticky")]
    assert len(set(units)) == 2 and "anna@example.org" not in repr(labs.everything())


def test_it_ends_with_the_time_that_the_experiment_sets(labs: Lab) -> None:
    """Also a deferred one, whose window has not begun. The older decision stays open: it was used."""
    labs.open(stickiness=messages.Stickiness(keep_s=10.0))
    for deferred in (False, True):
        first = ask(labs, deferred=deferred)
        labs.clock.move(9.5)
        assert ask(labs, deferred=deferred).decision_id == first.decision_id
        labs.clock.move(0.5)
        second = ask(labs, deferred=deferred)
        assert second.decision_id != first.decision_id and second.reason == "split"
        assert labs.engine.decision(str(first.decision_id)).outcome == "open"
        labs.clock.move(10.0)
    first = ask(labs)
    labs.engine.change("x", messages.ExperimentChange(stickiness=messages.Stickiness()))
    labs.clock.move(50.0)
    assert ask(labs).decision_id == first.decision_id


@pytest.mark.parametrize("flags", [True, False])
def test_a_flag_is_sticky_unless_the_experiment_opts_out(labs: Lab, flags: bool) -> None:
    """OpenFeature cannot ask for it: twelve evaluations for one user gave two arms and twelve open decisions."""
    labs.open(stickiness=messages.Stickiness(flags=flags))
    asked = Decide("x", messages.Ask(unit_id="u"), is_flag=True)
    found = {one.decision_id for one in labs.engine.serve([asked] * 6) + labs.engine.serve([asked] * 6)}  # type: ignore[union-attr]
    assert len(found) == (1 if flags else 12)
    assert labs.rows("SELECT COUNT(*) FROM decision") == [(len(found),)]
    nobody = labs.engine.serve([Decide("x", messages.Ask(), is_flag=True)] * 2)
    assert len({one.decision_id for one in nobody}) == 2  # type: ignore[union-attr]


def test_it_needs_a_unit(lab: Lab) -> None:
    lab.open()
    with pytest.raises(Unprocessable, match="accepted is sticky with a unit_id"):
        lab.engine.decide("x", sticky=True)
