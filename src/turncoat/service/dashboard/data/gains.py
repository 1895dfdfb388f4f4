"""Gains of learning over control, over each arm and over the path that the learner believes in, from windows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from turncoat.service.dashboard.data import estimates
from turncoat.service.dashboard.data.estimates import Estimate, Sums, add
from turncoat.service.dashboard.data.windows import Cell, Windows, by_window
from turncoat.service.messages import RewardRule

if TYPE_CHECKING:
    from turncoat.learners.turncoat.explain import Switch


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


class Gain(NamedTuple):
    """The reward of the learn stream above a comparator's. `share`: relative to the comparator's."""

    over: Literal["control", "arm", "path"]
    name: str
    gain: Estimate
    n: float
    share: float | None
    since: float
    reach: float = 1.0  # estimated share of decisions in which the arm could be served


def segments(
    windows: Windows, believed: Sequence[Switch], best: str | None, n_rounds: int, rewards: RewardRule
) -> list[Segment]:
    """The experiment's life by the arm believed best. Rounds are mapped to times by counting learned decisions."""
    counts = [sum(cell.sums.n for cell in cells) for cells in by_window(windows.stream("learn"), windows.n_windows)]
    behind = list(accumulate(counts, initial=n_rounds - sum(counts)))
    if not believed:
        return [] if best is None else [Segment(windows.start, 0, windows.n_windows, best)]
    times = [_time(windows, behind, one.when) for one in believed]
    edges = [windows.first_at(time - windows.step / 2.0) for time in times]
    found = [Segment(windows.start, 0, edges[0], str(believed[0].left))]
    for one, time, (first, last) in zip(believed, times, pairwise([*edges, windows.n_windows]), strict=True):
        cost = _worth(windows, first, last, one, rewards)
        found.append(Segment(time, first, last, str(one.to), str(one.left), one.sure, one.when, cost))
    return found


def gains(
    settled: Windows, control: str | None, arms: Mapping[str, float], path: Sequence[Segment], rewards: RewardRule
) -> list[Gain]:
    """Control first, then the arms, the best of them first and thin ones last, then the path.

    `arms`: when each was added.
    """
    cells: dict[str, list[Cell]] = {arm: [] for arm in arms}
    for cell in settled.stream("learn"):
        cells[cell.arm].append(cell)
    firsts = {arm: settled.first_at(added) if added > settled.begins(1) else 0 for arm, added in arms.items()}
    learns = {first: _learn(settled, first) for first in set(firsts.values())}
    over = [_over_arm(settled, arm, cells[arm], first, learns[first], rewards) for arm, first in firsts.items()]
    known = [one for one in over if one is not None]
    known.sort(key=lambda one: (one.gain.is_thin, one.gain.value / one.n))
    found = [_over_control(settled, control, rewards), *known, _over_path(settled, path, rewards)]
    return [one for one in found if one is not None]


def _learn(settled: Windows, first: int) -> Sums:
    """The learn stream's sums from window `first` on."""
    return add(cell.sums for cell in settled.stream("learn") if cell.window >= first)


def gain_series(settled: Windows, control: str | None, arm: str | None, rewards: RewardRule) -> list[Estimate | None]:
    """The gain over control, or else over an arm, up to the end of each window."""
    stream, name = ("learn", arm) if control is None else ("control", control)
    rival = [cell for cell in settled.stream(stream) if cell.arm == name]
    first = 0 if control is None else min((cell.window for cell in rival), default=settled.n_windows)
    ours, theirs = (by_window(cells, settled.n_windows)[first:] for cells in (settled.stream("learn"), rival))
    gain = estimates.gain_over_arm if control is None else estimates.gain_over_control
    found = [gain(a, b, rewards) for a, b in zip(_cumulative(ours), _cumulative(theirs), strict=True)]
    return [*[None] * first, *found]


def _cumulative(parts: Sequence[Sequence[Cell]]) -> Iterator[Sums]:
    sums = (add(cell.sums for cell in cells) for cells in parts)
    return accumulate(sums, lambda a, b: add((a, b)))


def _time(windows: Windows, behind: Sequence[float], round_: int) -> float:
    """The approximate time of a round: linear interpolation of the decision count within its window."""
    for window, (before, after) in enumerate(pairwise(behind)):
        if round_ < after:
            return windows.begins(window) + windows.step * max(round_ - before, 0.0) / (after - before)
    return windows.begins(windows.n_windows)


def _worth(windows: Windows, first: int, last: int, one: Switch, rewards: RewardRule) -> Estimate | None:
    cells = [cell for cell in windows.stream("learn") if first <= cell.window < last]
    to, left = (add(cell.sums for cell in cells if cell.arm == arm) for arm in (one.to, one.left))
    return estimates.worth(sum(cell.sums.n for cell in cells), to, left, rewards)


def _over_control(settled: Windows, control: str | None, rewards: RewardRule) -> Gain | None:
    """Since the first decision of control, so that both streams saw the same world."""
    cells = [cell for cell in settled.stream("control") if cell.arm == control and cell.sums.n]
    first = min((cell.window for cell in cells), default=0)
    learn = _learn(settled, first)
    gain = estimates.gain_over_control(learn, add(cell.sums for cell in cells), rewards)
    return _gain("control", str(control), gain, learn, settled.begins(first))


def _over_arm(
    settled: Windows, arm: str, cells: Sequence[Cell], first: int, learn: Sums, rewards: RewardRule
) -> Gain | None:
    """Since it was added: from window `first` on. `reach`: Σw estimates their number; plus two standard errors."""
    own = add(cell.sums for cell in cells if cell.window >= first)
    gain = estimates.gain_over_arm(learn, own, rewards)
    most = own.w + 2.0 * math.sqrt(max(own.w2 - own.w, 0.0))
    return _gain("arm", arm, gain, learn, settled.begins(first), min(most / learn.n, 1.0) if learn.n else 1.0)


def _over_path(settled: Windows, path: Sequence[Segment], rewards: RewardRule) -> Gain | None:
    pieces: list[tuple[Sums, Sums]] = []
    for one in path:
        cells = [cell for cell in settled.stream("learn") if one.first <= cell.window < one.last]
        pieces.append((add(cell.sums for cell in cells), add(cell.sums for cell in cells if cell.arm == one.arm)))
    gain = estimates.gain_over_path(pieces, rewards)
    learn = add(learn for learn, arm in pieces if arm.w > 0.0)
    return _gain("path", "the path it believes in", gain, learn, settled.start)


def _gain(
    over: Literal["control", "arm", "path"],
    name: str,
    gain: Estimate | None,
    learn: Sums,
    since: float,
    reach: float = 1.0,
) -> Gain | None:
    if gain is None:
        return None
    other = learn.r - gain.value
    return Gain(over, name, gain, learn.n, gain.value / other if other > 0.0 else None, since, reach)
