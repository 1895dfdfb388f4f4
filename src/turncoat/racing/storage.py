"""The store: where the results of a race are kept, in memory or in a folder.

    manifest.json        what was raced, with which versions, on what machine; where each result is
    cells/<key>.npz      one file a finished cell
    grounds/<key>.npz    one file a ground
    lock                 held while a race writes here

A file is written under another name, flushed to the disk and then renamed: whenever the power goes, it is there whole
or not at all. A checksum inside covers its key and all its arrays; a file that does not fit it counts as missing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from turncoat.errors import RaceError
from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import CellAt, GroundAt
from turncoat.racing.files import TEMPORARY, load_record, save_record, write_whole
from turncoat.racing.manifest import MANIFEST, cell_file, ground_file, manifest_text, refuse_foreign
from turncoat.racing.plan import Plan
from turncoat.racing.reference import Ground


class Memory:
    """Results that are kept for as long as the process lives. Nothing is looked for, so nothing needs a key."""

    keyed = False

    def __init__(self) -> None:
        self.cells: dict[CellAt, Cell] = {}
        self.grounds: dict[GroundAt, Ground] = {}

    def find_cell(self, at: CellAt, key: str) -> bool:
        """Is it there already?"""
        return False

    def find_ground(self, at: GroundAt, key: str) -> bool:
        """Is it there already?"""
        return False

    def begin(self) -> None:
        """All results were looked for; now the missing ones will come."""

    def add_cell(self, at: CellAt, key: str, cell: Cell) -> None:
        """Keep a finished cell."""
        self.cells[at] = cell

    def add_ground(self, places: list[GroundAt], key: str, ground: Ground) -> None:
        """Keep a ground, for all places it serves."""
        self.grounds.update(dict.fromkeys(places, ground))


class Store(Memory):
    """Results that are also kept in a folder."""

    keyed = True

    def __init__(self, folder: Path, plan: Plan) -> None:
        super().__init__()
        self.folder, self.plan = folder, plan
        self.n_saved = 0
        self.cell_keys: dict[CellAt, str] = {}
        self.ground_keys: dict[GroundAt, str] = {}

    def find_cell(self, at: CellAt, key: str) -> bool:
        """Is it there, and whole?"""
        self.cell_keys[at] = key
        found = load_record(Cell, cell_file(self.folder, key), key)
        if found is not None:
            self.cells[at] = found
        return found is not None

    def find_ground(self, at: GroundAt, key: str) -> bool:
        """Is it there, and whole?"""
        self.ground_keys[at] = key
        found = load_record(Ground, ground_file(self.folder, key), key)
        if found is not None:
            self.grounds[at] = found
        return found is not None

    def begin(self) -> None:
        """Sweep up after a race that was killed, and write the manifest."""
        with self._writing():
            for ours in (MANIFEST, "cells/*.npz", "grounds/*.npz"):  # whatever else is in the folder is the user's
                for left in self.folder.glob(f"{ours}.*{TEMPORARY}"):
                    left.unlink()
            text = manifest_text(self.plan, self.cell_keys, self.ground_keys)
            write_whole(self.folder / MANIFEST, text.encode())

    def add_cell(self, at: CellAt, key: str, cell: Cell) -> None:
        """Save a finished cell."""
        with self._writing():
            save_record(cell_file(self.folder, key), key, cell)
        self.n_saved += 1
        super().add_cell(at, key, cell)

    def add_ground(self, places: list[GroundAt], key: str, ground: Ground) -> None:
        """Save a ground."""
        with self._writing():
            save_record(ground_file(self.folder, key), key, ground)
        super().add_ground(places, key, ground)

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
def open_store(folder: str | Path | None, plan: Plan) -> Iterator[Memory]:
    """The store for a folder, locked while it is open; memory without one."""
    if folder is None:
        yield Memory()
        return
    path = Path(folder)
    refuse_foreign(path)
    try:
        for part in ("cells", "grounds"):
            (path / part).mkdir(parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as problem:
        raise RaceError(
            f"the folder {str(path)!r} cannot be used: {problem.strerror or problem}; accepted is one that can be "
            "made and written"
        ) from problem
    try:
        _hold(lock, path)
        yield Store(path, plan)
    finally:
        os.close(lock)  # which also lets go of it


def _hold(lock: int, folder: Path) -> None:
    """Refuse a folder that another race is writing to; the lock of a killed race is gone with it."""
    with suppress(ImportError):  # no such locks on this system: then two races write the same files twice
        import fcntl

        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise RaceError(f"another race is writing to {str(folder)!r}; accepted is one race at a time") from None
