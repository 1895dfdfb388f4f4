"""`turncoat compile`: compile ahead, one line per learner with the seconds it took."""

from __future__ import annotations

import time

from turncoat._compile.cache import CACHE, cache_home
from turncoat._compile.progress import compiling
from turncoat.cli.console import counted, screen
from turncoat.errors import OptionError
from turncoat.learners.entries import ENTRIES
from turncoat.learners.registry import LEARNERS
from turncoat.optional_imports import require
from turncoat.simulate import compile as compile_all


def run_compile(learners: tuple[str, ...], environments: tuple[str, ...], *, service: bool = False) -> None:
    """Compile, and say what and where it is."""
    if CACHE is None:
        raise OptionError(
            f"nothing can be kept in {str(cache_home())!r}: accepted is a folder that can be written (NUMBA_CACHE_DIR)"
        )
    began, console = time.perf_counter(), screen()
    if service:
        compile_service()
        console.print(f"{'what turncoat serve runs':<32}{time.perf_counter() - began:7.1f} s", soft_wrap=True)
        if not learners:
            return
    names = list(dict.fromkeys([*LEARNERS, *ENTRIES] if "all" in learners else learners))
    compile_all(
        *names,
        environments=environments or None,
        on_compile=lambda name, seconds: console.print(f"{name:<32}{seconds:7.1f} s", soft_wrap=True),
    )
    kernels = counted(compiling.n_compiled, "kernel")
    console.print(f"compiled {kernels} in {time.perf_counter() - began:.1f} s, kept in {CACHE}", soft_wrap=True)


def compile_service() -> None:
    """Compile what the decision service runs; the mark it leaves says that nothing is left to compile at its start."""
    require("filelock", "turncoat compile --service", "serve")
    from turncoat.service.precompile import is_compiled, precompile

    precompile()
    if not is_compiled():
        raise OptionError(f"some kernels could not be kept in {str(CACHE)!r}; accepted is a folder with room for them")
