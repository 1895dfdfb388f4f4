"""Compiles what the service runs, before it says that it is ready: the first time it takes half a minute.

Later starts find it on the disk. To load it, and the compiler, takes a second, for which nobody should have to wait.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from turncoat._compile.cache import CACHE, PACKAGE
from turncoat.service.experiments.snapshot_cache import machine, newborn

LOCK = "service.lock"
A_MOMENT = 0.2  # seconds to begin to serve in, before loading takes its share of the processor

log = logging.getLogger("turncoat.warm")


def get_warm() -> threading.Event:
    """Compile now; or, if that was done before, load beside everything else. The event is set when that is over."""
    warm = threading.Event()
    if is_compiled():
        loading = threading.Timer(A_MOMENT, _load, [warm])
        loading.name, loading.daemon = "turncoat-warm", True
        loading.start()
    else:
        warm_up()
        warm.set()
    return warm


def _load(warm: threading.Event) -> None:
    try:
        warm_up()
    except Exception:
        log.exception("learners could not be loaded")
    finally:  # whoever needs a learner then meets the failure, and does not wait for ever
        warm.set()


def is_compiled() -> bool:
    """Whether all of it is on the disk."""
    return CACHE is not None and (CACHE / mark()).exists()


def mark() -> str:
    """The name of the file that says so: one for each copy of the package, Python, set of libraries and processor."""
    words = f"{PACKAGE} {sys.version} {machine()}"
    return f"service-{hashlib.sha256(words.encode()).hexdigest()[:16]}.ready"


def warm_up() -> None:
    """Do once, with a learner that is thrown away, all that a learner is ever asked for."""
    start = time.monotonic()
    with _one_at_a_time():
        learner = newborn(["one", "two", "three"], seed=0)
        learner.probabilities(allowed=["one", "two", "three"])
        learner.probabilities(allowed=["one", "two"])
        learner.observe(0, 0.5, 0.5)
        learner.observe(0, 0.5, 0.5, allowed=[0, 1])
        learner.add_arm("four")
        learner.retire_arm("two")
        learner.observe(1, 0.5, 0.5)
        learner.probabilities(allowed=["one", "four"])
        learner.explain()
    gc.freeze()  # what is here stays: to look through it for garbage takes a tenth of a second each time
    log.info("kernels are ready after %.1f s", time.monotonic() - start)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """What one process compiles the others need not compile too: they wait, and find it there.

    Once somebody has compiled all of it, nobody waits any more. (Lock and mark lie with the kernels of this version.)
    """
    if CACHE is None or is_compiled():
        yield
        return
    with (CACHE / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        from turncoat._compile.kernel_files import not_kept

        if not not_kept:
            (CACHE / mark()).touch()
