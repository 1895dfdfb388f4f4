"""Playing what is missing, in threads: the compiled loop of a whole game lets others run.

A piece of work is one repetition of one game, for all players that have not played it: so the game is laid out once,
and a run that was stopped has everybody's results of the same repetitions. The first ones of all games come first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from experiments.by_hand import play_by_hand
from experiments.games import EDITION, Game
from experiments.players import Player
from experiments.store import Line, Store
from turncoat.environments import Adaptive, Environment, Stationary
from turncoat.racing.cell import play_cell
from turncoat.simulate.late import Timing

WARM_UP = 100  # rounds


class Piece(NamedTuple):
    """A repetition of a game, and who has yet to play it."""

    game: Game
    rep: int
    players: list[Player]


def title(game: Game) -> str:
    """What a game is called in a store."""
    return f"{game.name} #{EDITION}"


def missing(store: Store, games: Sequence[Game], reps: int, players: Sequence[Player]) -> list[Piece]:
    """What has yet to be played, short games first."""
    pieces = []
    for rep in range(reps):
        for game in games:
            absent = [player for player in players if (player.key, title(game), rep) not in store]
            if absent:
                pieces.append(Piece(game, rep, absent))
    return sorted(pieces, key=lambda piece: piece.game.horizon)


def play_once(player: Player, game: Game, rep: int, environment: Environment, planted: float | None) -> Line:
    """One game. Regret is in mean losses against the planted path; where there is none, in the losses that were met,
    against the arm that was best in them."""
    learner = player.make(game.n_arms, game.horizon, environment.n_switches, game.seed(rep, 2))
    allowed, timing = game.allowed(rep), Timing(game.delay, game.batch)
    began = time.thread_time()  # of this thread alone: the machine may have other work
    if allowed is not None:
        arms = play_by_hand(learner, environment, *timing, allowed)
        loss = float(environment.mean_losses(arms).sum())
    else:
        cell = play_cell(learner, environment.fresh(), np.array([game.horizon]), max_switches=0, timing=timing)
        loss = float(cell.loss[-1] - cell.best[-1, 0] if planted is None else cell.mean_loss[-1])
    took = time.thread_time() - began
    n_switches = environment.n_switches if allowed is None else None  # the planted path may not be allowed
    found = round(loss - (planted or 0.0), 4), round(took, 6), certificate_of(learner, n_switches)
    return Line(player.key, player.name, title(game), game.horizon, rep, *found)


def certificate_of(learner: Any, n_switches: int | None) -> float | None:
    """What a learner certifies against as many switches as were planted, if it certifies anything."""
    if n_switches is None or not hasattr(learner, "certificate"):
        return None
    found = learner.certificate(n_switches)
    return None if found.n_uncovered else round(float(found.total), 4)


def warm_up(players: Sequence[Player], done: Callable[[], None]) -> None:
    """Compile the loops of all players, in games of a few rounds, so that no game that counts waits for it."""
    for player in players:
        for environment in (Stationary(2, WARM_UP), Adaptive(2, WARM_UP)):
            play_cell(player.make(2, WARM_UP, 1, 0), environment, np.array([WARM_UP]), max_switches=0)
        done()


def play(store: Store, pieces: Sequence[Piece], jobs: int, done: Callable[[Piece], None]) -> None:
    """Play all pieces, so many at a time. Ctrl-C, or an error, ends it after the games that are being played."""
    stop = Event()

    def one(piece: Piece) -> None:
        environment = piece.game.make(piece.rep)
        planted = piece.game.planted(piece.rep, environment)
        for player in piece.players:
            if stop.is_set():
                return
            store.add(play_once(player, piece.game, piece.rep, environment, planted))
            done(piece)

    with store, ThreadPoolExecutor(jobs) as pool:
        try:
            for _ in pool.map(one, pieces):
                pass
        finally:
            stop.set()
