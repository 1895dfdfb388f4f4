"""A thousand simulated worlds: clients, appliers, operators, a clock that jumps, a store that fails, against the model.

A seed that fails says how to repeat it. More of them: python -m tests.service.simulation --seeds 100000
"""

from __future__ import annotations

import pytest

from tests.service.simulation.play import simulate
from tests.service.simulation.seeds import run
from tests.service.simulation.world import World
from turncoat.service.store import Store

SEEDS, CHUNK = 1000, 100


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_on_sqlite(first: int) -> None:
    tally = run(range(first, first + CHUNK))
    assert tally.seeds == CHUNK
    assert tally.decisions > 8 * CHUNK and tally.versions > 8 * CHUNK  # they were not idle,
    assert tally.rewards_refused > 8 * CHUNK and tally.lost > CHUNK  # nor were their lives easy


@pytest.mark.parametrize("seed", range(SEEDS, SEEDS + 10))
def test_on_postgres(postgres_stores: tuple[Store, Store], seed: int) -> None:
    simulate(World(seed, postgres_stores))
