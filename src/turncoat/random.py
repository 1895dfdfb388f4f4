"""Random numbers for kernels: in a stream, and by position.

A stream is xoshiro256++ on four words that live in the learner's state.
D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", ACM Trans. Math. Softw. 47 (2021).
Seeding goes through numpy's SeedSequence, so streams of different seeds are independent.

A number by position is a hash of (seed, round, arm): any loss can be computed again, in any order, and what a learner
draws at a tell does not depend on the number of ask() calls.
"""

from __future__ import annotations

import math

import numpy as np

from turncoat._compile.jit import jit
from turncoat._compile.state import N_WORDS
from turncoat.errors import OptionError
from turncoat.types import Seed, Words

_SHIFT = np.uint64(17)
_TOP = np.uint64(11)
_ROUND = np.uint64(0x9E3779B97F4A7C15)
_ARM = np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ULP = 2.0**-53


def seed_words(seed: Seed) -> Words:
    """Four words for a seed: a whole number of at least 0, a SeedSequence, or None for fresh entropy."""
    if not isinstance(seed, np.random.SeedSequence):
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
            raise OptionError(
                f"seed is {seed!r}; accepted are a whole number of at least 0, a numpy SeedSequence, or None"
            )
        seed = np.random.SeedSequence(None if seed is None else int(seed))
    return seed.generate_state(N_WORDS, np.uint64).astype(np.uint64)


def seed_text(words: Words) -> str:
    """The random words that a seed stands for, as text."""
    return "-".join(f"{word:016x}" for word in words.tolist())


@jit
def _rotate(word: np.uint64, left: np.uint64) -> np.uint64:
    return (word << left) | (word >> (np.uint64(64) - left))


@jit
def uniform(words: Words) -> float:
    """The next number in [0, 1), with 53 random bits."""
    s0, s1, s2, s3 = words[0], words[1], words[2], words[3]
    drawn = _rotate(s0 + s3, np.uint64(23)) + s0
    s2 ^= s0
    s3 ^= s1
    words[1] = s1 ^ s2
    words[0] = s0 ^ s3
    words[2] = s2 ^ (s1 << _SHIFT)
    words[3] = _rotate(s3, np.uint64(45))
    return float(drawn >> _TOP) * _ULP


@jit
def uniform_at(seed: np.uint64, t: int, arm: int) -> float:
    """A number in [0, 1) that depends on its three arguments alone.

    The finaliser is that of SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
    generators", OOPSLA 2014, applied twice, so that neighbouring rounds and arms share nothing.
    """
    return float(_mix(_mix(seed + np.uint64(t) * _ROUND) + np.uint64(arm) * _ARM) >> _TOP) * _ULP


@jit
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


NEVER = 2.0**54  # a round that does not come


@jit
def wait(rng: Words, p: float) -> float:
    """Rounds until an event of probability p per round, 1 if it is the next one: geometric, at most NEVER.

    One draw replaces a coin flip per round.
    """
    if p <= 0.0:
        return NEVER
    if p >= 1.0:
        return 1.0
    failures = min(math.log1p(-uniform(rng)) / math.log1p(-p), NEVER)  # a floor is an integer, and may be too large
    return min(1.0 + math.floor(failures), NEVER)
