"""Peak memory of a race, which must not grow with the horizon: the suite `paper`, each time in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.results import Result, Table, Target, short
from turncoat.environments import suite

SUITE = "paper"
LIMIT_MB = 1000.0
RACE = """
import json, sys, tempfile, time, warnings
from functools import partial
from pathlib import Path
import turncoat as tc

def peak():
    "Peak resident memory of this process, in MB. (On Linux getrusage would count the parent's in.)"
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")) / 1e6
    except (OSError, StopIteration):
        import resource
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most * (1 if sys.platform == "darwin" else 1024) / 1e6

warnings.simplefilter("ignore", tc.TuningWarning)
learners = {"exp3": tc.Exp3, "shared": partial(tc.AdaptiveMasterBase, feedback="shared")}
suite = tc.environments.suite(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    tc.race(learners, suite, 1_000, seeds=1).leaderboard()  # compile
    before = peak()
    began = time.perf_counter()
    tc.race(learners, suite, int(sys.argv[2]), seeds=1, folder=folder).leaderboard()
    print(json.dumps({"seconds": time.perf_counter() - began, "before": before, "peak": peak()}))
"""


def measure(horizon: int) -> dict[str, Any]:
    """Seconds, and peak MB before the race and after it."""
    command = [sys.executable, "-c", RACE, SUITE, str(horizon)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(quick: bool) -> Result:
    """One row a horizon."""
    horizons = [10**5, 10**6] if quick else [10**6, 10**7, 10**8]
    found = {T: measure(T) for T in horizons}
    rows: list[list[object]] = [
        [f"T = {T:,}", one["before"], one["peak"], one["seconds"], 2 * len(suite(SUITE)) * T / one["seconds"]]
        for T, one in found.items()
    ]
    note = (
        f"suite {SUITE}, Exp3 and AdaptiveMasterBase, shared, 1 seed, all workers, saved to disk; peak resident memory "
        "of a fresh process; before: after a race of 1,000 rounds, numba and polars loaded"
    )
    columns = ["", "before, MB", "peak, MB", "seconds", "rounds/s"]
    table = Table("long races: peak memory", note, columns, rows)
    least, most = horizons[0], horizons[-1]
    targets = [
        Target(f"race of suite {SUITE}, T = {short(most)}: peak memory", found[most]["peak"], LIMIT_MB, True, "MB"),
        Target(f"the same, against T = {short(least)}", found[most]["peak"] / found[least]["peak"], 1.1, at_most=True),
    ]
    return Result([table], targets)
