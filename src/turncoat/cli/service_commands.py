"""The commands of the service (serve, key, log, verify, backup) and their options. Light to import."""

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
database = click.option("--database", help="A SQLite file, made if missing, or postgresql://user@host/name.", **WHERE)
existing = click.option("--database", help="Of the service: a SQLite file, or postgresql://user@host/name.", **WHERE)


@click.command()
@database
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; a public one needs keys.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: a free port.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Over 1: on PostgreSQL.")
@click.option(
    "--role",
    type=click.Choice(["all", "front", "applier"]),
    default="all",
    show_default=True,
    help="front: decides and records rewards, does not learn; applier: learns, does not decide.",
)
@click.option(
    "--durability",
    type=click.Choice(["flush", "os"]),
    default="flush",
    show_default=True,
    help="flush: an answer waits for the disk. os: for the operating system alone, which is faster for few callers; if "
    "the machine or PostgreSQL crashes, what was answered last is lost.",
)
@click.option(
    "--on-store-down",
    type=click.Choice(["refuse", "stale"]),
    default="refuse",
    show_default=True,
    help="If the database is unreachable: answer 503, or decide from the last snapshot, marked stale and not recorded.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let web pages of this origin, such as https://shop.example, evaluate and reward; repeat for several.",
)
@click.option("--access-log", is_flag=True, help="Log one JSON line per request, without keys or bodies.")
@click.option("--demo", is_flag=True, help="Fill a new database with simulated history, and keep simulating traffic.")
def serve(**options: Any) -> None:
    """Serve decisions over HTTP, with a dashboard.

    Open an experiment, ask for decisions and report their rewards, from any language. Every request is committed to
    disk before it is answered, so that after a crash the service resumes where it stopped. The dashboard is at the same
    address; /openapi.json describes the API.

    Without an API key, only this machine may connect. Once `turncoat key add` has made one, every request needs a key.

    \b
    Examples:
      turncoat serve --demo                     see it work
      turncoat serve                            on this machine, in turncoat.db
      turncoat serve --database postgresql://localhost/turncoat --workers 4
    """
    from turncoat.cli.service import run_serve

    run_serve(**options)


@click.group()
def key() -> None:
    """Create, list and revoke the API keys of the service."""


@key.command("add")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["decide", "reward", "read", "admin"]),
    default=("decide", "reward", "read"),
    show_default="decide, reward, read",
    help="What it may do; repeat for several. admin: create and change experiments.",
)
@click.option("--days", type=click.FloatRange(min=0.0, min_open=True), help="Days until it expires.  [default: never]")
@database
def key_add(name: str, scopes: tuple[str, ...], days: float | None, database: str) -> None:
    """Create an API key called NAME, and print it this one time.

    \b
    Example:
      turncoat key add shop --scope decide --scope reward
    """
    from turncoat.cli.service import run_key_add

    run_key_add(name, list(scopes), days, database)


@key.command("list")
@existing
def key_list(database: str) -> None:
    """List all keys ever created, without their secrets."""
    from turncoat.cli.service import run_key_list

    run_key_list(database)


@key.command("revoke")
@click.argument("number", metavar="ID")
@existing
def key_revoke(number: str, database: str) -> None:
    """Revoke a key; all workers refuse it within a second. ID is the part between the underscores."""
    from turncoat.cli.service import run_key_revoke

    run_key_revoke(number, database)


@click.group()
def log() -> None:
    """Export the log of decisions and rewards."""


@log.command("export")
@click.argument("experiment")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write: Parquet if it ends in .parquet, otherwise NDJSON.  [default: NDJSON to the terminal]",
)
@existing
def log_export(experiment: str, output: Path | None, database: str) -> None:
    """Export all decisions of EXPERIMENT.

    Each line has what off-policy evaluation needs: the arm, the probabilities of all arms when it was drawn, the stream
    (only `learn` decisions teach the learner), the reward and its time. Works while the service is running.

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
    """Rebuild learners from the log, and compare with what is stored.

    They must agree byte for byte on the machine where the state was computed, and to 1e-9 elsewhere. The hash chain of
    the audit log is checked as well. The exit status is 1 if anything differs. Works while the service is running.

    What an earlier version of Turncoat learned by another rule is not replayed; the output says so.
    """
    from turncoat.cli.service import run_verify

    run_verify(list(experiments), database)


@click.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@existing
def backup(path: Path, database: str) -> None:
    """Back up the database while the service is running.

    PATH must not exist: a backup never overwrites a file.

    To restore a SQLite backup, start the service on it; restore a PostgreSQL backup with pg_restore.
    """
    from turncoat.cli.service import run_backup

    run_backup(path, database)
