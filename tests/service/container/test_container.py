"""The container recipe: what it must hold, and that it works.

A builder (docker, podman, buildah) builds it where one works and has or gets the base image; TURNCOAT_BASE_IMAGE names
another base. Everywhere its steps are run one by one in a folder, so that they are tested without one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.cli.running import free_port
from tests.service.container.recipe import (
    ROOT,
    Image,
    Step,
    health_check,
    ignore_patterns,
    is_ignored,
    only,
    start,
    steps,
)

RECIPE = steps((ROOT / "Dockerfile").read_text(encoding="utf-8"))
NOT_HERE = ("FROM", "USER", "VOLUME", "EXPOSE")
NO_NETWORK = re.compile(r"NewConnectionError|NameResolutionError|Connection refused|timed out|No matching distribution")


def words(name: str) -> list[str]:
    return [step.words for step in RECIPE if step.name == name]


# --- what it must hold ---


def test_the_base_names_no_registry_and_one_version() -> None:
    image, _, tag = only(RECIPE, "FROM").partition(":")
    assert image == "python" and re.fullmatch(r"3\.\d+-slim", tag)


def test_packages_are_the_hashed_pins_and_nothing_else() -> None:
    installs = [one for one in words("RUN") if "pip install" in one]
    pins, package = installs
    assert "--require-hashes --requirement requirements/serve.txt" in pins
    assert "--no-deps ." in package and "--no-build-isolation" in package  # else it would fetch what is not pinned
    assert not [one for one in words("RUN") if re.search(r"apt-get|curl|wget|uv ", one)]


def test_it_runs_as_a_numeric_user_and_is_compiled_by_it() -> None:
    user, group = map(int, only(RECIPE, "USER").split(":"))
    assert min(user, group) >= 10_000
    names = [step.name for step in RECIPE]
    assert names.index("USER") < RECIPE.index(Step("RUN", "turncoat compile --service"))
    assert f"install -d -o {user} -g {group} /var/lib/turncoat /var/cache/turncoat" in words("RUN")


def test_health_start_and_port_agree() -> None:
    (port,) = words("EXPOSE")
    assert f"http://127.0.0.1:{port}/healthz" in health_check(RECIPE)[-1]
    assert start(RECIPE) == ["turncoat", "serve", "--host", "0.0.0.0", "--port", port]
    volume = only(RECIPE, "VOLUME")
    assert f"TURNCOAT_DATABASE={volume}/turncoat.db" in only(RECIPE, "ENV") and words("WORKDIR")[-1] == volume


def test_everything_copied_is_there_and_only_that_is_sent() -> None:
    patterns = ignore_patterns()
    for words_ in words("COPY"):
        for source in words_.split()[:-1]:
            files = [source] if not source.endswith("/") else [f"{source}turncoat/__init__.py"]
            assert all((ROOT / file).is_file() and not is_ignored(file, patterns) for file in files)
    for file in (
        ".git/config", "turncoat.db", "turncoat.db-wal", ".venv/bin/python", "tests/conftest.py", ".env",
        "requirements/dev.txt", "src/turncoat/__pycache__/x.pyc", "src/turncoat/x.nbi", "secrets/key",
    ):  # fmt: skip
        assert is_ignored(file, patterns), file


def test_the_docs_show_how_to_build_it() -> None:
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    assert "[Dockerfile](../Dockerfile)" in text and "docker build -t turncoat ." in text


# --- its steps, one by one ---


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    made = Image(tmp_path_factory.mktemp("image") / "root")
    for step in RECIPE:
        ran = made.carry_out(step)
        if ran is not None and ran.returncode:
            if NO_NETWORK.search(ran.stderr) and "DO NOT MATCH THE HASHES" not in ran.stderr:
                pytest.skip(f"NOT RUN: the container's steps; pip cannot fetch packages here: {ran.stderr[-200:]}")
            pytest.fail(f"RUN {step.words}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
    return made


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_the_steps_run_one_by_one_give_a_service(image: Image, tmp_path: Path) -> None:
    cache = Path(image.environment["NUMBA_CACHE_DIR"])
    (mark,) = cache.glob("turncoat-*/service-*.ready")
    kernels = {file: file.stat().st_mtime_ns for file in cache.rglob("*") if file.is_file()}
    assert len(kernels) > 10 and image.workdir == image.root / "var" / "lib" / "turncoat"
    key = image.run(["turncoat", "key", "add", "boss", "--scope", "admin", "--scope", "decide", "--scope", "reward"])
    assert key.returncode == 0, key.stderr
    port = str(free_port())
    command, check = ([word.replace("8000", port) for word in one] for one in (start(RECIPE), health_check(RECIPE)))
    assert image.run(check).returncode != 0  # nothing listens yet
    log = tmp_path / "log"
    with log.open("wb") as to:
        process = subprocess.Popen(command, cwd=image.workdir, env=image.environment, stdout=to, stderr=to)
    try:
        used(f"http://127.0.0.1:{port}", key.stdout.strip(), log)
        assert image.run(check).returncode == 0
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM), log.read_text()
    assert "Application shutdown complete" in log.read_text() and mark.exists()
    after = {file: file.stat().st_mtime_ns for file in cache.rglob("*") if file.is_file()}
    assert after == kernels  # all was compiled by the recipe


def used(address: str, key: str, log: Path | None = None) -> None:
    """Wait until it is healthy, then decide and reward once."""
    end = time.monotonic() + 60.0
    while True:
        try:
            urllib.request.urlopen(f"{address}/readyz", timeout=5.0).close()
            break
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < end, log and log.read_text()
            time.sleep(0.1)

    def post(path: str, message: Any) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        sent = urllib.request.Request(address + path, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(sent, timeout=30.0) as answer:
            return json.loads(answer.read())

    post("/v1/experiments", {"key": "button", "arms": ["red", "green"]})
    decided = post("/v1/experiments/button/decisions", {"allowed_arms": ["green"]})  # this needs the learner
    assert post(f"/v1/decisions/{decided['decision_id']}/reward", {"value": 1.0})["status"] == "accepted"


# --- a builder ---


def told(*command: str, seconds: float = 120.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


@pytest.fixture
def builder() -> Iterator[list[str]]:
    """A builder that works here, and has the base image or can get it."""
    base = os.environ.get("TURNCOAT_BASE_IMAGE", only(RECIPE, "FROM"))
    why = []
    for name in ("docker", "podman", "buildah"):
        if shutil.which(name) is None:
            why.append(f"no {name}")
        elif told(name, "info").returncode:
            why.append(f"{name} does not work: {told(name, 'info').stderr.strip()[-100:]}")
        elif not told(name, "images", "-q", base).stdout.strip() and (got := told(name, "pull", base)).returncode:
            why.append(f"{name} cannot get {base}: {got.stderr.strip()[-100:]}")
        else:
            yield [name, base]
            return
    without = ", ".join(NOT_HERE)
    pytest.skip(f"NOT RUN: a build of the image ({'; '.join(why)}); its steps are run one by one, without {without}")


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_a_builder_builds_it(builder: list[str], tmp_path: Path) -> None:
    name, base = builder
    tag = f"turncoat-test-{uuid.uuid4().hex[:12]}"
    recipe = tmp_path / "Dockerfile"
    recipe.write_text((ROOT / "Dockerfile").read_text("utf-8").replace(f"FROM {only(RECIPE, 'FROM')}", f"FROM {base}"))
    extra = os.environ.get("TURNCOAT_BUILD_OPTIONS", "").split()
    docker_format = [] if name == "docker" else ["--format", "docker"]  # OCI has no HEALTHCHECK
    built = told(name, "build", *docker_format, *extra, "-t", tag, "-f", str(recipe), str(ROOT), seconds=1500.0)
    assert built.returncode == 0, built.stderr[-3000:] + built.stdout[-3000:]
    try:
        inside(name, tag)
    finally:
        told(name, "rmi", "-f", tag)


def inside(name: str, tag: str) -> None:
    """What the image runs as, and that nothing is left to compile in it."""
    code = "import os; from turncoat.service.precompile import is_compiled; print(os.getuid(), is_compiled())"
    if name == "buildah":  # it builds and runs no service
        container = told(name, "from", tag).stdout.strip()
        isolation = os.environ.get("TURNCOAT_BUILD_OPTIONS", "").split()
        ran = told(name, "run", *isolation, container, "python", "-c", code)
        told(name, "rm", container)
    else:
        ran = told(name, "run", "--rm", "--entrypoint", "python", tag, "-c", code)
    assert ran.stdout.split() == [only(RECIPE, "USER").partition(":")[0], "True"], ran.stderr
    if name != "buildah":
        serves(name, tag)


def serves(name: str, tag: str) -> None:
    """The container with a key on its volume."""
    volume, data = f"{tag}-data", only(RECIPE, "VOLUME")
    scopes = [word for scope in ("admin", "decide", "reward") for word in ("--scope", scope)]
    try:
        key = told(name, "run", "--rm", "-v", f"{volume}:{data}", tag, "key", "add", "boss", *scopes)
        assert key.returncode == 0, key.stderr
        port = free_port()
        ran = told(name, "run", "-d", "--name", tag, "-v", f"{volume}:{data}", "-p", f"127.0.0.1:{port}:8000", tag)
        assert ran.returncode == 0, ran.stderr
        used(f"http://127.0.0.1:{port}", key.stdout.strip())
        assert told(name, "exec", tag, *health_check(RECIPE)).returncode == 0
    finally:
        told(name, "rm", "-f", tag)
        told(name, "volume", "rm", "-f", volume)
