"""From stored lines to boards: who has played what, and how often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from experiments.games import Game
from experiments.numbers import Board, Span, ratio
from experiments.players import Player
from experiments.playing import title
from experiments.store import Line
from turncoat.errors import OptionError


def version_of(player: Player, lines: Iterable[Line]) -> str:
    """The key of a player's results: its own, or else the one that was played last."""
    keys = [line.key for line in lines if line.key.rpartition(" @ ")[0] == player.words]
    return player.key if player.key in keys or not keys else keys[-1]


def board_of(lines: Sequence[Line], games: Sequence[Game], players: Sequence[Player], first: str) -> Board:
    """What all players that took part in every game have played, as often as all of them did.

    Players who missed a game are left out, but for the first: without it there is no board.
    """
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for line in lines:
        found[line.key, line.game][line.rep] = line.regret
    keys = {player.name: version_of(player, lines) for player in players}

    def n_reps(name: str) -> int:
        played = [found.get((keys[name], title(game)), {}) for game in games]
        return min(next(rep for rep in range(len(reps) + 1) if rep not in reps) for reps in played)

    counts = {name: n_reps(name) for name in keys}
    if not games or not counts.get(first):
        raise OptionError(f"{first!r} has not played all of these games; accepted is a player that has")
    names = [name for name in keys if counts[name]]
    n = min(counts[name] for name in names)
    cube = [[[found[keys[name], title(game)][rep] for rep in range(n)] for name in names] for game in games]
    return Board(list(games), names, np.array(cube))


def certified(lines: Sequence[Line], games: Sequence[Game], player: Player) -> list[Span]:
    """Mean regret over the mean certificate of the same repetitions, for every game that has one."""
    key, found = version_of(player, lines), []
    for game in games:
        pairs = [
            (line.regret, line.certificate)
            for line in lines
            if line.key == key and line.game == title(game) and line.certificate is not None
        ]
        if pairs:
            regrets, certificates = np.array(pairs).T
            found.append(ratio(regrets, certificates, 0.0))
    return found
