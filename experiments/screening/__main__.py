"""`python -m experiments.screening first shipped later:kappa=1`: settings of the band, and their geometric means."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.games import Game, draw
from experiments.players import RIVALS
from experiments.playing import title
from experiments.screening.program import build, regrets
from experiments.screening.settings import setting_of
from experiments.store import Line, read
from turncoat.errors import TurncoatError


def best_rivals(lines: Sequence[Line], games: Sequence[Game], layouts: int) -> list[float] | None:
    """The regret of the best rival of every game, over the same layouts; None unless some rival has played them all."""
    found = []
    for game in games:
        results: dict[str, dict[int, float]] = {}
        for line in lines:
            if line.player in RIVALS and line.game == title(game) and line.rep < layouts:
                results.setdefault(line.player, {})[line.rep] = line.regret
        whole = [float(np.mean(list(reps.values()))) for reps in results.values() if len(reps) == layouts]
        if not whole:
            return None
        found.append(max(min(whole), 0.0))
    return found


def log_ratios(found: NDArray[np.float64], beside: NDArray[np.float64], games: Sequence[Game]) -> NDArray[np.float64]:
    """ln((R + r0)/(R' + r0)) by (setting, game); R, R' none below 0, r0 = ¼√(KT)."""
    offsets = np.array([game.offset for game in games])
    ratios: NDArray[np.float64] = np.log((np.maximum(found, 0.0) + offsets) / (np.maximum(beside, 0.0) + offsets))
    return ratios


def table(names: Sequence[str], logs: NDArray[np.float64]) -> str:
    """A line a setting, the best first."""
    lines = [f"{'mean':>6} {'worst':>6}  setting"]
    for i in np.argsort(logs.mean(axis=1), kind="stable"):
        lines.append(f"{math.exp(logs[i].mean()):6.3f} {math.exp(logs[i].max()):6.2f}  {names[i]}")
    return "\n".join(lines)


def words_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(prog="python -m experiments.screening", description=__doc__)
    parser.add_argument("settings", nargs="+", help="names, with changes: first, shipped:eta=3,detector.index=.3")
    parser.add_argument("--seed", type=int, default=0, help="of the family tune")
    parser.add_argument("--games", type=int, default=28)
    parser.add_argument("--horizon", type=float, nargs="+", default=[1e4])
    parser.add_argument("--layouts", type=int, default=5, help="repetitions of a game")
    parser.add_argument("--noises", type=int, default=1, help="plays of each, with other losses")
    parser.add_argument("--folder", type=Path, default=Path("turncoat-experiments"), help="with rivals' results")
    parser.add_argument("--gpu", action="store_true", help="compile with nvcc")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and print."""
    words = words_of(arguments)
    try:
        settings = [setting_of(said) for said in words.settings]
        games = [game for T in words.horizon for game in draw("tune", words.games, int(T), words.seed)]
        program = build(words.folder / "screening", words.gpu)
        played = regrets(program, games, settings, words.layouts, words.noises)
    except TurncoatError as error:
        sys.exit(str(error))
    means = played.mean(axis=(2, 3), dtype=np.float64)
    rivals = best_rivals(read(words.folder / f"tune-{words.seed}.jsonl"), games, words.layouts)
    print(f"{len(games)} games, {words.layouts * words.noises} plays of each; ratios to", end=" ")
    print("the first setting" if rivals is None else "the best rival of each game")
    print(table(words.settings, log_ratios(means, means[0] if rivals is None else np.array(rivals), games)))


if __name__ == "__main__":
    main()
