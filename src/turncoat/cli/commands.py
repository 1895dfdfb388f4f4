"""What can be typed after `turncoat`. Each command imports what it needs when it runs."""

from __future__ import annotations

import click

from turncoat._version import __version__
from turncoat.errors import TurncoatError


def whole_number(context: click.Context, option: click.Parameter, typed: str) -> int:
    """A whole number of at least 1; 1e6 is one."""
    try:
        number = float(typed) if "e" in typed.lower() else int(typed)
        if number >= 1 and number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise click.BadParameter(f"{typed!r} is not a whole number of at least 1 (1000, 1_000 or 1e3)")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="turncoat")
def turncoat() -> None:
    """Bandits for a world that keeps changing its mind.

    Each round a learner picks one of K arms, sees the loss of that arm alone, and is compared with the best sequence
    of arms that switches at most S times.

    \b
    Start here:
      turncoat race      learners against a game whose best arm changes: who loses least?
      turncoat list      the learners, what each needs and what it guarantees
    """


@turncoat.command()
@click.option("--arms", "n_arms", type=click.IntRange(1), default=5, show_default=True, help="Number of arms, K.")
@click.option(
    "--horizon",
    callback=whole_number,
    default="100000",
    metavar="INTEGER",
    show_default=True,
    help="Number of rounds, T.",
)
@click.option("--switches", type=click.IntRange(0), default=4, show_default=True, help="Switches of the best arm, S.")
@click.option(
    "--gap", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="How much better the best arm is."
)
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Games to play, one a seed.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="One seed, one result.")
def race(n_arms: int, horizon: int, switches: int, gap: float, seeds: int, seed: int) -> None:
    """Race every learner over the same games and print a leaderboard.

    The game has 0/1 losses; one arm is better than the others by GAP in mean, and S times the lead passes to another
    arm. Regret is the expected loss above that of the path that always plays the best arm.
    """
    if switches >= horizon or (n_arms == 1 and switches):
        raise click.UsageError(f"--switches is {switches}; accepted are 0 to horizon - 1 (0 with a single arm)")
    from turncoat.cli.race import run_race

    try:
        run_race(n_arms, horizon, switches, gap, seeds, seed)
    except (TurncoatError, MemoryError) as problem:
        raise click.ClickException(str(problem)) from problem


@turncoat.command("list")
def list_learners() -> None:
    """List the learners: what each needs and what it guarantees."""
    from turncoat.cli.roster import show_learners

    show_learners()
