"""A large log: how long a restart, the pages, export, verification and pruning take, and whether memory grows.

One experiment of four arms on SQLite, whose decisions and rewards of the last thirty days are made by the engine in
batches, with a clock of their own. Afterwards the service and the commands meet the file as users would.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.load import MEANS, OPEN
from benchmarks.onlookers import resident
from benchmarks.results import Result, Table, Target
from tests.chaos.processes import Served
from tests.chaos.wire import Line

PAGES = ("/", "/experiments/hot", "/decisions", "/system", "/v1/experiments/hot/timeline")
DAYS = 30.0
KEPT = 3  # days, when it is pruned
RESTARTS = 3
GROWTH = 1.25  # of the memory of the process that makes the log, from a tenth of it to the whole
FILL = f"""
import json, os, random, sys, time
from pathlib import Path
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.messages import Decide, Tell
from turncoat.service.store import open_store

MEANS, N, BATCH = {{k.decode(): v for k, v in {MEANS!r}.items()}}, int(sys.argv[2]), 250

class Clock:
    moment = time.time() - {DAYS} * 86400
    def now(self):
        return self.moment

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6

store = open_store(sys.argv[1], durability="os")
clock, draw, tells, sizes = Clock(), random.Random(1), [], []
engine = Engine(store, clock)
engine.create(messages.NewExperiment(key="hot", arms=list(MEANS)))
began = time.perf_counter()
for batch in range(N // BATCH):
    answers = engine.serve([Decide("hot", messages.Ask()) for _ in range(BATCH)] + tells)
    won = [(one.decision_id, float(draw.random() < MEANS[one.arm])) for one in answers[:BATCH]]
    tells = [Tell(decision, messages.Reward(value=value)) for decision, value in won]
    clock.moment += {DAYS} * 86400 * BATCH / N
    while engine.work():
        pass
    if batch + 1 in (N // BATCH // 10, N // BATCH):
        sizes.append(resident())
engine.serve(tells)
while engine.work():
    pass
print(json.dumps([time.perf_counter() - began, *sizes]))
store.close()
"""


def command(*words: str) -> float:
    """Seconds that one of turncoat's commands takes."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "turncoat", *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def opened(line: Line, page: str) -> float:
    """Milliseconds until a page is there."""
    began = time.perf_counter()
    answer = line.send("GET", page)
    if answer.status != 200:
        raise RuntimeError(f"{page} was answered {answer.status}")
    return 1e3 * (time.perf_counter() - began)


def served(folder: Path, database: str) -> list[list[object]]:
    """What the service does with the file: starts, and shows it."""
    starts, rows = [], []
    for i in range(RESTARTS):
        service = Served(folder, f"restart {i}", database=database)
        try:
            service.start()
            starts.append(service.wait())
            if i == RESTARTS - 1:
                line = Line(service.port)
                for page in PAGES:
                    first, *later = (opened(line, page) for _ in range(6))
                    rows.append([f"page {page}, ms: first, later at best", first, min(later)])
                rows.append(["the service, MB", resident(service.pids()), ""])
            service.stop()
        finally:
            service.kill()
    return [["ready after a restart, s: worst, best", max(starts), min(starts)], *rows]


def run(quick: bool) -> Result:
    """One file, everything in turn."""
    n = 20_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory(prefix="turncoat-bench-") as room:
        folder, database = Path(room), str(Path(room) / "large.db")
        print(f"large_log: making {n:,} decisions", file=sys.stderr, flush=True)
        made = subprocess.run([sys.executable, "-c", FILL, database, str(n)], check=True, stdout=subprocess.PIPE)
        took, early, late = json.loads(made.stdout)
        size = Path(database).stat().st_size / 1e6
        print("large_log: restarts and pages", file=sys.stderr, flush=True)
        rows: list[list[object]] = [
            ["made, decisions and rewards per second", n / took, ""],
            ["making it, MB: after a tenth, at the end", early, late],
            ["the file, MB", size, ""],
            *served(folder, database),
        ]
        print("large_log: commands", file=sys.stderr, flush=True)
        where = f"--database={database}"
        rows.append(
            ["turncoat log export, s", command("log", "export", "hot", "-o", str(folder / "a.parquet"), where), ""]
        )
        rows.append(["turncoat verify, s", command("verify", where), ""])
        rows.append([f"turncoat prune --keep {KEPT}d, s", command("prune", "hot", "--keep", f"{KEPT}d", where), ""])
        rows.append(["turncoat verify after it, s", command("verify", where), ""])
    note = f"{OPEN['key']!r}: {n:,} decisions with their rewards on SQLite, over {DAYS:.0f} days"
    growth = Target("a large log: memory of the process that makes it", late / early, GROWTH, True)
    return Result([Table("a large log", note, ["", "", ""], rows)], [growth])
