"""The service's own randomness: which arm, which stream, which id. Tests bring a seeded one."""

from __future__ import annotations

import hashlib
import os
import random
from typing import Protocol


class Chance(Protocol):
    """A source of randomness."""

    def uniform(self) -> float:
        """In [0, 1)."""

    def bits(self, n: int) -> int:
        """A whole number of n random bits."""


class SystemChance:
    """A good generator, started from the operating system's randomness, again in every process."""

    def __init__(self) -> None:
        self._random = random.Random(os.urandom(32))
        os.register_at_fork(after_in_child=self._start_again)

    def _start_again(self) -> None:
        """A fork must not repeat its parent's draws."""
        self._random.seed(os.urandom(32))

    def uniform(self) -> float:
        """In [0, 1)."""
        return self._random.random()

    def bits(self, n: int) -> int:
        """A whole number of n random bits."""
        return self._random.getrandbits(n)


class SeededChance:
    """One seed, one course of things."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def uniform(self) -> float:
        """In [0, 1)."""
        return self._random.random()

    def bits(self, n: int) -> int:
        """A whole number of n random bits."""
        return self._random.getrandbits(n)


def new_id(now: float, chance: Chance) -> str:
    """A UUID of version 7 (RFC 9562): milliseconds first, so that ids sort by time; then 74 random bits."""
    milliseconds = min(max(int(now * 1000.0), 0), 2**48 - 1)
    lots = chance.bits(74)
    number = milliseconds << 80 | 0x7 << 76 | (lots >> 62) << 64 | 0b10 << 62 | lots & (2**62 - 1)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def unit_hash(salt: str, unit: str) -> str:
    """What is kept of a unit's name: enough to know it again, not enough to know who it is without the salt."""
    return hashlib.blake2b(unit.encode("utf-8", "surrogatepass"), key=salt.encode(), digest_size=16).hexdigest()


def place_of(unit: str) -> float:
    """Where a hashed unit falls in [0, 1), always the same."""
    return int(unit[:13], 16) / 2.0**52
