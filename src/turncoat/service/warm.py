"""Compiles what the service runs, before it says that it is ready: the first time it takes half a minute."""

from __future__ import annotations

import fcntl
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from turncoat._jit import CACHE
from turncoat.learners import Turncoat

LOCK, READY = "service.lock", "service.ready"

log = logging.getLogger("turncoat.warm")


def warm_up() -> float:
    """Do once, with a learner that is thrown away, all that a learner is ever asked for; the seconds it took."""
    start = time.monotonic()
    with _one_at_a_time():
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


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Processes that compile the same kernel at once would spoil its cache: the others wait, and find it there.

    Once somebody has compiled all of it, nobody waits any more. (Lock and mark lie with the kernels of this version.)
    """
    if CACHE is None or (CACHE / READY).exists():
        yield
        return
    with (CACHE / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        (CACHE / READY).touch()
