"""What a run will cost, from what earlier ones have cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from experiments.store import Line


class Cost(NamedTuple):
    """Microseconds per round of a player, over the games it has played."""

    player: str
    mean: float
    most: float


def costs(lines: Iterable[Line], horizon: int | None = None) -> list[Cost]:
    """The dearest first; of games of one horizon, or of all."""
    took: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        if horizon in (None, line.horizon):
            took[line.player].append(line.seconds / line.horizon * 1e6)
    found = [Cost(player, sum(each) / len(each), max(each)) for player, each in took.items()]
    return sorted(found, key=lambda cost: -cost.mean)


def seconds(found: Sequence[Cost], n_games: int, reps: int, horizon: int, jobs: int) -> float:
    """How long so many games will take, all cores at work."""
    return sum(cost.mean for cost in found) * 1e-6 * n_games * reps * horizon / jobs
