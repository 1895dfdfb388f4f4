"""Engines run the jobs of a race: on threads, on processes of this machine, or on a Dask cluster.

A job is a pure function of its arguments, so results depend neither on the engine nor on the order. Jobs are created
as workers become free, and results are returned as they finish; a worker never touches the disk.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import deepcopy
from itertools import islice
from typing import Any, NamedTuple

from turncoat.environments import Environment
from turncoat.errors import OptionError, RaceError
from turncoat.learners import Learner
from turncoat.optional_imports import require
from turncoat.racing.cell import Cell, play_cell
from turncoat.racing.coordinates import At
from turncoat.racing.precompile import precompile
from turncoat.racing.reference import Reference
from turncoat.racing.split import can_split, split_cell
from turncoat.simulate.late import Timing
from turncoat.types import Ints
from turncoat.validation.numbers import parse_whole

MOST_WORKERS = 4096
RETRIES = 10  # how many deaths of its workers a job survives on a cluster
CONNECT_SECONDS = 20
DASK = re.compile(r"dask://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):\d{1,5}")


class Job(NamedTuple):
    """A computation and its place in the race. `work` calls the function it is given to learn whether to stop early."""

    at: At
    work: Callable[[Callable[[], bool]], Cell | Reference]


def play(
    learner: Any,
    environment: Environment,
    t: Ints,
    max_switches: int,
    split: bool,
    timing: Timing,
    stopping: Callable[[], bool],
) -> Cell:
    """Play a cell; and once more, with an equal learner, if its regret is to be split."""
    twin = deepcopy(learner) if split and can_split(learner) else None
    cell = play_cell(learner, environment, t, stopping, max_switches=max_switches, timing=timing)
    return cell if twin is None else split_cell(cell, twin, environment.fresh(), stopping)


def do(job: Job, stopping: Callable[[], bool] = lambda: False) -> Cell | Reference:
    """Do a job. An error gets a note with its place in the race."""
    try:
        return job.work(stopping)
    except Exception as problem:
        problem.add_note(f"This was in the race at {job.at}.")
        raise


class Crew(NamedTuple):
    """Workers, how many jobs they should have at hand, and what they have to do before the first one."""

    n_at_hand: int
    submit: Callable[[Job], Future[Any]]
    prepare: Callable[..., None] = lambda *kinds: None


@contextmanager
def threads(workers: int) -> Iterator[Crew]:
    """Threads of this process: whole games release the GIL."""
    ended = threading.Event()
    executor = ThreadPoolExecutor(workers, thread_name_prefix="turncoat")
    try:
        yield Crew(2 * workers, lambda job: executor.submit(do, job, ended.is_set))
    finally:
        ended.set()
        executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def processes(workers: int) -> Iterator[Crew]:
    """Processes of this machine, for learners in plain Python: those hold the GIL."""
    loky = require("joblib.externals.loky", "a race in processes")
    executor = loky.get_reusable_executor(max_workers=workers)
    finished = False
    try:
        yield Crew(2 * workers, lambda job: executor.submit(do, job))
        finished = True
    finally:
        executor.shutdown(wait=True, kill_workers=not finished)


@contextmanager
def dask(address: str) -> Iterator[Crew]:
    """The workers of a Dask cluster. Jobs of a worker that dies go to another one."""
    distributed = require("distributed", "a race on a Dask cluster", extra="dask")
    try:
        client = distributed.Client(
            address.replace("dask://", "tcp://", 1), timeout=CONNECT_SECONDS, set_as_default=False
        )
    except OSError as problem:
        raise RaceError(f"there is no Dask scheduler at {address!r}: {problem}") from problem
    with client:
        n_threads = sum(client.nthreads().values())

        def prepare(*kinds: Any) -> None:
            """Compile on one worker of every host; the others will find it in the cache of their host."""
            one_each = {address.rpartition(":")[0]: address for address in client.nthreads()}
            at = {"allow_other_workers": True, "pure": False}
            client.gather([client.submit(precompile, *kinds, workers=[one], **at) for one in one_each.values()])

        executor = client.get_executor(pure=False, retries=RETRIES)
        try:
            yield Crew(2 * max(n_threads, 2), lambda job: executor.submit(do, job), prepare)
        finally:
            executor.shutdown(wait=False)


def check_sendable(environments: Iterable[Environment], learners: Iterable[Any]) -> None:
    """Refuse what other processes could not play: rules are registered where their file is imported, and only there."""
    rules = [environment.game for environment in environments]
    rules += [learner.view() for learner in learners if isinstance(learner, Learner)]
    for kind in map(type, rules):
        if kind.__module__ == "__main__":
            raise OptionError(
                f"the rule of {kind.__name__} was registered in the script itself, which other processes do not run; "
                "accepted there are rules from a module that is imported, and engine='threads' takes any"
            )


def parse_workers(workers: Any) -> int:
    """The number of workers; by default, one per processor."""
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return parse_whole("workers", workers, 1, MOST_WORKERS)


def parse_engine(engine: Any, workers: int) -> Callable[[], Any]:
    """A function that starts the crew that this engine names."""
    if engine == "threads":
        return lambda: threads(workers)
    if engine == "processes":
        return lambda: processes(workers)
    if isinstance(engine, str) and DASK.fullmatch(engine):
        return lambda: dask(engine)
    raise OptionError(f"engine is {engine!r}; accepted are 'threads', 'processes' and 'dask://host:port'")


def do_all(crew: Crew, jobs: Iterable[Job]) -> Iterator[tuple[At, Cell | Reference]]:
    """Every job with its result, as they are finished."""
    waiting: dict[Future[Any], At] = {}
    more = iter(jobs)
    while True:
        for job in islice(more, crew.n_at_hand - len(waiting)):
            waiting[crew.submit(job)] = job.at
        if not waiting:
            return
        finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in [future for future in waiting if future in finished]:  # a reference before the cells on it
            at = waiting.pop(future)
            try:
                result = future.result()
            except BrokenExecutor as problem:
                raise RaceError(f"a worker died at {at}: {problem}") from problem
            yield at, result
