"""Randomness of the service: arms, streams, ids. Tests use a seeded source."""

from __future__ import annotations

import hashlib
import os
import random


class Randomness:
    """Mersenne Twister: equal seeds give equal draws."""

    def __init__(self, seed: int | bytes) -> None:
        self._random = random.Random(seed)

    def uniform(self) -> float:
        """In [0, 1)."""
        return self._random.random()

    def bits(self, n: int) -> int:
        """A whole number of n random bits."""
        return self._random.getrandbits(n)


class SystemRandomness(Randomness):
    """The same, seeded by the operating system in every process: a fork must not repeat its parent's draws."""

    def __init__(self) -> None:
        super().__init__(os.urandom(32))
        os.register_at_fork(after_in_child=lambda: self._random.seed(os.urandom(32)))


def new_id(now: float, randomness: Randomness) -> str:
    """A UUID of version 7 (RFC 9562): milliseconds first, so that ids sort by time; then 74 random bits."""
    milliseconds = min(max(int(now * 1000.0), 0), 2**48 - 1)
    lots = randomness.bits(74)
    number = milliseconds << 80 | 0x7 << 76 | (lots >> 62) << 64 | 0b10 << 62 | lots & (2**62 - 1)
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def time_of(identifier: str) -> float | None:
    """When an id of version 7 was made, to the millisecond before; None for ids of other versions."""
    return int(identifier[:8] + identifier[9:13], 16) / 1000.0 if identifier[14] == "7" else None


def unit_hash(salt: str, unit: str) -> str:
    """Keyed hash of a unit's name (BLAKE2b): equal for equal units, and not to be guessed without the salt."""
    return hashlib.blake2b(unit.encode("utf-8", "surrogatepass"), key=salt.encode(), digest_size=16).hexdigest()


def place_of(unit: str) -> float:
    """A hashed unit's place in [0, 1), always the same."""
    return int(unit[:13], 16) / 2.0**52
