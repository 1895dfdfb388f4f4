"""Ctrl-C is heard in the moment in which compiled code gives something to Python."""

from __future__ import annotations

import pytest

from tests.architecture.test_start_up import run

LOOK = """
import random, signal, turncoat

learner = {maker}
learner.view()
signal.signal(signal.SIGALRM, signal.default_int_handler)
heard, pause = 0, random.Random(1)
while heard < 2000:
    try:
        signal.setitimer(signal.ITIMER_REAL, pause.uniform(1e-6, 2e-4))
        while True:
            learner.view()
    except KeyboardInterrupt:
        heard += 1
print(heard)
"""


@pytest.mark.parametrize("maker", ["turncoat.Exp3(5)", "turncoat.MasterBase(5, 1000)"])  # of arrays; of tuples of them
def test_ctrl_c_where_python_is_given_named_tuples(maker: str) -> None:
    """With numba's own code for it a race now and then crashed on Ctrl-C. This died of the third at the latest."""
    assert run(LOOK.format(maker=maker)) == ["2000"]
