"""How regret grows: the slope of log mean regret over log T, or over log S.

The theorems speak of expected regret, so the curve is averaged over seeds first and its logarithm taken after; a line
is put through by least squares. All points of a seed belong together and are wrong together: the sample is the seeds,
not the points, and a resample draws whole curves.

Regret can be negative. A seed's non-positive values go into the mean as they are: nothing is dropped, clipped or
shifted, each of which would bend the slope. Where the *mean* at some size is not positive there is no logarithm: the
exponent is NaN, and so are its ends. A resample in which that happens counts against both ends (estimate.py).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from turncoat.errors import OptionError
from turncoat.statistics.estimate import Estimate, estimate
from turncoat.types import Floats
from turncoat.validation.numbers import parse_level, parse_method, parse_numbers, parse_sizes


class Growth(NamedTuple):
    """Mean regret is about scale · size ** exponent."""

    exponent: Estimate
    scale: Floats


def growth(sizes: ArrayLike, regrets: ArrayLike, *, level: float = 0.95, method: str = "t") -> Growth:
    """The growth exponent of regrets over (…, seeds, sizes), fitted at the given sizes: horizons, or switches.

    Fewer than two different sizes have no slope: NaN. The interval is for the slope of the line through expected
    regrets at these sizes; it says nothing of sizes beyond them.
    """
    points = parse_sizes(sizes)
    curves = parse_numbers("regrets", regrets, "…", "seeds", "sizes")
    if curves.shape[-1] != points.size:
        raise OptionError(
            f"regrets have the shape {curves.shape}; accepted are as many in a row as sizes, {points.size}"
        )
    logs = np.log(points)
    spread = ((logs - logs.mean()) ** 2).sum()
    weights = (logs - logs.mean()) / spread if np.unique(points).size > 1 else np.full_like(logs, math.nan)

    def slope(means: Floats) -> tuple[Floats, Floats]:
        positive = np.where(means > 0.0, means, math.nan)
        return (np.log(positive) * weights).sum(axis=-1), weights / positive

    def height(means: Floats) -> tuple[Floats, Floats]:
        positive = np.where(means > 0.0, means, math.nan)
        return np.log(positive).mean(axis=-1), 1.0 / (points.size * positive)

    level = parse_level(level)
    exponent = estimate(curves, slope, level, parse_method(method))
    middle = estimate(curves, height, level, "t").value
    return Growth(exponent, np.exp(middle - exponent.value * logs.mean()))
