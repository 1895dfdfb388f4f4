"""Runs seeds, each on a store of its own, and says how to repeat one that fails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.service.experiments.lab import quick_folder
from tests.service.simulation.play import simulate
from tests.service.simulation.world import World
from turncoat.service.store import open_store

REPEAT = "repeat it with: python -m tests.service.simulation --first {seed} --seeds 1"


@dataclass
class Tally:
    """What was simulated."""

    seeds: int = 0
    decisions: int = 0
    pruned: int = 0
    rewards_refused: int = 0
    versions: int = 0
    lost: int = 0


def run(seeds: Iterable[int]) -> Tally:
    """All of them, on SQLite; the first that fails is raised, with its number."""
    tally = Tally()
    for seed in seeds:
        with quick_folder() as folder:
            world = World(seed, [open_store(str(folder / "x.db"))])
            try:
                simulate(world)
            except Exception as problem:
                problem.add_note(f"seed {seed}; {REPEAT.format(seed=seed)}")
                raise
            finally:
                world.store.close()
        tally.seeds += 1
        tally.decisions += len(world.model.decisions) + len(world.model.pruned)
        tally.pruned += len(world.model.pruned)
        tally.rewards_refused += len(world.model.refused)
        tally.versions += sum(one.number for one in world.model.experiments.values())
        tally.lost += world.n_lost
    return tally
