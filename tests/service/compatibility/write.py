"""Generator of the folder 8d72b1b. It was run once, at that commit: `python -m tests.service.compatibility.write`.

The tests never run it, and it refuses to overwrite files: later code must read what that commit wrote. It needs
PostgreSQL, with pg_dump on the PATH. For each kind of store it writes a database with a history (history.py), as a
service that takes rewards without learning (`--role front`) left it, and what `turncoat` and the service answered:

    sqlite.db.gz, postgres.sql.gz      the databases
    sqlite.json.gz, postgres.json.gz   "answers": by path, before anything is applied; "verified": what verify said;
                                       "keys"; "written_at"; requests to repeat ("repeated", "held");
                                       "applied": states once the inbox is empty; "told": rewards sent after that,
                                       their receipts, and the states and outcomes they led to

Only the command line and HTTP are used, so ids and draws differ from run to run.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.service.cli.running import running
from tests.service.compatibility.history import EXPERIMENTS, Caller, leave_open, live, wait_until_applied
from tests.service.postgres_server import PrivateServer

FOLDER = Path(__file__).parent / "8d72b1b"
LOOKS = ("", "/arms", "/state", "/timeline", "/switches", "/audit", "/log.ndjson")


def turncoat(*words: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "turncoat", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"})
    return done.stdout


def make_keys(database: str) -> dict[str, str]:
    """API keys: one with every scope, one that cannot read and expires after ten years, one that is revoked."""
    where = ("--database", database)
    scopes = [word for scope in ("decide", "reward", "read", "admin") for word in ("--scope", scope)]
    keys = {
        "boss": turncoat("key", "add", "boss", *scopes, *where).strip(),
        "shop": turncoat("key", "add", "shop", "--scope", "decide", "--scope", "reward", "--days", "3650", *where),
        "gone": turncoat("key", "add", "gone", *where).strip(),
    }
    keys["shop"] = keys["shop"].strip()
    turncoat("key", "revoke", keys["gone"].split("_")[1], *where)
    return keys


@contextmanager
def caller(database: str, key: str, folder: Path, role: str) -> Iterator[Caller]:
    """A running service, and an HTTP client for it."""
    with running("--database", database, "--role", role, log=folder / "log") as (address, _):
        yield Caller(address, key)


def looks(service: Caller, decisions: list[str]) -> dict[str, Any]:
    """What the service answers, by path."""
    paths = ["/v1/experiments", "/v1/audit"]
    paths += [f"/v1/experiments/{key}{look}" for key in EXPERIMENTS for look in LOOKS]
    paths += [f"/v1/decisions/{one}" for one in decisions]
    return {path: service.get(path) for path in paths}


def states(service: Caller) -> dict[str, Any]:
    """The learners' states, by experiment."""
    return {key: service.get(f"/v1/experiments/{key}/state") for key in EXPERIMENTS}


def sqlite(folder: Path) -> tuple[str, Any]:
    """A database file, and a function that copies it with `turncoat backup`."""
    database, copy = str(folder / "turncoat.db"), folder / "copy.db"

    def copied() -> bytes:
        turncoat("backup", str(copy), "--database", database)
        return copy.read_bytes()

    return database, copied


def postgres(server: PrivateServer) -> tuple[str, Any]:
    """A PostgreSQL database, and a function that dumps it as SQL for any client."""
    database = server.create_database()

    def copied() -> bytes:
        command = ["pg_dump", "--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", database]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = [line for line in text.splitlines() if not line.startswith("\\")]  # commands of psql
        return "\n".join(lines).encode() + b"\n"

    return database, copied


def write(kind: str, suffix: str, database: str, copied: Any, folder: Path) -> None:
    """Write a database of one kind, and what was answered from it."""
    keys = make_keys(database)
    with caller(database, keys["boss"], folder, "all") as service:
        life = live(service)
        wait_until_applied(service)
    with caller(database, keys["boss"], folder, "front") as service:
        left = leave_open(service)
        written_at = time.time()
        answers = looks(service, life["closed"] + left["waiting"] + left["open"])
    packed = gzip.compress(copied(), 9, mtime=0)
    for key in EXPERIMENTS:
        exported = turncoat("log", "export", key, "--database", database).splitlines()
        assert [json.loads(line) for line in exported] == answers[f"/v1/experiments/{key}/log.ndjson"]
    verified = turncoat("verify", "--database", database).splitlines()
    assert sum("identical, byte for byte" in line for line in verified) == len(EXPERIMENTS), verified
    with caller(database, keys["boss"], folder, "all") as service:
        wait_until_applied(service)
        applied = states(service)
        lines = [{"decision_id": one, "value": (i % 3) / 2} for i, one in enumerate(sorted(left["open"]))]
        receipts = service.rewards(lines)
        wait_until_applied(service)
        told = {"lines": lines, "receipts": receipts, "states": states(service)}
        told["outcomes"] = {one: service.get(f"/v1/decisions/{one}") for one in left["open"]}
    said = {"keys": keys, "written_at": written_at, "answers": answers, "verified": verified}
    said |= {"repeated": left["repeated"], "held": left["held"], "applied": applied, "told": told}
    text = json.dumps({"commit": "8d72b1b", **said}, allow_nan=False)
    FOLDER.mkdir(exist_ok=True)
    answered = gzip.compress(text.encode(), 9, mtime=0)
    for name, content in ((f"{kind}.{suffix}.gz", packed), (f"{kind}.json.gz", answered)):
        with (FOLDER / name).open("xb") as file:
            file.write(content)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as one:
        write("sqlite", "db", *sqlite(Path(one)), Path(one))
    with tempfile.TemporaryDirectory() as one, PrivateServer() as server:
        write("postgres", "sql", *postgres(server), Path(one))
