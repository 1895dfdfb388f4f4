"""race: learners × environments × seeds, each game played once, measured on common ground, stored and resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turncoat.environments import Environment
from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import CellAt, GroundAt
from turncoat.racing.engines import CellJob, GroundJob, Job, check_sendable, do_all, parse_engine
from turncoat.racing.entries import Maker
from turncoat.racing.manifest import about
from turncoat.racing.plan import Plan
from turncoat.racing.precompile import as_sent, warm_up
from turncoat.racing.reference import Ground
from turncoat.racing.result import Result
from turncoat.racing.storage import Memory, open_store

Environments = str | Environment | Sequence[Any] | Mapping[str, Any]


class Progress(NamedTuple):
    """How far a race is, after each finished cell; `result` holds what is finished and grows with it."""

    cell: CellAt
    done: int  # cells, those found in the folder included
    total: int
    rounds: int  # played in this run …
    rounds_left: int  # … and still to play
    seconds: float  # since the first worker started
    result: Result

    @property
    def rounds_per_second(self) -> float:
        """Rounds of all workers together."""
        return self.rounds / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float:
        """At the present pace."""
        return self.seconds * self.rounds_left / self.rounds


def race(  # noqa: PLR0913  the words of DESIGN's contract, all but one of them optional
    learners: Mapping[str, Maker],
    environments: Environments = ("flip/3",),
    horizon: int | Sequence[int] = 100_000,
    *,
    seeds: int = 20,
    seed: int = 0,
    folder: str | Path | None = None,
    engine: str = "threads",
    workers: int | None = None,
    max_switches: int | None = None,
    split: bool = False,
    on_compile: Callable[[int, int], Any] = lambda done, total: None,
    on_progress: Callable[[Progress], Any] = lambda now: None,
) -> Result:
    """Race learners over the same games: every maker's learner meets every environment once for each of the seeds.

    `learners` are makers by name, called as maker(arms, horizon, seed=…); `told` makers are also given n_switches.
    `environments` are scenario ids, environments, or functions that make one from (horizon, seed), in a list, or in a
    dict by name. Several horizons are as many games; results are those of the longest, and the others show how regret
    grows. Results do not depend on `engine` ("threads", "processes", "dask://host:port") or `workers`.

    With a `folder` every finished game is saved as it comes, and what the folder holds is not played again. The
    comparator goes up to `max_switches`, by default twice as many as planted, from 8 to 64. With `split` the regret of
    the paper's masters is split into the master's and each base's, up to a million rounds: see `Result.split`.
    `on_compile(done, total)` is called after every kind of game that is compiled, or read from disk, and `on_progress`
    after every finished cell.
    """
    plan = Plan(learners, environments, horizon, seeds, seed, max_switches, split)
    crew = parse_engine(engine, workers)
    with open_store(folder, plan) as store:
        missing = _Missing(plan, store)
        kinds = missing.kinds(sent=engine != "threads")
        if engine != "threads":
            check_sendable([*kinds[0], *(game for _, game in kinds[1])], [learner for learner, _ in kinds[1]])
        warm_up(*kinds, on_compile)
        result = Result(plan.names(), store.cells, store.grounds, about(plan))
        if missing.cells or missing.grounds:
            with crew() as at_work:
                at_work.prepare(*missing.kinds(sent=False))
                _work(do_all(at_work, missing.jobs()), missing, store, result, on_progress)
    return result


class _Missing:
    """What is not in the store yet."""

    def __init__(self, plan: Plan, store: Memory) -> None:
        self.plan = plan
        self.n_found = 0
        self.grounds: dict[GroundAt, str] = {}
        self.cells: dict[CellAt, str] = {}
        self.places: dict[str, list[GroundAt]] = {}  # a ground may serve several seeds
        for ground_at in plan.grounds():
            environment = plan.environment(ground_at)
            key = plan.ground_key(ground_at, environment)
            self._look_for_ground(store, ground_at, key)
            for name in plan.learners:
                at = CellAt(ground_at.environment, name, ground_at.seed, ground_at.horizon)
                learner = plan.learner(at, environment)
                cell_key = plan.cell_key(at, learner, environment) if store.keyed else ""
                if store.find_cell(at, cell_key):
                    self.n_found += 1
                else:
                    self.cells[at] = cell_key
        store.begin()

    def _look_for_ground(self, store: Memory, at: GroundAt, key: str) -> None:
        self.places.setdefault(key, []).append(at)
        if not store.find_ground(at, key) and len(self.places[key]) == 1:
            self.grounds[at] = key

    def kinds(self, sent: bool) -> tuple[list[Environment], list[tuple[Any, Environment]], bool]:
        """One ground and one cell of every kind, to be compiled; if `sent`, as other processes will have them.

        And whether regret is split.
        """
        first = dict.fromkeys(at._replace(seed=0) for at in self.grounds)
        grounds = {at.environment: self._environment(at, sent) for at in first}
        cells = {}
        for at in dict.fromkeys(at._replace(seed=0) for at in self.cells):
            environment = self._environment(at.ground, sent)
            cells[at.environment, at.learner] = self.plan.learner(at, environment, quiet=True), environment
        return list(grounds.values()), list(cells.values()), self.plan.split

    def _environment(self, at: GroundAt, sent: bool) -> Environment:
        environment = self.plan.environment(at)
        return as_sent(environment) if sent else environment

    def jobs(self) -> Iterator[Job]:
        """Grounds and cells, game by game."""
        plan = self.plan
        for at in plan.grounds():
            t = plan.checkpoints[at.horizon]
            if at in self.grounds:
                environment = plan.environment(at)
                yield GroundJob(at, environment, t, plan.compared(at, environment))
            for name in plan.learners:
                cell_at = CellAt(at.environment, name, at.seed, at.horizon)
                if cell_at in self.cells:
                    environment = plan.environment(at)
                    learner = plan.learner(cell_at, environment, quiet=True)
                    yield CellJob(cell_at, learner, environment, t, plan.compared(at, environment), plan.split)


def _work(
    finished: Iterable[tuple[CellAt | GroundAt, Cell | Ground]],
    missing: _Missing,
    store: Memory,
    result: Result,
    on_progress: Callable[[Progress], Any],
) -> None:
    """Save what comes, and tell of it."""
    began = time.perf_counter()
    total, done, rounds = missing.n_found + len(missing.cells), missing.n_found, 0
    rounds_left = sum(at.horizon for at in missing.cells)
    for at, outcome in finished:
        if isinstance(at, GroundAt) and isinstance(outcome, Ground):
            key = missing.grounds[at]
            store.add_ground(missing.places[key], key, outcome)
        elif isinstance(at, CellAt) and isinstance(outcome, Cell):
            store.add_cell(at, missing.cells[at], outcome)
            done, rounds, rounds_left = done + 1, rounds + at.horizon, rounds_left - at.horizon
            on_progress(Progress(at, done, total, rounds, rounds_left, time.perf_counter() - began, result))
