"""Options that more than one command has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Option = Callable[[Any], Any]


def learners(default: str) -> Option:
    """Who plays."""
    words = "Only this learner, of those in `turncoat list`; again for more."
    return click.option("-l", "--learner", "learners", multiple=True, metavar="NAME", show_default=default, help=words)


def number(name: str, words: str, least: int = 0, default: int | str | None = None) -> Option:
    """A whole number from `least` on; `default` in words where it is worked out later."""
    value = {"show_default": default} if isinstance(default, str) else {"default": default, "show_default": True}
    return click.option(name, type=click.IntRange(least), metavar="N", help=words, **value)


seeds = number("--seeds", "Games of a kind, one a seed.", least=1, default=10)
seed = number("--seed", "One seed, one result.", default=0)
engine = click.option("--engine", default="threads", show_default=True, help="threads, processes or dask://host:port.")
workers = number("--workers", "Threads or processes.", least=1, default="one a core")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object; progress goes to stderr.")
everyone = click.option(
    "--all", "everyone", is_flag=True, help="Print every learner and game, not the best dozen only."
)
