"""A race in a folder: killed, damaged, grown, out of room; what comes out is what an undisturbed race gives."""

from __future__ import annotations

import errno
import inspect
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.racing.makers import Broken, FollowTheLeader
from tests.racing.test_cells import same
from tests.racing.test_race import assert_same
from turncoat.environments import Environment, Stationary, Table
from turncoat.errors import OptionError, RaceError
from turncoat.racing.cell import Cell
from turncoat.racing.report_frames import frames_of
from turncoat.racing.storage import SVML, load_record, open_store

T = 500
TWO = {"exp3": tc.Exp3, "leader": FollowTheLeader}


def played(learners: dict[str, Any], folder: Path | None, **words: Any) -> tuple[tc.Result, int]:
    """A race, and how many cells of it were played and not found."""
    seen: list[int] = []
    words = {"environments": ["flip/3"], "horizon": T, "seeds": 2, **words}
    result = tc.race(learners, folder=folder, on_progress=lambda now: seen.append(now.done), **words)
    return result, len(seen)


def cell_files(folder: Path) -> list[Path]:
    return sorted((folder / "cells").glob("*.npz"))


def assert_tidy(folder: Path) -> None:
    """Nothing half-written is lying about."""
    assert not [file for file in folder.rglob("*") if file.suffix not in (".npz", ".json", "") or "tmp" in file.name]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished race: never written to again."""
    folder = tmp_path_factory.mktemp("finished") / "race"
    played(TWO, folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(finished, tmp_path / "race")
    return tmp_path / "race"


def test_a_folder_changes_no_result_and_is_read_back(finished: Path) -> None:
    in_memory, _ = played(TWO, None)
    loaded = tc.Result.load(finished)
    assert_same(loaded, in_memory)
    assert loaded.missing == [] and loaded.times.height == 4
    assert all(same(loaded.cells[at], in_memory.cells[at]) for at in in_memory.cells)
    assert len(cell_files(finished)) == 4 and len(list((finished / "grounds").iterdir())) == 2
    assert_tidy(finished)


def test_what_is_there_is_not_played_again(folder: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*.npz")}
    result, n_played = played(TWO, folder)
    assert n_played == 0
    assert_same(result, tc.Result.load(folder))
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*.npz")} == before


def test_only_what_is_missing_is_played(folder: Path) -> None:
    more = {**TWO, "uniform": tc.Uniform}
    result, n_played = played(more, folder, seeds=3)
    assert n_played == 5  # two more cells of the third seed, and three of the third learner
    assert_same(result, played(more, None, seeds=3)[0])
    assert played(more, folder, seeds=3, max_switches=1)[1] == 0  # a new comparator needs new references, and no more
    assert tc.Result.load(folder).frontier["S"].unique().sort().to_list() == [0, 1]
    assert played(TWO, folder)[1] == 0
    assert_same(tc.Result.load(folder), played(TWO, None)[0])


def test_a_learner_is_known_by_what_it_does_not_by_its_name(folder: Path) -> None:
    renamed, n_played = played({"my exp3": tc.Exp3}, folder)
    assert n_played == 0 and renamed.names.learners == ["my exp3"]
    assert played({"exp3": lambda arms, horizon, seed: tc.Exp3(arms, horizon, seed=seed)}, folder)[1] == 0
    assert played({"exp3": lambda arms, horizon, seed: tc.Exp3(arms, 2 * horizon, seed=seed)}, folder)[1] == 2
    assert played(TWO, folder, seed=1)[1] == played(TWO, folder, horizon=T + 1)[1] == 4
    assert played(TWO, folder, environments=["flip/10"])[1] == 4


def test_other_sources_are_other_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("turncoat.racing.plan"), "source_hash", lambda: "another")
    assert played(TWO, folder)[1] == 4


def test_a_table_is_one_reference_for_all_seeds(tmp_path: Path) -> None:
    table = Table([[0.1, 0.2, 0.3]] * T)
    result, n_played = played({"exp3": tc.Exp3}, tmp_path, environments=table, seeds=3)
    assert n_played == 3 and len(list((tmp_path / "grounds").iterdir())) == 1
    assert result.missing == [] and tc.Result.load(tmp_path).missing == []


def test_a_learner_that_nothing_tells_from_another_cannot_be_stored(tmp_path: Path) -> None:
    class Local(FollowTheLeader):
        """Not to be pickled: it lives inside a function."""

    with pytest.raises(OptionError, match=r"the results of 'mine' cannot be stored.*state\(\) of plain values"):
        played({"mine": Local}, tmp_path)
    assert played({"mine": Local}, None)[1] == 2


class Edited(Stationary):
    """A user's environment: known by its file, too."""

    name = "edited"


