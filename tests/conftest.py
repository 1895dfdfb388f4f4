"""Settings for every test: laws without deadlines, markers by folder, and one suite shared by several processes."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first example of a law may wait for a compiler, or for garbage to be collected, so examples have no deadline and
# may be slow to make; pytest's timeout stands guard.
settings.register_profile(
    "turncoat", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("turncoat")

# Twelve thousand tests, and the compiler's notes of every kernel, stay till the end. Looking through all of them for
# garbage as often as Python does by itself takes an eighth of the time that compiling takes.
gc.set_threshold(20_000, 20, 20)

# A shell makes its background processes ignore SIGINT, and Python then installs no handler, nor do the processes it
# starts. Tests send interrupts, to themselves and to others.
signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
SERVICE = TESTS / "service"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="FOLDER", type=Path, help="run only the files no other process has claimed")
    parser.addoption("--from-the-end", action="store_true", help="claim the last files first")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where no test of the service is wanted, its tools are not imported; `make oldest` does not have all of them."""
    return True if collection_path == SERVICE and "not (service" in config.option.markexpr else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in tests/service; and what is exhaustive is slow."""
    for item in items:
        if item.path.is_relative_to(SERVICE):
            item.add_marker(pytest.mark.service)
        if item.get_closest_marker("exhaustive"):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """The tests that were found stay till the end: do not look through them for garbage again and again."""
    gc.freeze()


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Work sharing: with --share, processes claim test files one by one; two that start at both ends meet.

    A kernel that one process has compiled is found on disk by the other, and neighbouring files need the same kernels:
    so the two seldom compile the same thing at once.
    """
    folder: Path | None = session.config.getoption("--share")
    if folder is None or session.config.option.collectonly:
        return None
    for item, following in pairwise(chain(claimed(session, folder), [None])):
        assert item is not None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True


def claimed(session: pytest.Session, folder: Path) -> Iterator[pytest.Item]:
    """The tests of the files that this process is the first to claim, by making an empty file of that name.

    From the end, the service comes first: it needs few kernels, and the other process compiles most of them meanwhile.
    """
    files = [(path, list(items)) for path, items in groupby(session.items, key=lambda item: item.path)]
    if session.config.getoption("--from-the-end"):
        files.reverse()
        files.sort(key=lambda file: not file[0].is_relative_to(SERVICE))
    for path, items in files:
        try:
            (folder / str(path.relative_to(TESTS)).replace("/", "-")).touch(exist_ok=False)
        except FileExistsError:
            continue
        except FileNotFoundError:  # the folder is gone: make was interrupted
            return
        yield from items
