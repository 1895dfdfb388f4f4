"""Pages are made in a process of their own: it starts at the first request, may die, and never outlives the service."""

from __future__ import annotations

import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.http.process import Process, is_running, running
from tests.service.postgres_server import children
from turncoat.service.dashboard.pages.downloads import COLUMNS


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    with running(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def one_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with running(tmp_path_factory.mktemp("pages")) as one:
        yield one


def looked(process: Process, path: str = "/") -> int:
    try:
        with urllib.request.urlopen(process.url + path, timeout=30.0) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def makers(process: Process) -> list[int]:
    """The processes of the service that make pages."""
    return [pid for pid in children(process.popen.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def soon(is_so: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.02)
    return is_so()


def test_it_comes_with_the_first_who_looks(one_for_all: Process) -> None:
    process = one_for_all
    assert makers(process) == []
    assert [looked(process, path) for path in ("/", "/system", "/decisions")] == [200, 200, 200]
    assert looked(process, "/experiments/nobody") == 404
    assert len(makers(process)) == 1


def test_one_that_was_killed_is_replaced(one_for_all: Process) -> None:
    process = one_for_all
    assert looked(process) == 200
    (maker,) = makers(process)
    os.kill(maker, signal.SIGKILL)
    assert soon(lambda: not is_running(maker))
    assert looked(process, "/decisions") == 200  # never from the cache; who found out was told 503
    assert [pid for pid in makers(process) if is_running(pid)] not in ([], [maker])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_service(process: Process, how: signal.Signals) -> None:
    assert looked(process) == 200
    (maker,) = makers(process)
    process.popen.send_signal(how)
    process.popen.wait(30.0)
    assert soon(lambda: not is_running(maker))
    if how == signal.SIGTERM:
        time.sleep(0.5)  # who looks for what was left behind comes last
        assert "leaked" not in process.log()


def test_forms_and_downloads_are_rendered_there_too(one_for_all: Process) -> None:
    """A refused form and a refused filter are exceptions of that process, and must come over whole."""

    def said(path: str, fields: bytes | None = None) -> tuple[int, str]:
        headers = {"Origin": one_for_all.url} if fields is not None else {}
        asked = urllib.request.Request(one_for_all.url + path, fields, headers)
        try:
            with urllib.request.urlopen(asked, timeout=30.0) as answer:
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    status, page = said("/new", b"key=made&arms=a%0Aa")
    assert status == 422, page
    assert 'id="arms-problem"' in page and 'value="made"' in page
    status, page = said("/new", b"key=made&arms=a%0Ab")
    assert status == 200 and "Waiting for its first decision" in page  # redirected to its page
    status, page = said("/experiments/made/settings", b"do=state&state=stopped&revision=7")
    assert status == 412 and "You saw revision 7, and it is at 1 now" in page
    assert said("/experiments/nobody/settings", b"do=state&state=stopped&revision=1")[0] == 404
    assert said("/decisions.csv?experiment=made") == (200, f"{','.join(COLUMNS)}\n")
    status, page = said("/decisions.csv?since=yesterday")
    assert status == 422 and "is not a time" in page
