"""Migrations: numbered SQL files, each run once, in one transaction.

The checksum of every file that has run is stored: a file changed afterwards is refused, and so is a database of a newer
version. A migration killed midway is rolled back, and the next start runs it again.
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
        """Of the file before dialect substitution, so it is the same on every database."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def known() -> list[Migration]:
    """All files, in order."""
    folder = files("turncoat.service.store") / "migrations"
    return sorted(
        Migration(int(file.name.split("_")[0]), file.name, file.read_text("utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    )


def statements(sql: str, dialect: Mapping[str, str]) -> Iterator[str]:
    """The statements in one database's dialect, without comments. No string literal contains a semicolon."""
    plain = "\n".join(line.partition("--")[0].rstrip() for line in sql.splitlines())
    for word, meaning in dialect.items():
        plain = plain.replace("{" + word + "}", meaning)
    for statement in plain.split(";"):
        if statement.strip():
            yield statement.strip()


def migrate(session: Session, dialect: Mapping[str, str], migrations: list[Migration] | None = None) -> int:
    """Run the files that have not run, inside the caller's transaction; return their number."""
    session.run(TABLE)
    wanted = known() if migrations is None else migrations
    done: dict[int, str] = dict(session.rows("SELECT number, sha256 FROM migration"))
    newest = max((migration.number for migration in wanted), default=0)
    if done and max(done) > newest:
        raise StoreError(
            f"this database was written by a newer Turncoat (its tables are at step {max(done)}, "
            f"this version knows {newest}): update Turncoat"
        )
    for number, name, sql, checksum in ((*one, one.checksum) for one in wanted):
        if number not in done:
            for statement in statements(sql, dialect):
                session.run(statement)
            session.insert("migration", ("number", "name", "sha256"), [(number, name, checksum)])
        elif done[number] != checksum:
            raise StoreError(f"{name} has changed since it ran on this database; it must stay as it was")
    return sum(migration.number not in done for migration in wanted)
