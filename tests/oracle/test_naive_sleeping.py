"""The oracle of rounds in which only some arms are there, on cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.naive.sleeping import Sleeping, Tuning, project
from tests.naive.solve import reals

INDICES = [[9.0, 1.0, 2.0]]  # arm 0 leads; where it is away, arm 2


def test_the_projection_has_a_floor_for_each() -> None:
    assert project(reals([1, 3]), reals([0, 0])).tolist() == pytest.approx([0.25, 0.75])
    assert project(reals([1, 3]), reals([0.5, 0])).tolist() == pytest.approx([0.5, 0.5])
    assert project(reals([1, 1, 8]), reals([0.3, 0, 0])).tolist() == pytest.approx([0.3, 0.7 / 9, 5.6 / 9])


def test_bases_restrict_themselves_and_the_best_arm_left_leads() -> None:
    oracle = Sleeping(3, [1, 1], 1, 0)
    oracle.rows[0] = [0.5, 0.2, 0.3]
    assert oracle.inside(INDICES, [1, 2]).tolist() == [[0, pytest.approx(0.4), pytest.approx(0.6)], [0, 0, 1]]
    assert oracle.served(INDICES, [1, 2]).tolist() == pytest.approx([0, 0.2, 0.8])
    assert oracle.served(INDICES, [0, 1, 2]).tolist() == pytest.approx([0.75, 0.1, 0.15])


def test_a_charge_by_hand() -> None:
    """Told: arm 1, loss 1, q = 0.2. Of many arms only the leader, arm 2, has a baseline, of 1/2."""
    oracle = Sleeping(3, [1, 1], 1, 0)
    oracle.rows[0] = [0.5, 0.2, 0.3]
    tuning = Tuning(0.1, [0.5], [0.01, 0.01], 16.0, 0.5, 0)
    mix = -2 * math.log(0.6 + 0.4 * math.exp(-0.5 * 5))
    assert oracle.charges(INDICES, [1, 2], 1, 0.2, 1.0, tuning).tolist() == pytest.approx([mix + 0.6 / 2, 0.5])
    oracle.tell(INDICES, [1, 2], 1, 0.2, 1.0, tuning)
    trust = math.exp(-0.1 * (mix + 0.3)), math.exp(-0.05)
    assert oracle.p.tolist() == pytest.approx([x / sum(trust) for x in trust])
    floor = 1 / math.sqrt(2 * 16)  # 0.4 exp(-2.5) against 0.6 is below it
    assert oracle.rows[0].tolist() == pytest.approx([0.5, 0.5 * floor, 0.5 * (1 - floor)])


def test_a_charge_with_a_baseline_for_every_arm() -> None:
    """The same with both arms in C and eta = 1: arm 1 has the baseline min(1/2, 0.2/1), arm 2 has 1/2."""
    oracle = Sleeping(3, [1, 1], 1, 0)
    oracle.rows[0] = [0.5, 0.2, 0.3]
    found = oracle.charges(INDICES, [1, 2], 1, 0.2, 1.0, Tuning(1.0, [0.5], [0.01, 0.01], 16.0, 0.5, 2))
    mix = -2 * math.log(0.6 + 0.4 * math.exp(-0.5 * 5))
    assert found.tolist() == pytest.approx([mix - 0.4 * 0.2 / 0.2 + 0.4 * 0.2 + 0.6 * 0.5, 0.5])


def test_a_signed_step_by_hand() -> None:
    """Loss 0 below the mean 1/2 raises the arm by exp(min(1, 0.2 · 0.5/0.5)); then 1/16 is shared between two."""
    oracle = Sleeping(3, [1, 1], 0, 1)
    oracle.rows[0] = [0.5, 0.25, 0.25]
    oracle.tell(INDICES, [0, 1], 0, 0.5, 0.0, Tuning(0.1, [0.2], [0.01, 0.01], 16.0, 0.5, 2))
    raised = 2 / 3 * math.exp(0.2)
    x = 15 / 16 * raised / (raised + 1 / 3) + 1 / 32
    assert oracle.rows[0].tolist() == pytest.approx([0.75 * x, 0.75 * (1 - x), 0.25])


def test_where_one_arm_is_there_nothing_moves() -> None:
    oracle = Sleeping(3, [1, 2], 1, 0)
    rows, p = oracle.rows.copy(), oracle.p.copy()
    oracle.tell(INDICES, [1], 1, 1.0, 1.0, Tuning(0.1, [0.5], [0.01, 0.01], 16.0, 0.5, 2))
    assert np.array_equal(rows, oracle.rows) and np.array_equal(p, oracle.p)
