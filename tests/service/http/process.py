"""The service as a process of its own, as users run it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from turncoat.service.http.server import Settings

CODE = """
import sys, msgspec
from turncoat.service.http.server import run
from turncoat.service.http.server import Settings
run(msgspec.json.decode(sys.argv[1], type=Settings))
"""


class Process:
    """A running service."""

    def __init__(self, settings: Settings, log: Path) -> None:
        self.settings = settings
        self._log = log
        with log.open("wb") as to:
            command = [sys.executable, "-c", CODE, msgspec.json.encode(settings).decode()]
            self.popen = subprocess.Popen(command, stderr=to)
        self.url = f"http://localhost:{settings.port}"

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Until it says so itself."""
        until = time.monotonic() + seconds
        while True:
            assert self.popen.poll() is None, self.log()
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5.0):
                    return
            except OSError:
                assert time.monotonic() < until, self.log()
                time.sleep(0.02)

    def connect(self) -> socket.socket:
        """A plain connection."""
        return socket.create_connection(("127.0.0.1", self.settings.port), timeout=20.0)

    def log(self) -> str:
        """All that it has said."""
        return self._log.read_text()

    def memory(self, which: str) -> int:
        """VmRSS: bytes in use; VmHWM: the most that were, since `forget_peak`."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        found = re.search(rf"{which}:\s+(\d+) kB", status)
        assert found is not None
        return 1024 * int(found.group(1))

    def forget_peak(self) -> None:
        """Begin to measure the peak anew."""
        Path(f"/proc/{self.popen.pid}/clear_refs").write_text("5")

    def end(self) -> int:
        """Ask it to end, and wait."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(30.0)


def is_running(pid: int) -> bool:
    """Also of a process that is not ours to wait for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def free_port() -> int:
    """A port that is free at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


@contextmanager
def running(folder: Path, **settings: object) -> Iterator[Process]:
    """A service until the test is over."""
    wanted = {"database": str(folder / "turncoat.db"), "port": free_port(), **settings}
    process = Process(msgspec.convert(wanted, Settings), folder / "log")
    try:
        process.wait_until_ready()
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait(10.0)
