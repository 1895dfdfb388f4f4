"""Building the program, writing what it reads, running it, and reading what it writes."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.games import Game, planted_loss
from experiments.screening.settings import Setting
from turncoat.environments import Adaptive, Environment
from turncoat.environments.segments import Segments
from turncoat.errors import OptionError

SOURCES = [Path(__file__).with_name(name) for name in ("band.cu", "band.h")]
GAME = struct.Struct("6i4d3Q")  # as in band.h: 24 bytes, then multiples of 8, so nothing is padded


def compiler(gpu: bool) -> list[str] | None:
    """How a compiler is called that is there; None if there is none."""
    if gpu:
        return ["nvcc", "-O3"] if shutil.which("nvcc") else None
    if shutil.which("g++"):
        return ["g++", "-x", "c++", "-O3", "-fopenmp"]
    return ["c++", "-x", "c++", "-O3"] if shutil.which("c++") else None


def build(folder: Path, gpu: bool = False) -> Path:
    """The program, compiled unless it is there and newer than its sources."""
    program = folder / ("band-gpu" if gpu else "band-cpu")
    if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime for source in SOURCES):
        return program
    command = compiler(gpu)
    if command is None:
        raise OptionError(f"no compiler was found; needed is {'nvcc' if gpu else 'g++ or c++'}")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, "-o", str(program), str(SOURCES[0])], check=True)
    return program


def pack(game: Game, environment: Environment) -> bytes:
    """A game as the program reads it."""
    found = environment.game
    head = game.n_arms, game.horizon
    if isinstance(environment, Adaptive):
        ends = found.low, found.high, 0.0
        return GAME.pack(*head, 0, 0, 1, found.bernoulli, found.spread, *ends, int(found.seed), 0, 0)
    if not isinstance(environment, Segments) or found.drawn is not found.means:
        raise OptionError(f"{game.name}: accepted are games of segments, not corrupted, and the adaptive adversary")
    kind = found.edges.size - 1, found.drifting, 0, found.bernoulli
    packed = GAME.pack(*head, *kind, found.spread, 0.0, 0.0, planted_loss(environment), int(found.seed), 0, 0)
    edges: bytes = found.edges.astype(np.int32).tobytes()
    means: bytes = found.means.astype(np.float32).tobytes()
    return packed + edges + means


def regrets(
    program: Path, games: Sequence[Game], settings: Sequence[Setting], layouts: int, noises: int
) -> NDArray[np.float32]:
    """Regret by (setting, game, layout, noise). Layouts are a game's repetitions; noise 0 has the losses of each."""
    folder = program.parent
    packed = [pack(game, game.make(rep)) for game in games for rep in range(layouts)]
    numbers = np.array([setting.numbers() for setting in settings])
    files = [folder / name for name in ("games.bin", "settings.bin", "regrets.bin")]
    files[0].write_bytes(struct.pack("i", len(packed)) + b"".join(packed))
    files[1].write_bytes(struct.pack("i", len(settings)) + numbers.tobytes())
    subprocess.run([str(program), *map(str, files), str(noises)], check=True)
    found = np.fromfile(files[2], dtype=np.float32)
    return found.reshape(len(settings), len(games), layouts, noises)
