"""The service's share of bare Starlette with few callers and many; and p99 at a steady rate beside bare Starlette's.

All servers are started first, and windows take turns among them, so that a slow spell of the machine hits all alike;
those that wait use no processor. Shares are of the medians. One caller alone waits for two flushes a round, so for it
there is a service that does not wait for the disk, too (`--durability os`).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.load import OPEN, Found, Job, quantile
from benchmarks.results import Result, Table, Target
from benchmarks.service import LATE, STEADY, TRIES, flush_times, load, say
from tests.chaos.processes import Served
from tests.chaos.wire import Line, Lost, Refused
from tests.service.postgres_server import PostgresMissingError, PrivateServer, free_port

BARE, SQLITE, OS, POSTGRES = "bare Starlette", "SQLite", "SQLite, durability os", "PostgreSQL, 2 workers"
CALLERS = (1, 64, 192)
SHARES = {
    (OS, 1): 0.35,
    (SQLITE, 64): 0.6,
    (POSTGRES, 64): 0.75,
    (SQLITE, 192): 0.8,
    (POSTGRES, 192): 0.95,
}  # promised


def ready(port: int) -> None:
    """Wait until the bare application answers."""
    line, end = Line(port), time.monotonic() + 30.0
    while time.monotonic() < end:
        try:
            line.send("GET", "/readyz")
            return
        except (Refused, Lost, OSError):
            time.sleep(0.05)


def started(room: ExitStack, folder: Path) -> dict[str, tuple[int, list[int]]]:
    """All servers: port and process ids of each."""
    port = free_port()
    bare = subprocess.Popen([sys.executable, "-m", "benchmarks.bare", str(port)])
    room.callback(bare.wait)
    room.callback(bare.terminate)
    ready(port)
    found = {BARE: (port, [bare.pid])}
    settings: dict[str, dict[str, Any]] = {
        SQLITE: {"database": str(folder / "flush.db")},
        OS: {"database": str(folder / "os.db"), "durability": "os"},
    }
    try:
        settings[POSTGRES] = {"database": room.enter_context(PrivateServer()).create_database(), "workers": 2}
    except PostgresMissingError as why:
        print(f"PostgreSQL is not measured: {why}", file=sys.stderr)
    for name, options in settings.items():
        service = Served(folder, name, **options)
        room.callback(service.kill)
        service.start()
        service.wait()
        time.sleep(3.0 if "workers" in options else 0.0)  # one of them is ready; the others soon
        Line(service.port).send("POST", "/v1/experiments", json.dumps(OPEN).encode())
        found[name] = (service.port, service.pids())
    return found


def paced(job: Job, pids: list[int]) -> Found:
    """A window at a steady rate, measured again where the generator itself was late."""
    for _ in range(TRIES - 1):
        one = load(job, pids)
        if quantile(one.late, 0.99) <= LATE:
            return one
    return load(job, pids)


def run(quick: bool) -> Result:
    """All servers, all numbers of callers."""
    seconds, turns = (1.5, 1) if quick else (4.0, 3)
    closed: dict[tuple[str, int], list[Found]] = {}
    steady: dict[str, list[Found]] = {}
    with ExitStack() as room:
        folder = Path(room.enter_context(tempfile.TemporaryDirectory(prefix="turncoat-bench-")))
        flushes = flush_times(folder)
        servers = started(room, folder)
        for port, _ in servers.values():
            load(Job([port], 1.0))  # not counted: every path is warm after it
        for turn in range(turns):
            order = list(servers.items())[:: -1 if turn % 2 else 1]
            say(f"callers: a steady rate, turn {turn + 1} of {turns}")
            for name, (port, pids) in order:
                steady.setdefault(name, []).append(paced(replace(Job([port], seconds), rate=STEADY), pids))
            for callers in CALLERS:
                say(f"callers: {callers}, turn {turn + 1} of {turns}")
                for name, (port, pids) in order:
                    job = Job([port], seconds, connections=callers)
                    closed.setdefault((name, callers), []).append(load(job, pids))
        flushes += flush_times(folder)
    rates = {key: statistics.median(one.rounds / one.seconds for one in found) for key, found in closed.items()}
    late = {name: statistics.median(quantile(one.decide, 0.99) for one in found) for name, found in steady.items()}
    rows: list[list[object]] = []
    for name in servers:
        shares = [part for n in CALLERS for part in (rates[name, n], rates[name, n] / rates[BARE, n])]
        rows.append([name, *shares, late[name]])
    flush = quantile(flushes, 0.99)
    failed = sum(one.failed for found in (*closed.values(), *steady.values()) for one in found)
    note = f"medians of {turns} windows of {seconds:g} s in turn; a flush: p50 {quantile(flushes, 0.5):.2f} ms, "
    note += f"p99 {flush:.2f} ms; requests that failed: {failed}"
    columns = ["rounds/s and share"]
    columns += [part for n in CALLERS for part in (f"{n} caller{'s' if n > 1 else ''}", "÷ bare")]
    columns.append(f"p99 at {STEADY:.0f}/s, ms")
    targets = [
        Target(f"service, {name}: share of bare with {n} callers", rates[name, n] / rates[BARE, n], least, False)
        for (name, n), least in SHARES.items()
        if name in servers
    ]
    for name in (SQLITE, POSTGRES):
        if name in servers:
            most = late[BARE] + 3.0 * flush
            targets.append(Target(f"service, {name}: decide p99 at {STEADY:.0f}/s", late[name], most, True, "ms"))
    return Result([Table("service: shares of bare Starlette", note, columns, rows)], targets)
