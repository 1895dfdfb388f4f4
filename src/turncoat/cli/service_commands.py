"""The commands of the service (serve, key, log, verify, repair, prune, erase, backup). Light to import."""

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
    "--deadline",
    "deadline_s",
    type=click.FloatRange(0.1, 3600.0),
    default=2.0,
    show_default=True,
    help="Seconds after which a request is answered 503, to be tried again, if the database holds it up.",
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
    disk before it is answered (unless --durability is os), so that after a crash the service resumes where it stopped.
    The dashboard is at the same address; /openapi.json describes the API.

    Without an API key, only this machine may connect. Once `turncoat key add` has made one, every request needs a key.
    TURNCOAT_FIRST_KEY, or a file that TURNCOAT_FIRST_KEY_FILE names, gives a new database its first key.

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
@click.option(
    "--experiment",
    "experiments",
    multiple=True,
    metavar="KEY",
    help="An experiment that it is for, open already or not; repeat for several.  [default: all]",
)
@click.option("--rate", type=float, help="Requests per second that each worker takes from it.  [default: no limit]")
@click.option("--burst", type=int, help="Of those, how many at once.  [default: a second's]")
@database
def key_add(name: str, scopes: tuple[str, ...], days: float | None, database: str, **options: Any) -> None:
    """Create an API key called NAME, and print it this one time.

    \b
    Examples:
      turncoat key add shop --scope decide --scope reward
      turncoat key add shop --scope decide --experiment button --rate 50 --burst 200
    """
    from turncoat.cli.service import run_key_add

    run_key_add(name, list(scopes), days, database, **options)


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
    (only `learn` decisions teach the learner), the reward and its time. Works while the service is running. Decisions
    whose rows are damaged are left out and named on the error stream; the exit status is 1 then.

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
    the audit log is checked as well, every row is read, and SQLite checks its file. Whatever is damaged is named, and
    the other experiments are verified all the same. The exit status is 1 if anything differs or is damaged. Works while
    the service is running.

    What was pruned, or learned by another rule of an earlier version of Turncoat, is not replayed; the output says so.
    """
    from turncoat.cli.service import run_verify

    run_verify(list(experiments), database)


def _days(context: click.Context, option: click.Parameter, typed: str | None) -> float | None:
    """A number of days, such as 90d."""
    if typed is None:
        return None
    try:
        days = float(typed.removesuffix("d"))
    except ValueError:
        days = 0.0
    if not 1.0 <= days <= 36_500.0:
        raise click.BadParameter(f"{typed!r}; accepted are 1d to 36500d")
    return days


@click.command()
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT …]")
@click.option("--keep", callback=_days, metavar="DAYS", help="Such as 90d, for this once.  [default: their keep_days]")
@click.option("--dry-run", is_flag=True, help="Only say how many decisions would be deleted.")
@existing
def prune(experiments: tuple[str, ...], keep: float | None, dry_run: bool, database: str) -> None:
    """Delete decisions that closed long ago.

    Of all experiments, or of those named.

    Open decisions stay, and so do the sums that the dashboard shows. Learners are unaffected; `turncoat verify` replays
    from a checkpoint, which is written first. Versions that no decision refers to any more are thinned. Works while the
    service is running, which prunes the decisions of experiments that have keep_days by itself.

    \b
    Examples:
      turncoat verify && turncoat log export checkout -o checkout.parquet
      turncoat prune checkout --keep 90d --dry-run
    """
    from turncoat.cli.service import run_prune

    run_prune(list(experiments), keep, dry_run, database)


@click.command()
@click.option("--unit", required=True, metavar="NAME", help="The unit_id, or targetingKey, of its decisions.")
@click.option("--experiment", metavar="KEY", help="Only in this experiment.  [default: in all]")
@existing
def erase(unit: str, experiment: str | None, database: str) -> None:
    """Erase the contexts and the pseudonym of a unit.

    Arms, propensities and rewards of its decisions stay, so that learners can be verified. Works while the service is
    running, and may be repeated. Contexts of decisions that were asked for without a unit are not found, nor are copies
    of the database and exported logs.
    """
    from turncoat.cli.service import run_erase

    run_erase(unit, experiment, database)


@click.command()
@click.argument("experiment", metavar="KEY")
@click.option("--dry-run", is_flag=True, help="Say what is damaged and whether it can be rebuilt, and write nothing.")
@existing
def repair(experiment: str, dry_run: bool, database: str) -> None:
    """Rebuild a damaged learner from the log.

    It is that of the experiment KEY. The learner's state, its checksum and the probabilities that are served are
    written as a new version, with an entry in the audit, all at once. A service that is running goes on from there by
    itself. A sound experiment is left as it is. If the log itself is damaged, so that another learner might come out
    than the one that was lost, the command says where, changes nothing, and a backup has to be restored.

    The exit status is 1 if anything is damaged that a repair does not rebuild.
    """
    from turncoat.cli.service import run_repair

    run_repair(experiment, database, dry_run=dry_run)


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
