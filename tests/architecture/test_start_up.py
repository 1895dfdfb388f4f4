"""Start-up: the kernel cache never serves an old rule, and its absence is never an error. (Timings: `make bench`.)"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import turncoat
from turncoat._compile import cache
from turncoat._compile.progress import NOT_KEPT, TEXT

PACKAGE = Path(turncoat.__file__).parent

# ClippedOMD's tell is compiled in learners/base; its rule is in clipped_omd.py, and the step in mirror/entropy.py.
ROUNDS = """
import numpy as np
import turncoat as tc
learner = tc.ClippedOMD(3, 300, seed=1, n_switches=5)
print(tc.__file__)
for t, loss in enumerate(np.random.default_rng(2).random(30)):
    learner.observe(t % 3, float(loss), 0.5)
print(learner.view().tree)
"""

GAME = """
import numpy as np
import turncoat as tc
learner = tc.Uniform(3, seed=1)  # short to compile
arms = tc.play(learner, np.random.default_rng(2).random((300, 3)))
print(tc.__file__)
print("".join(map(str, arms)))
"""


def run(code: str, *, path: Path = PACKAGE.parent, limit: float = 100.0, **environment: str) -> list[str]:
    """The lines a fresh Python prints, with the package found at `path`. It must end well and without complaint."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**clean, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=limit,
    )
    complaints = [line for line in done.stderr.splitlines() if line not in (TEXT, NOT_KEPT)]
    assert (done.returncode, complaints) == (0, [])
    return done.stdout.splitlines()


def one_compiles() -> AbstractContextManager[Any]:
    """While one process of the tests compiles Turncoat, the others wait: it takes half a minute."""
    return nullcontext() if cache.CACHE is None else FileLock(cache.CACHE / "tests.lock")


def compiled(cache: Path) -> set[Path]:
    """The kernels on disk."""
    return set(cache.rglob("*.nbc"))


