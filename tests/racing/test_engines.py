"""Engines: results are bit-identical on every engine, also when a worker dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import turncoat as tc
from tests.racing.makers import LEARNERS, Broken, FollowTheLeader
from tests.racing.test_race import TABLE, assert_same
from turncoat.environments import Table
from turncoat.errors import MissingPackageError, RaceError
from turncoat.racing.split import split_loop
from turncoat.simulate.loop import loop_of

T = 600

pytestmark = pytest.mark.slow


def raced(**words: Any) -> tc.Result:
    return tc.race(LEARNERS, ["flip/3", Table(TABLE)], T, seeds=2, seed=4, split=True, **words)


@pytest.fixture(scope="module")
def in_one_thread() -> tc.Result:
    return raced(workers=1)


@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_processes_do_not_show(in_one_thread: tc.Result, workers: int) -> None:
    assert_same(raced(engine="processes", workers=workers), in_one_thread)


def test_a_table_that_must_not_be_written_is_the_same_elsewhere() -> None:
    """It is another type of array for compiled code, here and not in other processes, where it is a copy."""
    frozen = TABLE.copy()
    frozen.flags.writeable = False
    words: dict[str, Any] = {"environments": Table(frozen), "horizon": T, "seeds": 1, "workers": 1}
    here, elsewhere = (tc.race({"u": tc.Uniform}, engine=engine, **words) for engine in ("threads", "processes"))
    assert_same(here, elsewhere)


def test_a_failure_in_another_process_is_told_with_its_place() -> None:
    with pytest.raises(ZeroDivisionError, match="own making") as failed:
        tc.race({"mine": Broken}, ["flip/3"], T, seeds=1, engine="processes", workers=1)
    assert "learner='mine'" in "".join(failed.value.__notes__)


SCRIPT = """
from typing import NamedTuple
import turncoat as tc
from turncoat.environments import Environment, jit_rule, register_environment

class Game(NamedTuple):
    cost: float

@jit_rule
def loss_of(game, t, arm):
    return game.cost

register_environment(Game, loss_of=loss_of)

class Own(Environment):
    name, n_arms, horizon, n_switches, game = "own", 2, 20, None, Game(0.5)

class Leader:
    def __init__(self, arms, horizon=None, *, seed=None): pass
    def ask(self): return 0
    def tell(self, arm, loss): pass

for engine in ("threads", "processes"):
    try:
        print(tc.race({"leader": Leader}, [Own()], 20, seeds=1, engine=engine, workers=1))
    except tc.errors.OptionError as problem:
        print(problem)
"""


def test_a_rule_that_other_processes_cannot_know_is_named(tmp_path: Path) -> None:
    """It was a KeyError from inside: a script's own rules are registered where it runs, and nowhere else."""
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, "-W", "ignore", str(tmp_path / "script.py")]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith("<Result: 1 of 1 cells")
    assert said[1].startswith("the rule of Game was registered in the script itself, which other processes do not run;")


class Suicidal(FollowTheLeader):
    """Takes its process with it."""

    def ask(self) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


def test_a_dead_process_ends_the_race_and_what_was_saved_stays(tmp_path: Any) -> None:
    words: dict[str, Any] = {"environments": ["flip/3"], "horizon": T, "seeds": 1, "folder": tmp_path}
    tc.race({"exp3": tc.Exp3}, **words)
    with pytest.raises(RaceError, match="a worker died at"):
        tc.race({"exp3": tc.Exp3, "bad": Suicidal}, **words, engine="processes", workers=1)
    assert [at.learner for at in tc.Result.load(tmp_path).missing] == ["bad"]


def n_signatures() -> int:
    loops = [loop_of(kind.state_type) for kind in (tc.Uniform, tc.Exp3S, tc.MasterBase)]
    loops.append(split_loop(tc.MasterBase.state_type))
    return sum(len(getattr(loop, "signatures", ())) for loop in loops)


def test_everything_is_compiled_before_a_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is compiled while games are played: a learner's time is its own."""
    module = import_module("turncoat.racing.run")
    n_compiled: list[int] = []
    real = module.do_all

    def watched(crew: Any, jobs: Any) -> Iterator[Any]:
        n_compiled.append(n_signatures())
        return real(crew, jobs)  # type: ignore[no-any-return]

    monkeypatch.setattr(module, "do_all", watched)
    learners: dict[str, Any] = {"uniform": tc.Uniform, "exp3.s": tc.Exp3S, "master": tc.MasterBase}
    tc.race(learners, ["flip/3", Table(TABLE)], T, seeds=1, split=True)
    assert n_compiled == [n_signatures()] and n_compiled[0] == 4


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package, extra, words in (
        ("joblib.externals.loky", "race", {"engine": "processes"}),
        ("distributed", "dask", {"engine": "dask://localhost:1"}),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingPackageError, match=rf"needs .*pip install 'turncoat\[{extra}\]'"):
            tc.race({"uniform": tc.Uniform}, ["flip/3"], T, seeds=1, **words)  # type: ignore[arg-type]


# -- Dask: run where it is installed ------------------------------------------------------------------------------


class Cluster:
    """A scheduler and two workers, each a process of its own, on free ports."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        self.scheduler = self._start("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard")
        self.address = self._address(self.scheduler)
        self.engine = self.address.replace("tcp://", "dask://")
        self.workers = [
            self._start("distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
            for _ in range(2)
        ]

    def _start(self, module: str, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", module, "--host", "127.0.0.1", *words]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.processes.append(process)
        return process

    def _address(self, scheduler: subprocess.Popen[str]) -> str:
        assert scheduler.stderr is not None
        for line in scheduler.stderr:
            if "Scheduler at:" in line:
                return line.split()[-1]
        raise AssertionError("the scheduler did not start")

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.mark.filterwarnings("default")  # of distributed itself, whose sockets are closed by the collector
def test_a_cluster_does_not_show(in_one_thread: tc.Result, cluster: Cluster) -> None:
    assert_same(raced(engine=cluster.engine), in_one_thread)


class Slow(FollowTheLeader):
    """Half a second a game."""

    def ask(self) -> int:
        time.sleep(0.001)
        return super().ask()


@pytest.mark.filterwarnings("default")
def test_a_worker_killed_mid_race_loses_nothing_and_counts_nothing_twice(cluster: Cluster) -> None:
    """Both workers are busy with games of half a second, and more wait for them, when one is killed: the last test of
    the cluster."""
    told: list[tuple[Any, ...]] = []

    def kill_one(now: Any) -> None:
        told.append(now.cell)
        if now.done == 2:
            time.sleep(0.2)
            cluster.workers[0].kill()

    words: dict[str, Any] = {"learners": {"slow": Slow}, "environments": ["flip/3"], "horizon": 500, "seeds": 6}
    disturbed = tc.race(**words, engine=cluster.engine, on_progress=kill_one)
    assert cluster.workers[0].wait(10) == -signal.SIGKILL and cluster.workers[1].poll() is None
    assert len(told) == len(set(told)) == 6
    assert_same(disturbed, tc.race(**words, workers=6))


@pytest.mark.filterwarnings("default")
def test_no_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(import_module("turncoat.racing.engines"), "CONNECT_SECONDS", 1)
    with pytest.raises(RaceError, match=r"there is no Dask scheduler at 'dask://127\.0\.0\.1:1'"):
        tc.race({"uniform": tc.Uniform}, ["flip/3"], T, seeds=1, engine="dask://127.0.0.1:1")
