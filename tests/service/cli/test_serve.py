"""`turncoat serve` as a user starts it, and the lines that README and docs print, as they are printed."""

from __future__ import annotations

import json
import re
import runpy
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.service.cli.running import running
from turncoat.service.client import Client

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^at=.*?(?=```)", re.DOTALL | re.MULTILINE)


def test_the_three_curl_lines_work_as_printed(tmp_path: Path) -> None:
    found, same = (BLOCK.search((ROOT / page).read_text("utf-8")) for page in ("README.md", "docs/service.md"))
    assert found and same and found[0] == same[0]
    with running("--database", str(tmp_path / "t.db"), log=tmp_path / "log") as (address, process):
        lines = found[0].replace("http://127.0.0.1:8000", address)
        ran = subprocess.run(["sh", "-e", "-c", lines], capture_output=True, text=True, timeout=60, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        opened, receipt = re.findall(r"\{.*?\}(?=\{\"|$)", ran.stdout)
        assert json.loads(receipt)["status"] == "accepted"
        assert [arm["arm"] for arm in json.loads(opened)["arms"]] == ["red", "green", "blue"]
    assert (
        process.returncode in (0, -signal.SIGTERM) and "Application shutdown complete" in (tmp_path / "log").read_text()
    )
    verified = subprocess.run(
        [sys.executable, "-m", "turncoat", "verify", "--database", str(tmp_path / "t.db")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "button" in verified.stdout and "1 rewards learned from: identical" in verified.stdout


def test_the_python_of_the_docs_runs(tmp_path: Path) -> None:
    """The client's lines, then the gain over control when more has happened."""
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    ask, gain = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    with running("--database", str(tmp_path / "t.db"), log=tmp_path / "log") as (address, _):
        typed(tmp_path, "-c", ask.replace("http://127.0.0.1:8000", address))
        with Client(address) as service:
            said = typed(tmp_path, "-c", gain.replace("http://127.0.0.1:8000", address))
            assert said.startswith("not estimated:")
            for i in range(700):  # one in ten is control: fewer than 30 of them once in 10⁷ runs
                decided = service.decide("link")
                assert decided.decision_id
                service.reward(decided.decision_id, i % 2)
            end = time.monotonic() + 20
            while service.state("link").pending_rewards and time.monotonic() < end:
                time.sleep(0.1)
        said = typed(tmp_path, "-c", gain.replace("http://127.0.0.1:8000", address))
    assert re.fullmatch(r"[+-]\S+ rewards over \d+ decisions, 95 %: [+-]\S+ to [+-]\S+\n", said)


def typed(folder: Path, *arguments: str) -> str:
    """What Python says to these words, without complaint."""
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_the_table_of_routes_is_that_of_the_service() -> None:
    name = ROOT / "docs" / "service_routes.py"
    made = runpy.run_path(str(name))
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    assert made["page"](text) == text and "/v1/experiments/{key}/decisions" in text


def test_the_demo_lives(tmp_path: Path) -> None:
    def decisions(address: str) -> float:
        with urllib.request.urlopen(f"{address}/metrics", timeout=10) as answer:
            found = re.findall(
                r'^turncoat_requests_total{route="decide",status="201"} (\S+)', answer.read().decode(), re.M
            )
        return float(found[0]) if found else 0.0

    with running("--demo", "--database", str(tmp_path / "demo.db"), log=tmp_path / "log") as (address, _):
        with urllib.request.urlopen(f"{address}/v1/experiments/checkout-button/switches", timeout=10) as answer:
            assert len(json.loads(answer.read())) >= 1  # it has a past
        end = time.monotonic() + 20
        while decisions(address) < 5 and time.monotonic() < end:
            time.sleep(0.2)
        assert decisions(address) >= 5
