"""The plan of a race: its arguments, checked, and the cells and references that follow from them.

A cell is one game of one learner; a reference, the comparator that all cells of an environment, seed and horizon share.

Random streams: SeedSequence(seed, spawn_key=(i, 0)) is the environment's in seed i, and (i, 1) every learner's. So all
learners meet the same losses, and adding one changes nothing for the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from turncoat._compile.cache import source_hash
from turncoat.environments import SCENARIOS, Environment, scenario
from turncoat.errors import OptionError, TableError
from turncoat.learners import LinearLearner
from turncoat.learners.entries import Maker, learner_of, make_learner, setting_of
from turncoat.racing.coordinates import CellAt, Facts, Names, ReferenceAt
from turncoat.racing.reference import checkpoints, default_switches
from turncoat.racing.result_keys import environment_parts, key_of, learner_parts
from turncoat.racing.split import can_split, parse_split
from turncoat.simulate.late import AT_ONCE, Timing
from turncoat.types import Ints
from turncoat.validation.numbers import MOST_ROUNDS, parse_whole

MOST_SEEDS = 10**6
MOST_COMPARED = 10**6  # largest max_switches

MakeEnvironment = Callable[[int, np.random.SeedSequence], Environment]  # (horizon, seed)


class Plan:
    """Learners × environments × seeds. Nothing is played here."""

    def __init__(
        self,
        learners: Mapping[str, Maker],
        environments: Any,
        horizon: int | Sequence[int],
        seeds: int,
        seed: int,
        max_switches: int | None,
        split: bool = False,
        timing: Timing = AT_ONCE,
    ) -> None:
        self.horizons = _parse_horizons(horizon)
        self.n_seeds = parse_whole("seeds", seeds, 1, MOST_SEEDS)
        self.seed = parse_whole("seed", seed, 0, 2**128)
        self.max_switches = max_switches
        if max_switches is not None:
            self.max_switches = parse_whole("max_switches", max_switches, 0, MOST_COMPARED)
        self.split = parse_split(split, self.horizons[-1])
        self.timing = timing
        if self.split and not timing.at_once:
            raise OptionError(
                f"delay is {timing.delay} and batch {timing.batch}; accepted with split=True are 0 and 1: the theorems "
                "are about losses that are told at once"
            )
        self.learners = _parse_learners(learners)
        named = _named(environments)
        self.environments = {name: _parse_environment(name, thing, self.horizons) for name, thing in named.items()}
        self.descriptions = {
            name: SCENARIOS[thing].description for name, thing in named.items() if isinstance(thing, str)
        }
        self.checkpoints: dict[int, Ints] = {horizon: checkpoints(horizon) for horizon in self.horizons}
        self.source = source_hash()
        self._parts: dict[str, tuple[Environment, dict[str, Any]]] = {}

    def names(self) -> Names:
        """The names of learners and environments, with the seeds and horizons."""
        facts = {name: self._facts(name) for name in self.environments}
        return Names(list(self.learners), facts, self.n_seeds, self.horizons, self._settings)

    @cached_property
    def _settings(self) -> dict[str, str]:
        """The setting of each learner, read from one made for the first environment."""
        reference = ReferenceAt(next(iter(self.environments)), 0, self.horizons[-1])
        environment = self.environment(reference)
        return {at.learner: setting_of(self.learner(at, environment, quiet=True)) for at in self.cells(reference)}

    def _facts(self, name: str) -> Facts:
        environment = self.environment(ReferenceAt(name, 0, self.horizons[-1]))
        description = self.descriptions.get(name) or repr(environment).strip("<>")
        return Facts(environment.n_arms, environment.oblivious, description)

    def references(self) -> Iterator[ReferenceAt]:
        """Every reference, seed by seed."""
        places = product(range(self.n_seeds), self.environments, self.horizons)
        return (ReferenceAt(environment, i, horizon) for i, environment, horizon in places)

    def cells(self, at: ReferenceAt) -> Iterator[CellAt]:
        """The cells that stand on a reference, one per learner."""
        return (CellAt(at.environment, name, at.seed, at.horizon) for name in self.learners)

    def environment(self, at: ReferenceAt) -> Environment:
        """The environment of a reference, fresh."""
        stream = np.random.SeedSequence(self.seed, spawn_key=(at.seed, 0))
        return self.environments[at.environment](at.horizon, stream).fresh()

    def learner(self, at: CellAt, environment: Environment, *, quiet: bool = False) -> Any:
        """The learner of a cell; `quiet` suppresses its warnings, where they were shown before."""
        stream = np.random.SeedSequence(self.seed, spawn_key=(at.seed, 1))
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore")
            maker = self.learners[at.learner]
            size = size_of(maker, environment)
            learner = make_learner(maker, size, at.horizon, stream, environment.n_switches)
        if not (callable(getattr(learner, "ask", None)) and callable(getattr(learner, "tell", None))):
            raise OptionError(f"the maker of {at.learner!r} made {learner!r}; accepted is a learner, with ask and tell")
        return learner

    def compared(self, at: ReferenceAt, environment: Environment) -> int:
        """S_max of the comparator."""
        if self.max_switches is None:
            return default_switches(environment.n_switches, at.horizon)
        return min(self.max_switches, at.horizon - 1)

    def _environment_parts(self, name: str, environment: Environment) -> dict[str, Any]:
        """`environment_parts` of the environment, cached: the same table is hashed once."""
        if name not in self._parts or self._parts[name][0] is not environment:
            self._parts[name] = environment, environment_parts(environment)
        return self._parts[name][1]

    def reference_key(self, at: ReferenceAt, environment: Environment) -> str:
        """The key of a reference."""
        return key_of(
            {
                "reference": self._environment_parts(at.environment, environment),
                "checkpoints": self.checkpoints[at.horizon].tolist(),
                "max_switches": self.compared(at, environment),
                "source": self.source,
            }
        )

    def cell_key(self, at: CellAt, learner: Any, environment: Environment) -> str:
        """The key of a cell."""
        return key_of(
            {
                "learner": learner_parts(at.learner, learner),
                "environment": self._environment_parts(at.environment, environment),
                "horizon": at.horizon,
                "max_switches": None if environment.oblivious else self.compared(at.reference, environment),
                "i": at.seed,
                "seed": self.seed,
                "source": self.source,
                **({} if self.timing.at_once else self.timing._asdict()),
                **({"split": True} if self.split and can_split(learner) else {}),
            }
        )


def size_of(maker: Maker, environment: Environment) -> int:
    """The first argument of a maker: the number of features for linear learners where arms have them, else of arms.

    A maker is known to make linear learners if it is their class, a `partial` of it, or `told` of either.
    """
    made = learner_of(maker)
    is_linear = made is not None and issubclass(made, LinearLearner)
    return environment.n_arms if environment.features is None or not is_linear else environment.features.shape[1]


def _parse_horizons(horizon: Any) -> list[int]:
    """One horizon or several, in rising order."""
    horizon = horizon.tolist() if isinstance(horizon, np.ndarray) else horizon  # a 0-d array becomes a number
    several = list(horizon) if isinstance(horizon, Iterable) and not isinstance(horizon, str) else [horizon]
    several = [int(one) if isinstance(one, float) and one.is_integer() else one for one in several]  # 1e6
    if not several:
        raise OptionError("horizon is empty; accepted is a number of rounds, or several")
    return sorted({parse_whole("horizon", one, 1, MOST_ROUNDS) for one in several})


def _parse_learners(learners: Any) -> dict[str, Maker]:
    accepted = "accepted is a dict from names to makers, called as maker(arms, horizon, seed=…), at least one"
    if not isinstance(learners, Mapping) or not learners:
        raise OptionError(f"learners are {learners!r}; {accepted}")
    for name, maker in learners.items():
        if not isinstance(name, str) or not name or not callable(maker):
            raise OptionError(f"among the learners is {name!r}: {maker!r}; {accepted}")
    return dict(learners)


def _named(environments: Any) -> dict[str, Any]:
    """Environments by name: a given name, a scenario's id, or the environment's kind, numbered if it occurs twice."""
    if isinstance(environments, Mapping):
        named = dict(environments)
    else:
        alone = isinstance(environments, str | Environment) or callable(environments)
        things = [environments] if alone else environments
        if not isinstance(things, Iterable):
            things = []
        named = {}
        for thing in things:
            name = thing if isinstance(thing, str) else str(getattr(thing, "name", getattr(thing, "__name__", thing)))
            n_alike = sum(other.partition(" #")[0] == name for other in named)
            if n_alike and isinstance(thing, str):
                raise OptionError(f"the environment {thing!r} is given twice; accepted is each once")
            named[f"{name} #{n_alike + 1}" if n_alike else name] = thing
    if not named or not all(isinstance(name, str) and name for name in named):
        raise OptionError(
            f"environments are {environments!r}; accepted are scenario ids and environments, in a list or in a dict "
            "from names to them, at least one"
        )
    return named


def _parse_environment(name: str, thing: Any, horizons: list[int]) -> MakeEnvironment:
    """A function that makes the environment from (horizon, seed)."""
    if isinstance(thing, str):
        scenario(thing, 1)  # raises for an unknown id, and suggests similar ones
        return lambda T, seed: scenario(thing, T, seed)
    if isinstance(thing, Environment):
        for horizon in horizons:
            _check_horizon(name, thing, horizon)
        return lambda T, seed: thing
    if callable(thing):
        return lambda T, seed: _made(name, thing(T, seed), T)
    raise OptionError(
        f"the environment {name!r} is {thing!r}; accepted are scenario ids, environments, and functions that make an "
        "environment from (horizon, seed)"
    )


def _made(name: str, environment: Any, horizon: int) -> Environment:
    if not isinstance(environment, Environment):
        raise OptionError(f"the maker of {name!r} made {environment!r}; accepted is an environment")
    _check_horizon(name, environment, horizon)
    return environment


def _check_horizon(name: str, environment: Environment, horizon: int) -> None:
    """The environment must have enough rounds; with a planted path exactly as many, as n_switches counts all of it."""
    if environment.horizon < horizon:
        raise TableError(
            f"the environment {name!r} has {environment.horizon} rounds and the race {horizon}; accepted are at least "
            "as many rounds as the race has"
        )
    if environment.horizon > horizon and environment.n_switches is not None:
        raise OptionError(
            f"the environment {name!r} has a planted path of {environment.horizon} rounds and the race has {horizon}; "
            "accepted is the same number"
        )
