"""The generator is the published one, and uniforms are its upper 53 bits."""

from __future__ import annotations

import numpy as np
import pytest

from turncoat.errors import OptionError
from turncoat.random import seed_words, uniform

WORD = 2**64 - 1


def naive_words(state: list[int], n: int) -> list[int]:
    """xoshiro256++ in whole numbers, from its description (Blackman & Vigna 2021, section 5)."""

    def rotated(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & WORD

    s = list(state)
    out = []
    for _ in range(n):
        out.append((rotated((s[0] + s[3]) & WORD, 23) + s[0]) & WORD)
        shifted = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotated(s[3], 45)
    return out


@pytest.mark.jit_off
def test_the_published_answer() -> None:
    # The first outputs from the state (1, 2, 3, 4), as the reference implementation of the generator prints them.
    known = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]
    assert naive_words([1, 2, 3, 4], 5) == known
    words = np.array([1, 2, 3, 4], dtype=np.uint64)
    assert [uniform(words) for _ in range(5)] == [(word >> 11) * 2.0**-53 for word in known]


@pytest.mark.jit_off
@pytest.mark.parametrize("seed", [0, 1, 2**70, np.random.SeedSequence(5, spawn_key=(3, 1))])
def test_long_runs_agree(seed: int | np.random.SeedSequence) -> None:
    words = seed_words(seed)
    expected = naive_words([int(word) for word in words], 2000)
    assert [uniform(words) for _ in range(2000)] == [(word >> 11) * 2.0**-53 for word in expected]


def test_seeds_give_different_words_and_none_gives_new_ones() -> None:
    assert len({tuple(seed_words(seed)) for seed in range(100)}) == 100
    assert tuple(seed_words(None)) != tuple(seed_words(None))
    assert tuple(seed_words(7)) == tuple(seed_words(np.int64(7)))  # type: ignore[arg-type]
    for bad in (-1, 1.5, True, "7"):
        with pytest.raises(OptionError, match="seed is"):
            seed_words(bad)  # type: ignore[arg-type]
