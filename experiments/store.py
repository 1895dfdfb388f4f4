"""Results on disk: a line for every game played, added the moment it is over.

A line that was cut off, by kill -9 or a full disk, is no result: it is passed over, and the game is played again.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import NamedTuple, Self


class Line(NamedTuple):
    """One player in one repetition of a game."""

    key: str  # of the player: its words, and what version they belong to
    player: str
    game: str  # with the edition of the games
    horizon: int
    rep: int
    regret: float
    seconds: float  # of processor time
    certificate: float | None = None  # of learners that have one, for the planted number of switches


class Store:
    """A file of lines. Adding is safe from several threads: a line is one write to the end of the file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines = read(file)
        self._known = {(line.key, line.game, line.rep) for line in self.lines}

    def __contains__(self, place: tuple[str, str, int]) -> bool:
        return place in self._known

    def __enter__(self) -> Self:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        size = os.fstat(self._handle).st_size
        if size and os.pread(self._handle, 1, size - 1) != b"\n":
            os.write(self._handle, b"\n")  # after a line that was cut off
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def add(self, line: Line) -> None:
        """Write a line, and know it from now on."""
        os.write(self._handle, (json.dumps(line, ensure_ascii=False) + "\n").encode())
        self.lines.append(line)
        self._known.add((line.key, line.game, line.rep))


def read(file: Path) -> list[Line]:
    """All whole lines of a file; none if there is no file."""
    found = []
    for text in file.read_bytes().splitlines() if file.exists() else []:
        try:
            line = Line(*json.loads(text))
        except (ValueError, TypeError):
            continue
        if math.isfinite(line.regret):
            found.append(line)
    return found
