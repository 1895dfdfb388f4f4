"""Time windows: an experiment's life in at most 60 windows, with sums per arm and stream, read from buckets.

Buckets of 10 s are kept for two hours, of 300 s for eight days, of three hours for ever: the width is chosen so that
all of its life is there and no more than some thousand rows are read, however long the log is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from turncoat.service.experiments.aggregates import step_for, width_for
from turncoat.service.experiments.estimates import Sums, add
from turncoat.service.store.interface import Session

LONGEST = 90 * 86_400.0  # seconds: older decisions are left out
RANGES = {"hour": 3_600.0, "day": 86_400.0, "week": 604_800.0}  # the last one of each can be looked at
SUMMED = """
    SELECT start / :step, arm, stream, SUM(n), SUM(n_rewarded), SUM(n_defaulted), SUM(n_expired),
           SUM(r), SUM(r2), SUM(w), SUM(w2), SUM(wr), SUM(w2r), SUM(w2r2),
           SUM(CASE WHEN n > n_expired THEN w * r2 / (n - n_expired) ELSE 0 END)
    FROM bucket WHERE experiment = :experiment AND width = :width AND start >= :since AND start < :until
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


class Cell(NamedTuple):
    """The closed decisions of one arm and stream in one window."""

    window: int
    arm: str
    stream: str
    n: int
    n_rewarded: int
    n_defaulted: int
    n_expired: int
    sums: Sums


@dataclass(frozen=True)
class Windows:
    """All cells. Window i begins at `start + i * step` and lasts `step` seconds."""

    start: float
    step: float
    n_windows: int
    cells: list[Cell] = field(default_factory=list)

    def begins(self, window: int) -> float:
        """The start of a window. For `n_windows`: the end of the last one."""
        return self.start + window * self.step

    def first_at(self, moment: float) -> int:
        """The first window that begins at this moment or later."""
        return min(max(-int((self.start - moment) // self.step), 0), self.n_windows)

    def until(self, moment: float) -> Windows:
        """Only the windows that have ended by then."""
        n = min(max(int((moment - self.start) // self.step), 0), self.n_windows)
        return Windows(self.start, self.step, n, [cell for cell in self.cells if cell.window < n])

    def merged(self, most: int) -> Windows:
        """The windows merged to at most `most` longer ones. An incomplete last one is left out."""
        times = max(-(-self.n_windows // most), 1)
        n = self.n_windows // times
        cells: dict[tuple[int, str, str], list[Cell]] = {}
        for cell in self.cells:
            if cell.window // times < n:
                cells.setdefault((cell.window // times, cell.arm, cell.stream), []).append(cell)
        merged = [_merged(key, some) for key, some in cells.items()]
        return Windows(self.start, self.step * times, n, merged)

    def stream(self, stream: str) -> list[Cell]:
        """The cells of one stream."""
        return self._streams.get(stream, [])

    @cached_property
    def _streams(self) -> dict[str, list[Cell]]:
        found: dict[str, list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.stream, []).append(cell)
        return found


def read_windows(session: Session, experiment: int, begin: float, now: float) -> Windows:
    """An experiment's life from `begin` on, or its last 90 days."""
    age = min(max(now - begin, 0.0), LONGEST)
    width, step = width_for(age), step_for(age)
    first = int(now - age) // step
    n_windows = int(now) // step - first + 1
    cells = read_cells(session, experiment, width, step, (first * step, int(now) + 1))
    placed = [cell._replace(window=cell.window - first) for cell in cells]
    return Windows(first * step, step, n_windows, [cell for cell in placed if 0 <= cell.window < n_windows])


def read_cells(session: Session, experiment: int, width: int, step: int, period: tuple[int, int]) -> list[Cell]:
    """The buckets of one width in a period, summed per step; `window` counts steps since 1970."""
    rows = session.rows(SUMMED, experiment=experiment, width=width, step=step, since=period[0], until=period[1])
    return [
        Cell(
            *(int(window), arm, stream, int(n), int(rewarded), int(defaulted), int(expired)),
            Sums(float(rewarded + defaulted), r, r2, w, w2, wr, wr2, w2r, w2r2),
        )
        for window, arm, stream, n, rewarded, defaulted, expired, r, r2, w, w2, wr, w2r, w2r2, wr2 in rows
    ]


def by_window(cells: Iterable[Cell], n_windows: int) -> list[list[Cell]]:
    """The cells of each window."""
    found: list[list[Cell]] = [[] for _ in range(n_windows)]
    for cell in cells:
        found[cell.window].append(cell)
    return found


def _merged(key: tuple[int, str, str], cells: list[Cell]) -> Cell:
    n, rewarded, defaulted, expired = map(sum, zip(*(cell[3:7] for cell in cells), strict=True))
    return Cell(*key, n, rewarded, defaulted, expired, add(cell.sums for cell in cells))
