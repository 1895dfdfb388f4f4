"""Sums over closed decisions, one pass over the raw rows for each cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

WIDTHS = (10, 300, 10_800)
Cell = tuple[int, int, int, str, str]  # experiment, width, start, arm, stream


def recomputed(rows: Iterable[Sequence[Any]]) -> dict[Cell, tuple[float, ...]]:
    """Of rows (experiment, decided_at, arm, stream, outcome, reward, propensity)."""
    cells: dict[Cell, list[Sequence[Any]]] = {}
    for row in rows:
        for width in WIDTHS:
            start = math.floor(row[1] / width) * width
            cells.setdefault((row[0], width, start, row[2], row[3]), []).append(row)
    return {cell: sums(members) for cell, members in cells.items()}


def sums(rows: Sequence[Sequence[Any]]) -> tuple[float, ...]:
    """n; rewarded, defaulted, expired; then, of those with a reward r and w = 1/p: r, r², w, w², wr, w²r, w²r²."""
    counts = [len(rows), *(sum(row[4] == what for row in rows) for what in ("rewarded", "defaulted", "expired"))]
    pairs = [(row[5], 1.0 / row[6]) for row in rows if row[5] is not None]
    powers = [(1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    return (*counts, *(math.fsum(r**a * w**b for r, w in pairs) for a, b in powers))
