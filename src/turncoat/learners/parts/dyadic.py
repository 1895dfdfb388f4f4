"""Dyadic checkpoints: which moments of a game are kept, so that an interval of about every length ends now.

Row 0 stands for the start, row j + 1 for the latest odd multiple of 2^j rounds. After round t one row is written, that
of t itself. The latest and the last but one multiple of 2^j are both kept, because the even one of them is an odd
multiple of a higher power; so for every j with 2^j ≤ t some kept moment lies 2^j to 2^(j+1) - 1 rounds back.
"""

from __future__ import annotations

from turncoat._compile.jit import jit


@jit
def row_of(t: int) -> int:
    """The row that is written after round t, t ≥ 1."""
    row = 1
    while t % 2 == 0:
        t //= 2
        row += 1
    return row


@jit
def n_rows(t: int, n_levels: int) -> int:
    """How many rows there are after t rounds, the start and at most n_levels more."""
    n = 1
    while t > 0 and n <= n_levels:
        t //= 2
        n += 1
    return n


@jit
def moment(t: int, row: int) -> int:
    """Which moment a row holds after t rounds."""
    if row == 0:
        return 0
    multiple = t >> (row - 1)
    return (multiple - (1 - multiple % 2)) << (row - 1)
