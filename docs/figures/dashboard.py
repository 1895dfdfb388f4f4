"""The dashboard's pictures in docs/service.md: the demo's two hours, wide and light, narrow and dark.

Run: make figures (or python docs/figures/dashboard.py). Writes dashboard-wide.png and dashboard-narrow.png beside
itself. It needs Chromium; without one the pictures stay as they are. Clock and randomness are fixed, scripts are off:
every run shows the same.
"""

from __future__ import annotations

import base64
import runpy
import socket
import tempfile
import threading
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from turncoat.cli.demo import past_of_it
from turncoat.service import messages
from turncoat.service.dashboard.pages import routes
from turncoat.service.dashboard.pages.renderer import render_in_threads
from turncoat.service.engine import Engine
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.store import open_store

HERE = Path(__file__).parent
DRIVER = runpy.run_path(str(HERE.parents[1] / "tests" / "report" / "chromium.py"))
NOW = 1_769_860_800.0  # 31 January 2026, 12:00 UTC
SEED = 5
SIZES = {"wide": (1300, 1000, False), "narrow": (400, 1000, True)}  # width, height, dark


class Fixed:
    """A clock that shows the end of the demo's history."""

    def now(self) -> float:
        """NOW."""
        return NOW


def pictures(browser: str, base: str) -> None:
    """Take both."""
    address = f"{base}/experiments/checkout-button"
    for name, (width, height, dark) in SIZES.items():
        with DRIVER["Chromium"](browser, dark=dark) as page:
            page.call("Emulation.setScriptExecutionDisabled", value=True)
            page.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=width < 500,
            )
            page.call("Page.navigate", url=address)
            page.wait(f"document.readyState === 'complete' && location.href === {address!r}")
            shot = page.call("Page.captureScreenshot")
            (HERE / f"dashboard-{name}.png").write_bytes(base64.b64decode(shot["data"]))
            print(f"wrote dashboard-{name}.png")


def main() -> None:
    """Make the demo's history, serve its pages, take the pictures."""
    browser = DRIVER["find"]()
    if browser is None:
        print("there is no Chromium here: the pictures of the dashboard stay as they are")
        return
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        database = f"{folder}/demo.db"
        past_of_it(database, NOW, Randomness(SEED))
        store = open_store(database)
        Engine(store, Fixed()).change("checkout-button", messages.ExperimentChange(tags=["web"]), actor="ana")
        app = Starlette(routes=routes(render_in_threads(store, clock=Fixed())))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            pictures(browser, f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()
            store.close()


if __name__ == "__main__":
    main()
