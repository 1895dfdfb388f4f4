"""All tables of a family and seed in one page, and the boards behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from experiments import tables
from experiments.boards import board_of, certified, version_of
from experiments.games import Game
from experiments.numbers import Board
from experiments.players import GRID, RIVALS, Player, sources
from experiments.promises import certificates, targets
from experiments.store import Line


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


def page(
    title: str, lines: Sequence[Line], games: Sequence[Sequence[Game]], first: Player, beside: Sequence[Player] = ()
) -> Page:
    """Tables for each horizon, and the promises over all of them. Of those beside the first, one line each is said."""
    names = [player.name for player in beside]
    version = version_of(first, lines)
    now = "those installed now" if version == first.key else f"not those installed now, {sources()}"
    said = [f"# {title}", f"{first.name} as of the sources {version.rpartition(' @ ')[2]}, {now}."]
    boards = [board_of(lines, some, [first, *beside, *RIVALS.values()], first.name) for some in games]
    wides = [with_grid(lines, board, first) for board in boards]

    def promised(some: slice) -> str:
        bound = [span for board in boards[some] for span in certified(lines, board.games, first)]
        wide = [board for board in wides[some] if board is not None]
        return tables.show_targets(targets(boards[some], first.name, wide, names) + certificates(bound))

    if len(boards) > 1:
        said += ["## All horizons together", promised(slice(None))]
    for i, (board, wide) in enumerate(zip(boards, wides, strict=True)):
        n_games, _, n_reps = board.regrets.shape
        rivals = rivals_in(board)
        said += [
            f"## T = {board.games[0].horizon:,}: {n_games} games, {n_reps} repetitions, {len(rivals)} rivals",
            promised(slice(i, i + 1)),
            tables.leaderboard(board, first.name, rivals),
            tables.by_game(board, first.name, rivals, wide),
        ]
    return Page("\n\n".join(said) + "\n", boards)
