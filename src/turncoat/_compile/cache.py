"""The folder of the kernel cache. Light to import: it needs no compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
WITHOUT_KERNELS = ("cli", "report", "service")  # they show, and serve: a change there leaves kernels as they are
UNUSED_SECONDS = 30 * 24 * 3600


def source_hash() -> str:
    """A hash of every source file that may hold a kernel or decide a result: the name of the kernel cache."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.relative_to(PACKAGE).parts[0] in WITHOUT_KERNELS:
            continue
        digest.update(str(file.relative_to(PACKAGE)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_home() -> Path:
    """Where compiled kernels are kept: NUMBA_CACHE_DIR if set, else the user's cache folder."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turncoat"


def writable_cache() -> Path | None:
    """This version's cache folder, made if need be; None where nothing can be written."""
    try:
        folder = cache_home() / f"turncoat-{source_hash()}"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: there is no home at all
        return None
    sweep(folder.parent)
    return folder


def sweep(home: Path) -> None:
    """Remove the caches of other versions that have not been used for long."""
    with suppress(OSError):  # another process may be sweeping too
        for folder in home.glob("turncoat-" + 16 * "[0-9a-f]"):
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


CACHE = writable_cache()
