"""docs/growth.md and its figure say what docs/figures/growth.csv holds."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("growth_figure", DOCS / "figures" / "growth.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data() -> pl.DataFrame:
    return pl.read_csv(DOCS / "figures" / "growth.csv")


def test_every_game_was_played_once(script: Any, data: pl.DataFrame) -> None:
    seeds = range(script.N_SEEDS)
    wanted = [(S, script.GAP, script.MIDDLE, one, i) for S in script.SWITCHES for one in script.BOARD for i in seeds]
    wanted += [
        (script.S, gap, T, one, i)
        for gap in script.GAPS
        for T in script.HORIZONS
        for one in script.BOARD
        for i in seeds
        if gap == script.GAP or one != script.SHARED
    ]
    found = list(data.select("S", "gap", "horizon", "learner", "seed").iter_rows())
    assert sorted(found) == sorted(set(wanted))
    assert data["regret"].is_finite().all() and data["horizon"].max() == 10**8


def test_the_page_has_the_tables_of_these_games(script: Any, data: pl.DataFrame) -> None:
    page = (DOCS / "growth.md").read_text(encoding="utf-8")
    for table in script.tables(data):
        assert table in page


def test_the_tables_hold_slopes_of_mean_regret(script: Any, data: pl.DataFrame) -> None:
    """The fit itself is tested in tests/oracle/test_statistics.py; here, that it was given the right games."""
    in_T, in_S = script.tables(data)
    four, many = data.filter(S=script.S), data.filter(horizon=script.MIDDLE, gap=script.GAP)
    for learner in script.BOARD:
        _, _, of_a, of_b, late = numbers(in_T, learner)
        means = four.filter(learner=learner).group_by("gap", "horizon").agg(pl.col("regret").mean())
        fixed = means.filter(gap=script.GAP).sort("horizon")["regret"].to_numpy()
        assert of_a == two_digits(np.polyfit(np.log(script.HORIZONS), np.log(fixed), 1)[0])
        assert late == two_digits(np.log10(fixed[-1] / fixed[-2]))
        if learner != script.SHARED:
            largest = means.group_by("horizon").agg(pl.col("regret").max()).sort("horizon")["regret"].to_numpy()
            assert of_b == two_digits(np.polyfit(np.log(script.HORIZONS), np.log(largest), 1)[0])
        up_to = (
            many.filter(pl.col("learner") == learner, pl.col("S") <= script.MOST)
            .group_by("S")
            .agg(pl.col("regret").mean())
        )
        S, regret = up_to.sort("S").to_numpy().T
        assert numbers(in_S, learner)[-1] == two_digits(np.polyfit(np.log(S), np.log(regret), 1)[0])


def numbers(table: str, learner: str) -> list[str]:
    """A learner's row, without its name and its intervals."""
    row = next(line for line in table.splitlines() if line.startswith(f"| `{learner}` |"))
    return [cell.split(" ± ")[0] for cell in row.strip("| ").split(" | ")[1:]]


def two_digits(value: float) -> str:
    return f"{value:.2f}"


def test_the_figure_was_drawn_from_these_games(script: Any, data: pl.DataFrame) -> None:
    svg = (DOCS / "figures" / "growth.svg").read_text(encoding="utf-8")
    assert words(svg) == words(script.picture(data).decode())
    assert sum(" ± " in word for word in words(svg)) == 2 * len(script.BOARD) + len(script.BOARD) - 1


def words(svg: str) -> list[str]:
    """All that is written in a figure: where it stands depends on the fonts of the machine."""
    return sorted(html.unescape(word) for word in re.findall(r">([^<>]+)</text>", svg))
