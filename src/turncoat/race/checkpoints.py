"""Checkpoints: the few hundred rounds after which a race writes down how things stand."""

from __future__ import annotations

import numpy as np

from turncoat.types import Ints

N_LINEAR, N_LOGARITHMIC = 100, 100


def checkpoints(horizon: int) -> Ints:
    """Numbers of rounds played, in rising order and each once: evenly spaced ones, even ones on a log scale, and T."""
    linear = [horizon * i // N_LINEAR for i in range(1, N_LINEAR + 1)]
    logarithmic = np.geomspace(1, horizon, N_LOGARITHMIC).round().astype(np.int64)
    both = np.union1d(np.array(linear, dtype=np.int64), logarithmic)
    return both[(both >= 1) & (both <= horizon)]
