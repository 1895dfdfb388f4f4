"""How regret grows with T and with S: the figure and the tables of docs/growth.md.

Run: make figures (or python docs/figures/growth.py). Draws growth.svg from growth.csv, both beside itself, in seconds,
and prints the tables. To play the games again, about 25 minutes on one core, and write growth.csv anew:
python docs/figures/growth.py --run FOLDER. What was played stays in FOLDER: a run that was killed goes on where it was.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl

import turncoat as tc
from turncoat.environments import Environment, Flip
from turncoat.learners.entries import ENTRIES
from turncoat.report.figures.axes import Axis, log_axis
from turncoat.report.figures.panel import (
    FOCUS,
    End,
    ends_of,
    in_columns,
    layered,
    names,
    over_seeds,
    room_for,
    styled,
)
from turncoat.report.styles import Style, styles_of
from turncoat.report.write import pictures
from turncoat.statistics import Growth, growth

HERE = Path(__file__).parent
K, S, GAP = 5, 4, 0.3
HORIZONS = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
GAPS = [0.9, 0.3, 0.1, 0.03, 0.01]
SWITCHES, MIDDLE = [1, 4, 16, 64, 256], 1_000_000  # played at this horizon
MOST = 64  # switches of the fits: with more, exp3.s that is not told is as bad as chance
N_SEEDS = 5
SIZE = (310, 300)


def told_bound(T: float, n_switches: float) -> float:
    """Auer et al. 2002, theorem 8.1 with gamma tuned to S."""
    return 2 * math.sqrt((math.e - 1) * K * T * ((n_switches + 1) * math.log(K * T) + math.e))


def free_bound(T: float, n_switches: float) -> float:
    """Auer et al. 2002, theorem 8.1 with gamma tuned without S."""
    log = math.log(K * T)
    return (n_switches + math.e) * math.sqrt(K * T * log) + math.e * math.sqrt(K * T / log)


class Entry(NamedTuple):
    """A learner: how it is made, the exponents of T and S in its bound less logarithms, and the bound itself."""

    make: Callable[..., Any]
    in_T: str = "none"
    in_S: str = "none"
    bound: Callable[[int, int], float] | None = None


def theorem_1(T: int, n_switches: int) -> float:
    """Theorem 1 of Kim & Yun."""
    return tc.theorem_1(T, K, n_switches).total


def theorem_2(T: int, n_switches: int) -> float:
    """Theorem 2 of Kim & Yun, for the worst rho."""
    return tc.theorem_2(T, K, n_switches).total


SHARED = "adaptive-master-base, shared"
BOARD = {
    "master-base": Entry(ENTRIES["master-base"], "2/3", "1/2", theorem_1),
    "adaptive-master-base": Entry(ENTRIES["adaptive-master-base"], "1/2", "1", theorem_2),
    SHARED: Entry(ENTRIES[SHARED], "1/2", "1", theorem_2),
    "exp3.s, told S": Entry(ENTRIES["exp3.s, told S"], "1/2", "1/2", told_bound),
    "exp3.s": Entry(ENTRIES["exp3.s"], "1/2", "1", free_bound),
    "exp3": Entry(ENTRIES["exp3"]),
    "exp3, gain form": Entry(partial(tc.Exp3, form="gain")),
}


# --- playing ---


def flip(horizon: int, seed: np.random.SeedSequence, *, n_switches: int, gap: float) -> Environment:
    """All arms take turns in being the best, for as many rounds each."""
    return Flip(K, horizon, n_switches, n_best=K, gap=gap, seed=seed)


def played(learners: Iterable[str], horizon: int, n_switches: int, gap: float, folder: Path) -> pl.DataFrame:
    """Pseudo-regret, against the planted path, of every learner and seed after the last round."""
    makers = {learner: BOARD[learner].make for learner in learners}
    games = {"flip": partial(flip, n_switches=n_switches, gap=gap)}
    here = folder / f"T{horizon}-S{n_switches}-gap{gap}"
    result = tc.race(makers, games, horizon, seeds=N_SEEDS, folder=here, workers=1, max_switches=0)
    print(f"played: T {horizon:,}, S {n_switches}, gap {gap}", flush=True)
    named = {"S": pl.lit(n_switches), "gap": pl.lit(gap), "horizon": pl.lit(horizon)}
    last = result.traces.filter(pl.col("t") == horizon)
    return last.select(**named, learner="learner", seed="seed", regret=pl.col("pseudo_regret").round(2))


def run(folder: Path) -> None:
    """Play all games and write growth.csv. Not every gap is played with shared feedback: it takes the longest."""
    few = [learner for learner in BOARD if learner != SHARED]
    frames = [played(BOARD, MIDDLE, n_switches, GAP, folder) for n_switches in SWITCHES if n_switches != S]
    for horizon in HORIZONS:
        frames.append(played(BOARD, horizon, S, GAP, folder))
        frames += [played(few, horizon, S, gap, folder) for gap in GAPS if gap != GAP]
    pl.concat(frames).write_csv(HERE / "growth.csv")


# --- fitting ---


class Panel(NamedTuple):
    """Games of several sizes, a column of the data: what is drawn, and the sizes that are fitted."""

    title: str
    size: str
    across: Axis
    data: pl.DataFrame
    fitted: list[int]
    slopes: Mapping[str, float]  # guides, by name

    def growth(self, sizes: list[int] | None = None) -> dict[str, Growth]:
        """The exponent of every learner, with a 95 % interval over the seeds."""
        found, sizes = {}, sizes or self.fitted
        for (learner,), one in self.data.group_by("learner"):
            curves = one.pivot(self.size, index="seed", values="regret").select(str(size) for size in sizes)
            found[str(learner)] = growth(sizes, curves.to_numpy())
        return found


def worst(data: pl.DataFrame) -> pl.DataFrame:
    """Of every learner and horizon, the games with the gap of the largest mean regret."""
    where = ["learner", "horizon", "gap"]
    means = data.group_by(where).agg(pl.col("regret").mean()).sort("regret")
    return data.join(means.group_by("learner", "horizon").agg(pl.col("gap").last()), on=where)


def panels(data: pl.DataFrame) -> tuple[Panel, Panel, Panel]:
    """Growth in T with one gap and with the worst gap, and growth in S."""
    T = Axis("horizon T", "log", HORIZONS[0], HORIZONS[-1], at=tuple(HORIZONS))
    switches = Axis("switches S", "log", SWITCHES[0], SWITCHES[-1], at=tuple(SWITCHES))
    four, one = data.filter(pl.col("S") == S), data.filter(pl.col("gap") == GAP)
    in_T = {"slope 1": 1.0, "slope 2/3": 2 / 3, "slope 1/2": 0.5}
    a = Panel(f"a: in T, {S} switches, gap {GAP}", "horizon", T, four.filter(pl.col("gap") == GAP), HORIZONS, in_T)
    few = four.filter(pl.col("learner") != SHARED)
    b = Panel(f"b: in T, {S} switches, worst of {len(GAPS)} gaps", "horizon", T, worst(few), HORIZONS, in_T)
    in_S = {"slope 1": 1.0, "slope 1/2": 0.5}
    fitted = [n for n in SWITCHES if n <= MOST]
    title = f"c: in S, {MIDDLE:,} rounds, gap {GAP}; fitted up to {MOST}"
    return a, b, Panel(title, "S", switches, one.filter(pl.col("horizon") == MIDDLE), fitted, in_S)


def plus_minus(found: Growth | None) -> str:
    """0.57 ± 0.01."""
    if found is None:
        return "–"
    value, _, high = (float(part) for part in found.exponent)
    return f"{value:.2f} ± {high - value:.2f}"


def of_bound(learner: str, horizons: list[int], switches: list[int]) -> str:
    """The exponent that the same fit finds in the bound, evaluated at the same sizes."""
    bound = BOARD[learner].bound
    if bound is None:
        return "–"
    values = [bound(T, n_switches) for T in horizons for n_switches in switches]
    return f"{growth(horizons if len(switches) == 1 else switches, [values]).exponent.value:.2f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] + ["--:"] * (len(head) - 1), *rows])


def tables(data: pl.DataFrame) -> tuple[str, str]:
    """The tables of docs/growth.md: growth in T and in S."""
    a, b, c = panels(data)
    in_a, in_b, late, in_c = a.growth(), b.growth(), a.growth(HORIZONS[-2:]), c.growth()
    in_T = [
        [f"`{one}`", BOARD[one].in_T, of_bound(one, HORIZONS, [S])]
        + [plus_minus(found.get(one)) for found in (in_a, in_b, late)]
        for one in BOARD
    ]
    in_S = [[f"`{one}`", BOARD[one].in_S, of_bound(one, [MIDDLE], c.fitted), plus_minus(in_c[one])] for one in BOARD]
    words = ["learner", "theory", "its bound, evaluated"]
    head = [*words, f"measured, gap {GAP}", "measured, worst gap", f"from 1e7 to 1e8, gap {GAP}"]
    return table(head, in_T), table([*words, "measured"], in_S)


# --- drawing ---


def marks(points: pl.DataFrame, x: alt.X, up: Axis, styles: Mapping[str, Style]) -> list[Any]:
    """Lines through the means, their spread, and a marker at each: learner, mean, low, high."""
    rows = points.with_columns(pl.col("mean", "low", "high").clip(up.low, up.high).round_sig_figs(5))
    base, colour = alt.Chart(rows), styled(styles, "color")
    return [
        base.mark_line(strokeWidth=1.6).encode(x=x, y=up.y("mean:Q"), **styled(styles, "color", "strokeDash")),
        base.mark_rule(opacity=0.5).encode(x=x, y=up.y("low:Q"), y2="high:Q", **colour),
        base.mark_point(filled=True, size=36, opacity=1).encode(
            x=x, y=up.y("mean:Q"), **styled(styles, "color", "shape")
        ),
    ]


def guides(across: Axis, up: Axis, ends: Mapping[str, tuple[float, float]]) -> Any:
    """Thin dashed lines from one height at the left to another at the right."""
    rows = [
        {"guide": name, "at": x, "height": y}
        for name, heights in ends.items()
        for x, y in zip((across.low, across.high), heights, strict=True)
    ]
    lines = alt.Chart(pl.DataFrame(rows)).mark_line(style="mark", strokeWidth=1, strokeDash=[3, 3])
    return lines.encode(x=across.x("at:Q"), y=up.y("height:Q"), detail="guide:N")


def draw(panel: Panel, styles: Mapping[str, Style]) -> Any:
    """Regret: means over the seeds, where the middle 80 % of them lie, fitted exponents, and guides."""
    points = over_seeds(panel.data, panel.size, "regret")
    across = panel.across
    start = 0.6 * min(points.filter(pl.col(panel.size) == int(across.low))["mean"])
    ends = {name: start * (across.high / across.low) ** slope for name, slope in panel.slopes.items()}
    up = log_axis("regret against the planted path", [start, *points["high"], *ends.values()])
    exponents = panel.growth()
    theory = {one: entry.in_S if panel.size == "S" else entry.in_T for one, entry in BOARD.items()}
    texts = [
        End(end.learner, f"{end.learner}: {plus_minus(exponents[end.learner])} ({theory[end.learner]})", end.height)
        for end in ends_of(points, panel.size, list(styles))
    ]
    texts += [End("", name, height) for name, height in ends.items()]
    size = room_for(len(texts), SIZE)
    lines = guides(across, up, {name: (start, height) for name, height in ends.items()})
    layers = [lines, *marks(points, across.x(f"{panel.size}:Q"), up, styles), *names(texts, up, size, styles)]
    return layered(layers, width=size[0], height=size[1], title=panel.title)


def draw_decades(panel: Panel, styles: Mapping[str, Style]) -> Any:
    """The exponents again, one for every decade, with 95 % intervals over the seeds."""
    rows = []
    for low, high in pairwise(HORIZONS):
        found = panel.growth([low, high])
        for place, learner in enumerate(BOARD):
            value, least, most = (float(part) for part in found[learner].exponent)
            T = math.sqrt(low * high) * 1.07**place  # side by side, so that no bar hides another
            rows.append({"learner": learner, "T": T, "mean": value, "low": least, "high": most})
    points = pl.DataFrame(rows).sort("learner", "T")
    across = Axis(
        "horizon T (middle of the decade)", "log", min(points["T"]), max(points["T"]), at=tuple(HORIZONS[1:-1])
    )
    up = Axis("exponent of T, from each horizon to the next", "linear", 0.4, 1.1)
    levels = {"1": (1.0, 1.0), "2/3": (2 / 3, 2 / 3), "1/2": (0.5, 0.5)}
    texts = ends_of(points, "T", list(styles)) + [End("", name, height) for name, (_, height) in levels.items()]
    layers = [guides(across, up, levels), *marks(points, across.x("T:Q"), up, styles)]
    layers += names(texts, up, SIZE, styles)
    return layered(layers, width=SIZE[0], height=SIZE[1], title="d: panel a, decade by decade")


def picture(data: pl.DataFrame) -> bytes:
    """The figure, as SVG."""
    styles = styles_of(list(BOARD))
    drawn = panels(data)
    chart = in_columns([*(draw(panel, styles) for panel in drawn), draw_decades(drawn[0], styles)], 2, spacing=24)
    return pictures({**chart, **FOCUS})["svg"]


if __name__ == "__main__":
    words = argparse.ArgumentParser(description="Draw docs/figures/growth.svg.")
    words.add_argument("--run", type=Path, metavar="FOLDER", help="play the games first, keeping them in FOLDER")
    asked = words.parse_args()
    if asked.run is not None:
        run(asked.run)
    everything = pl.read_csv(HERE / "growth.csv")
    (HERE / "growth.svg").write_bytes(picture(everything))
    print(*tables(everything), sep="\n\n")
    print("wrote growth.svg")
