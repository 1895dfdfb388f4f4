"""Scenarios and suites: stable names, sensible sizes, near names for unknown ones, and a document that keeps up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from turncoat._compile.progress import TEXT
from turncoat.environments import SCENARIOS, SUITES, scenario, suite
from turncoat.errors import OptionError

DOCUMENT = Path(__file__).parents[2] / "docs" / "environments.md"


@pytest.mark.jit_off
def test_ids_are_families_and_numbers_or_words() -> None:
    for name, entry in SCENARIOS.items():
        assert entry.id == name and re.fullmatch(r"[a-z]+(-[a-z]+)*/[a-z0-9-]+", name)
        assert entry.description and "\n" not in entry.description and len(entry.description) <= 110


@pytest.mark.jit_off
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_fits_any_horizon_and_grows_no_table(name: str) -> None:
    for horizon in (1, 2, 3, 10, 10**9):
        game = scenario(name, horizon, seed=1)
        assert game.horizon == horizon and (game.n_switches or 0) < horizon
        assert sum(getattr(field, "nbytes", 0) for field in game.game) < 10**7


@pytest.mark.jit_off
def test_numbers_in_names_are_numbers_of_switches() -> None:
    for name in ("stationary/0", "flip/3", "flip/10", "flip/1000", "piecewise/3", "piecewise/10", "piecewise/100"):
        assert scenario(name, 10**5).n_switches == int(name.split("/")[1])
    for name in ("close/10", "real/10", "resampled/20", "switching-levels/4", "burst/100", "linear/8"):
        assert scenario(name, 10**5).n_switches == int(name.split("/")[1])
    assert scenario("piecewise/crossover", 10**7).n_switches == 100
    assert scenario("piecewise/root", 10**6).n_switches == 1000
    assert [scenario(f"trap/{kind}", 1000).n_switches for kind in ("hidden", "staircase", "alternations", "late")] == [
        *(1, 8, 20, 1)
    ]
    assert [scenario(f"trap/second-{n}", 1000).n_switches for n in (20, 100)] == [19, 99]


@pytest.mark.jit_off
def test_suites() -> None:
    assert suite("arena") == tuple(SCENARIOS)
    for names in SUITES.values():
        assert set(names) <= set(SCENARIOS) and len(set(names)) == len(names)
    quick = [scenario(name, 1000) for name in suite("quick")]
    assert len(quick) == len({type(game) for game in quick}) == 4  # four kinds …
    assert len({numba.typeof(game.game) for game in quick}) == 1  # … in one compiled game
    assert len({numba.typeof(scenario(name, 1000).game) for name in SCENARIOS}) == 2


@pytest.mark.jit_off
def test_unknown_names_list_the_near_ones() -> None:
    with pytest.raises(OptionError, match=r"no scenario 'flip/4'; near it are 'flip/3\b"):
        scenario("flip/4", 100)
    with pytest.raises(OptionError, match=r"no scenario 'peicewise/10'; near it are .*piecewise/10\b"):
        scenario("peicewise/10", 100)
    with pytest.raises(OptionError, match=r"'xyzzy'; accepted are 'stationary/0', 'flip/3', .*'linear-drift/2'$"):
        scenario("xyzzy", 100)
    with pytest.raises(OptionError, match="no suite 'papers'; near it is 'paper'"):
        suite("papers")
    with pytest.raises(OptionError, match="horizon is 0; accepted are whole numbers from 1"):
        scenario("flip/3", 0)
    for odd in (None, 3, ["flip/3"]):
        with pytest.raises(OptionError, match="no scenario"):
            scenario(odd, 100)  # type: ignore[arg-type]


@pytest.mark.jit_off
def test_the_document_lists_every_scenario() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.+?) \| (.*?) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    suites = {name: ", ".join(s for s in ("quick", "paper") if name in SUITES[s]) for name in SCENARIOS}
    assert rows == [(name, entry.description, suites[name]) for name, entry in SCENARIOS.items()]


def test_the_programs_in_the_document_run(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(programs) == 2
    by_family, own = (tmp_path / "by_family.py", tmp_path / "own.py")
    same = "\nassert tc.environments.Flip(5, 10_000, 3, seed=1).fields() == game.fields() and 0 < regret < 3000\n"
    by_family.write_text(programs[0] + same, encoding="utf-8")
    own.write_text(programs[1], encoding="utf-8")
    for program in (by_family, own):
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, timeout=100)
        assert (done.returncode, done.stderr.replace(f"{TEXT}\n", "")) == (0, "")
    assert sum(int(count) for count in re.findall(r"\d+", done.stdout)) == 5000


@pytest.mark.jit_off
def test_the_document_speaks_of_every_family() -> None:
    from turncoat import environments

    text = DOCUMENT.read_text(encoding="utf-8")
    families = [name for name in environments.__all__ if name[0].isupper() and not name.isupper()]
    assert not [name for name in families if name not in ("Environment", "Scenario") and f"**`{name}`**" not in text]
