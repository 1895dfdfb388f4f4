"""Progress of compiling: one line on stderr once a process has compiled for a second, and a count of the kernels.

The line goes through the logger "turncoat.compile", so a program can silence it or send it elsewhere:

    logging.getLogger("turncoat.compile").setLevel(logging.ERROR)
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turncoat._compile.cache import CACHE

PATIENCE = 1.0  # seconds
TEXT = "turncoat: compiling for the first use; this takes some seconds, and the next process finds it on disk"
NOT_KEPT = (
    "turncoat: compiling for the first use; this takes some seconds, in every process: no cache folder is writable"
)

log = logging.getLogger("turncoat.compile")


class _Compiling:
    """Counts the kernels that are being compiled, one inside the other, and speaks once per process."""

    def __init__(self) -> None:
        self.n_compiled = 0  # kernels of this process that were not found on disk
        self.seconds = 0.0
        self.depth = 0
        self.said = False
        self.quiet = False
        self.timer: threading.Timer | None = None

    def watch(self, compiler: Any) -> None:
        """Have a kernel's compiler (numba's object, one per kernel) tell when it begins and when it ends."""
        inner = getattr(compiler, "compile", None)
        if inner is None:  # another numba: then nothing is said
            return

        def compile_watched(*arguments: Any) -> Any:
            with self.one_kernel():
                return inner(*arguments)

        compiler.compile = compile_watched

    @contextmanager
    def one_kernel(self) -> Iterator[None]:
        """While a kernel is compiled. (numba compiles in one thread at a time.) An error or Ctrl-C ends it too.

        The garbage collector is paused: looking through what a compiler makes took a twentieth of the time.
        """
        self.depth += 1
        began, collecting = time.perf_counter(), gc.isenabled()
        try:
            gc.disable()
            if self.depth == 1 and not self.said and not self.quiet:
                self.timer = threading.Timer(max(PATIENCE - self.seconds, 0.0), self._say)
                self.timer.daemon = True
                self.timer.start()
            yield
            self.n_compiled += 1
        finally:
            self.depth -= 1
            if collecting:
                gc.enable()
            if self.depth == 0:
                self.seconds += time.perf_counter() - began
            if self.depth == 0 and self.timer is not None:
                self.timer.cancel()
                self.timer = None

    def _say(self) -> None:
        if not self.said and not self.quiet:
            self.said = True
            log.warning(TEXT if CACHE else NOT_KEPT)

    @contextmanager
    def unannounced(self) -> Iterator[None]:
        """While a caller shows progress of its own."""
        before, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = before


compiling = _Compiling()
