"""What the commands of the service do: serve, API keys, export, verification, pruning, erasure, backup."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turncoat.optional_imports import require
from turncoat.service.clock import as_datetime
from turncoat.service.store import Store, open_store

if TYPE_CHECKING:
    from turncoat.service.experiments.verify import Verified

ROWS = 50_000  # of a Parquet file, gathered at a time


def run_serve(*, demo: bool, **options: Any) -> None:
    """Serve until stopped."""
    require("uvicorn", "turncoat serve", "serve")
    from turncoat.service.http.server import Settings, free_port, run

    if demo and options["database"] == "turncoat.db":
        options["database"] = str(Path(tempfile.mkdtemp(prefix="turncoat-demo-")) / "demo.db")
    click.echo(f"The database is {_shown(options['database'])}. The first start compiles for some time.", err=True)
    if demo:
        from turncoat.cli.demo import past_of_it

        free_port(options["host"], options["port"])  # a port in use is refused before the demo's history is made
        past_of_it(options["database"])

    def ready(address: str) -> None:
        click.echo(f"Turncoat listens on {address}: open it for the dashboard. Ctrl-C stops it.", err=True)
        click.echo(f"API description: {address}/openapi.json", err=True)
        if demo:
            from turncoat.cli.demo import live_in_it

            live_in_it(address)

    run(Settings(**options), ready=ready)


def _shown(database: str) -> str:
    """An address without its password."""
    head, at, tail = database.rpartition("@")
    return f"{head.split('://')[0]}://…@{tail}" if at and "://" in head else database


@contextmanager
def _store(database: str, *, must_exist: bool = True) -> Iterator[Store]:
    if must_exist and "://" not in database and not Path(database).exists():
        raise click.ClickException(f"there is no {database}; --database names the file or address of the service")
    store = open_store(database, allow_in_use=True)
    try:
        yield store
    finally:
        store.close()


def run_key_add(
    name: str,
    scopes: list[str],
    days: float | None,
    database: str,
    experiments: tuple[str, ...] = (),
    rate: float | None = None,
    burst: int | None = None,
) -> None:
    """Create a key and print it."""
    from turncoat.service.api_keys import NewKey, issue

    now = time.time()
    expires_at = None if days is None else as_datetime(now) + timedelta(days=days)
    new = NewKey(
        name=name,
        scopes=scopes,  # type: ignore[arg-type]
        expires_at=expires_at,
        experiments=list(experiments) or None,
        rate=rate,
        burst=burst,
    )
    with _store(database, must_exist=False) as store, store.transaction() as session:
        issued = issue(session, new, now)
    click.echo(issued.key)
    of = f" of {', '.join(experiments)}" if experiments else ""
    click.echo(
        f"Valid for {', '.join(scopes)}{of} on {_shown(database)}; every request there now needs a key.", err=True
    )
    click.echo("This is the only time it is shown. Send it as  Authorization: Bearer …", err=True)


def run_key_list(database: str) -> None:
    """Show all keys."""
    from turncoat.cli.console import plain_table, screen
    from turncoat.service.api_keys import listed

    with _store(database) as store, store.reading() as session:
        keys = listed(session)
    table = plain_table("id", "name", "scopes", "experiments", "rate", "made", "ends", "revoked")
    for one in keys:
        moments = [f"{at:%Y-%m-%d %H:%M}" if at else "" for at in (one.created_at, one.expires_at, one.revoked_at)]
        experiments = "all" if one.experiments is None else " ".join(one.experiments)
        rate = "" if one.rate is None else f"{one.rate:g}/s, {one.burst} at once"
        table.add_row(one.id, one.name, " ".join(one.scopes), experiments, rate, *moments)
    screen().print(table if keys else "There are no keys: only this machine may connect, without one.")


def run_key_revoke(number: str, database: str) -> None:
    """Revoke a key."""
    from turncoat.service.api_keys import revoke

    with _store(database) as store, store.transaction() as session:
        revoked = revoke(session, number, time.time())
    click.echo(f"{revoked.id} ({revoked.name}) is revoked.")


def run_export(experiment: str, output: Path | None, database: str) -> None:
    """Write the log of an experiment."""
    import msgspec

    from turncoat.service.experiments.queries import read_log

    n_left_out = 0

    def left_out(decision_id: str, why: str) -> None:
        nonlocal n_left_out
        n_left_out += 1
        click.echo(f"left out: decision {decision_id!a}, whose row cannot be read: {why}", err=True)

    with _store(database) as store:
        lines = read_log(store, experiment, left_out)
        if output is not None and output.suffix == ".parquet":
            n = _write_parquet(lines, output)
        else:
            encoder, n = msgspec.json.Encoder(), 0
            with click.open_file(output or "-", "wb") as file:
                for line in lines:
                    file.write(encoder.encode(line) + b"\n")
                    n += 1
                file.flush()
    if output is not None:
        click.echo(f"{n:,} decisions written to {output}")
    if n_left_out:
        click.echo(f"{n_left_out:,} decisions were left out", err=True)
        raise click.exceptions.Exit(1)


def _write_parquet(lines: Iterator[Any], output: Path) -> int:
    """Probabilities and context as JSON text: every experiment has other arms."""
    import msgspec

    def row(line: Any) -> dict[str, Any]:
        probabilities = msgspec.json.encode(line.probabilities).decode()
        context = None if line.context is None else msgspec.json.encode(line.context).decode()
        return {**msgspec.structs.asdict(line), "probabilities": probabilities, "context": context}

    polars = require("polars", "a Parquet file")
    frames = [polars.DataFrame(schema=_schema(polars))]
    while rows := [row(line) for line in islice(lines, ROWS)]:
        frames.append(polars.DataFrame(rows, schema=_schema(polars)))
    whole = polars.concat(frames)
    whole.write_parquet(output)
    return int(whole.height)


def _schema(polars: Any) -> dict[str, Any]:
    moment = polars.Datetime("us", "UTC")
    text = ("decision_id", "experiment", "arm", "probabilities", "stream", "reason", "unit", "context", "outcome")
    schema: dict[str, Any] = dict.fromkeys(text, polars.String)
    schema |= {"decided_at": moment, "rewarded_at": moment, "propensity": polars.Float64, "reward": polars.Float64}
    schema |= dict.fromkeys(("state_version", "m", "applied_version", "applied_position"), polars.Int64)
    return schema


def run_verify(experiments: list[str], database: str) -> None:
    """Rebuild and compare."""
    from rich.progress import Progress

    from turncoat.cli.console import screen
    from turncoat.service.experiments.verify import broken_audit, verify

    console = screen(stderr=True)
    with _store(database) as store:
        wrong = store.integrity_check()
        with store.reading() as session:
            keys = experiments or [row[0] for row in session.rows("SELECT key FROM experiment ORDER BY id")]
        with Progress(console=console, transient=True) as bars:
            bar = bars.add_task("replaying")
            found = []
            for key in keys:
                bars.update(bar, description=key, completed=0)
                with store.reading() as session:
                    done = verify(session, key, lambda done, of: bars.update(bar, completed=done, total=of))
                found.append(done)
        with store.reading() as session:
            broken = broken_audit(session)
    for one in found:
        click.echo(_sentence(one))
        for finding in one.findings:
            click.echo(f"{one.key}: DAMAGED: {finding}")
    click.echo("audit: whole" if broken is None else f"audit: BROKEN at entry {broken}")
    for line in wrong or []:
        click.echo(f"file: DAMAGED: {line}")
    not_here = "not checked here: its server's data checksums and pg_amcheck do that"
    if not wrong:
        click.echo(f"file: {not_here if wrong is None else 'whole'}")
    good = broken is None and not wrong and all(one.good for one in found)
    with _store(database) as store, store.transaction() as session:
        session.run("DELETE FROM fact WHERE name = 'verified'")
        session.insert("fact", ("name", "value"), [("verified", f"{time.time()} {'good' if good else 'BAD'}")])
    if not good:
        raise click.exceptions.Exit(1)


def _sentence(one: Verified) -> str:
    size = f"{one.key}: {one.versions:,} versions, {one.learned:,} rewards learned from"
    if one.older_rule is not None:
        older = f"learned by rule {one.older_rule} of an earlier version of Turncoat, and is not replayed"
        if one.first > one.versions:
            return (
                f"{one.key}: all of it was {older}; its state is {'' if one.is_as_rebuilt else 'NOT '}as it was written"
            )
        size += f" since version {one.first:,} (what lies before it was {older})"
    elif one.pruned_at is not None:
        size += (
            f" since version {one.first:,} (what lies before it was pruned on {as_datetime(one.pruned_at):%Y-%m-%d})"
        )
    if one.identical:
        return f"{size}: identical, byte for byte"
    if one.is_as_rebuilt:
        return f"{size}: the same to 1e-9 (it was computed on another machine)"
    when = "" if one.first_difference is None else f", from version {one.first_difference} or a little before"
    return f"{size}: DIFFERENT from what is stored{when}"


def run_repair(key: str, database: str, *, dry_run: bool) -> None:
    """Rebuild a learner from the log and write it."""
    from turncoat.service.experiments.repair import repair

    with _store(database) as store:
        done = repair(store, time.time(), key, dry_run=dry_run)
    for finding in done.damaged:
        click.echo(f"{key}: damaged: {finding}")
    how = "byte for byte the one that was lost" if done.is_exact else "by the numbers of this machine (1e-9)"
    rebuilt = f"rebuilt from {done.learned:,} rewards, {how}"
    if done.version is not None:
        click.echo(f"{key}: repaired: {rebuilt}; written as version {done.version:,}")
    elif done.damaged:
        click.echo(f"{key}: can be repaired: its learner is {rebuilt}; nothing was written")
    else:
        click.echo(f"{key}: sound, and left as it is ({done.learned:,} rewards replayed)")
    for finding in done.others:
        click.echo(f"{key}: not repaired: {finding}")
    if done.others:
        raise click.exceptions.Exit(1)


def run_backup(path: Path, database: str) -> None:
    """Copy the database."""
    start = time.monotonic()
    with _store(database) as store:
        store.backup(path)
        with store.transaction() as session:
            session.run("DELETE FROM fact WHERE name = 'backup'")
            session.insert("fact", ("name", "value"), [("backup", f"{time.time()} {path.name}")])
    click.echo(f"{path}: {path.stat().st_size:,} bytes in {time.monotonic() - start:.1f} s")


def run_prune(keys: list[str], keep_days: float | None, dry_run: bool, database: str) -> None:
    """Delete old decisions, and the versions that nothing refers to then."""
    from turncoat.service.experiments import retention
    from turncoat.service.experiments.snapshot_cache import read_snapshot, read_snapshots

    now = time.time()
    with _store(database) as store:
        with store.reading() as session:
            chosen = [read_snapshot(session, key) for key in keys] or read_snapshots(session)
        for snapshot in chosen:
            kept = snapshot.config.keep_days if keep_days is None else keep_days
            if kept is None:
                click.echo(f"{snapshot.key}: kept for ever; set its keep_days, or say --keep 90d")
                continue
            old = f"decisions that closed more than {kept:g} days ago"
            if dry_run:
                with store.reading() as session:
                    n = retention.count_due(session, snapshot.id, now - kept * retention.DAY)
                click.echo(f"{snapshot.key}: {n:,} {old} would be pruned")
                continue
            pruned = _paced(retention.prune(store, now, snapshot.id, kept, actor="local"))
            thinned = _paced(retention.thin(store, snapshot.id, now))
            click.echo(f"{snapshot.key}: {pruned:,} {old} pruned, and {thinned:,} versions")


def _paced(batches: Iterator[int]) -> int:
    """The sum. After each transaction it pauses for as long as that took: a service beside it goes on deciding."""
    total, start = 0, time.monotonic()
    for n in batches:
        total += n
        time.sleep(time.monotonic() - start)
        start = time.monotonic()
    return total


def run_erase(unit: str, experiment: str | None, database: str) -> None:
    """Erase a unit."""
    from turncoat.service.experiments.erasure import erase
    from turncoat.service.messages import Erasure
    from turncoat.service.validation import checked

    wanted = checked(Erasure(unit_id=unit, experiment=experiment))
    with _store(database) as store:
        erased = erase(store, time.time(), wanted, "local")
    click.echo(
        f"erased from {erased.decisions:,} decisions; {erased.sticky:,} sticky decisions and "
        f"{erased.answers:,} stored answers deleted"
    )
