"""Compiled kernels on disk: whoever else writes them at the same time, what is read is what was meant, or nothing."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any, NamedTuple

import numba
import pytest

from tests.architecture.test_start_up import SHORT_GAME, compiled, run
from turncoat import _jit

N_KEYS = 150


class Pair(NamedTuple):
    """As another of the same name and types, elsewhere."""

    x: float
    y: float


def files(folder: Path) -> Any:
    return _jit._Files(str(folder), "kernel", None)


def key_of(number: int, writer: int = 0) -> Any:
    """As numba makes them: types, processor, byte code."""
    return (numba.types.UniTuple(numba.float64, number + 1),), ("here", "fast"), (f"byte code {writer}", "")


def write(folder: Path, writer: int) -> None:
    for number in range(N_KEYS):
        files(folder).save(key_of(number, writer), (writer, number))


def test_processes_that_write_at_once_leave_each_what_it_wrote(tmp_path: Path) -> None:
    """With numba's index some were lost, or led to what the other process had written under the same number."""
    spawned = multiprocessing.get_context("spawn")
    writers = [spawned.Process(target=write, args=(tmp_path, writer)) for writer in range(2)]
    for one in writers:
        one.start()
    for one in writers:
        one.join(60.0)
        assert one.exitcode == 0
    keys = [(writer, number) for writer in range(2) for number in range(N_KEYS)]
    assert [files(tmp_path).load(key_of(number, writer)) for writer, number in keys] == keys
    assert len(list(tmp_path.iterdir())) == len(keys)  # and nothing else is left


def test_what_is_not_there_or_not_whole_is_not_found(tmp_path: Path) -> None:
    assert files(tmp_path).load(key_of(1)) is None
    files(tmp_path).save(key_of(1), "data")
    assert files(tmp_path).load(key_of(1)) == "data"
    assert files(tmp_path).load(key_of(2)) is None
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        assert files(tmp_path).load(key_of(1)) is None
    files(tmp_path).save(key_of(1), "again")
    assert files(tmp_path).load(key_of(1)) == "again"


def test_another_s_file_is_not_taken_for_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should two ever share a name."""
    monkeypatch.setattr(_jit._Files, "_name", lambda self, key: "same.nbc")
    files(tmp_path).save(key_of(1), "data")
    assert files(tmp_path).load(key_of(1)) == "data"
    assert files(tmp_path).load(key_of(2)) is None


def test_tuples_of_the_same_name_from_elsewhere_are_not_the_same() -> None:
    other = type("Pair", (Pair,), {"__module__": "elsewhere"})
    ours, theirs = (numba.types.NamedUniTuple(numba.float64, 2, owner) for owner in (Pair, other))
    assert repr(ours) == repr(theirs)
    spelled = [_jit._spelled(kind) for kind in (ours, theirs, numba.types.Tuple([ours]), numba.types.Tuple([theirs]))]
    assert len({*spelled}) == 4


def test_a_full_disk_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_jit._Files, "_save_data", full)
    files(tmp_path).save(key_of(1), "data")
    assert files(tmp_path).load(key_of(1)) is None


def test_a_damaged_kernel_is_compiled_again(tmp_path: Path) -> None:
    """It was an error at every start until somebody thought of removing the folder."""
    before = run(SHORT_GAME, NUMBA_CACHE_DIR=str(tmp_path))
    kernels = compiled(tmp_path)
    assert kernels
    for file in kernels:
        file.write_bytes(b"")
    assert run(SHORT_GAME, NUMBA_CACHE_DIR=str(tmp_path)) == before
    assert compiled(tmp_path) == kernels and all(file.stat().st_size for file in kernels)
