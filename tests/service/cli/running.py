"""A service as a user starts it: the command, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """A port that is free at this moment."""
    with socket.socket() as any_one:
        any_one.bind(("127.0.0.1", 0))
        port: int = any_one.getsockname()[1]
    return port


@contextmanager
def running(*arguments: str, log: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Its address, once it is ready, and its process, which is ended with SIGTERM."""
    port = free_port()
    command = [sys.executable, "-m", "turncoat", "serve", "--port", str(port), *arguments]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, "COLUMNS": "100"})
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_ready(address, process, log)
        yield address, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)


def wait_until_ready(address: str, process: subprocess.Popen[bytes], log: Path, seconds: float = 120.0) -> None:
    """The first start compiles, so it may take a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise AssertionError(f"not ready: {log.read_text()}")
