"""Precompilation: all kernels that the service runs are compiled before it listens. The first time takes half a minute.

Later starts find the kernels in the cache on the disk. Loading them, and numba, takes a second, in the background.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock

from turncoat._compile.cache import CACHE, PACKAGE
from turncoat.service.experiments.snapshot_cache import machine, new_learner

LOCK = "service.lock"
LOAD_DELAY = 0.2  # seconds to start serving in, before loading competes for the processor

log = logging.getLogger("turncoat.precompile")


def load_kernels() -> threading.Event:
    """Compile now, or, if all is compiled, load in a background thread. The event is set once that is done."""
    loaded = threading.Event()
    if is_compiled():
        loading = threading.Timer(LOAD_DELAY, _load, [loaded])
        loading.name, loading.daemon = "turncoat-precompile", True
        loading.start()
    else:
        precompile()
        loaded.set()
    return loaded


def _load(loaded: threading.Event) -> None:
    try:
        precompile()
    except Exception:
        log.exception("learners could not be loaded")
    finally:  # set after a failure too: requests that need a learner then fail and do not wait for ever
        loaded.set()


def is_compiled() -> bool:
    """Whether all kernels are in the cache on the disk."""
    return CACHE is not None and (CACHE / marker_name()).exists()


def marker_name() -> str:
    """The name of the marker file: one per copy of the package, Python, set of libraries and processor."""
    identity = f"{PACKAGE} {sys.version} {machine()}"
    return f"service-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.ready"


def precompile() -> None:
    """Compile all that a learner can be asked, as `tc.compile` does."""
    start = time.monotonic()
    with _compile_lock():
        from turncoat.learners.compile_methods import compile_methods

        compile_methods(new_learner(["one", "two", "three"], seed=0))
    gc.freeze()  # these objects stay for ever: without this each full collection would take a tenth of a second
    log.info("kernels are ready after %.1f s", time.monotonic() - start)


@contextmanager
def _compile_lock() -> Iterator[None]:
    """File lock: one process compiles, the others wait and then find the kernels in the cache.

    Once the marker exists, no lock is taken. (Lock and marker lie with the kernels of this version.)
    """
    if CACHE is None or is_compiled():
        yield
        return
    with FileLock(CACHE / LOCK):
        yield
        from turncoat._compile.kernel_files import not_kept

        if not not_kept:
            (CACHE / marker_name()).touch()
