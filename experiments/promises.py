"""What was promised of Turncoat, and what was measured: over the games of one board, or of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from experiments.numbers import Board, Span, against_best, against_picked, geometric, ratios
from turncoat.statistics import mean_ranks

TOLD, UNTOLD, MASTER, SHARED = "exp3.s, told S", "exp3.s", "adaptive-master-base", "adaptive-master-base, shared"
TOLD_T = "turncoat, told T"
NO_LIMIT = math.nan


class Target(NamedTuple):
    """A promise: what was measured, and the most it may be, if there is a limit."""

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


def targets(
    boards: Sequence[Board], first: str, wides: Sequence[Board] = (), beside: Sequence[str] = ()
) -> list[Target]:
    """All promises of the first player. `wides` are boards with constants to pick; who is `beside` is no rival."""
    no_rivals = (first, *beside)
    found = _against_all(boards, first, no_rivals)
    found += [_first_by_rank(board, first, _others(board, no_rivals)) for board in boards]
    limits = {TOLD: 0.3, MASTER: 0.3, SHARED: NO_LIMIT, **dict.fromkeys(beside, NO_LIMIT), TOLD_T: 1.15}
    for rival, limit in limits.items():
        met = _met(boards, first, rival)
        found += [Target(f"geometric mean against {rival}", over_games(met), limit)] if met else []
        found += [_never_worse(met, rival)] if met and rival == MASTER else []
    found += _adversary(boards, first)
    spans = [span for wide in wides for span in against_best(wide, first, _others(wide, no_rivals))]
    if spans:
        found.append(Target("geometric mean against the best constants of each game", over_games(spans), NO_LIMIT))
        found.append(Target("worst game against them", highest(spans), NO_LIMIT))
    return found


def certificates(spans: Sequence[Span]) -> list[Target]:
    """Is regret below what was certified, in every game? From ratios of the two."""
    if not spans:
        return []
    worst = max(spans, key=lambda span: span.high)
    note = f"highest upper end of a ratio; {len(spans)} games"
    return [
        Target("regret over its certificate, worst game", worst._replace(value=worst.high), 1.0, note),
        Target("the same, geometric mean", over_games(spans), NO_LIMIT),
    ]


def over_games(spans: Sequence[Span]) -> Span:
    """The geometric mean, with an interval over games."""
    return geometric([span.value for span in spans])


def highest(spans: Sequence[Span]) -> Span:
    """The worst of them."""
    return max(spans, key=lambda span: span.value)


def _others(board: Board, no_rivals: Sequence[str]) -> list[str]:
    return [name for name in board.players if name not in no_rivals]


def _met(boards: Sequence[Board], first: str, rival: str) -> list[Span]:
    return [span for board in boards if rival in board.players for span in ratios(board, first, rival)]


def _against_all(boards: Sequence[Board], first: str, no_rivals: Sequence[str]) -> list[Target]:
    """Against the best rival of every game."""
    best = [span for board in boards for span in against_best(board, first, _others(board, no_rivals))]
    labels = [f"T = {game.horizon:,}: {game.label}" for board in boards for game in board.games]
    worst = best.index(highest(best))
    found = [
        Target("geometric mean against the best rival of each game", over_games(best), 1.0),
        Target("worst game against its best rival", best[worst], 2.5, labels[worst]),
    ]
    if min(board.regrets.shape[2] for board in boards) > 1:
        picked = [value for board in boards for value in against_picked(board, first, _others(board, no_rivals))]
        promise = "geometric mean against the best rival, picked by the other half of the repetitions"
        found.append(Target(promise, geometric(picked), NO_LIMIT))
    return found


def _first_by_rank(board: Board, first: str, rivals: Sequence[str]) -> Target:
    """Is it the first by mean rank?"""
    ranks = mean_ranks(board.only([first, *rivals]).regrets)
    mine = Span(*(float(part[0]) for part in ranks))
    i = min(range(len(rivals)), key=lambda i: float(ranks.value[i + 1]))
    promise = f"mean rank at T = {board.games[0].horizon:,}, at most the best rival's"
    return Target(promise, mine, float(ranks.value[i + 1]), f"that of {rivals[i]}")


def _never_worse(met: Sequence[Span], rival: str) -> Target:
    high = max(met, key=lambda span: span.high)
    return Target(f"no game worse than {rival}", high._replace(value=high.high), 1.0, "highest upper end of a ratio")


def _adversary(boards: Sequence[Board], first: str) -> list[Target]:
    """The adaptive adversary, against EXP3.S that is told nothing."""
    met = [
        span
        for board in boards
        if UNTOLD in board.players
        for game, span in zip(board.games, ratios(board, first, UNTOLD), strict=True)
        if game.shape == "adaptive"
    ]
    if not met:
        return []
    return [
        Target(f"adaptive adversary against {UNTOLD}, geometric mean", over_games(met), 1.2),
        Target("the same, worst game", highest(met), 1.2),
    ]
