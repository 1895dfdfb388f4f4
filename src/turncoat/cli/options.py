"""Options that several commands share, and the parsing of numbers. Light to import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Option = Callable[[Any], Any]


def learners(default: str) -> Option:
    """The option that picks learners."""
    words = "Only this learner (see `turncoat list`); repeat for several."
    return click.option("-l", "--learner", "learners", multiple=True, metavar="NAME", show_default=default, help=words)


def environments(words: str, default: str | None = None) -> Option:
    """Which games."""
    given: dict[str, Any] = {"multiple": True, "metavar": "ID", "show_default": default}
    return click.option("-e", "--environment", "environments", help=words, **given)


def number(name: str, words: str, least: int = 0, default: int | str | None = None) -> Option:
    """A whole number from `least` on; `default` in words where it is worked out later."""
    value = {"show_default": default} if isinstance(default, str) else {"default": default, "show_default": True}
    return click.option(name, type=click.IntRange(least), metavar="N", help=words, **value)


def whole_number(context: click.Context, option: click.Parameter, typed: str | None) -> int | None:
    """A whole number of at least 1; 1e6 is one. Nothing, if nothing was typed."""
    return None if typed is None else _whole(typed)


def whole_numbers(context: click.Context, option: click.Parameter, typed: str) -> list[int]:
    """One whole number or several, with commas between them."""
    return [_whole(part.strip()) for part in typed.split(",")]


def _whole(typed: str) -> int:
    try:
        number = float(typed) if "e" in typed.lower() else int(typed)
        if number >= 1 and number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise click.BadParameter(f"{typed!r} is not a whole number of at least 1 (1000, 1_000 or 1e3)")


seeds = number("--seeds", "Number of seeds; every learner plays each game once per seed.", least=1, default=10)
seed = number("--seed", "Seed of all randomness: the same seed gives the same results.", default=0)
engine = click.option("--engine", default="threads", show_default=True, help="threads, processes or dask://host:port.")
workers = number("--workers", "Threads or processes.", least=1, default="one per core")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object; progress goes to stderr.")
everyone = click.option(
    "--all", "everyone", is_flag=True, help="Print all learners and games, not only the best dozen."
)
