"""The oracle of delays, on cases worked by hand."""

from __future__ import annotations

import pytest

from tests.naive.delays import Delays, Waiting, class_of, end_of


@pytest.mark.jit_off
def test_classes_of_delays() -> None:
    assert [class_of(delay) for delay in (1, 2, 3, 4, 5, 100, 2**24, 2**40)] == [0, 4, 7, 8, 10, 27, 96, 159]
    assert class_of(10**30) == 159
    assert [end_of(j) for j in (0, 4, 5, 7, 27, 159)] == [1, 2, 2, 3, 107, None]


@pytest.mark.jit_off
def test_the_reach() -> None:
    delays = Delays()
    for _ in range(50):
        delays.add(1)
        assert delays.reach == 1
    delays.add(100)
    assert delays.reach == 1  # 1 of 51
    delays.add(100)
    assert delays.reach == 107  # 2 of 52
    for _ in range(1024 - 52):
        assert delays.reach == 107
        delays.add(1)
    assert delays.reach == 1 and delays.counts[0] == 511 and delays.counts[27] == 1


@pytest.mark.jit_off
def test_waiting() -> None:
    waiting = Waiting()
    for m in (1, 2, 2, 4, 4):
        assert waiting.m() == m
        waiting.ask()
    waiting.tell(3)  # a delay of 2: the newest decision is waited for, being younger, and no other
    assert (waiting.delays.reach, waiting.m()) == (2, 2)
    waiting.ask()
    assert waiting.m() == 2
    waiting.tell(0)  # a delay of 6: 1 of 2 above the reach
    assert (waiting.delays.reach, waiting.m()) == (6, 4)  # 1, 2, 4 and 5, and the next
    waiting.forget(5)
    assert waiting.m() == 4
    waiting.forget(1)
    assert waiting.m() == 2
