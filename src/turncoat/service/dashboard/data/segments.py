"""The path that the learner believes in, by time, and what missing each of its switches would have cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from turncoat.service.dashboard.data.windows import Windows, by_window
from turncoat.service.experiments.estimates import Estimate, add, worth
from turncoat.service.experiments.gain import Comparisons
from turncoat.service.messages import RewardRule

if TYPE_CHECKING:
    from turncoat.learners.turncoat.explain import Switch

NEARLY_ALL = 0.95  # of a segment's decisions: in so many both arms must have had a chance to be served


class Segment(NamedTuple):
    """The windows first … last - 1, in which one arm is believed best; `worth`: the cost of missing that."""

    at: float
    first: int
    last: int
    arm: str
    left: str | None = None
    sure: float | None = None
    round: int = 0
    worth: Estimate | None = None


def segments(windows: Windows, believed: Sequence[Switch], best: str | None, n_rounds: int) -> list[Segment]:
    """The experiment's life by the arm believed best. Rounds are mapped to times by counting learned decisions."""
    counts = [sum(cell.sums.n for cell in cells) for cells in by_window(windows.stream("learn"), windows.n_windows)]
    behind = list(accumulate(counts, initial=n_rounds - sum(counts)))
    if not believed:
        return [] if best is None else [Segment(windows.start, 0, windows.n_windows, best)]
    times = [_time(windows, behind, one.when) for one in believed]
    edges = [windows.first_at(time - windows.step / 2.0) for time in times]
    found = [Segment(windows.start, 0, edges[0], str(believed[0].left))]
    for one, time, (first, last) in zip(believed, times, pairwise([*edges, windows.n_windows]), strict=True):
        found.append(Segment(time, first, last, str(one.to), str(one.left), one.sure, one.when))
    return found


def with_worth(path: Sequence[Segment], windows: Windows, compared: Comparisons, rewards: RewardRule) -> list[Segment]:
    """The same path with what each switch was worth, where the decisions since say so."""
    return [one._replace(worth=_worth(one, windows, compared, rewards)) for one in path]


def _time(windows: Windows, behind: Sequence[float], round_: int) -> float:
    """The approximate time of a round: linear interpolation of the decision count within its window."""
    for window, (before, after) in enumerate(pairwise(behind)):
        if round_ < after:
            return windows.begins(window) + windows.step * max(round_ - before, 0.0) / (after - before)
    return windows.begins(windows.n_windows)


def _worth(one: Segment, windows: Windows, compared: Comparisons, rewards: RewardRule) -> Estimate | None:
    """None: it rests on too little, the interval holds 0, or the two arms were for different decisions."""
    begin, end = windows.begins(one.first), windows.begins(one.last)
    cells = [cell for cell in compared.cells if begin <= compared.start + cell.window * compared.step < end]
    n = math.fsum(cell.n for cell in cells if cell.rival == "control")  # every decision is in one of these
    arms = [[cell for cell in cells if cell.rival == "arm" and cell.stratum == arm] for arm in (one.arm, one.left)]
    if any(math.fsum(cell.n for cell in some) < NEARLY_ALL * n for some in arms):
        return None
    to, left = (add(cell.had for cell in some) for some in arms)
    found = worth(n, to, left, rewards)
    return found if found is not None and found.is_sure and not found.is_thin else None
