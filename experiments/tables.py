"""Boards as Markdown: game by game, the leaderboard, and what was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence

from experiments.numbers import Board, Span, against_best, best_of, geometric, mean, ratios
from experiments.promises import Target
from turncoat.statistics import mean_ranks


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; all columns but the first to the right."""
    lines = [list(columns), ["---", *["--:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def whole(span: Span) -> str:
    """`1,234 ± 56`."""
    return f"{span.value:,.0f} ± {span.high - span.value:,.0f}"


def times(span: Span) -> str:
    """`1.05 (0.98–1.12)`."""
    return f"{span.value:.2f} ({span.low:.2f}–{span.high:.2f})"


def by_game(board: Board, first: str, rivals: Sequence[str], wide: Board | None = None) -> str:
    """One line per game. `wide` has constants to be picked game by game too."""
    columns = ["game", first, "best rival", "its regret", "ratio", "best constants", "ratio"]
    hindsight = [("", math.nan)] * len(board.games)
    if wide is not None:
        others = [name for name in wide.players if name in rivals or name not in board.players]
        found = zip(best_of(wide, others), against_best(wide, first, others), strict=True)
        hindsight = [(name, span.value) for name, span in found]
    rows = []
    for i, (game, rival, span, (name, value)) in enumerate(
        zip(board.games, best_of(board, rivals), against_best(board, first, rivals), hindsight, strict=True)
    ):
        regrets = [whole(mean(board.of(player)[i])) for player in (first, rival)]
        beside = [name, f"{value:.2f}"] if name else ["", ""]
        rows.append([game.label, regrets[0], rival, regrets[1], times(span), *beside])
    return markdown(columns, rows)


def leaderboard(board: Board, first: str, rivals: Sequence[str]) -> str:
    """Players by mean rank; how far each is behind the best rival of each game; and the first one beside it."""
    names = [first, *rivals]
    ranks = mean_ranks(board.only(names).regrets)
    rows = []
    for i in sorted(range(len(names)), key=lambda i: float(ranks.value[i])):
        rank = Span(*(float(part[i]) for part in ranks))
        behind = [span.value for span in against_best(board, names[i], rivals)]
        ours = geometric([span.value for span in ratios(board, first, names[i])])
        shown = f"**{names[i]}**" if names[i] == first else names[i]
        rows.append([shown, times(rank), f"{geometric(behind).value:.2f}", f"{max(behind):.1f}", times(ours)])
    return markdown(["player", "mean rank", "behind the best", "worst game", f"{first} / it"], rows)


def by_rank(board: Board, rivals: Sequence[str]) -> list[str]:
    """Rivals, the least mean rank first."""
    ranks = mean_ranks(board.only(rivals).regrets).value
    return sorted(rivals, key=lambda name: float(ranks[rivals.index(name)]))


def show_targets(found: Sequence[Target]) -> str:
    """A line a promise."""
    rows = [
        [
            target.promise,
            times(target.measured),
            "" if math.isnan(target.limit) else f"≤ {target.limit:.2f}",
            target.verdict,
            target.note,
        ]
        for target in found
    ]
    return markdown(["promise", "measured", "target", "", "note"], rows)
