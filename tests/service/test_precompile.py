"""Kernels are compiled by one process at a time, until all are there; from then on they are loaded beside the rest."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from turncoat._compile import kernel_files
from turncoat._compile.cache import PACKAGE
from turncoat.cli.compile import compile_service
from turncoat.errors import OptionError
from turncoat.service import precompile


def test_one_at_a_time_until_all_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "CACHE", tmp_path)
    lock, ready = tmp_path / precompile.LOCK, tmp_path / precompile.marker_name()
    with precompile._compile_lock(), lock.open() as other:
        assert not ready.exists()
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert ready.exists()
    with precompile._compile_lock(), lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock is free again


def test_a_failure_leaves_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "CACHE", tmp_path)
    with pytest.raises(ZeroDivisionError), precompile._compile_lock():
        raise ZeroDivisionError
    assert not (tmp_path / precompile.marker_name()).exists()


def test_what_could_not_be_kept_leaves_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every later start would believe that nothing is left to compile, and say that it is ready."""
    monkeypatch.setattr(precompile, "CACHE", tmp_path)
    monkeypatch.setattr(kernel_files, "not_kept", ["kernel"])
    with precompile._compile_lock():
        pass
    assert not (tmp_path / precompile.marker_name()).exists()


def test_the_command_fails_where_no_mark_can_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's build must not end well with kernels missing."""
    monkeypatch.setattr(precompile, "precompile", lambda: None)
    monkeypatch.setattr(precompile, "CACHE", tmp_path)
    with pytest.raises(OptionError, match="could not be kept in"):
        compile_service()
    (tmp_path / precompile.marker_name()).touch()
    compile_service()


def test_without_a_cache_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "CACHE", None)
    with precompile._compile_lock():
        pass


def test_another_copy_has_kernels_and_a_mark_of_its_own(tmp_path: Path) -> None:
    """Both share a folder, by their sources' hash. One started as if the other's kernels were its own, and compiled."""
    shutil.copytree(PACKAGE, tmp_path / "turncoat", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "from turncoat.service import precompile as one; print(one.PACKAGE, one.CACHE, one.marker_name(), sep=chr(10))"
    )
    seen = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for place in (PACKAGE.parent, tmp_path)
    ]
    (here, cache, marker), (there, same_cache, other_marker) = seen
    assert here != there and cache == same_cache and marker != other_marker
    assert precompile.marker_name() == marker


def test_what_is_compiled_is_loaded_beside_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(precompile, "LOAD_DELAY", 0.0)
    monkeypatch.setattr(precompile, "is_compiled", lambda: True)
    monkeypatch.setattr(precompile, "precompile", lambda: go.wait(10.0))
    loaded = precompile.load_kernels()
    assert not loaded.wait(0.05)
    go.set()
    assert loaded.wait(10.0)


def test_what_is_not_compiled_is_compiled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    monkeypatch.setattr(precompile, "is_compiled", lambda: False)
    monkeypatch.setattr(precompile, "precompile", lambda: done.append(1))
    assert precompile.load_kernels().is_set() and done == [1]


def test_who_cannot_load_it_says_so_and_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(precompile, "LOAD_DELAY", 0.0)
    monkeypatch.setattr(precompile, "is_compiled", lambda: True)
    monkeypatch.setattr(precompile, "precompile", lambda: 1 / 0)
    assert precompile.load_kernels().wait(10.0)
    assert "learners could not be loaded" in caplog.text and "ZeroDivisionError" in caplog.text
