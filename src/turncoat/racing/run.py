"""race: learners × environments × seeds, each game played once, measured against one reference, stored, resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from turncoat.environments import Environment
from turncoat.learners.entries import Maker
from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import At, CellAt, ReferenceAt
from turncoat.racing.engines import Job, check_sendable, do_all, parse_engine, parse_workers, play
from turncoat.racing.plan import Plan
from turncoat.racing.precompile import as_sent, precompile
from turncoat.racing.reference import Reference, compute_reference
from turncoat.racing.result import Result
from turncoat.racing.storage import Memory, about, open_store
from turncoat.simulate.late import Timing, parse_timing

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


def race(  # noqa: PLR0913  all but one of them are optional
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
    delay: int = 0,
    batch: int = 1,
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
    `delay` and `batch`, as in `play`: losses are told so many rounds later, and at the end of batches.
    `on_compile(done, total)` is called after every kind of game that is compiled, or read from disk, and `on_progress`
    after every finished cell.
    """
    plan = Plan(learners, environments, horizon, seeds, seed, max_switches, split, parse_timing(delay, batch))
    workers = parse_workers(workers)
    crew = parse_engine(engine, workers)
    with open_store(folder) as store:
        missing = _Missing(plan, store)
        kinds = missing.kinds(sent=engine != "threads")
        if engine != "threads":
            check_sendable([*kinds[0], *(game for _, game in kinds[1])], [learner for learner, _ in kinds[1]])
        precompile(*kinds, on_compile, workers)
        result = Result(plan.names(), store.cells, store.references, about(plan))
        if missing.cells or missing.references:
            with crew() as at_work:
                at_work.prepare(*missing.kinds(sent=False))
                _work(do_all(at_work, missing.jobs()), missing, store, result, on_progress)
    return result


class _Missing:
    """What is not in the store yet."""

    def __init__(self, plan: Plan, store: Memory) -> None:
        self.plan = plan
        self.n_found = 0
        self.references: dict[ReferenceAt, str] = {}
        self.cells: dict[CellAt, str] = {}
        self.places: dict[str, list[ReferenceAt]] = {}  # a reference may serve several seeds
        for reference_at in plan.references():
            environment = plan.environment(reference_at)
            key = plan.reference_key(reference_at, environment)
            places = self.places.setdefault(key, [])
            places.append(reference_at)
            if not store.find(reference_at, key) and len(places) == 1:
                self.references[reference_at] = key
            for at in plan.cells(reference_at):
                learner = plan.learner(at, environment)
                cell_key = plan.cell_key(at, learner, environment) if store.keyed else ""
                if store.find(at, cell_key):
                    self.n_found += 1
                else:
                    self.cells[at] = cell_key
        store.begin(plan)

    def kinds(self, sent: bool) -> tuple[list[Environment], list[tuple[Any, Environment]], bool, Timing]:
        """One reference and one cell of every kind, to be compiled; if `sent`, as other processes will have them.

        And whether regret is split, and when losses are told.
        """
        references = {at.environment: at._replace(seed=0) for at in self.references}
        cells = []
        for at in {(at.environment, at.learner): at._replace(seed=0) for at in self.cells}.values():
            environment = self._environment(at.reference, sent)
            cells.append((self.plan.learner(at, environment, quiet=True), environment))
        return [self._environment(at, sent) for at in references.values()], cells, self.plan.split, self.plan.timing

    def _environment(self, at: ReferenceAt, sent: bool) -> Environment:
        environment = self.plan.environment(at)
        return as_sent(environment) if sent else environment

    def jobs(self) -> Iterator[Job]:
        """References and cells, game by game."""
        plan = self.plan
        for at in plan.references():
            t = plan.checkpoints[at.horizon]
            if at in self.references:
                environment = plan.environment(at)
                yield Job(at, partial(compute_reference, environment, t, plan.compared(at, environment)))
            for cell_at in plan.cells(at):
                if cell_at in self.cells:
                    environment = plan.environment(at)
                    learner = plan.learner(cell_at, environment, quiet=True)
                    compared = plan.compared(at, environment)
                    words = compared, plan.split, plan.timing
                    yield Job(cell_at, partial(play, learner, environment, t, *words))


def _work(
    finished: Iterable[tuple[At, Cell | Reference]],
    missing: _Missing,
    store: Memory,
    result: Result,
    on_progress: Callable[[Progress], Any],
) -> None:
    """Save what comes, and report it."""
    began = time.perf_counter()
    total, done, rounds = missing.n_found + len(missing.cells), missing.n_found, 0
    rounds_left = sum(at.horizon for at in missing.cells)
    for at, outcome in finished:
        if isinstance(at, ReferenceAt):
            key = missing.references[at]
            store.add(missing.places[key], key, outcome)
            continue
        store.add([at], missing.cells[at], outcome)
        done, rounds, rounds_left = done + 1, rounds + at.horizon, rounds_left - at.horizon
        on_progress(Progress(at, done, total, rounds, rounds_left, time.perf_counter() - began, result))
