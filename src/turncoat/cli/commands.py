"""The commands of `turncoat` and their options. Each command imports what it needs when it runs."""

from __future__ import annotations

import errno
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from turncoat._version import __version__
from turncoat.cli import options
from turncoat.cli.options import whole_numbers
from turncoat.cli.service_commands import backup, erase, key, log, prune, repair, serve, verify
from turncoat.cli.table_commands import regret, replay
from turncoat.errors import TurncoatError
from turncoat.service.store.interface import with_place

STOPPED = 130  # exit status after Ctrl-C


class Plainly(click.Group):
    """Lists its commands in the order in which they were added, and says what went wrong in one line."""

    def list_commands(self, context: click.Context) -> list[str]:
        """The names of all commands."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(context)
        except (TurncoatError, MemoryError) as problem:
            raise click.ClickException(with_place(problem) or "there is not enough memory") from problem
        except KeyboardInterrupt as stop:
            click.echo(f"stopped; {stop}" if str(stop) else "stopped", err=True)
            context.exit(STOPPED)
        except OSError as problem:
            if problem.errno == errno.EPIPE:  # the reader of a pipe has closed it, as `head` does
                raise
            raise click.ClickException(str(problem)) from problem


class Hinting(click.Command):
    """A command without arguments that says which option a stray word belongs to."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Read what was typed."""
        try:
            return super().parse_args(context, args)
        except click.UsageError as problem:
            stray = re.match(r"Got unexpected extra arguments? \((.*)\)", problem.message)
            if stray is None:
                raise
            raise click.UsageError(f"{problem.message}{_hint(stray[1])}", context) from problem


def _hint(word: str) -> str:
    """Which option takes this word, if it names anything."""
    from turncoat.environments import SCENARIOS, SUITES
    from turncoat.learners.entries import ENTRIES

    options: dict[str, Collection[str]] = {"--suite": SUITES, "--environment": SCENARIOS, "--learner": ENTRIES}
    return next((f"; did you mean {option} {word!r}?" for option, names in options.items() if word in names), "")


@click.group(cls=Plainly, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="turncoat")
def turncoat() -> None:
    """Bandit algorithms for problems whose best arm changes over time.

    Each round a learner picks one of K arms, sees the loss of that arm alone, and is compared with the best sequence
    of arms that switches at most S times.

    Start with `turncoat race`, or `turncoat serve --demo`. `turncoat COMMAND --help` explains a command, with examples.
    """


@turncoat.command(cls=Hinting)
@click.option("--suite", "suite_name", default="quick", show_default=True, help="A set of games: see `turncoat list`.")
@options.environments("Race in this environment instead, such as flip/3; repeat for several.")
@options.learners("six; in the arena, all")
@click.option(
    "--horizon",
    callback=whole_numbers,
    default="1e3,1e4,1e5",
    metavar="ROUNDS",
    show_default=True,
    help="Number of rounds, T. Several show how regret grows; all else is for the longest.",
)
@options.seeds
@options.seed
@options.number("--max-switches", "Largest S to compare with.", default="twice the planted S, 8 to 64")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default="turncoat-race",
    show_default=True,
    help="Where results and report go. Games stored there are not played again.",
)
@options.engine
@options.workers
@options.number("--delay", "Tell every loss N rounds later.", default=0)
@options.number("--batch", "Tell losses at the end of batches of N rounds.", least=1, default=1)
@click.option("--split", is_flag=True, help="Split masters' regret into master and bases; T up to 1e6, twice the time.")
@click.option("--report/--no-report", default=True, show_default=True, help="Write report.html and its figures.")
@options.everyone
@options.as_json
def race(**words: Any) -> None:
    """Race learners over games whose best arm changes.

    Every learner plays every game once per seed, and all learners of a seed meet the same losses. Shows progress, a
    leaderboard and where the report is. Results do not depend on engine and workers. A race that was stopped or killed
    resumes where it stopped when the same command is run again.

    \b
    Examples:
      turncoat race                                    the default, about a minute
      turncoat race --suite paper --horizon 1e8        the regimes of the paper
      turncoat race -e piecewise/10 -l exp3 -l exp3.s  two learners, one game
    """
    from turncoat.cli.race import run_race

    run_race(**words)


@turncoat.command("list")
@click.argument("name", required=False)
def list_all(name: str | None) -> None:
    """List learners, environments and suites.

    Learners are grouped by the losses they are for. Each is listed with what it must be told (T, S), the order of its
    regret and of its time per round, when to use it, and when to use which other one instead. Environments are listed
    with what happens in them. With a NAME, shows all about this learner, environment or suite.

    \b
    Examples:
      turncoat list                 everything
      turncoat list clipped-omd     one learner
      turncoat list flip/3          one environment
      turncoat list arena           one suite
    """
    from turncoat.cli.list import show_all, show_one

    if name is None:
        show_all()
    else:
        show_one(name)


turncoat.add_command(replay)
turncoat.add_command(regret)


@turncoat.command("compile")
@click.argument("learners", nargs=-1, metavar="[LEARNER …]")
@options.environments("Only this environment, such as flip/3; again for more.", default="all")
@click.option("--service", is_flag=True, help="What `turncoat serve` runs, marked as complete: it starts in a second.")
def compile_ahead(learners: tuple[str, ...], environments: tuple[str, ...], service: bool) -> None:
    """Compile learners ahead, so that later processes start at once.

    For the build of a container, or before the first request. LEARNER is a name from `turncoat list`, or `all`; the
    default is turncoat. Compiles every method of the learner, and `play` in every environment. Shows what was compiled
    and how long it took; what is on disk already takes next to no time.

    \b
    Examples:
      turncoat compile                   the default learner
      turncoat compile exp3 corral       two others
      turncoat compile --service         what the decision service runs
      NUMBA_CACHE_DIR=/kernels turncoat compile    into this folder
    """
    from turncoat.cli.compile import run_compile

    run_compile(learners, environments, service=service)


@turncoat.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--to", type=click.Path(path_type=Path), show_default="FOLDER", help="Where report.html and figures go.")
@options.everyone
def report(folder: Path, to: Path | None, everyone: bool) -> None:
    """Draw the report of a saved race again.

    FOLDER is the folder of a race, finished or not. The leaderboard is printed too.
    """
    from turncoat.cli.race import run_report

    run_report(folder, to or folder, everyone=everyone)


for command in (serve, key, log, verify, repair, prune, erase, backup):
    turncoat.add_command(command)
