"""A million decisions may wait: a learner keeps their ids alone, and asking and telling take the same steps."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import turncoat as tc
from tests.contract.makers import Maker, everyone, tell

MANY = 1_000_000


def steps(act: Callable[[], Any]) -> list[str]:
    """Every Python line run and every compiled or C function called."""
    seen: list[str] = []

    def on_call(frame: FrameType, event: str, called: Any) -> None:
        seen.append(f"{event} {getattr(called, '__qualname__', frame.f_code.co_qualname)}")

    def on_line(frame: FrameType, event: str, _: Any) -> Any:
        seen.append(f"{event} {frame.f_code.co_qualname} {frame.f_lineno}")
        return on_line

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(on_line)
    sys.setprofile(on_call)
    try:
        act()
    finally:
        sys.setprofile(before[1])
        sys.settrace(before[0])
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("make", [tc.Uniform, pytest.param(tc.AdaptiveMasterBase, marks=pytest.mark.exhaustive)])
def test_a_million_outstanding_decisions_cost_under_100_megabytes(make: Maker) -> None:
    learner = make(3, 10**6, seed=1)
    tell(learner, learner.ask(), loss=0.5)  # compiles
    tracemalloc.start()
    try:
        for _ in range(MANY):
            learner.ask()
        taken, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert learner.n_outstanding == MANY
    assert taken < 100e6
    assert peak < 150e6  # a set that grows is copied
    assert taken > 10e6  # else nothing was measured


@everyone
def test_asking_and_telling_take_the_same_steps_however_many_wait(make: Maker) -> None:
    """No time is measured. Line by line and call by call the work is the same, and what is called works on one id."""
    learner = make(3, 10**6, seed=1)

    def one_round() -> None:
        tell(learner, learner.ask(), loss=0.5)

    one_round()
    alone = steps(one_round)
    waiting = [learner.ask() for _ in range(5000)]
    crowded = steps(one_round)
    assert crowded == alone
    assert any(step.startswith("line ") and "Learner.tell" in step for step in alone)
    called = {step.split()[1] for step in alone if step.startswith("c_call") and "set." in step}
    assert called == {"set.add", "set.discard"}
    assert type(learner._outstanding) is set  # whose `in` looks at one place
    for decision in waiting[::-1]:
        learner.forget(decision)
    assert learner.n_outstanding == 0
