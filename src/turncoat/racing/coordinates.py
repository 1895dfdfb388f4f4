"""The coordinates of a race: names of learners and environments, and those of each cell and reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple


class ReferenceAt(NamedTuple):
    """The coordinates of a reference."""

    environment: str
    seed: int
    horizon: int


class CellAt(NamedTuple):
    """The coordinates of a cell."""

    environment: str
    learner: str
    seed: int
    horizon: int

    @property
    def reference(self) -> ReferenceAt:
        """The coordinates of its reference."""
        return ReferenceAt(self.environment, self.seed, self.horizon)


At = CellAt | ReferenceAt


class Facts(NamedTuple):
    """What a race knows of an environment without playing."""

    n_arms: int
    oblivious: bool
    description: str


class Names(NamedTuple):
    """The learners, environments, seeds and horizons of a race."""

    learners: list[str]
    environments: dict[str, Facts]
    seeds: int
    horizons: list[int]  # in rising order
    settings: Mapping[str, str] = MappingProxyType({})  # of the learners; empty where none is stated

    @property
    def horizon(self) -> int:
        """The longest."""
        return self.horizons[-1]

    def cells(self) -> Iterator[CellAt]:
        """Every cell: environment by environment, learner by learner, seed by seed."""
        places = product(self.environments, self.learners, range(self.seeds), self.horizons)
        return (CellAt(*place) for place in places)
