"""`python -m experiments list | play | cost | table | screen | late`: games, their results, their cost, and tables."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.boards import board_of
from experiments.cost import costs, seconds
from experiments.families import FAMILIES
from experiments.games import Game, draw
from experiments.late import add_words as add_late_words
from experiments.late import late
from experiments.page import page, rivals_in
from experiments.players import GROUPS, RIVALS, Player, players
from experiments.playing import missing, play, warm_up
from experiments.promises import TOLD_T
from experiments.screen import add_words as add_screen_words
from experiments.screen import screen
from experiments.store import Store, read
from experiments.tables import by_rank
from turncoat.errors import TuningWarning, TurncoatError

FOLDER = "turncoat-experiments"


def file_of(words: argparse.Namespace) -> Path:
    """Where the results of a family and seed are kept."""
    return Path(words.folder) / f"{words.family}-{words.seed}.jsonl"


def games_at(words: argparse.Namespace, horizon: int) -> list[Game]:
    """The games asked for, of one horizon."""
    return draw(words.family, words.games, horizon, words.seed)


def run_list(words: argparse.Namespace) -> None:
    """Print the games, without playing them, and the players."""
    for horizon in words.horizon:
        print("\n".join(game.name for game in games_at(words, horizon)))
    for group, members in GROUPS.items():
        print(f"\n{group}:")
        for player in members.values():
            print(f"  {player.name:37} {player.words:58} {player.why}")


def chosen(words: argparse.Namespace) -> list[Player]:
    """Who is to play: those named and, if asked for, the best rivals so far."""
    found = players(words.learners)
    if words.best:
        board = board_of(read(file_of(words)), games_at(words, words.by), [*found, *RIVALS.values()], found[0].name)
        best = by_rank(board, rivals_in(board))[: words.best]
        found += [RIVALS[name] for name in best if RIVALS[name] not in found]
    return found


def run_play(words: argparse.Namespace) -> None:
    """Play what is missing."""
    store = Store(file_of(words))
    play_missing(store, [game for horizon in words.horizon for game in games_at(words, horizon)], chosen(words), words)
    print(f"{len(store.lines)} results in {store.file}")


def run_screen(words: argparse.Namespace) -> None:
    """Play rivals, then rules, and print what they say."""
    store, games = Store(file_of(words)), [games_at(words, horizon) for horizon in words.horizon]
    play_missing(store, [game for some in games for game in some], players(words.learners), words)
    print(screen(words, store, games, lambda news: print(news, file=sys.stderr)))


def run_late(words: argparse.Namespace) -> None:
    """Play rivals and rules with late and batched losses, and print what they say."""
    print(late(words, Store(file_of(words)), play_missing, lambda news: print(news, file=sys.stderr)))


def play_missing(store: Store, games: list[Game], who: list[Player], words: argparse.Namespace) -> None:
    """Play what players have not played, with a bar."""
    pieces = missing(store, games, words.reps, who)
    total = sum(piece.game.horizon * len(piece.players) for piece in pieces)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    warnings.simplefilter("ignore", TuningWarning)  # a rate that is capped in a short game is no news here
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        late = [player for player in who if any(player in piece.players for piece in pieces)]
        compiled = progress.add_task("players compiled", total=len(late))
        warm_up(late, lambda: progress.advance(compiled))
        played = progress.add_task("thousands of rounds", total=total // 1000)
        play(store, pieces, words.jobs, lambda piece: progress.advance(played, piece.game.horizon / 1000))


def run_cost(words: argparse.Namespace) -> None:
    """Print the time per round of each player, and of a given number of games, from stored results."""
    names = {player.name for player in players(words.learners)}
    lines = [line for line in read(file_of(words)) if line.player in names]
    for horizon in words.horizon:
        found = costs(lines, horizon)
        print(f"\nT = {horizon:,}: microseconds per round, mean and most over games")
        for cost in found:
            print(f"  {cost.player:37} {cost.mean:8.2f} {cost.most:8.2f}")
        minutes = seconds(found, words.games, words.reps, horizon, words.jobs) / 60
        print(f"{len(found)} players × {words.games} games × {words.reps}: {minutes:.1f} min with {words.jobs} jobs")


def run_table(words: argparse.Namespace) -> None:
    """Print the tables; write them, and figures, into a folder."""
    first, *beside = players([words.ours, *words.beside])
    games = [games_at(words, horizon) for horizon in words.horizon]
    found = page(f"Family {words.family}, seed {words.seed}", read(file_of(words)), games, first, beside)
    print(found.text)
    out = Path(words.out or words.folder)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{words.family}-{words.seed}.md").write_text(found.text)
    if words.figures:
        from experiments.figure import draw as picture

        for board in found.boards:
            drawn = picture(board, first.name, rivals_in(board))
            for ending in ("svg", "png"):
                name = f"{words.family}-{words.seed}-{board.games[0].horizon}.{ending}"
                (out / name).write_bytes(drawn[ending])


def rounds(text: str) -> int:
    """1e5, or 100000."""
    return int(float(text))


COMMANDS = {
    "list": (run_list, "games and players, without playing"),
    "play": (run_play, "play what is missing; a run that was killed resumes where it stopped"),
    "cost": (run_cost, "time per round of each player in stored results, and of a number of games"),
    "table": (run_table, "tables and figures of stored results"),
    "screen": (run_screen, "Turncoat with other constants, or from other checkouts, against itself and the rivals"),
    "late": (run_late, "the same games with losses told late, and A/B/n tests told in batches"),
}


def parsed() -> argparse.Namespace:
    """The words of the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The experiments behind Turncoat.")
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, (run, said) in COMMANDS.items():
        command = commands.add_parser(name, help=said, description=said)
        command.set_defaults(run=run)
        command.add_argument("family", choices=list(FAMILIES))
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--games", type=int, default=28)
        command.add_argument("--horizon", type=rounds, nargs="+", default=[10_000, 100_000], metavar="T")
        command.add_argument("--folder", default=FOLDER, help="where results are kept")
        if name in ("play", "cost", "screen", "late"):
            command.add_argument("--reps", type=int, default=10 if name in ("screen", "late") else 30)
            command.add_argument("--jobs", type=int, default=2)
        if name in ("play", "cost", "screen"):
            who = "players, or groups of them: ours, rivals, grid"
            default = ["rivals"] if name == "screen" else ["ours", "rivals"]
            command.add_argument("--learners", nargs="*", default=default, metavar="NAME", help=who)
        if name in ("screen", "late"):
            add_screen_words(command)
        if name == "late":
            add_late_words(command)
        if name == "play":
            command.add_argument("--best", type=int, default=0, metavar="N", help="and the N best rivals by mean rank")
            command.add_argument("--by", type=rounds, default=100_000, metavar="T", help="… at this horizon")
        if name == "table":
            command.add_argument("--ours", default="turncoat", metavar="NAME", help="who is compared with the rivals")
            what = "others of ours, shown beside it and no rivals"
            command.add_argument("--beside", nargs="*", default=[TOLD_T], metavar="NAME", help=what)
            command.add_argument("--out", help="where tables and figures go, if not beside the results")
            command.add_argument("--figures", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


def main() -> None:
    """Do what the command line says."""
    words = parsed()
    try:
        words.run(words)
    except TurncoatError as problem:
        sys.exit(f"python -m experiments: {problem}")
    except KeyboardInterrupt:
        sys.exit("stopped: what was played is kept, and the same command goes on from there")


if __name__ == "__main__":
    main()
