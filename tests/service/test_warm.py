"""Kernels are compiled by one process at a time, until all of them are there."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from turncoat.service import warm


def test_one_at_a_time_until_all_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "CACHE", tmp_path)
    lock, ready = tmp_path / warm.LOCK, tmp_path / warm.READY
    with warm._one_at_a_time(), lock.open() as other:
        assert not ready.exists()
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert ready.exists()
    with warm._one_at_a_time(), lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds it any more


def test_a_failure_leaves_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "CACHE", tmp_path)
    with pytest.raises(ZeroDivisionError), warm._one_at_a_time():
        raise ZeroDivisionError
    assert not (tmp_path / warm.READY).exists()


def test_without_a_cache_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "CACHE", None)
    with warm._one_at_a_time():
        pass
