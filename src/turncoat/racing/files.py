"""Records as files: a NamedTuple of arrays and numbers in one .npz, written whole or not at all, with a checksum."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

TEMPORARY = ".tmp"
CHECKSUM = "sha256"

Record = TypeVar("Record", bound=tuple[Any, ...])


def checksum(key: str, arrays: dict[str, NDArray[Any]]) -> str:
    """A hash of the key and of all arrays: their names, types, shapes and bytes."""
    digest = hashlib.sha256(key.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"|{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_record(file: Path, key: str, record: Any) -> None:
    """Write a NamedTuple of arrays and numbers."""
    arrays = {name: np.asarray(value) for name, value in record._asdict().items()}
    write_whole(file, packed({**arrays, CHECKSUM: np.array(checksum(key, arrays))}))


class _Archive(zipfile.ZipFile):
    """A zip file in memory. Dropped half made it is not closed, for closing would fail, and complain."""

    def __del__(self) -> None:
        pass


def packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    """The bytes that `np.savez_compressed` writes. Interrupted, that closes its file, which fails and hides Ctrl-C."""
    room = io.BytesIO()
    archive = _Archive(room, "w", zipfile.ZIP_DEFLATED)
    for name, array in arrays.items():
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, array, allow_pickle=False)
    archive.close()
    return room.getvalue()


def load_record(kind: type[Record], file: Path, key: str) -> Record | None:
    """The record in a file; None if there is no such file, or if it is damaged or another one's."""
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        if str(arrays.pop(CHECKSUM)) != checksum(key, arrays):
            return None
        values = {name: array if array.ndim else array.item() for name, array in arrays.items()}
        return kind(**values)
    except Exception:  # damage can make the readers of zip files and arrays fail in any way
        return None


def write_whole(file: Path, content: bytes) -> None:
    """Put the content under this name in one step, and on the disk: a reader sees all of it or what was there before.

    Nothing is left behind if that fails.
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
    """Make the new name itself last; where folders cannot be opened there is nothing to do."""
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
