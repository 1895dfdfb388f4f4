"""Compiling before it is ready: one process at a time, whatever others have put in the way."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from turncoat.service.warm import _one_at_a_time


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"turncoat-kernels-{os.getuid()}.lock"


def test_one_at_a_time(lock: Path) -> None:
    with _one_at_a_time(), lock.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_link_or_a_folder_in_its_place_is_left_alone(lock: Path, tmp_path: Path) -> None:
    """Anyone who may write to the temporary folder could keep the service from starting."""
    victim = tmp_path / "victim"
    lock.symlink_to(victim)
    with _one_at_a_time():
        assert not victim.exists()
    lock.unlink()
    lock.mkdir()
    with _one_at_a_time():
        pass


def test_nobody_waits_for_a_file_of_somebody_else(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They could hold its lock for ever."""
    lock.touch()
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ours = os.getuid()
        lock.rename(lock.with_name(f"turncoat-kernels-{ours + 1}.lock"))
        monkeypatch.setattr(os, "getuid", lambda: ours + 1)
        with _one_at_a_time():
            pass
