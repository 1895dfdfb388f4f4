"""Boards as Markdown: game by game, the leaderboard, and what was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from experiments.numbers import Board, Span, against_best, against_picked, best_of, geometric, mean, ratios
from turncoat.race.statistics import mean_ranks

TOLD, UNTOLD, MASTER, SHARED = "exp3.s, told S", "exp3.s", "adaptive-master-base", "adaptive-master-base, shared"


class Target(NamedTuple):
    """A promise: what was measured, and the most it may be. NaN is no limit."""

    promise: str
    measured: Span
    limit: float
    note: str = ""

    @property
    def verdict(self) -> str:
        """Kept or not, where there is a limit."""
        if math.isnan(self.limit):
            return "beside"
        return "reached" if self.measured.value <= self.limit else "NOT reached"


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
    """A line a game. `wide` has constants to be picked game by game too."""
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


def targets(boards: Sequence[Board], first: str, wides: Sequence[Board] = (), told_T: str = "") -> list[Target]:
    """What was promised of the first player, over the games of all these boards."""
    everyone = [[name for name in board.players if name not in (first, told_T)] for board in boards]
    pairs = list(zip(boards, everyone, strict=True))
    best = [span for board, rivals in pairs for span in against_best(board, first, rivals)]
    games = [game for board in boards for game in board.games]
    worst = max(range(len(best)), key=lambda i: best[i].value)
    found = [
        Target("geometric mean against the best rival of each game", _geometric(best), 1.0),
        Target("worst game against its best rival", best[worst], 2.5, games[worst].label),
    ]
    if min(board.regrets.shape[2] for board in boards) > 1:
        picked = [value for board, rivals in pairs for value in against_picked(board, first, rivals)]
        promise = "geometric mean against the best rival, picked by the other half of the repetitions"
        found.append(Target(promise, geometric(picked), math.nan))
    found += [_rank(board, first, rivals) for board, rivals in pairs]
    for rival, limit in ((TOLD, 0.3), (MASTER, 0.3), (SHARED, math.nan), (told_T, 1.15)):
        met = [span for board in boards if rival in board.players for span in ratios(board, first, rival)]
        if met:
            found.append(Target(f"geometric mean against {rival}", _geometric(met), limit))
        if met and rival == MASTER:
            high = max(met, key=lambda span: span.high)
            note = "the upper end of its interval counts"
            found.append(Target(f"no game worse than {rival}", Span(high.high, high.low, high.high), 1.0, note))
    met = [
        span
        for board in boards
        if UNTOLD in board.players
        for game, span in zip(board.games, ratios(board, first, UNTOLD), strict=True)
        if game.shape == "adaptive"
    ]
    if met:
        found.append(Target(f"adaptive adversary against {UNTOLD}, geometric mean", _geometric(met), 1.2))
        found.append(Target("the same, worst game", max(met, key=lambda span: span.value), 1.2))
    others = [(wide, [name for name in wide.players if name not in (first, told_T)]) for wide in wides]
    beside = [span for wide, rivals in others for span in against_best(wide, first, rivals)]
    if beside:
        found.append(Target("geometric mean against the best constants of each game", _geometric(beside), math.nan))
        found.append(Target("worst game against them", max(beside, key=lambda span: span.value), math.nan))
    return found


def _geometric(spans: Sequence[Span]) -> Span:
    return geometric([span.value for span in spans])


def _rank(board: Board, first: str, rivals: Sequence[str]) -> Target:
    """Is it the first by mean rank?"""
    ranks = mean_ranks(board.only([first, *rivals]).regrets)
    mine = Span(*(float(part[0]) for part in ranks))
    i = min(range(len(rivals)), key=lambda i: float(ranks.value[i + 1]))
    note = f"next: {rivals[i]}"
    promise = f"mean rank at T = {board.games[0].horizon:,}, at most the best rival's"
    return Target(promise, mine, float(ranks.value[i + 1]), note)


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
