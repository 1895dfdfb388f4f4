"""`python -m experiments screen`: other constants of Turncoat, or other versions of it, on games of a family.

    python -m experiments screen tune --games 28 --reps 5 --horizon 1e4 --set 'ETA=1.5' 'ETA=1.5 MOST_ETA=0.03'
    python -m experiments screen tune --rule ../checkout-of-an-older-commit

The shipped rule plays too, and the rivals; what was played is stored, and never played again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments.boards import board_of
from experiments.games import Game
from experiments.numbers import Board, Span, against_best, geometric, ratios
from experiments.players import Player, players
from experiments.playing import missing
from experiments.rules import SHIPPED, Rule, RuleError, constants, package_in, play_rule, rule_of
from experiments.store import Line, Store, read
from experiments.tables import markdown, times

FIRST = "shipped"


def add_words(command: argparse.ArgumentParser) -> None:
    """What this command has beside what all have."""
    said = "constants that are replaced: several in one word are one setting"
    command.add_argument("--set", nargs="+", action="extend", default=[], metavar="'NAME=VALUE …'", help=said)
    said = "a checkout whose package plays too, as it is"
    command.add_argument("--rule", nargs="+", action="extend", default=[], metavar="FOLDER", help=said)
    command.add_argument("--by-shape", action="store_true", help="and a table of the shapes of games")


def rules_of(words: argparse.Namespace) -> list[Rule]:
    """The shipped rule, those of other folders, and the settings, each once."""
    home = Path(words.folder) / "rules"
    found = [rule_of(home, FIRST, SHIPPED, {})]
    found += [rule_of(home, folder, package_in(Path(folder)), {}) for folder in words.rule]
    found += [rule_of(home, setting, SHIPPED, constants(setting)) for setting in words.set]
    return list({rule.digest: rule for rule in reversed(found)}.values())[::-1]


def play_rules(
    store: Store, rules: Sequence[Rule], games: Sequence[Game], reps: int, jobs: int, say: Callable[[str], None]
) -> list[Rule]:
    """Play what rules have not played, each in its own process; which of them did not fail."""

    def one(rule: Rule) -> bool:
        pieces = [(piece.game, piece.rep) for piece in missing(store, games, reps, [rule.player])]
        try:
            if pieces:
                play_rule(rule, pieces, max(1, jobs // len(rules)), store.add)
        except RuleError as problem:
            say(str(problem))
            return False
        say(f"{rule.name}: {len(pieces)} games played")
        return True

    with store, ThreadPoolExecutor(jobs) as pool:
        return [rule for rule, well in zip(rules, pool.map(one, rules), strict=True) if well]


def screen(words: argparse.Namespace, store: Store, games: Sequence[Sequence[Game]], say: Callable[[str], None]) -> str:
    """Play rules, and their tables; the rivals have played."""
    everything = [game for some in games for game in some]
    rules = play_rules(store, rules_of(words), everything, words.reps, words.jobs, say)
    return report(read(store.file), games, [rule.player for rule in rules], players(words.learners), words.by_shape)


def report(
    lines: Sequence[Line],
    games: Sequence[Sequence[Game]],
    rules: Sequence[Player],
    rivals: Sequence[Player],
    shapes: bool = False,
) -> str:
    """Tables of rules: over all horizons, and for each; the first rule is the one that others are compared with."""
    names, others = [rule.name for rule in rules], [rival.name for rival in rivals]
    boards = [board_of(lines, some, [*rules, *rivals], names[0]) for some in games]
    said = [] if len(boards) == 1 else ["## All horizons together", summary(boards, names, others)]
    for board in boards:
        n_games, _, n_reps = board.regrets.shape
        title = f"## T = {board.games[0].horizon:,}: {n_games} games, {n_reps} repetitions, {len(others)} rivals"
        said += [title, summary([board], names, others)]
    return "\n\n".join([*said, by_shape(boards, names)] if shapes else said) + "\n"


def summary(boards: Sequence[Board], names: Sequence[str], rivals: Sequence[str]) -> str:
    """A line per rule: against the best rival of each game, and against the first rule, with the worst game of each."""
    labels = [f"T={game.horizon:,} {game.label}" for board in boards for game in board.games]
    rows = []
    for name in names:
        behind = [span for board in boards for span in against_best(board, name, rivals)] if rivals else []
        beside = [span for board in boards for span in ratios(board, name, names[0])] if name != names[0] else []
        rows.append([name, *mean_and_worst(behind, labels), *mean_and_worst(beside, labels)])
    against = "against the best rival", f"against {names[0]}"
    return markdown(["rule", *(word for what in against for word in (what, "worst", "game"))], rows)


def mean_and_worst(spans: Sequence[Span], labels: Sequence[str]) -> list[str]:
    """The geometric mean over games, the worst of them, and its name."""
    if not spans:
        return ["", "", ""]
    values = [span.value for span in spans]
    worst = max(values)
    return [times(geometric(values)), f"{worst:.2f}", labels[values.index(worst)]]


def by_shape(boards: Sequence[Board], names: Sequence[str]) -> str:
    """Geometric means against the first rule, shape by shape."""
    shapes = list(dict.fromkeys(game.shape for board in boards for game in board.games))
    rows = []
    for shape in shapes:
        row = [shape]
        for name in names[1:]:
            pairs = [pair for board in boards for pair in zip(board.games, ratios(board, name, names[0]), strict=True)]
            row.append(times(geometric([span.value for game, span in pairs if game.shape == shape])))
        rows.append(row)
    return markdown(["shape", *names[1:]], rows)
