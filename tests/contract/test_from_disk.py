"""What every learner compiles for asking and telling is found on disk again by the next process."""

from __future__ import annotations

import pytest

from tests.architecture.test_start_up import run
from turncoat._compile import cache

pytestmark = pytest.mark.slow

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


# A band's kinds are a class that is made at run time. Played, so that the loop is compiled for its types too.
MIXED = """
import numpy as np
import turncoat as tc
learner = tc.Band(2, 50, bases=["exp3", "ucb1"], seed=1)
learner.tell(learner.ask(), 0.5)
tc.play(learner, np.ones((10, 2)))
for kernel in (learner._ask, learner._tell):
    print(len(kernel.stats.cache_hits), len(kernel.stats.cache_misses))
"""
OTHER = """
import numpy as np
import turncoat as tc
print(tc.play(tc.Corral(2, 50, seed=1), np.ones((10, 2))).size)
print(tc.play(tc.Uniform(2, seed=1), np.ones((10, 2))).size)
"""


@pytest.mark.skipif(cache.CACHE is None, reason="there is no folder to keep kernels in")
@pytest.mark.timeout(900)  # where nothing is on disk yet it compiles all learners
def test_the_rounds_of_every_learner_come_from_disk() -> None:
    home = str(cache.cache_home())
    lines = run(ROUNDS, NUMBA_CACHE_DIR=home, limit=800.0)
    if not all(line.endswith(" 1 0") for line in lines):  # no earlier process had compiled all of them
        lines = run(ROUNDS, NUMBA_CACHE_DIR=home)
    names, hits, misses = zip(*(line.rsplit(maxsplit=2) for line in lines), strict=True)
    assert {*hits} == {"1"} and {*misses} == {"0"}
    assert len({*names}) == len(names) >= 18


@pytest.mark.skipif(cache.CACHE is None, reason="there is no folder to keep kernels in")
def test_kinds_of_bases_come_from_disk_and_are_no_stumbling_block_to_others() -> None:
    """A signature with such a class once went into an index: every process that had not made the class died of it."""
    home = str(cache.cache_home())
    if run(MIXED, NUMBA_CACHE_DIR=home) != ["1 0", "1 0"]:  # no earlier process had compiled it
        assert run(MIXED, NUMBA_CACHE_DIR=home) == ["1 0", "1 0"]
    assert run(OTHER, NUMBA_CACHE_DIR=home) == ["10", "10"]
