"""The address of a PostgreSQL database. No message and no repr shows the password."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from turncoat.service.store.interface import StoreError

ACCEPTED = (
    "accepted is postgresql://user:password@host:port/database, in which characters of the password that mean "
    "something there (/ @ : ? # %) are written as %2F, %40, …"
)
UNLESS_GIVEN = {
    "connect_timeout": "5",
    "fallback_application_name": "turncoat",
    "keepalives_idle": "10",  # keepalives detect a dead server while an answer is awaited
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",  # and this while data is being sent
}


class Address:
    """A database's address, checked."""

    def __init__(self, url: str) -> None:
        try:
            self._parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
        except psycopg.ProgrammingError:  # its message would repeat the password
            raise StoreError(f"the address of the database cannot be read; {ACCEPTED}") from None
        host, port, database = (self._parts.get(name, "") for name in ("host", "port", "dbname"))
        if "@" in host + database or port.strip("0123456789,"):
            raise StoreError(f"the address of the database has its parts in odd places; {ACCEPTED}")

    def __repr__(self) -> str:
        place = ":".join(self._parts[name] for name in ("host", "port") if name in self._parts)
        return f"{place or 'local'}/{self._parts.get('dbname', '')}"

    def connect(self) -> psycopg.Connection:
        """A new connection in autocommit mode."""
        parts = UNLESS_GIVEN | self._parts | {"client_encoding": "utf8"}
        return psycopg.connect(make_conninfo("", **parts), autocommit=True)

    def dump(self, path: Path) -> None:
        """Back up the whole database with pg_dump, for pg_restore."""
        program = shutil.which("pg_dump")
        if program is None:
            raise StoreError("a backup of PostgreSQL is made by its program pg_dump, which is not on the PATH here")
        if path.exists():
            raise StoreError(f"{path} exists already; a backup never writes over a file")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # mode 0600; pg_dump writes into it
        except OSError as problem:
            raise StoreError(f"{path} cannot be written: {problem.strerror}") from problem
        parts = dict(self._parts)
        environment = dict(os.environ)
        if "password" in parts:  # arguments are visible in the process list
            environment["PGPASSWORD"] = parts.pop("password")
        target = f"--dbname={make_conninfo('', **parts)}"
        command = [program, "--format=custom", f"--file={path}", "--no-password", target]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            path.unlink(missing_ok=True)
            said = done.stderr.decode(errors="replace").strip() or f"status {done.returncode}"
            raise StoreError(f"pg_dump could not make the backup: {said}")
