"""Seeds drawn anew, with replacement: always the same draws for the same number of seeds.

The stream is PCG64 of SeedSequence(0, spawn_key=(n,)) for n seeds; numpy promises that its raw words never change. Word
w of 64 bits draws seed floor((w >> 32) n / 2^32), row after row; no seed is favoured by more than n / 2^32. All
learners and environments share the draws, so pairs stay pairs, and adding a learner changes no number of the others.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from turncoat.types import Ints

N_RESAMPLES = 1999  # (1999 + 1) · 0.025 = 50: the ends of a 95 % interval are whole order statistics


@lru_cache(maxsize=8)
def resamples(n_seeds: int) -> Ints:
    """The draws, (N_RESAMPLES, n_seeds) whole numbers from 0 to n_seeds - 1, not to be written to."""
    stream = np.random.PCG64(np.random.SeedSequence(0, spawn_key=(n_seeds,)))
    words = stream.random_raw(N_RESAMPLES * n_seeds) >> np.uint64(32)
    draws = ((words * np.uint64(n_seeds)) >> np.uint64(32)).astype(np.int64).reshape(N_RESAMPLES, n_seeds)
    draws.flags.writeable = False
    return draws
