"""The store: where the results of a race are kept, in memory or in a folder.

    manifest.json        what was raced, with which versions, on what machine; where each result is
    cells/<key>.npz      one file per finished cell
    grounds/<key>.npz    one file per reference
    lock                 held while a race writes here

A file is written under another name, flushed to the disk and then renamed: after a power failure it is complete
or absent. A checksum inside covers its key and all its arrays; a file that does not fit it counts as missing.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from turncoat._compile.jit import uses_svml
from turncoat._version import __version__
from turncoat.atomic_files import TEMPORARY, write_whole
from turncoat.errors import RaceError
from turncoat.optional_imports import require
from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import At, CellAt, Facts, Names, ReferenceAt
from turncoat.racing.plan import Plan
from turncoat.racing.reference import Reference

MANIFEST = "manifest.json"
FORMAT = 1
SVML = {False: "off", True: "on: results are equal in law to those of other machines, and not to the bit"}
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


def record_file(folder: Path, at: At, key: str) -> Path:
    """Where the cell or reference of this key is kept."""
    return folder / ("cells" if isinstance(at, CellAt) else "grounds") / f"{key}.npz"


def manifest_text(plan: Plan, keys: dict[At, str]) -> str:
    """The manifest of a race as JSON."""
    content = {
        "format": FORMAT,
        "about": about(plan),
        "source": plan.source,
        "race": {**plan.names()._asdict(), "seed": plan.seed, "max_switches": plan.max_switches},
        "checkpoints": [t.tolist() for t in plan.checkpoints.values()],
        "cells": [[*at, key] for at, key in keys.items() if isinstance(at, CellAt)],
        "grounds": [[*at, key] for at, key in keys.items() if isinstance(at, ReferenceAt)],
    }
    return json.dumps({**content, "sha256": _manifest_checksum(content)}, indent=1) + "\n"


def read_manifest(folder: Path) -> tuple[Names, dict[str, str], dict[At, str]]:
    """What the manifest of a race folder says: who raced where, about what machine and versions, and all keys."""
    file = folder / MANIFEST
    try:
        content = _parse(file)
    except (FileNotFoundError, NotADirectoryError):
        raise RaceError(f"{str(folder)!r} holds no race: accepted is a folder with a {MANIFEST}") from None
    except (OSError, ValueError) as problem:
        raise _damaged(file, str(problem)) from problem
    if not isinstance(content, dict) or content.pop("sha256") != _manifest_checksum(content):
        raise _damaged(file, "its checksum does not fit")
    if content["format"] > FORMAT:
        raise RaceError(f"{str(file)!r} has format {content['format']}; this version reads formats up to {FORMAT}")
    race = content["race"]
    environments = {name: Facts(*facts) for name, facts in race["environments"].items()}
    settings = race.get("settings", {})  # which the first races did not write
    names = Names(race["learners"], environments, race["seeds"], race["horizons"], settings)
    keys: dict[At, str] = {CellAt(*at): key for *at, key in content["cells"]}
    return names, content["about"], keys | {ReferenceAt(*at): key for *at, key in content["grounds"]}


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder with a valid manifest.json of another program: a race would overwrite it."""
    with suppress(OSError, ValueError):  # missing or damaged: a race writes a new one
        _parse(folder / MANIFEST)


def _parse(file: Path) -> Any:
    """The content of a manifest. A JSON object without a checksum was written by another program."""
    content = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(content, dict) and "sha256" not in content:
        raise RaceError(f"{str(file)!r} was not written by a race; accepted is one that was, or none")
    return content


def _damaged(file: Path, why: str) -> RaceError:
    return RaceError(f"{str(file)!r} is damaged ({why}); race again with the same folder to mend it")


def _manifest_checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def about(plan: Plan) -> dict[str, str]:
    """What the bytes of a result depend on besides the plan: versions, machine, seed."""
    versions = {"turncoat": __version__, "python": platform.python_version(), "libc": "-".join(platform.libc_ver())}
    for package in ("numpy", "numba", "llvmlite"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    late = {} if plan.timing.at_once else {word: str(n) for word, n in plan.timing._asdict().items()}
    machine = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    return {**versions, "svml": SVML[uses_svml()], "machine": machine, "seed": str(plan.seed), **late}


class Memory:
    """Results that are kept for as long as the process lives. Nothing is looked for, so nothing needs a key."""

    keyed = False

    def __init__(self) -> None:
        self.cells: dict[CellAt, Cell] = {}
        self.references: dict[ReferenceAt, Reference] = {}

    def find(self, at: At, key: str) -> bool:
        """Is it there already?"""
        return False

    def begin(self, plan: Plan) -> None:
        """All results of a race were looked for; now the missing ones will come."""

    def add(self, places: Sequence[At], key: str, record: Any) -> None:
        """Keep a finished cell, or a reference, for all places it serves."""
        kept: dict[Any, Any] = self.cells if isinstance(record, Cell) else self.references
        kept.update(dict.fromkeys(places, record))


class Store(Memory):
    """Results that are also kept in a folder."""

    keyed = True

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.n_saved = 0
        self.keys: dict[At, str] = {}

    def find(self, at: At, key: str) -> bool:
        """Is it there, and whole?"""
        self.keys[at] = key
        kind: Any = Cell if isinstance(at, CellAt) else Reference
        found = load_record(kind, record_file(self.folder, at, key), key)
        if found is not None:
            super().add([at], key, found)
        return found is not None

    def begin(self, plan: Plan) -> None:
        """Remove the temporary files of a race that was killed, and write the manifest."""
        with self._writing():
            for ours in (MANIFEST, "cells/*.npz", "grounds/*.npz"):  # whatever else is in the folder is the user's
                for left in self.folder.glob(f"{ours}.*{TEMPORARY}"):
                    left.unlink()
            write_whole(self.folder / MANIFEST, manifest_text(plan, self.keys).encode())

    def add(self, places: Sequence[At], key: str, record: Any) -> None:
        """Save it."""
        with self._writing():
            save_record(record_file(self.folder, places[0], key), key, record)
        self.n_saved += isinstance(record, Cell)
        super().add(places, key, record)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise RaceError(
                f"cannot write to {str(self.folder)!r}: {problem.strerror or problem}; the {self.n_saved} cells saved "
                "in this run are intact: make room and race again with the same folder to go on from there"
            ) from problem


@contextmanager
def open_store(folder: str | Path | None) -> Iterator[Memory]:
    """The store for a folder, locked while it is open; memory without one."""
    if folder is None:
        yield Memory()
        return
    path = Path(folder)
    refuse_foreign(path)
    filelock = require("filelock", "a race in a folder")
    lock = filelock.FileLock(path / "lock", mode=0o644)  # which the operating system releases when the process ends
    try:
        for part in ("cells", "grounds"):
            (path / part).mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise RaceError(f"another race is writing to {str(path)!r}; accepted is one race at a time") from None
    except OSError as problem:
        raise RaceError(
            f"the folder {str(path)!r} cannot be used: {problem.strerror or problem}; accepted is one that can be "
            "made and written"
        ) from problem
    try:
        yield Store(path)
    finally:
        lock.release()
