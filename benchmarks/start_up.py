"""How long a fresh process waits: imports, the command's help, the first `play` with kernels on disk.

Every figure is the median over fresh processes, after one that is not counted: it fills the disk caches.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.results import Result, Table, Target, seconds

NUMPY = "import numpy"
BOTH = "import numpy; import turncoat"
ADDED = "import turncoat, after numpy"
COMMAND = "turncoat --help"
PLAY = "first play, kernels on disk"
CALL = "first call of one line of numba, on disk"

TIMED = """
import sys, time
{before}
began = time.perf_counter()
{timed}
print(time.perf_counter() - began)
"""
FIRST_PLAY = """
losses = numpy.random.default_rng(0).random((1000, 10))
turncoat.play(turncoat.AdaptiveMasterBase(10, 1000, feedback="shared", seed=0), losses)
"""
FROM_DISK = """
kernel = sys.modules["turncoat.simulate.loop"].loop_of(turncoat.AdaptiveMasterBase.state_type)
print(bool(kernel.stats.cache_hits) and not kernel.stats.cache_misses)
"""
ONE_LINE = """
import numba

@numba.njit(cache=True)
def next_number(x):
    return x + 1.0
"""
FIRST_CALL = "import one_line; one_line.next_number(1.0)"
HEAVY = """
import json, sys
sys.argv = ["turncoat", "--help"]
from turncoat.cli import main
try:
    main()
except SystemExit:
    print(json.dumps([name for name in ("numpy", "numba") if name in sys.modules]))
"""


def last_line(code: str, folder: str) -> str:
    """The last line a fresh Python prints when it runs the code in a folder."""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def inside(before: str, code: str, folder: str) -> Callable[[], float]:
    """A timing of the code in a fresh process, counted inside it, after what stands before."""
    return lambda: float(last_line(TIMED.format(before=before, timed=code), folder))


def help_command() -> float:
    """Seconds of `turncoat --help`, process start included."""
    script = Path(sys.executable).parent / "turncoat"
    command = [str(script)] if script.exists() else [sys.executable, "-m", "turncoat"]
    return seconds(lambda: subprocess.run([*command, "--help"], capture_output=True, check=True))


def measure(repeats: int, folder: str) -> dict[str, float]:
    """Median milliseconds; everybody has a turn before anybody has the next, and the first turn is not counted."""
    (Path(folder) / "one_line.py").write_text(ONE_LINE)
    timings = {
        NUMPY: inside("", NUMPY, folder),
        BOTH: inside("", BOTH, folder),
        ADDED: inside("import numpy", "import turncoat", folder),
        COMMAND: help_command,
        PLAY: inside("import turncoat, numpy", FIRST_PLAY, folder),
        CALL: inside("sys.path.insert(0, '.'); import numpy", FIRST_CALL, folder),
    }
    turns = [{name: once() for name, once in timings.items()} for _ in range(repeats + 1)]
    return {name: 1e3 * statistics.median(turn[name] for turn in turns[1:]) for name in timings}


def run(quick: bool) -> Result:
    """Imports, help, and the first play against the first call of a one-line function."""
    repeats = 3 if quick else 11
    with tempfile.TemporaryDirectory() as folder:
        ms = measure(repeats, folder)
        heavy = last_line(HEAVY, folder)
        cached = last_line("import sys, turncoat, numpy\n" + FIRST_PLAY + FROM_DISK, folder) == "True"
    note = (
        f"median of {repeats} fresh processes; the last two include importing numba, not numpy; "
        f"heavy modules imported by help: {heavy}; kernels {'came' if cached else 'DID NOT COME'} from disk"
    )
    table = Table("start-up: ms", note, ["", "ms"], [[name, value] for name, value in ms.items()])
    targets = [
        Target("import turncoat adds to import numpy", ms[ADDED], 50.0, True, "ms"),
        Target("turncoat --help", ms[COMMAND] / 1e3, 0.3, True, "s"),
        Target("turncoat --help: heavy modules imported", float(len(json.loads(heavy))), 0.0, True, ""),
        Target("first play, above one line of numba", (ms[PLAY] - ms[CALL]) / 1e3, 0.3, True, "s"),
    ]
    return Result([table], targets)
