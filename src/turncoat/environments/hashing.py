"""Random numbers by position: a hash of (seed, round, arm), so that any loss can be computed again, in any order."""

from __future__ import annotations

import numpy as np

from turncoat._jit import jit

_ROUND = np.uint64(0x9E3779B97F4A7C15)
_ARM = np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ULP = 2.0**-53


@jit
def uniform_at(seed: np.uint64, t: int, arm: int) -> float:
    """A number in [0, 1) that depends on its three arguments alone.

    The finaliser is that of SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
    generators", OOPSLA 2014, applied twice, so that neighbouring rounds and arms share nothing.
    """
    return float(_mix(_mix(seed + np.uint64(t) * _ROUND) + np.uint64(arm) * _ARM) >> np.uint64(11)) * _ULP


@jit
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))
