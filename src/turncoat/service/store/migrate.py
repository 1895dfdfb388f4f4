"""Brings a database's tables up to date: numbered files of SQL, each run once, in one transaction.

A file that has run is remembered with its checksum: one that was changed afterwards is refused, and so is a database
from a newer version. Killed in the middle, nothing of the file is there, and the next start runs it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import NamedTuple

from turncoat.service.store.interface import Session, StoreError

TABLE = "CREATE TABLE IF NOT EXISTS migration (number BIGINT PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL)"


class Migration(NamedTuple):
    """One numbered file."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Of the file as it is written, so it is the same on every database."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def known() -> list[Migration]:
    """All files, in order."""
    folder = files("turncoat.service.store") / "migrations"
    found = [
        Migration(int(file.name.split("_")[0]), file.name, file.read_text("utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return sorted(found)


def statements(sql: str, words: Mapping[str, str]) -> Iterator[str]:
    """One after the other, in one database's own words. Comments go; no text of ours holds a semicolon."""
    plain = "\n".join(line.partition("--")[0].rstrip() for line in sql.splitlines())
    for word, meaning in words.items():
        plain = plain.replace("{" + word + "}", meaning)
    for statement in plain.split(";"):
        if statement.strip():
            yield statement.strip()


def migrate(session: Session, words: Mapping[str, str], migrations: list[Migration] | None = None) -> int:
    """Run what has not run yet, inside the caller's transaction; how many files that were."""
    session.run(TABLE)
    wanted = known() if migrations is None else migrations
    done = {number: (name, checksum) for number, name, checksum in session.rows("SELECT * FROM migration")}
    newest = max((migration.number for migration in wanted), default=0)
    if done and max(done) > newest:
        raise StoreError(
            f"this database was written by a newer Turncoat (its tables are at step {max(done)}, "
            f"this version knows {newest}): update Turncoat"
        )
    n_run = 0
    for migration in wanted:
        if migration.number in done:
            if done[migration.number][1] != migration.checksum:
                raise StoreError(f"{migration.name} has changed since it ran on this database; it must stay as it was")
            continue
        for statement in statements(migration.sql, words):
            session.run(statement)
        session.insert(
            "migration", ("number", "name", "sha256"), [(migration.number, migration.name, migration.checksum)]
        )
        n_run += 1
    return n_run