CHANGES = [
    ("mirror/entropy.py", "tree[a] * math.exp(-x)", "tree[a] * math.exp(-30.0 * x)"),
    (
        "learners/adversarial/clipped_omd.py",
        "x = state.xi * importance_weighted",
        "x = 30.0 * state.xi * importance_weighted",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [CHANGES[:1], pytest.param(CHANGES, marks=pytest.mark.exhaustive)], ids=len)
def test_an_upgrade_that_changes_only_a_kernel_is_seen_at_once(changes: list[Any], tmp_path: Path) -> None:
    """numba's cache looks at the caller's file alone: without the hash of all sources, the old rule would run on."""
    shutil.copytree(PACKAGE, tmp_path / "turncoat", ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"

    def play() -> list[str]:
        return run(ROUNDS, path=tmp_path, NUMBA_CACHE_DIR=str(cache))

    before = play()
    assert before[0] == str(tmp_path / "turncoat" / "__init__.py")
    kernels = compiled(cache)
    assert play() == before
    assert kernels and compiled(cache) == kernels  # the second process read them and compiled nothing
    for n_versions, (file, old, new) in enumerate(changes, 2):
        source = tmp_path / "turncoat" / file
        text = source.read_text()
        assert text.count(old) == 1
        source.write_text(text.replace(old, new))
        assert play() != before, file
        source.write_text(text)
        assert len(set(cache.iterdir())) == n_versions  # one folder for each
    kernels = compiled(cache)
    assert play() == before
    assert compiled(cache) == kernels  # so going back costs nothing


def test_the_cache_is_named_by_every_source_file_with_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    (tmp_path / "inner").mkdir()
    seen = set()
    for name, text in (("a.py", "1"), ("a.py", "2"), ("inner/b.py", "2"), ("inner/c.py", ""), ("inner/c.py", "3")):
        (tmp_path / name).write_text(text)
        seen.add(cache.source_hash())
    (tmp_path / "inner" / "c.py").rename(tmp_path / "c.py")
    seen.add(cache.source_hash())
    assert len(seen) == 6
    (tmp_path / "note.txt").write_text("no source")
    (tmp_path / "service").mkdir()
    (tmp_path / "service" / "d.py").write_text("holds no kernel")
    assert cache.source_hash() in seen


def test_rooms_that_do_not_name_the_cache_hold_no_kernels() -> None:
    decorated = re.compile(r"jit import .*\bjit|njit|jit\.jit")
    for room in cache.WITHOUT_KERNELS:
        files = list((cache.PACKAGE / room).rglob("*.py"))
        assert files
        assert [file.name for file in files if decorated.search(file.read_text())] == []


@pytest.mark.slow
def test_without_a_folder_to_write_to_it_still_imports_and_plays(tmp_path: Path) -> None:
    """A read-only install and no home. (Permissions would not stop an administrator: a file where a folder should be
    stops everybody.)"""
    install = tmp_path / "install"
    shutil.copytree(PACKAGE, install / "turncoat", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [install, *(entry for entry in install.rglob("*") if entry.is_dir())]:
        folder.chmod(0o555)
    before = {entry: entry.stat().st_mtime_ns for entry in install.rglob("*")}
    file = tmp_path / "file"
    file.write_text("")
    nowhere = str(file / "home")
    try:
        printed = run(GAME, path=install, HOME=nowhere, XDG_CACHE_HOME=nowhere)
        assert printed == run(GAME, path=install, HOME=nowhere)
        assert printed[0] == str(install / "turncoat" / "__init__.py")
        assert len(printed[1]) == 300
        assert {entry: entry.stat().st_mtime_ns for entry in install.rglob("*")} == before
        assert file.read_text() == ""
    finally:
        for folder in [install, *(entry for entry in install.rglob("*") if entry.is_dir())]:
            folder.chmod(0o755)


def test_with_no_home_at_all_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("could not determine home directory")

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.writable_cache() is None


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"turncoat-{cache.source_hash()}"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache.writable_cache() == tmp_path / "numba" / name
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert cache.writable_cache() == tmp_path / "user" / "turncoat" / name
    assert (tmp_path / "user" / "turncoat" / name).is_dir()


def test_importing_turncoat_imports_neither_numpy_nor_numba() -> None:
    code = "import sys, turncoat; print(*sorted({'numpy', 'numba', 'click', 'rich'} & set(sys.modules)))"
    assert run(code) == [""]
    assert run(code.replace("print", "turncoat.play; print")) == ["numba numpy"]  # this would see them


def test_a_service_begins_without_the_compiler() -> None:
    """A worker that was killed is back earlier: it decides by what is stored, and learns a little later.

    The dashboard is loaded last, and by those alone that show it.
    """
    code = "import sys, turncoat.cli.service, turncoat.service.http.app, turncoat.service.precompile as precompile"
    show = "print(*sorted({'jinja2', 'numba', 'numpy', 'rich'} & set(sys.modules)))"
    assert run(f"{code}; precompile.is_compiled(); {show}") == [""]
    code += "; precompile.new_learner(['a', 'b'], 1); import turncoat.service.http.login"
    code += "; import turncoat.cli.console as c; c.screen()"
    assert run(f"{code}; {show}") == ["jinja2 numba numpy rich"]


def test_play_stays_the_function_whatever_is_imported() -> None:
    modules = "turncoat.simulate.loop, turncoat.racing, turncoat.cli.race, turncoat.environments"
    assert run(f"import {modules}; import turncoat as tc; print(type(tc.play).__name__)") == ["function"]
    assert run("import turncoat as tc; tc.play; import turncoat.racing; print(type(tc.play).__name__)") == ["function"]


def test_caches_that_nobody_used_for_long_are_swept_away(tmp_path: Path) -> None:
    old, recent = "turncoat-0123456789abcdef", "turncoat-fedcba9876543210"
    for name, days in ((old, 31), (recent, 29), ("turncoat-results", 400), ("somebody-else", 400)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "kernel.nbc").touch()
        then = time.time() - days * 24 * 3600
        os.utime(folder, (then, then))
    cache.sweep(tmp_path)
    assert {folder.name for folder in tmp_path.iterdir()} == {recent, "turncoat-results", "somebody-else"}
    cache.sweep(tmp_path / "not there")
