"""What every learner compiles for asking and telling is found on disk again by the next process."""

from __future__ import annotations

import pytest

from tests.architecture.test_start_up import run
from turncoat import _jit

# Round by round a learner runs in closures over the class of its state. How often each came from disk, or did not.
ROUNDS = """
from turncoat.learners import LEARNERS
for make in LEARNERS.values():
    learner = make(3, 1000, seed=1)
    decision = learner.ask()
    learner.tell(decision, [0.5] * 3 if learner.sees_all else 0.5)
    if decision.propensity is not None:
        learner.probabilities()
    for kernel in (learner._ask, learner._tell, learner._probabilities)[: 2 if decision.propensity is None else 3]:
        print(kernel.py_func.__qualname__, len(kernel.stats.cache_hits), len(kernel.stats.cache_misses))
"""


@pytest.mark.skipif(_jit.CACHE is None, reason="there is no folder to keep kernels in")
@pytest.mark.timeout(900)  # where nothing is on disk yet it compiles all learners
def test_the_rounds_of_every_learner_come_from_disk() -> None:
    home = str(_jit.cache_home())
    run(ROUNDS, NUMBA_CACHE_DIR=home, limit=800.0)
    lines = run(ROUNDS, NUMBA_CACHE_DIR=home)
    names, hits, misses = zip(*(line.rsplit(maxsplit=2) for line in lines), strict=True)
    assert {*hits} == {"1"} and {*misses} == {"0"}
    assert len({*names}) == len(names) >= 18  # it names the index on disk: with one for all, two processes mix them up
