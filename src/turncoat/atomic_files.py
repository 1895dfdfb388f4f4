"""Atomic writes: a file appears under its name complete and flushed to the disk, or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

TEMPORARY = ".tmp"


def write_whole(file: Path, content: bytes) -> None:
    """Write a temporary file, flush it, rename it: a reader sees the whole content or what was there before.

    If that fails, the temporary file is removed.
    """
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _flush_folder(file.parent)


def _flush_folder(folder: Path) -> None:
    """Flush the folder entry, where the system can open folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:  # some file systems do not offer it
        pass
    finally:
        os.close(descriptor)
