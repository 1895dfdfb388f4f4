"""Headless Chromium, driven over its debugging pipe: open a page, and hear everything it says and asks for.

No driver package is needed: the DevTools protocol is JSON messages, each ended by a zero byte, on two pipes.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # in a container an administrator has no sandbox; the page is our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# The browser reads from descriptor 3 and writes to 4: put the pipes there, away from each other's places first.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page. `requests`: every address it asked for; `errors`: what its console complained of."""

    def __init__(self, path: str, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        self._rest, self._id, self._session = b"", 0, ""
        flags = [*FLAGS, f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(their_in), str(their_out), path, *flags, "about:blank"],
            pass_fds=(their_in, their_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_in)
        os.close(their_out)
        try:
            self._start(dark)
        except BaseException:
            self.close()
            raise

    def _start(self, dark: bool) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; what happens meanwhile is written down."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer.get("method", ""), answer.get("params", {}))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has gone")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        parsed: dict[str, Any] = json.loads(message)
        return parsed

    def _note(self, event: str, what: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(what["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(what["args"]))
        elif event == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(what["entry"]["text"])

    def evaluate(self, expression: str) -> Any:
        """What the expression is worth in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def open(self, page: Path) -> None:
        """Go to a file."""
        self.call("Page.navigate", url=page.resolve().as_uri())

    def wait(self, expression: str, seconds: float = 60.0) -> None:
        """Until the expression is true in the page."""
        until = time.monotonic() + seconds
        while not self._is_so(expression):
            if time.monotonic() > until:
                raise TimeoutError(f"{expression} was not true within {seconds:g} s; the console said {self.errors}")
            time.sleep(0.05)

    def _is_so(self, expression: str) -> bool:
        """Not yet, of a page that is just giving way to the next."""
        try:
            return bool(self.evaluate(expression))
        except RuntimeError as problem:
            if "Inspected target navigated" in str(problem):
                return False
            raise

    def picture(self, file: Path) -> None:
        """The whole page as a PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=self._all())
        file.write_bytes(base64.b64decode(shot["data"]))

    def _all(self) -> dict[str, float]:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove its profile."""
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()
