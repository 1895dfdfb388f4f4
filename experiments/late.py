"""`python -m experiments late`: the games of a family, with losses told late and, for A/B/n tests, in batches.

    python -m experiments late test test-2 --seed 4711 --horizon 1e5 --reps 5 --rule ../older-checkout

Every game that allows all arms is played again for each delay, with the same layout and losses, against the better of
two rivals; A/B/n tests are played again for each size of batch, against Thompson sampling.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from experiments.boards import board_of
from experiments.families import FAMILIES
from experiments.games import Game, draw
from experiments.numbers import Span, against_best, geometric, ratios
from experiments.players import Player, players
from experiments.screen import play_rules, rules_of
from experiments.store import Line, Store, read
from experiments.tables import markdown, times

LATE_RIVALS = ("discounted-thompson, told S", "exp3.s, told S")
BATCH_RIVAL = "thompson-sampling"
TESTS = ("ab-gap", "ab-rates")  # shapes in which nothing changes


def add_words(command: argparse.ArgumentParser) -> None:
    """What this command has beside what `screen` has."""
    command.add_argument("--delays", type=int, nargs="*", default=[0, 10, 100, 500], metavar="ROUNDS")
    command.add_argument("--batches", type=int, nargs="*", default=[1, 100, 1000, 5000], metavar="ROUNDS")


def base_games(family: str, n: int, horizon: int, seed: int) -> list[Game]:
    """The games of a family in which all arms are allowed."""
    return [game for game in draw(family, n, horizon, seed) if game.open >= 1.0]


def late_games(games: Sequence[Game], delay: int) -> list[Game]:
    """All games but A/B/n tests, with losses so many rounds late."""
    return [game.retimed(delay, 1) for game in games if game.shape not in TESTS]


def ab_tests(family: str, n: int, horizon: int, seed: int, batch: int) -> list[Game]:
    """The first n A/B/n tests of a family, in batches of so many rounds; none if the family has none."""
    n_shapes = len(FAMILIES[family])
    found = [game for game in draw(family, n * n_shapes, horizon, seed) if game.shape in TESTS]
    return [game.retimed(0, batch) for game in found]


class Part:
    """Games with one delay or batch, and who is met in them."""

    def __init__(self, label: str, games: Sequence[Game], rivals: Sequence[str]) -> None:
        self.label, self.games, self.rivals = label, list(games), players(rivals)


def parts(words: argparse.Namespace) -> list[Part]:
    """A part per delay and per batch, for each horizon."""
    found = []
    for horizon in words.horizon:
        games = base_games(words.family, words.games, horizon, words.seed)
        for delay in words.delays:
            found.append(Part(f"T={horizon:,} delay {delay:,}", late_games(games, delay), LATE_RIVALS))
        for batch in words.batches:
            tests = ab_tests(words.family, words.games, horizon, words.seed, batch)
            found.append(Part(f"T={horizon:,} batch {batch:,}", tests, [BATCH_RIVAL]))
    return [part for part in found if part.games]


def late(
    words: argparse.Namespace,
    store: Store,
    play_missing: Callable[[Store, list[Game], list[Player], argparse.Namespace], None],
    say: Callable[[str], None],
) -> str:
    """Play rivals and rules in all parts; a table with a row per part and rule."""
    found = parts(words)
    for part in found:
        play_missing(store, part.games, part.rivals, words)
    games = [game for part in found for game in part.games]
    rules = [rule.player for rule in play_rules(store, rules_of(words), games, words.reps, words.jobs, say)]
    lines = read(store.file)
    rows = [row for part in found for row in rows_of(part, rules, lines)]
    against = ["against the better rival", "worst game", "its lower end", "game"]
    return markdown(["losses", "rule", *against, f"against {rules[0].name}"], rows) + "\n"


def rows_of(part: Part, rules: Sequence[Player], lines: Sequence[Line]) -> list[list[str]]:
    """A row per rule: geometric means over games, and the game that is worst."""
    board = board_of(lines, part.games, [*rules, *part.rivals], rules[0].name)
    rows = []
    for rule in rules:
        spans = against_best(board, rule.name, [rival.name for rival in part.rivals])
        worst = max(range(len(spans)), key=lambda i: spans[i].low)
        beside = ratios(board, rule.name, rules[0].name) if rule is not rules[0] else []
        rows.append(
            [
                part.label,
                rule.name,
                times(mean(spans)),
                f"{spans[worst].value:.2f}",
                f"{spans[worst].low:.2f}",
                part.games[worst].untimed,
                times(mean(beside)) if beside else "",
            ]
        )
    return rows


def mean(spans: Sequence[Span]) -> Span:
    """The geometric mean over games."""
    return geometric([span.value for span in spans])
