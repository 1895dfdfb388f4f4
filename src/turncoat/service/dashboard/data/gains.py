"""What learning has gained over control, over each arm and over the path the learner believes in, from windows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from turncoat.service.dashboard.data.estimates import (
    Estimate,
    Range,
    Sums,
    add,
    gain_over_arm,
    gain_over_control,
    gain_over_path,
    worth,
)
from turncoat.service.dashboard.data.windows import Cell, Windows


@dataclass(frozen=True, slots=True)
class Believed:
    """A switch that the learner believes in: the round it began with, from which arm to which, and how sure it was."""

    round: int
    left: str
    to: str
    sure: float


@dataclass(frozen=True, slots=True)
class Segment:
    """The windows first … last - 1, in which it believes one arm to be best; `worth`: what missing that would cost."""

    at: float
    first: int
    last: int
    arm: str
    left: str | None = None
    sure: float | None = None
    round: int = 0
    worth: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Gain:
    """The reward of the learn stream above something else's. `share`: of what that would have brought."""

    over: Literal["control", "arm", "path"]
    name: str
    gain: Estimate
    n: float
    share: float | None
    since: float
    reach: float = 1.0  # the share of decisions in which the arm could be served, as far as can be told


def segments(
    windows: Windows, believed: Sequence[Believed], best: str | None, n_rounds: int, rewards: Range
) -> list[Segment]:
    """Its life by the arm it believes best. Rounds become times by counting the decisions it has learned from."""
    counts = [0.0] * windows.n_windows
    for cell in windows.stream("learn"):
        counts[cell.window] += cell.sums.n
    behind = list(accumulate(counts, initial=n_rounds - sum(counts)))
    if not believed:
        return [] if best is None else [Segment(windows.start, 0, windows.n_windows, best)]
    times = [_time(windows, behind, one.round) for one in believed]
    edges = [windows.first_at(time - windows.step / 2.0) for time in times]
    found = [Segment(windows.start, 0, edges[0], believed[0].left)]
    for one, time, (first, last) in zip(believed, times, pairwise([*edges, windows.n_windows]), strict=True):
        cost = _worth(windows, first, last, one, rewards)
        found.append(Segment(time, first, last, one.to, one.left, one.sure, one.round, cost))
    return found


def gains(
    settled: Windows, control: str | None, arms: Mapping[str, float], path: Sequence[Segment], rewards: Range
) -> list[Gain]:
    """Control first, then the arms, the best of them first and thin ones last, then the path.

    `arms`: when each was added.
    """
    found: list[Gain] = []
    if control is not None and (one := _over_control(settled, control, rewards)) is not None:
        found.append(one)
    cells: dict[str, list[Cell]] = {arm: [] for arm in arms}
    for cell in settled.stream("learn"):
        cells[cell.arm].append(cell)
    firsts = {arm: settled.first_at(added) if added > settled.begins(1) else 0 for arm, added in arms.items()}
    learns = {first: _learn(settled, first) for first in set(firsts.values())}
    over = [_over_arm(settled, arm, cells[arm], first, learns[first], rewards) for arm, first in firsts.items()]
    known = [one for one in over if one is not None]
    found += sorted(known, key=lambda one: (one.gain.is_thin, one.gain.value / one.n))
    if path and (one := _over_path(settled, path, rewards)) is not None:
        found.append(one)
    return found


def _learn(settled: Windows, first: int, last: int | None = None) -> Sums:
    """The learn stream's sums over the windows first … last - 1."""
    end = settled.n_windows if last is None else last
    return add(cell.sums for cell in settled.stream("learn") if first <= cell.window < end)


def gain_series(settled: Windows, control: str | None, arm: str | None, rewards: Range) -> list[Estimate | None]:
    """The gain over control, or else over an arm, up to the end of each window."""
    ours: list[list[Sums]] = [[] for _ in range(settled.n_windows)]
    theirs: list[list[Sums]] = [[] for _ in range(settled.n_windows)]
    rival = ("learn", arm) if control is None else ("control", control)
    for cell in settled.cells:
        if cell.stream == "learn":
            ours[cell.window].append(cell.sums)
        if (cell.stream, cell.arm) == rival:
            theirs[cell.window].append(cell.sums)
    first = next((i for i, some in enumerate(theirs) if some), settled.n_windows) if control is not None else 0
    both = zip(_cumulative(ours[first:]), _cumulative(theirs[first:]), strict=True)
    found = [(gain_over_control if control is not None else gain_over_arm)(a, b, rewards) for a, b in both]
    return [*[None] * first, *found]


def _cumulative(parts: Sequence[Sequence[Sums]]) -> Iterator[Sums]:
    return accumulate((add(some) for some in parts), lambda a, b: add((a, b)) if b else a)


def _time(windows: Windows, behind: Sequence[float], round_: int) -> float:
    """When about a round was decided: in the window in which the count passes it, as far in as it is along."""
    for window, (before, after) in enumerate(pairwise(behind)):
        if round_ < after:
            return windows.begins(window) + windows.step * max(round_ - before, 0.0) / (after - before)
    return windows.begins(windows.n_windows)


def _worth(windows: Windows, first: int, last: int, one: Believed, rewards: Range) -> Estimate | None:
    cells = [cell for cell in windows.stream("learn") if first <= cell.window < last]
    to, left = (add(cell.sums for cell in cells if cell.arm == arm) for arm in (one.to, one.left))
    return worth(sum(cell.sums.n for cell in cells), to, left, rewards)


def _over_control(settled: Windows, control: str, rewards: Range) -> Gain | None:
    """Since the first decision of control, so that both streams saw the same world."""
    cells = [cell for cell in settled.stream("control") if cell.arm == control and cell.sums.n]
    if not cells:
        return None
    first = min(cell.window for cell in cells)
    learn = _learn(settled, first)
    theirs = add(cell.sums for cell in cells)
    gain = gain_over_control(learn, theirs, rewards)
    if gain is None:
        return None
    return Gain("control", control, gain, learn.n, _share(gain, learn), settled.begins(first))


def _over_arm(
    settled: Windows, arm: str, cells: Sequence[Cell], first: int, learn: Sums, rewards: Range
) -> Gain | None:
    """Since it was added: from window `first` on."""
    own = add(cell.sums for cell in cells if cell.window >= first)
    gain = gain_over_arm(learn, own, rewards)
    if gain is None:
        return None
    reach = min((own.w + 2.0 * math.sqrt(max(own.w2 - own.w, 0.0))) / learn.n, 1.0)  # Σw counts them, ± its error
    return Gain("arm", arm, gain, learn.n, _share(gain, learn), settled.begins(first), reach)


def _over_path(settled: Windows, path: Sequence[Segment], rewards: Range) -> Gain | None:
    pieces: list[tuple[Sums, Sums]] = []
    for one in path:
        cells = [cell for cell in settled.stream("learn") if one.first <= cell.window < one.last]
        pieces.append((add(cell.sums for cell in cells), add(cell.sums for cell in cells if cell.arm == one.arm)))
    gain = gain_over_path(pieces, rewards)
    if gain is None:
        return None
    learn = add(learn for learn, arm in pieces if arm.w > 0.0)
    return Gain("path", "the path it believes in", gain, learn.n, _share(gain, learn), settled.start)


def _share(gain: Estimate, learn: Sums) -> float | None:
    other = learn.r - gain.value
    return gain.value / other if other > 0.0 else None
