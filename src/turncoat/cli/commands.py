"""What can be typed after `turncoat`. Each command imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from turncoat._version import __version__
from turncoat.cli.numbers import whole_numbers
from turncoat.cli.table_commands import regret, replay
from turncoat.errors import TurncoatError


class Plainly(click.Group):
    """Says what went wrong in one line."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(context)
        except (TurncoatError, MemoryError) as problem:
            raise click.ClickException(str(problem)) from problem


@click.group(cls=Plainly, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="turncoat")
def turncoat() -> None:
    """Bandits for a world that keeps changing its mind.

    Each round a learner picks one of K arms, sees the loss of that arm alone, and is compared with the best sequence
    of arms that switches at most S times.

    \b
    Start here:
      turncoat race      learners against games whose best arm changes: who loses least?
      turncoat list      learners and environments, what each needs and guarantees
      turncoat replay F  learners over your own losses or rewards, from a CSV or Parquet file
      turncoat regret F  how much better the best paths did than choices you recorded
    """


@turncoat.command()
@click.option("--suite", "suite_name", default="quick", show_default=True, help="A set of games: see `turncoat list`.")
@click.option(
    "-e",
    "--environment",
    "environments",
    multiple=True,
    metavar="ID",
    help="Instead: this game, such as flip/3; again for more.",
)
@click.option("-l", "--learner", "learners", multiple=True, metavar="NAME", help="Only this learner; again for more.")
@click.option(
    "--horizon",
    callback=whole_numbers,
    default="1e3,1e4,1e5",
    metavar="ROUNDS",
    show_default=True,
    help="Number of rounds, T. Several show how regret grows; the rest is about the longest.",
)
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Games of a kind, one a seed.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="One seed, one result.")
@click.option(
    "--max-switches", type=click.IntRange(0), help="How far the frontier goes.  [default: twice the planted S, 8 to 64]"
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default="turncoat-race",
    show_default=True,
    help="Where results and report go. What it holds is not played again.",
)
@click.option("--engine", default="threads", show_default=True, help="threads, processes, or dask://host:port.")
@click.option("--workers", type=click.IntRange(1), help="Threads or processes.  [default: one a core]")
@click.option("--split", is_flag=True, help="Say where the masters' regret came from: T up to 1e6, twice the time.")
@click.option("--report/--no-report", default=True, show_default=True, help="Draw report.html and its figures.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; progress goes to stderr.")
def race(**words: Any) -> None:
    """Race learners over the same games: progress, a leaderboard, a report.

    Every learner meets every game once for each seed; all learners of a seed meet the same losses. Results do not
    depend on engine and workers. A race that was stopped or killed goes on where it was: type the same again.

    \b
    turncoat race                                    a first minute
    turncoat race --suite paper --horizon 1e8        the regimes of the paper's remarks
    turncoat race -e piecewise/10 -l exp3 -l exp3.s  two learners, one game
    """
    from turncoat.cli.race import run_race

    run_race(**words)


@turncoat.command("list")
def list_all() -> None:
    """List learners, environments and suites: what each needs and guarantees."""
    from turncoat.cli.roster import show_all

    show_all()


@turncoat.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), help="Where report.html and figures go.  [default: FOLDER]")
def report(folder: Path, to: Path | None) -> None:
    """Print the leaderboard of a saved race and draw its report again, finished or not."""
    from turncoat.cli.report import run_report

    run_report(folder, to or folder)


turncoat.add_command(replay)
turncoat.add_command(regret)
