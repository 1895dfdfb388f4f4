"""Simulated worlds: clients, appliers, operators, a clock that jumps, a store that fails, against the model.

100 of them, a thousand with `make test-all`, any number by python -m tests.service.simulation --seeds 100000. A seed
that fails says how to repeat it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.simulation.play import simulate
from tests.service.simulation.seeds import run
from tests.service.simulation.world import World
from turncoat.service.store import Store

SEEDS, CHUNK = 1000, 100
FEW, FEW_ON_POSTGRES = 100, 4  # seeds of `make test`


def seeds(values: range, few: int) -> list[Any]:
    """All of them as parameters: the first few for `make test`, the others for `make test-all`."""
    return [*values[:few], *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in values[few:])]


@pytest.mark.parametrize("first", seeds(range(0, SEEDS, CHUNK), FEW // CHUNK))
def test_on_sqlite(first: int) -> None:
    tally = run(range(first, first + CHUNK))
    assert tally.seeds == CHUNK
    assert tally.decisions > 8 * CHUNK and tally.versions > 8 * CHUNK  # they were not idle,
    assert tally.pruned > 4 * CHUNK
    assert tally.rewards_refused > 8 * CHUNK and tally.lost > CHUNK  # nor were their lives easy


@pytest.mark.parametrize("seed", seeds(range(SEEDS, SEEDS + 10), FEW_ON_POSTGRES))
def test_on_postgres(postgres_stores: tuple[Store, Store], seed: int) -> None:
    simulate(World(seed, postgres_stores))
