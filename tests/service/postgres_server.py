"""A PostgreSQL of the tests' own: a cluster in a temporary folder, that they may kill and start as they like.

It listens on loopback only and asks for no password. Commits are flushed as in earnest (fsync on): what is acknowledged
must still be there after a kill.
"""

from __future__ import annotations

import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

EXISTING = "TURNCOAT_TEST_POSTGRES"  # names the URL of a server to use instead
DEBIAN = Path("/usr/lib/postgresql")  # where Debian keeps each version's programs, off the PATH
PATIENCE = 30.0  # seconds for a start, which may have much to recover, or a stop
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "dynamic_shared_memory_type": "mmap",  # in the cluster's folder, so that a kill leaves nothing elsewhere
}
if sys.platform == "linux":  # flush the disk at once before recovery, not a thousand files one by one
    SETTINGS["recovery_init_sync_method"] = "syncfs"


class PostgresMissingError(RuntimeError):
    """There is no PostgreSQL here to make a cluster with; says how to get one."""


def programs() -> Path:
    """The folder of `initdb` and `postgres`: that of the PATH, else Debian's newest."""
    found = [Path(path).resolve().parent for path in [shutil.which("postgres")] if path]
    found += sorted(DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    for folder in found:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise PostgresMissingError(
        f"no initdb and postgres on the PATH or under {DEBIAN}: install PostgreSQL 14 or newer (Debian: apt-get "
        f"install postgresql), or set {EXISTING} to the URL of a server on which databases may be created"
    )


def create_database(server: str, like: str | None = None) -> str:
    """A new database on the server with this URL, empty or a copy of the one with the second: its own URL."""
    name = f"turncoat_test_{secrets.token_hex(6)}"
    origin = urlsplit(like).path.removeprefix("/") if like else "template0"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(origin))
        )
    parts = urlsplit(server)
    return f"{parts.scheme}://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")


def drop_database(server: str, url: str) -> None:
    """Remove a database that `create_database` made there, even with open connections."""
    name = urlsplit(url).path.removeprefix("/")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class PrivateServer:
    """A running PostgreSQL; `close` ends it and removes every trace.

    Example:
        with PrivateServer() as server:
            url = server.create_database()
            server.kill()   # a crash, though no power cut: what the system has taken, it still writes
            server.start()  # recovers; at the same URL
    """

    def __init__(self) -> None:
        self._programs = programs()
        self._folder = Path(tempfile.mkdtemp(prefix="turncoat-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._port = free_port()
        try:
            self._as_user = owner(self._folder)
            self._make_cluster()
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The URL of the database that every cluster has."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def create_database(self) -> str:
        """A new, empty database: its URL."""
        return create_database(self.url)

    def start(self) -> None:
        """Start and wait until it takes connections; does nothing where it runs already."""
        if self._process is not None:
            return
        end = time.monotonic() + PATIENCE
        process = self._process = self._launch()
        while True:
            try:
                psycopg.connect(self.url, connect_timeout=5).close()
                self._killed = False
                return
            except psycopg.OperationalError as not_yet:
                if time.monotonic() > end or (process.poll() is not None and not self._killed):
                    raise RuntimeError(f"PostgreSQL did not start: {not_yet}\n{self._log()}") from None
            if process.poll() is not None:  # the killed ones' memory is in use until the last of them has gone
                process = self._process = self._launch()
            time.sleep(0.02)

    def stop(self) -> None:
        """Shut down in order; connections are ended. Does nothing where it is stopped already."""
        self._end(signal.SIGINT)  # its "fast" shutdown

    def kill(self) -> None:
        """End all its processes at once, as a crash would: nothing is flushed, no client is notified."""
        below = children(self._process.pid) if self._process is not None else []
        self._killed = self._killed or self._process is not None
        self._end(signal.SIGKILL)
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """Shut down, without flushing what is thrown away anyway, and remove the cluster."""
        try:
            if self._killed:
                self.start()  # only a start and a shutdown give back the memory that the killed ones shared
            self._end(signal.SIGQUIT)  # its "immediate" shutdown
        finally:
            self._end(signal.SIGKILL)
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _make_cluster(self) -> None:
        arguments = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        made = self._popen("initdb", "--pgdata", str(self._folder / "data"), *arguments)
        if made.wait(PATIENCE) != 0:
            raise RuntimeError(f"initdb failed with status {made.returncode}:\n{self._log()}")

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = SETTINGS | {"port": str(self._port), "unix_socket_directories": str(self._folder)}
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        return self._popen("postgres", "-D", str(self._folder / "data"), *arguments)

    def _popen(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a program in the cluster's folder, as its owner, deaf to the terminal's Ctrl-C and the PG… settings."""
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / program, *arguments],
                cwd=self._folder,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as_user,
            )

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(by)
            self._process.wait(PATIENCE)
            self._process = None

    def _log(self) -> str:
        return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-20:])


def owner(folder: Path) -> dict[str, Any]:
    """What makes a process run as the folder's owner. PostgreSQL refuses to run as root: then another user owns it."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            os.chown(folder, account.pw_uid, account.pw_gid)
            return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise PostgresMissingError("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody")


def free_port() -> int:
    """A port that is free now, below those that systems give to outgoing connections.

    Among those, a client that calls again and again while the server is down may be given the server's own port.
    """
    for _ in range(100):
        port = random.randrange(15_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("found no free port between 15000 and 30000")


def children(pid: int) -> list[int]:
    """The processes that this one started, where the system lists them; else none: they end when they notice."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
