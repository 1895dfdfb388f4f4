"""`turncoat serve` and what belongs to it, as they are typed. Light to import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

WHERE: dict[str, Any] = {
    "default": "turncoat.db",
    "show_default": True,
    "envvar": "TURNCOAT_DATABASE",
    "show_envvar": True,
    "metavar": "FILE|URL",
}
database = click.option("--database", help="A SQLite file, made if new, or postgresql://user@host/name.", **WHERE)
existing = click.option("--database", help="Of the service: its file, or postgresql://user@host/name.", **WHERE)


@click.command()
@database
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Beyond this machine: with keys.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free one.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes; on PostgreSQL.")
@click.option(
    "--role",
    type=click.Choice(["all", "front", "applier"]),
    default="all",
    show_default=True,
    help="front: decides, takes rewards, does not learn; applier: learns, decides nothing.",
)
@click.option(
    "--on-store-down",
    type=click.Choice(["refuse", "stale"]),
    default="refuse",
    show_default=True,
    help="While the database is away: answer 503, or from the last snapshot, marked stale and not recorded.",
)
@click.option("--access-log", is_flag=True, help="A line of JSON a request, without keys and bodies.")
@click.option("--demo", is_flag=True, help="Fill a new database with a changing world, and go on living in it.")
def serve(**words: Any) -> None:
    """Serve decisions over HTTP, with a dashboard.

    Open an experiment, ask for decisions, say how they turned out: from any language. Everything is on the disk before
    it is answered; kill it, start it again, and it goes on where it was. The dashboard is at the same address; what can
    be asked is at /openapi.json.

    Without keys only this machine may connect. `turncoat key add` makes the first one; from then on all need one.

    \b
    Examples:
      turncoat serve --demo                     see it work
      turncoat serve                            on this machine, in turncoat.db
      turncoat serve --database postgresql://localhost/turncoat --workers 4
    """
    from turncoat.cli.service import run_serve

    run_serve(**words)


@click.group()
def key() -> None:
    """Make, list and revoke the keys of the service."""


@key.command("add")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["decide", "reward", "read", "admin"]),
    default=("decide", "reward", "read"),
    show_default="decide, reward, read",
    help="What it is for; again for more. admin: opens and changes experiments.",
)
@click.option("--days", type=click.FloatRange(min=0.0, min_open=True), help="How long it is good.  [default: for ever]")
@database
def key_add(name: str, scopes: tuple[str, ...], days: float | None, database: str) -> None:
    """Make a key for NAME, and show it, once.

    \b
    Example:
      turncoat key add shop --scope decide --scope reward
    """
    from turncoat.cli.service import run_key_add

    run_key_add(name, list(scopes), days, database)


@key.command("list")
@existing
def key_list(database: str) -> None:
    """All keys ever made, without their secrets."""
    from turncoat.cli.service import run_key_list

    run_key_list(database)


@key.command("revoke")
@click.argument("number", metavar="ID")
@existing
def key_revoke(number: str, database: str) -> None:
    """End a key, within a second, wherever the service runs. ID is the part between the underscores."""
    from turncoat.cli.service import run_key_revoke

    run_key_revoke(number, database)


@click.group()
def log() -> None:
    """What was decided, and how it turned out."""


@log.command("export")
@click.argument("experiment")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file: .parquet, or lines of JSON whatever else it is called.  [default: the terminal, lines of JSON]",
)
@existing
def log_export(experiment: str, output: Path | None, database: str) -> None:
    """Write out all decisions of EXPERIMENT.

    With propensities and outcomes, enough to evaluate other policies on it: the arm, its probability and those of all
    arms when it was drawn, the stream (only `learn` taught the learner), the reward and when it came. Works beside a
    running service.

    \b
    Examples:
      turncoat log export checkout > checkout.ndjson
      turncoat log export checkout -o checkout.parquet
    """
    from turncoat.cli.service import run_export

    run_export(experiment, output, database)


@click.command()
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT …]")
@existing
def verify(experiments: tuple[str, ...], database: str) -> None:
    """Rebuild every learner from the log, and compare.

    With what is stored: byte for byte on the machine it was computed on, to 1e-9 elsewhere. The audit's chain of
    hashes is checked as well. Ends with 1 if anything differs. Works beside a running service.
    """
    from turncoat.cli.service import run_verify

    run_verify(list(experiments), database)


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@existing
def backup(path: Path, database: str) -> None:
    """Copy the database, while the service goes on.

    PATH is a new file: a backup never writes over one.

    To restore: a SQLite copy is the database, start the service on it; one of PostgreSQL is for pg_restore.
    """
    from turncoat.cli.service import run_backup

    run_backup(path, database)
