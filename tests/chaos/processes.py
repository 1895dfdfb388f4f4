"""The service as processes of their own, which are started, waited for and killed by their number."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.chaos.wire import Line, Lost, Refused
from tests.service.postgres_server import children, free_port

PATIENCE = 90.0  # seconds to be ready: the first start of all may have to compile the learner
LOOK = 0.01  # seconds between looks


class Served:
    """One `turncoat serve`, with its workers. `kill` is what it is here for.

    It runs in a process group of its own: the terminal's Ctrl-C does not reach it, and killing the group leaves none
    of its workers behind.
    """

    def __init__(self, folder: Path, name: str, *, broken: str | None = None, **settings: Any) -> None:
        self.name = name
        self.port = free_port()
        self._settings = settings | {"port": self.port}
        self._broken = broken
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    def start(self) -> None:
        """Begin; `wait` says when it is ready."""
        with self._log.open("ab") as log:
            self._began = time.monotonic()
            self._process = subprocess.Popen(
                [sys.executable, "-m", *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _command(self) -> list[str]:
        if self._broken:
            return ["tests.chaos.serving", json.dumps(self._settings), self._broken]
        return ["turncoat", "serve", *(f"--{name}={value}" for name, value in self._settings.items())]

    def pids(self) -> list[int]:
        """Of it and its workers."""
        return [self._process.pid, *children(self._process.pid)] if self._process else []

    def wait(self) -> float:
        """Until it is ready; seconds since it was started."""
        return time.monotonic() - self._began if self.is_ready() else self._wait()

    def is_ready(self) -> bool:
        """Does it say so?"""
        line = Line(self.port)
        try:
            return line.send("GET", "/readyz").status == 200
        except (Refused, Lost):
            return False
        finally:
            line.close()

    def _wait(self) -> float:
        while not self.is_ready():
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"{self.name} has ended by itself:\n{self.said()}")
            if time.monotonic() - self._began > PATIENCE:
                raise RuntimeError(f"{self.name} is not ready after {PATIENCE:g} seconds:\n{self.said()}")
            time.sleep(LOOK)
        return time.monotonic() - self._began

    def kill(self) -> None:
        """As a crash: no warning, no time to finish anything."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)
            self._process = None

    def stop(self) -> int:
        """In order; its exit status."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(PATIENCE)
        finally:
            self.kill()

    def errors(self) -> list[str]:
        """What it logged as an error: nothing, even when it was killed."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return [line for line in lines if '"level":"error"' in line or line.startswith("Traceback")]

    def said(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""
