"""The kernel cache on disk: with concurrent writers, a read returns the right kernel or nothing."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numba
import pytest

from tests.architecture.test_start_up import PACKAGE, compiled, run
from turncoat._compile import kernel_files

N_KEYS = 150


class Pair(NamedTuple):
    """As another of the same name and types, elsewhere."""

    x: float
    y: float


def files(folder: Path) -> Any:
    return kernel_files._KernelFiles(str(folder), "kernel", None)


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
    for i in range(len(whole)):
        for damaged in (whole[:i], whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :]):
            file.write_bytes(damaged)
            assert files(tmp_path).load(key_of(1)) is None
    file.write_bytes(bytes(len(whole)))
    assert files(tmp_path).load(key_of(1)) is None
    files(tmp_path).save(key_of(1), "again")
    assert files(tmp_path).load(key_of(1)) == "again"


def test_another_s_file_is_not_taken_for_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should two ever share a name."""
    monkeypatch.setattr(kernel_files._KernelFiles, "_path", lambda self, key: str(tmp_path / "same.nbc"))
    files(tmp_path).save(key_of(1), "data")
    assert files(tmp_path).load(key_of(1)) == "data"
    assert files(tmp_path).load(key_of(2)) is None


def test_tuples_of_the_same_name_from_elsewhere_are_not_the_same() -> None:
    other = type("Pair", (Pair,), {"__module__": "elsewhere"})
    ours, theirs = (numba.types.NamedUniTuple(numba.float64, 2, owner) for owner in (Pair, other))
    assert repr(ours) == repr(theirs)
    spelled = [
        kernel_files.spelled(kind) for kind in (ours, theirs, numba.types.Tuple([ours]), numba.types.Tuple([theirs]))
    ]
    assert len({*spelled}) == 4


# A kernel in a file of the package, and what stands before it there.
OWN = """
import numba.core.caching as caching
from turncoat._compile import jit, kernel_files

def full(*words):
    raise OSError(28, "No space left on device")

{before}

@jit.jit_entry
def double(x):
    return 2.0 * x

print(double(1.0), len(kernel_files.not_kept), *double.stats.cache_hits.values())
"""


def own(folder: Path, before: str = "") -> list[str]:
    """What a process says that compiles it."""
    package = folder / "turncoat"
    if not package.exists():
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "own.py").write_text(OWN.format(before=before))
    return run("import turncoat.own", path=folder, NUMBA_CACHE_DIR=str(folder / "cache"))


def test_a_kernel_is_kept_and_found_and_a_damaged_one_is_compiled_again(tmp_path: Path) -> None:
    """It was an error at every start until the folder was removed by hand."""
    assert own(tmp_path) == ["2.0 0"]
    assert own(tmp_path) == ["2.0 0 1"]
    (file,) = compiled(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(b"")
    assert own(tmp_path) == ["2.0 0"]
    assert len(file.read_bytes()) == len(whole)


@pytest.mark.parametrize(
    "before",
    [
        "kernel_files._KernelFiles._open_for_write = full",
        pytest.param("caching.Cache.save_overload = full", marks=pytest.mark.exhaustive),
        "kernel_files._Locator.ensure_cache_path = full",
        pytest.param("kernel_files._Locator.from_function = lambda *arguments: None", marks=pytest.mark.exhaustive),
        pytest.param(
            "caching.config.CACHE_LOCATOR_CLASSES = 'InTreeCacheLocator'",
            marks=pytest.mark.skipif(not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"), reason="not in this numba"),
        ),
    ],
)
def test_kernels_are_kept_where_our_sources_name_the_folder_or_nowhere(tmp_path: Path, before: str) -> None:
    """Anywhere else a changed source would go unnoticed. A full disk, for example, is no reason to fail."""
    assert own(tmp_path, before) == ["2.0 1"]
    assert compiled(tmp_path) == set()
