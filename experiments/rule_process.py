"""The process of a rule: it reads which games to play, and writes a line of JSON after each.

It runs with whatever version of the package the folder of the rule holds. So this module, `games` and what `games`
imports use public names of the package only, as they were in its first version (8d72b1b) and are today.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import turncoat as tc
from experiments.by_hand import play_by_hand
from experiments.games import Game, fingerprint
from turncoat.environments import Adaptive, Environment

PLAYS_LATE = "delay" in inspect.signature(tc.play).parameters  # not so in the first version


def regret_of(game: Game, rep: int, environment: Environment, played: Any) -> float:
    """In mean losses against the planted path; where there is none, in the losses met, against their best arm."""
    planted = game.planted(rep, environment)
    if planted is not None:
        return float(environment.mean_losses(played).sum()) - planted
    assert isinstance(environment, Adaptive)
    losses = environment.losses_against(played)
    return float(losses[np.arange(played.size), played].sum() - losses.sum(axis=0).min())


def play_once(game: Game, rep: int) -> str:
    """One game, as a line: name, repetition, regret, seconds of processor time, and a mark of the losses met."""
    environment = game.make(rep)
    learner, allowed = tc.Turncoat(game.n_arms, seed=game.seed(rep, 2)), game.allowed(rep)
    late = (game.delay, game.batch) != (0, 1)
    began = time.thread_time()
    if allowed is not None or (late and not PLAYS_LATE):
        played = play_by_hand(learner, environment, game.delay, game.batch, allowed)
    else:
        played = tc.play(learner, environment, **({"delay": game.delay, "batch": game.batch} if late else {}))
    took = time.thread_time() - began
    regret = regret_of(game, rep, environment, played)
    found = round(regret, 4), round(took, 6), fingerprint(game, rep, environment)
    return json.dumps([game.name, rep, *found])


def main() -> None:
    """Play what standard input asks for: [threads, [[game, repetition], …]]."""
    assert Path(str(tc.__file__)).parents[1] == Path.cwd(), "the package of another folder was imported"
    threads, pieces = json.load(sys.stdin)
    tc.play(tc.Turncoat(2, seed=0), np.zeros((1, 2)))  # so that no game that counts waits for the compiler
    with ThreadPoolExecutor(threads) as pool:
        for line in pool.map(lambda piece: play_once(Game(*piece[0]), piece[1]), pieces):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
