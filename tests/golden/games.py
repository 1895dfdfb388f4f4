"""The games behind the golden arms: every learner in every mode, three seeds, losses by whole-number arithmetic."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

import turncoat as tc
from tests.contract.makers import EVERYONE, Maker

FILE = Path(__file__).parent / "arms.json"
ROUNDS = 400
N_ARMS = 5
SEEDS = (1, 2, 3)


def games(make: Maker) -> dict[str, str]:
    """Seed to the arms a learner plays, one digit a round. The best arm changes every hundred rounds."""
    t, arm = np.ogrid[:ROUNDS, :N_ARMS]
    losses = ((31 * t + 17 * arm + t * t * arm) % 101 + 50 * ((t // 100 + arm) % N_ARMS != 0)) / 150.0
    return {str(seed): "".join(map(str, tc.play(make(N_ARMS, 2 * ROUNDS, seed=seed), losses))) for seed in SEEDS}


def made_on() -> dict[str, str]:
    """What the arms may depend on."""
    packages = {name: version(name) for name in ("numba", "llvmlite", "numpy", "turncoat")}
    return {"machine": platform.machine(), "libc": " ".join(platform.libc_ver()), **packages}


def write(*, anew: bool) -> None:
    """Write the golden file: all arms anew, or only those that are not there yet."""
    note = (
        "Arms that were played, one digit a round. Made by `python -m tests.golden` on the machine below: another "
        "libm may round an exp or a log differently, and a run that differs in the last bit ends in another arm."
    )
    kept = {} if anew else json.loads(FILE.read_text())
    makers = dict(EVERYONE)
    arms = {name: by_seed for name, by_seed in kept.get("arms", {}).items() if name in makers}
    arms |= {name: games(make) for name, make in EVERYONE if name not in arms}
    golden = {"note": note, "made_on": kept.get("made_on") or made_on(), "arms": arms}
    FILE.write_text(json.dumps(golden, indent=1) + "\n")
