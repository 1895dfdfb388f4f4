"""Who races where: the names of a race, and the places that its cells and grounds have in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple


class GroundAt(NamedTuple):
    """Where a ground stands in a race."""

    environment: str
    seed: int
    horizon: int


class CellAt(NamedTuple):
    """Where a cell stands in a race."""

    environment: str
    learner: str
    seed: int
    horizon: int

    @property
    def ground(self) -> GroundAt:
        """What it stands on."""
        return GroundAt(self.environment, self.seed, self.horizon)


class Facts(NamedTuple):
    """What a race knows of an environment without playing."""

    n_arms: int
    oblivious: bool
    description: str


class Names(NamedTuple):
    """Who races where, how often and how long."""

    learners: list[str]
    environments: dict[str, Facts]
    seeds: int
    horizons: list[int]  # in rising order
    settings: Mapping[str, str] = MappingProxyType({})  # of the learners; empty words where none is stated

    @property
    def horizon(self) -> int:
        """The longest."""
        return self.horizons[-1]

    def cells(self) -> Iterator[CellAt]:
        """Every cell: environment by environment, learner by learner, seed by seed."""
        for environment in self.environments:
            for learner in self.learners:
                for i in range(self.seeds):
                    for horizon in self.horizons:
                        yield CellAt(environment, learner, i, horizon)
