"""All tables of a family and seed in one page, and the boards behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from experiments import tables
from experiments.boards import board_of, version_of
from experiments.games import Game
from experiments.numbers import Board
from experiments.players import GRID, OURS, RIVALS, Player, sources
from experiments.store import Line

TOLD_T = "turncoat, told T"


class Page(NamedTuple):
    """Markdown, and the boards, one a horizon."""

    text: str
    boards: list[Board]


def rivals_in(board: Board) -> list[str]:
    """The rivals among the players of a board."""
    return [name for name in board.players if name in RIVALS]


def with_grid(lines: Sequence[Line], board: Board, first: Player) -> Board | None:
    """The board with the constants to be picked game by game, if they have played."""
    everyone = [first, *(RIVALS[name] for name in rivals_in(board)), *GRID.values()]
    wide = board_of(lines, board.games, everyone, first.name)
    return wide if any(name in GRID for name in wide.players) else None


def page(title: str, lines: Sequence[Line], games: Sequence[Sequence[Game]], first: Player) -> Page:
    """Tables for each horizon, and the promises over all of them."""
    version = version_of(first, lines)
    now = "those installed now" if version == first.key else f"not those installed now, {sources()}"
    said = [f"# {title}", f"{first.name} as of the sources {version.rpartition(' @ ')[2]}, {now}."]
    boards: list[Board] = []
    wides: list[Board] = []
    for some in games:
        board = board_of(lines, some, [first, OURS[TOLD_T], *RIVALS.values()], first.name)
        wide, rivals = with_grid(lines, board, first), rivals_in(board)
        beside = [] if wide is None else [wide]
        n_games, _, n_reps = board.regrets.shape
        said += [
            f"## T = {board.games[0].horizon:,}: {n_games} games, {n_reps} repetitions, {len(rivals)} rivals",
            tables.show_targets(tables.targets([board], first.name, beside, TOLD_T)),
            tables.leaderboard(board, first.name, rivals),
            tables.by_game(board, first.name, rivals, wide),
        ]
        boards.append(board)
        wides += beside
    if len(boards) > 1:
        found = tables.targets(boards, first.name, wides, TOLD_T)
        said[2:2] = ["## All horizons together", tables.show_targets(found)]
    return Page("\n\n".join(said) + "\n", boards)
