"""SMPyBandits in an environment of its own, under .venv: it needs an older NumPy than Turncoat does."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PINS = ROOT / "requirements" / "smpybandits.txt"
HOME = ROOT / ".venv" / "peers" / "smpybandits"
PYTHON = HOME / "bin" / "python"
PLAYER = Path(__file__).with_name("smpybandits_player.py")
POLICIES = Path(__file__).with_name("smpybandits_policies.py")
VERSION = (3, 11)  # of the Python that its pins were tried with


def set_up() -> None:
    """Make the environment, once, and again when the pins change."""
    pins = hashlib.sha256(PINS.read_bytes()).hexdigest()
    stamp = HOME / "pins"
    if stamp.exists() and stamp.read_text() == pins:
        return
    name = "python{}.{}".format(*VERSION)
    python = sys.executable if sys.version_info[:2] == VERSION else shutil.which(name)
    if python is None:
        raise RuntimeError(f"there is no {name}")
    print(f"(setting up SMPyBandits in {HOME.relative_to(ROOT)}, once)", flush=True)
    _do([python, "-m", "venv", "--clear", str(HOME)])
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _do([*pip, "--only-binary=:all:", "--require-hashes", "-r", str(PINS)])
    stamp.write_text(pins)


def play(reward_means: Sequence[float], gamma: float, horizon: int) -> float:
    """Seconds of one game, counted inside a fresh process."""
    set_up()
    words = {"means": list(reward_means), "gamma": gamma, "horizon": horizon}
    return float(_do([str(PYTHON), str(PLAYER), json.dumps(words)]))


def policies(
    policies: Mapping[str, Mapping[str, Any]], reward_means: Sequence[float], horizon: int, budget: float
) -> dict[str, float | str]:
    """Nanoseconds per round of these policies with these words, in at most so many seconds each, or what went wrong."""
    set_up()
    words = {"policies": policies, "means": list(reward_means), "horizon": horizon, "seconds": budget}
    found: dict[str, float | str] = json.loads(_do([str(PYTHON), str(POLICIES), json.dumps(words)]))
    return found


def _do(command: list[str]) -> str:
    """What a command prints; if it fails, an error with the last line of what it complained of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        complaint = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(complaint[-1])
    return done.stdout
