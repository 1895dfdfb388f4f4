"""Compiles what the service runs, before it says that it is ready: the first time it takes half a minute."""

from __future__ import annotations

import logging
import time

from turncoat.learners import Turncoat

log = logging.getLogger("turncoat.warm")


def warm_up() -> float:
    """Do once, with a learner that is thrown away, all that a learner is ever asked for; the seconds it took."""
    start = time.monotonic()
    learner = Turncoat(["one", "two", "three"], seed=0)
    learner.probabilities(allowed=["one", "two", "three"])
    learner.probabilities(allowed=["one", "two"])
    learner.observe(0, 0.5, 0.5)
    learner.observe(0, 0.5, 0.5, allowed=[0, 1])
    learner.add_arm("four")
    learner.retire_arm("two")
    learner.observe(1, 0.5, 0.5)
    learner.probabilities(allowed=["one", "four"])
    learner.explain()
    took = time.monotonic() - start
    log.info("kernels are ready after %.1f s", took)
    return took
