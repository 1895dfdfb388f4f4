"""Ids and hashes: their fields, their order, where units fall."""

from __future__ import annotations

import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from turncoat.service.experiments.randomness import Randomness, SystemRandomness, new_id, place_of, unit_hash
from turncoat.service.validation import check_id

times = st.floats(0.0, 2.0**48 / 1000.0 - 1.0)


@given(times, st.integers(0, 2**32))
def test_an_id_is_a_uuid_of_version_7(now: float, seed: int) -> None:
    text = new_id(now, Randomness(seed))
    parsed = uuid.UUID(text)
    assert str(parsed) == text and parsed.version == 7 and parsed.variant == uuid.RFC_4122
    assert parsed.int >> 80 == int(now * 1000.0)
    check_id(text)


@given(times, times, st.integers(0, 2**32))
def test_ids_sort_by_the_millisecond(first: float, second: float, seed: int) -> None:
    randomness = Randomness(seed)
    before, after = new_id(min(first, second), randomness), new_id(max(first, second), randomness)
    assert before[:13] <= after[:13]
    assert int(first * 1000.0) == int(second * 1000.0) or before < after


@pytest.mark.parametrize("now", [-1.0, -1e300, 1e300, 2.0**48])
def test_a_clock_gone_mad_still_gives_ids(now: float) -> None:
    check_id(new_id(now, Randomness(1)))


def test_all_74_bits_are_random() -> None:
    """Each is set in 40 to 60 % of 2,000 ids: a fair bit is outside that once in 10^18 trials."""
    ids = [uuid.UUID(new_id(0.0, randomness)).int for randomness in [Randomness(3)] for _ in range(2000)]
    random_bits = [*range(62), *range(64, 76)]
    assert len(random_bits) == 74 and len(set(ids)) == 2000
    for bit in random_bits:
        assert 800 <= sum(one >> bit & 1 for one in ids) <= 1200


def test_units_are_kept_as_hashes_that_need_the_salt() -> None:
    assert unit_hash("salt", "anna") == unit_hash("salt", "anna")
    assert len({unit_hash(salt, unit) for salt in ("salt", "pepper") for unit in ("anna", "bert", "")}) == 6
    assert "anna" not in unit_hash("salt", "anna") and len(unit_hash("salt", "\ud800")) == 32


def test_units_fall_evenly() -> None:
    """20 cells, 20,000 units, one fixed salt: p above 1e-6, so a fair hash fails for one salt in a million."""
    places = [place_of(unit_hash("salt", f"user-{i}")) for i in range(20_000)]
    assert min(places) >= 0.0 and max(places) < 1.0
    cells = [sum(int(place * 20) == cell for place in places) for cell in range(20)]
    assert stats.chisquare(cells).pvalue > 1e-6


def test_one_seed_one_course_of_things() -> None:
    one, other = Randomness(5), Randomness(5)
    assert [one.uniform(), one.bits(74)] == [other.uniform(), other.bits(74)]
    assert SystemRandomness().bits(128) != SystemRandomness().bits(128)


FORKED = """
import os, sys
from turncoat.service.experiments.randomness import SystemRandomness
randomness = SystemRandomness()
child = os.fork()
sys.stdout.write(f"{randomness.uniform()}\\n")
sys.stdout.flush()
if child:
    os.waitpid(child, 0)
"""


def test_a_fork_does_not_repeat_its_parents_draws() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    draws = ran.stdout.split()
    assert len(draws) == len(set(draws)) == 2