def test_an_environment_of_somebody_elses_is_known_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def game(T: int, seed: Any) -> Environment:
        return Edited(3, T, seed=seed)

    assert played({"exp3": tc.Exp3}, tmp_path, environments=game)[1] == 2
    assert played({"exp3": tc.Exp3}, tmp_path, environments=game)[1] == 0
    monkeypatch.setattr(inspect, "getfile", lambda kind: str(tmp_path / "manifest.json"))
    assert played({"exp3": tc.Exp3}, tmp_path, environments=game)[1] == 2


# -- damage -------------------------------------------------------------------------------------------------------


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content)


def of_another(file: Path) -> None:
    other = next(other for other in file.parent.iterdir() if other != file)
    file.write_bytes(other.read_bytes())


def remove(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("kind", ["cells", "grounds"])
@pytest.mark.parametrize("damage", [truncate, empty, flip, of_another, remove])
def test_damage_is_noticed_and_mended(folder: Path, kind: str, damage: Any) -> None:
    whole = tc.Result.load(folder)
    file = sorted((folder / kind).glob("*.npz"))[0]
    content = stored(file)
    damage(file)
    assert len(tc.Result.load(folder).missing) == (1 if kind == "cells" else 2)
    mended, n_played = played(TWO, folder)
    assert n_played == (1 if kind == "cells" else 0)
    assert_same(mended, whole)
    assert_same(tc.Result.load(folder), whole)
    assert stored(file) == content


def stored(file: Path) -> dict[str, bytes]:
    """The arrays in a file, all that is the same for every run."""
    with np.load(file) as loaded:
        return {name: loaded[name].tobytes() for name in loaded.files if name not in ("seconds", "sha256")}


def test_no_flipped_byte_passes(finished: Path, tmp_path: Path) -> None:
    """Anywhere in the file: it is refused, or what was read is what was written."""
    file = cell_files(finished)[0]
    key, content = file.stem, file.read_bytes()
    whole = load_record(Cell, file, key)
    assert whole is not None and load_record(Cell, file, "another key") is None
    n_refused, places = 0, range(0, len(content), 61)
    for place in places:
        spoilt = bytearray(content)
        spoilt[place] ^= 0x10
        (tmp_path / "spoilt.npz").write_bytes(spoilt)
        found = load_record(Cell, tmp_path / "spoilt.npz", key)
        n_refused += found is None
        assert found is None or (same(found, whole) and found.seconds == whole.seconds)
    assert n_refused > 0.8 * len(places)


def test_the_manifest_says_whether_svml_was_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intel's SVML gives other last bits on other machines: then results are equal in law only."""
    for on, said in SVML.items():
        monkeypatch.setattr("numba.config.USING_SVML", on, raising=False)
        result, _ = played(TWO, folder)
        assert result.about["svml"] == json.loads((folder / "manifest.json").read_text())["about"]["svml"] == said
        assert frames_of(result).about["svml"] == said


def test_a_damaged_manifest_is_refused_and_mended(folder: Path) -> None:
    manifest = folder / "manifest.json"
    text = manifest.read_text()
    written = json.loads(text)
    assert written["about"]["turncoat"] == tc.__version__ and written["race"]["horizons"] == [T]
    for spoilt, why in ((text[:-30], "Unterminated"), (text.replace("exp3", "exp4"), "checksum"), ("[]", "checksum")):
        manifest.write_text(spoilt)
        with pytest.raises(RaceError, match=rf"manifest.json' is damaged \(.*{why}.*\); race again .* to mend it"):
            tc.Result.load(folder)
    assert played(TWO, folder)[1] == 0
    assert_same(tc.Result.load(folder), played(TWO, None)[0])
    manifest.unlink()
    with pytest.raises(RaceError, match="holds no race"):
        tc.Result.load(folder)


def test_what_is_not_the_races_own_is_left_alone(tmp_path: Path) -> None:
    """Sweeping up once took every *.tmp in the folder, and a manifest.json of anybody's was written over."""
    (tmp_path / "cells").mkdir()
    ours = [tmp_path / "manifest.json.0a1b2c3d.tmp", tmp_path / "cells" / "ab.npz.0a1b2c3d.tmp"]
    theirs = [tmp_path / "notes.tmp", tmp_path / "cells" / "notes.tmp", tmp_path / "folder.tmp"]
    theirs[-1].mkdir()
    for file in ours + theirs[:-1]:
        file.write_text("half a page")
    assert played({"exp3": tc.Exp3}, tmp_path)[1] == 2
    assert not any(file.exists() for file in ours) and all(file.exists() for file in theirs)
    foreign = tmp_path / "web" / "manifest.json"
    foreign.parent.mkdir()
    foreign.write_text('{"name": "a web page"}')
    with pytest.raises(RaceError, match=r"web/manifest.json' was not written by a race"):
        played({"exp3": tc.Exp3}, foreign.parent)
    with pytest.raises(RaceError, match=r"web/manifest.json' was not written by a race"):
        tc.Result.load(foreign.parent)
    assert [foreign.read_text()] == [file.read_text() for file in foreign.parent.iterdir()]


# -- no room ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_writes", [0, 1, 2, 5])
def test_a_full_disk_stops_the_race_with_what_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_writes: int
) -> None:
    real, left = os.fsync, [n_writes]

    def fsync(descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(RaceError, match=r"cannot write to '.*': No space left on device; the \d cells saved .* intact"):
        played(TWO, tmp_path)
    assert_tidy(tmp_path)
    n_saved = len(cell_files(tmp_path))
    assert n_saved + len(list((tmp_path / "grounds").iterdir())) == max(n_writes - 1, 0)  # the manifest is the first
    monkeypatch.undo()
    result, n_played = played(TWO, tmp_path)
    assert n_played == 4 - n_saved
    assert_same(result, played(TWO, None)[0])


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for nowhere in (tmp_path / "file", tmp_path / "file" / "race"):
        with pytest.raises(RaceError, match=r"the folder '.*' cannot be used: .*; accepted is one that can be made"):
            played({"broken": Broken}, nowhere)


def test_one_race_at_a_time(folder: Path) -> None:
    with open_store(folder), pytest.raises(RaceError, match="another race is writing to"):
        played(TWO, folder)
    assert played(TWO, folder)[1] == 0


# -- ends before its time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ZeroDivisionError])
def test_a_race_that_was_stopped_goes_on(tmp_path: Path, failure: type[BaseException]) -> None:
    def stop(now: Any) -> None:
        if now.done == 2:
            raise failure

    with pytest.raises(failure):
        tc.race(TWO, ["flip/3"], T, seeds=2, folder=tmp_path, on_progress=stop)
    assert len(cell_files(tmp_path)) == 2
    result, n_played = played(TWO, tmp_path)
    assert n_played == 2
    assert_same(result, played(TWO, None)[0])


KILLED = """
import sys
import turncoat as tc
from tests.racing.makers import FollowTheLeader

tc.race(
    {"exp3": tc.Exp3, "leader": FollowTheLeader}, ["flip/3", "drift/2"], 4000, seeds=12, folder=sys.argv[1],
    on_progress=lambda now: print(now.done, flush=True),
)
"""


def killed_after(folder: Path, n_lines: int, wait: float) -> list[int]:
    """Start the race, kill it some time after it has told of so many cells; the numbers it told."""
    with subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [child.stdout.readline() for _ in range(n_lines)]
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        told += child.stdout.readlines()
    return [int(line) for line in told if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "moments", [(0, 8, 3), pytest.param((0, 1, 5, 3, 8, 2, 0, 4, 1, 6), marks=pytest.mark.exhaustive)], ids=len
)
def test_kill_9_at_any_moment_loses_nothing_that_was_told(moments: tuple[int, ...], tmp_path: Path) -> None:
    """At random moments, while cells of about 30 ms are being saved; then the rest is played here."""
    chance = random.Random(5)
    n_told = 0
    for n_lines in moments:
        told = killed_after(tmp_path, n_lines, chance.uniform(0.0, 0.05) if n_lines else 0.7)
        assert told == list(range(told[0], told[0] + len(told))) if told else not n_lines
        assert not told or told[0] - n_told in (1, 2)  # what was saved and not told of is one cell at most
        n_told = told[-1] if told else n_told
    words: dict[str, Any] = {"environments": ["flip/3", "drift/2"], "horizon": 4000, "seeds": 12}
    result, n_played = played(TWO, tmp_path, **words)
    assert sum(moments) <= n_told < 48 and n_played <= 48 - n_told
    assert_tidy(tmp_path)
    undisturbed, _ = played(TWO, None, **words)
    assert_same(result, undisturbed)
    assert_same(tc.Result.load(tmp_path), undisturbed)
