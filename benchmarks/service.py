"""The decision service through HTTP and storage together: rounds per second, latency, how soon rewards are learned.

A round is a decision and its reward, each a request of its own, each on the disk before it is answered. All are about
one experiment of four arms. Service, database and callers share the machine's cores. Beside it, in the same run: a bare
Starlette application without engine and store, and what one flush of the disk takes, which every commit waits for.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from benchmarks.load import OPEN, Found, Job, quantile
from benchmarks.onlookers import Visitor, Watcher, processor_seconds, resident
from benchmarks.results import Result, Table, Target
from tests.chaos.processes import Served
from tests.chaos.wire import Line
from tests.service.postgres_server import PostgresMissingError, PrivateServer, free_port

STEADY = 500.0  # rounds per second at which latency is measured
LATE = 2.0  # ms: where the generator itself sends one in a hundred so late, the machine was not ours, and
TRIES = 3  # the window is measured again, so often at most
PAGES = ("/", "/experiments/hot", "/decisions", "/system")  # of the dashboard
NAN = float("nan")


@dataclass(frozen=True)
class Effort:
    """How long to measure, and how often."""

    seconds: float
    windows: int
    pairs: int  # of windows at the steady rate, without visitors and with them: a disk's bad second is in one of many


@dataclass
class Measured:
    """What was found on one store."""

    closed: list[Found] = field(default_factory=list)  # as fast as it goes
    keyed: list[Found] = field(default_factory=list)  # with idempotency keys
    steady: list[Found] = field(default_factory=list)
    visited: list[Found] = field(default_factory=list)  # while the pages are opened
    lag: list[float] = field(default_factory=list)  # ms, at the steady rate
    again: int = 0  # windows measured again
    pages: int = 0  # opened
    broken_pages: int = 0
    resident: float = NAN  # MB


def load(job: Job, pids: Sequence[int] = ()) -> Found:
    """Have the generator do a job, in a process of its own; and see what it costs the service's processes."""
    command = [sys.executable, "-m", "benchmarks.load", json.dumps(asdict(job))]
    before = processor_seconds(pids)
    found = Found(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
    found.service_cpu = (processor_seconds(pids) - before) / (job.seconds + job.warm)
    return found


def flush_times(folder: Path, n: int = 200) -> list[float]:
    """Milliseconds of flushing 4 KiB to the disk, one after the other."""
    file = os.open(folder / "flushed", os.O_RDWR | os.O_CREAT, 0o600)
    times = []
    for i in range(n):
        os.pwrite(file, bytes(4096), i * 4096)
        began = time.perf_counter()
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(file)
        times.append(1e3 * (time.perf_counter() - began))
    os.close(file)
    return times


def bare(effort: Effort) -> list[Found]:
    """The application without an engine."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.bare", str(port)])
    try:
        line, end = Line(port), time.monotonic() + 30.0
        while time.monotonic() < end:
            try:
                line.send("GET", "/readyz")
                break
            except Exception:
                time.sleep(0.05)
        return [load(Job([port], effort.seconds), [process.pid]) for _ in range(effort.windows)]
    finally:
        process.terminate()
        process.wait(30.0)


def say(now: str) -> None:
    """What is being measured: all of it takes ten minutes or more."""
    print(f"service: {now}", file=sys.stderr, flush=True)


def on_store(service: Served, database: str, effort: Effort, pages: Sequence[str]) -> Measured:
    """Everything about one store: latency first, before it is flooded. Windows with and without visitors take turns."""
    line = Line(service.port)
    line.send("POST", "/v1/experiments", json.dumps(OPEN).encode())
    found, job = Measured(), Job([service.port], effort.seconds)
    paced = replace(job, rate=STEADY)
    load(Job([service.port], 1.0))  # not counted: every path is warm after it
    for page in pages:
        line.send("GET", page)

    def window() -> Found:
        for _ in range(TRIES - 1):
            one = load(paced)
            if quantile(one.late, 0.99) <= LATE:
                return one
            found.again += 1
        return load(paced)

    for i in range(effort.pairs):
        say(f"{service.name}, latency without and with pages opened: {i + 1} of {effort.pairs}")
        found.steady.append(window())
        with Visitor(service.port, pages) as visitor:
            found.visited.append(window())
        found.pages += visitor.opened
        found.broken_pages += visitor.failed
    say(f"{service.name}, how soon rewards are learned")
    for _ in range(effort.windows):
        with Watcher(database) as watcher:
            load(paced)
        found.lag += watcher.lags()
    say(f"{service.name}, as fast as it goes")
    for _ in range(effort.windows):
        found.closed.append(load(job, service.pids()))
        found.keyed.append(load(replace(job, keyed=True), service.pids()))
    found.resident = resident(service.pids())
    return found


def measure(effort: Effort, pages: Sequence[str] = PAGES) -> tuple[list[Found], dict[str, Measured], list[float]]:
    """Bare; SQLite and, where there is one, PostgreSQL; flushes, before and after."""
    with ExitStack() as room:
        folder = Path(room.enter_context(tempfile.TemporaryDirectory(prefix="turncoat-bench-")))
        flushes, stores = flush_times(folder), {"SQLite, 1 worker": (str(folder / "bench.db"), 1)}
        try:
            server = room.enter_context(PrivateServer())
            stores["PostgreSQL, 2 workers"] = (server.create_database(), 2)
        except PostgresMissingError as why:
            print(f"PostgreSQL is not measured: {why}", file=sys.stderr)
        say("a bare Starlette application")
        without, results = bare(effort), {}
        for name, (database, workers) in stores.items():
            service = Served(folder, name, database=database, workers=workers)
            try:
                service.start()
                service.wait()
                time.sleep(3.0 if workers > 1 else 0.0)  # one of them is ready; the others soon
                results[name] = on_store(service, database, effort, pages)
                service.stop()
            finally:
                service.kill()
        return without, results, flushes + flush_times(folder)


def rate(found: Sequence[Found]) -> float:
    """Rounds per second in the best window."""
    return max((one.rounds / one.seconds for one in found), default=NAN)


def middle(found: Sequence[Found], what: str, q: float) -> float:
    """The median over windows of a quantile."""
    return statistics.median(quantile(getattr(one, what), q) for one in found) if found else NAN


def throughput(without: list[Found], results: dict[str, Measured], windows: int) -> Table:
    """Closed loop."""
    whole = rate(without)
    rows = [("bare Starlette, no engine, no store", without)]
    for name, measured in results.items():
        rows += [(name, measured.closed), (f"{name}, with Idempotency-Key", measured.keyed)]
    cells = []
    for name, found in rows:
        times = [middle(found, "decide", q) for q in (0.5, 0.99)]
        used = [statistics.median(getattr(one, who) for one in found) for who in ("service_cpu", "cpu")]
        failed = sum(one.failed for one in found)
        cells.append([name, rate(found), rate(found) / whole, *times, *used, failed])
    note = f"best of {windows} windows; 192 connections kept alive; times in ms; cores: in use by each"
    columns = [
        "as fast as it goes",
        "rounds/s",
        "÷ bare",
        "decide p50",
        "p99",
        "service cores",
        "caller cores",
        "failed",
    ]
    return Table("service: rounds per second, decide and reward, both durable", note, columns, cells)


def latency(results: dict[str, Measured], flushes: list[float], pairs: int) -> Table:
    """Open loop."""
    cells = []
    for name, measured in results.items():
        for title, found in ((name, measured.steady), (f"{name}, pages opened", measured.visited)):
            lags = measured.lag if found is measured.steady else []
            row = [title, *(middle(found, "decide", q) for q in (0.5, 0.99)), middle(found, "reward", 0.99)]
            cells.append([*row, *(quantile(lags, q) for q in (0.5, 0.99)), middle(found, "late", 0.99)])
    opened = {name: measured.pages for name, measured in results.items()}
    again = {name: measured.again for name, measured in results.items()}
    memory = {name: f"{measured.resident:.0f} MB" for name, measured in results.items()}
    note = (
        f"times in ms, from when a round was due; medians over {pairs} windows; lag: from a reward's arrival to when "
        f"all see it learned; sent late: the generator's own share; windows measured again because that was more than "
        f"{LATE:.0f}: {again}; pages opened meanwhile: {opened}; "
        f"resident: {memory}; a flush of this disk: p50 {quantile(flushes, 0.5):.2f}, p99 {quantile(flushes, 0.99):.2f}"
    )
    columns = [f"at {STEADY:.0f} rounds/s", "decide p50", "p99", "reward p99", "lag p50", "lag p99", "sent late p99"]
    return Table("service: latency at a steady rate", note, columns, cells)


def targets(results: dict[str, Measured]) -> list[Target]:
    """What was promised."""
    found: list[Target] = []
    for name, least in (("SQLite, 1 worker", 3000.0), ("PostgreSQL, 2 workers", 5000.0)):
        one = results.get(name, Measured())
        plain, visited = middle(one.steady, "decide", 0.99), middle(one.visited, "decide", 0.99)
        found += [
            Target(f"service, {name}: rounds/s", rate(one.closed), least, False, "rounds/s"),
            Target(f"service, {name}: decide p99 at {STEADY:.0f}/s", plain, 10.0, True, "ms"),
            Target(f"service, {name}: applier lag p99", quantile(one.lag, 0.99), 250.0, True, "ms"),
            Target(f"service, {name}: decide p99 with pages opened", visited / plain, 1.1, True),
            Target(f"service, {name}: pages not shown", float(one.broken_pages), 0.0, True, ""),
        ]
    return found


def run(quick: bool) -> Result:
    """All of it."""
    effort = Effort(1.5, 1, 1) if quick else Effort(4.0, 5, 15)
    without, results, flushes = measure(effort)
    assert not math.isnan(rate(without))
    tables = [throughput(without, results, effort.windows), latency(results, flushes, effort.pairs)]
    return Result(tables, targets(results))
