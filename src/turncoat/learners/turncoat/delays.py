"""The record of delays: which outstanding decisions a learner still waits for, when it chooses how far to plan ahead.

A decision's delay is next_id - id at its tell: 1 where it is told before the next ask. A histogram counts delays, 4
bins per octave; all counts are halved when they sum to MEMORY, so recent delays weigh most. The reach is a quantile:
the upper end of the first bin up to which KNOWN of all counts lie. A decision is waited for while its delay can still
be within the reach; after that it is taken for lost. So where all losses are told at once nothing is waited for,
however many decisions are never told. Before any loss was told, all decisions are waited for.

A record is a vector of whole numbers: the reach, the number of delays counted, those above the reach, and the bins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from turncoat._compile.jit import jit
from turncoat.errors import StateError
from turncoat.types import Ints
from turncoat.validation.numbers import is_whole

N_BINS = 160  # delays of up to 2^40: the service counts milliseconds
MEMORY = 1024
KNOWN = 0.98
PER_OCTAVE = 4.0
ENDLESS = 2**53

REACH, TOTAL, OVER, BINS = 0, 1, 2, 3


def blank_delays() -> Ints:
    """The record before any loss was told."""
    record = np.zeros(BINS + N_BINS, dtype=np.int64)
    record[REACH] = ENDLESS
    return record


@jit
def bin_of(delay: int) -> int:
    """The first bin whose upper end this delay does not exceed."""
    return int(min(math.ceil(PER_OCTAVE * math.log2(delay)), N_BINS - 1))


@jit
def count_delay(record: Ints, delay: int) -> bool:
    """Count one delay. Returns whether the reach has changed."""
    before = record[REACH]
    record[BINS + bin_of(delay)] += 1
    record[TOTAL] += 1
    record[OVER] += 1 if delay > before else 0
    if record[TOTAL] >= MEMORY:
        halve(record)
        find_reach(record)
    elif before == ENDLESS or record[OVER] > (1.0 - KNOWN) * record[TOTAL]:
        find_reach(record)
    return bool(record[REACH] != before)


@jit
def count_delays(record: Ints, delays: Ints) -> None:
    """Count several, in order."""
    for i in range(delays.size):
        count_delay(record, delays[i])


def count_prompt(record: Ints, n: int) -> None:
    """Count n delays of 1. No compiled code is called while all delays were 1."""
    if n > 0 and record[TOTAL] == 0 and record[REACH] == ENDLESS:
        record[REACH] = record[TOTAL] = record[BINS] = 1
        n -= 1
    while n > 0 and not (record[REACH] == 1 and record[TOTAL] == record[BINS]):
        count_delay(record, 1)
        n -= 1
    room = MEMORY - record[TOTAL]
    if n >= room:  # only delays of 1: as halving brings MEMORY back to MEMORY // 2, their number is periodic
        n = MEMORY // 2 + (n - room) % (MEMORY - MEMORY // 2) - record[TOTAL]
    record[BINS] += n
    record[TOTAL] += n


@jit
def halve(record: Ints) -> None:
    """Halve all counts: rounded up for delays of 1 and down for longer ones, so the reach does not grow."""
    record[BINS] += 1
    record[TOTAL] = 0
    for i in range(BINS, record.size):
        record[i] //= 2
        record[TOTAL] += record[i]


@jit
def find_reach(record: Ints) -> None:
    """The reach of these counts, and how many are above it."""
    i, below = BINS, record[BINS]
    while below < KNOWN * record[TOTAL]:
        i += 1
        below += record[i]
    record[OVER] = record[TOTAL] - below
    record[REACH] = ENDLESS
    if i < record.size - 1 and record[TOTAL] > 0:
        record[REACH] = int(2.0 ** ((i - BINS) / PER_OCTAVE))


def saved_delays(record: Ints) -> list[int]:
    """The reach and the counts, without the empty bins at the end, for a saved state.

    The counts do not tell the reach: it falls only when they are halved.
    """
    counts: list[int] = record[BINS:].tolist()
    while counts and counts[-1] == 0:
        counts.pop()
    return [int(record[REACH]), *counts]


def restored_delays(saved: Any) -> Ints:
    """The record that was saved. Older states have none (None): their decisions are not waited for."""
    record = blank_delays()
    reach, *counts = saved if isinstance(saved, list) and saved else [1, 1] if saved is None else [0]
    is_sound = all(is_whole(n) and n >= 0 for n in [reach, *counts]) and 1 <= reach <= ENDLESS
    if not is_sound or len(counts) > N_BINS or sum(counts) >= MEMORY:
        accepted = f"a list of the reach and up to {N_BINS} counts, less than {MEMORY} in all"
        raise StateError(f"the state's delays are {saved!r}; accepted is {accepted}")
    record[BINS : BINS + len(counts)] = counts
    record[REACH], record[TOTAL] = reach, sum(counts)
    record[OVER] = record[BINS + bin_of(reach) + 1 :].sum()
    return record
