"""Piecewise: piecewise constant means. One arm is best, until a switch makes another one best.

The S switches fall at random rounds, and each moves the best arm to another one:

    mean(t, a) = (1 - gap)/2 for the best arm of t's segment, (1 + gap)/2 for all others

or, if `resampled`, all means change at every switch, with U(i, a) uniform on [0, 1 - gap] in segment i:

    mean(t, a) = U(i, a) for the best arm, which has the least U(i, ·), and U(i, a) + gap for all others

`Piecewise.from_means` takes the switches and means themselves, such as those of a published game.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from turncoat.environments.segments import Segments, random_edges, two_levels, wandering
from turncoat.errors import OptionError, TableError
from turncoat.types import Ints, Matrix, Seed
from turncoat.validation.games import Noise
from turncoat.validation.numbers import parse_number, parse_whole
from turncoat.validation.tables import as_table


class Piecewise(Segments):
    """A game whose best arm changes `n_switches` times; its mean is lower than all others by at least `gap`."""

    name = "piecewise"
    words = ("n_switches", "gap", "resampled")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int,
        *,
        gap: float = 0.3,
        resampled: bool = False,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = self._parse_switches(n_switches)
        self.gap, self.resampled = parse_number("gap", gap, 0.0, 1.0), bool(resampled)
        edges = random_edges(self._chance, self.horizon, S)
        best = wandering(self._chance, self.n_arms, S)
        means = self._resampled(best) if self.resampled else two_levels(self.n_arms, best, self.gap)
        self._plant(edges, means, best)

    def _resampled(self, best: Ints) -> Matrix:
        """New means for all arms in every segment, the least of them moved to the best arm."""
        means = self._chance.random((best.size, self.n_arms)) * (1.0 - self.gap)
        rows, least = np.arange(best.size), means.argmin(axis=1)
        lowest = means[rows, least]
        means[rows, least] = means[rows, best]
        means += self.gap
        means[rows, best] = lowest
        return means

    @staticmethod
    def from_means(
        horizon: int, breaks: Sequence[int], means: ArrayLike, *, noise: Noise = "bernoulli", seed: Seed = 0
    ) -> GivenPiecewise:
        """The game whose segments begin at round 0 and at each of `breaks`, with a row of `means` for each segment."""
        return GivenPiecewise(horizon, breaks, means, noise=noise, seed=seed)


class GivenPiecewise(Segments):
    """A piecewise game whose `breaks` and `means` were given. If several arms are best, the path does not switch."""

    name = "piecewise"
    words = ("n_switches", "given")

    def __init__(
        self, horizon: int, breaks: Sequence[int], means: ArrayLike, *, noise: Noise = "bernoulli", seed: Seed = 0
    ) -> None:
        rows = np.array(as_table(means), dtype=np.float64)
        super().__init__(rows.shape[1], horizon, noise, seed)
        starts = [0, *(parse_whole(f"breaks[{i}]", at, 1, self.horizon - 1) for i, at in enumerate(breaks))]
        if np.any(np.diff(starts) <= 0) or len(rows) != len(starts):
            raise OptionError(
                f"breaks are {list(breaks)!r}, with {len(rows)} rows of means; accepted are rounds in rising order, "
                "and one row more than there are breaks"
            )
        _check_means(rows)
        edges = np.array([*starts, self.horizon], dtype=np.int64)
        self.given = hashlib.sha256(edges.astype("<i8").tobytes() + rows.astype("<f8").tobytes()).hexdigest()
        self._plant(edges, rows, _best_arms(rows))


def _check_means(means: Matrix) -> None:
    wrong = ~((means >= 0.0) & (means <= 1.0))
    if wrong.any():
        i, arm = np.argwhere(wrong)[0]
        raise TableError(f"the mean in row {i}, column {arm} is {means[i, arm]}; accepted are means from 0 to 1")


def _best_arms(means: Matrix) -> Ints:
    """The best arm of every segment; of several, the best arm of the segment before, if it is one of them."""
    best: Ints = means.argmin(axis=1).astype(np.int64)
    for i in range(1, len(best)):
        if means[i, best[i - 1]] == means[i, best[i]]:
            best[i] = best[i - 1]
    return best
