"""What is in the figures: the data that was given, on the axes it should be on, each learner with one style."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest

import turncoat as tc
from tests.report.sample import crowd
from turncoat.learners.entries import ENTRIES, FEW, TOP_N
from turncoat.report import Frames
from turncoat.report.figures import maps
from turncoat.report.figures.arms import arms, map_of
from turncoat.report.figures.axes import Axis
from turncoat.report.figures.catalogue import FIGURES, draw_all, still
from turncoat.report.figures.growth import _words, powers
from turncoat.report.figures.maps import shown_learners
from turncoat.report.figures.over_time import thinned
from turncoat.report.figures.panel import lines
from turncoat.report.styles import COLOURS, THIN, Style, styles_of

Specs = dict[str, dict[str, Any]]

pytestmark = pytest.mark.slow  # pictures are drawn by an engine of JavaScript


@pytest.fixture(scope="module")
def styles(frames: Frames) -> dict[str, Style]:
    return styles_of(frames.learners())


@pytest.fixture(scope="module")
def specs(frames: Frames, styles: dict[str, Style]) -> Specs:
    return {figure.name: spec for figure, spec in draw_all(frames, styles)}


@pytest.fixture(scope="module")
def small(frames: Frames, styles: dict[str, Style]) -> Specs:
    """One environment, two learners, a master among them."""
    one = replace(frames, games=frames.games.filter(pl.col("environment") == "flip/3"))
    few = {learner: styles[learner] for learner in styles if learner in ("exp3", "master-base")}
    return {figure.name: spec for figure, spec in draw_all(one, few)}


def layers(spec: Any) -> Iterator[dict[str, Any]]:
    """Every layer of a figure."""
    for panel in spec.get("concat", []):
        yield from panel.get("layer", [])


def rows(spec: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    """The data of a layer."""
    found: list[dict[str, Any]] = spec["datasets"][layer["data"]["name"]]
    return found


def titled(spec: dict[str, Any], environment: str) -> dict[str, Any]:
    """The panel of an environment."""
    found: dict[str, Any] = next(panel for panel in spec["concat"] if panel["title"]["text"] == environment)
    return found


def test_all_figures_are_drawn(specs: Specs) -> None:
    assert list(specs) == [figure.name for figure in FIGURES]
    assert len(specs) == 10


@pytest.mark.parametrize("name", [figure.name for figure in FIGURES])
def test_every_figure_is_good_vega_lite(small: Specs, name: str) -> None:
    """Altair's own checks are off while figures are drawn: here they are on."""
    alt.ConcatChart.validate(small[name])


def test_bad_vega_lite_would_be_seen(small: Specs) -> None:
    with pytest.raises(Exception, match="'much' is not of type 'number'"):
        alt.ConcatChart.validate({**small["time"], "spacing": "much"})


def test_a_learner_has_one_colour_dash_and_marker_everywhere(specs: Specs, styles: dict[str, Style]) -> None:
    seen: dict[str, set[Any]] = {"color": set(), "strokeDash": set(), "shape": set()}
    for spec in specs.values():
        for layer in layers(spec):
            for channel, found in seen.items():
                encoding = layer["encoding"].get(channel, {})
                if encoding.get("field") == "learner":
                    scale = encoding["scale"]
                    found.add((tuple(scale["domain"]), tuple(map(str, scale["range"]))))
    assert seen["color"] == {(tuple(styles), tuple(style.colour for style in styles.values()))}
    assert len(seen["strokeDash"]) == len(seen["shape"]) == 1


def test_thirty_learners_have_thirty_looks() -> None:
    styles = styles_of([str(i) for i in range(30)]).values()
    assert len({(style.colour, style.dash) for style in styles}) == 30
    assert {style.colour for style in styles} == set(COLOURS)


def test_a_learner_looks_the_same_in_every_report() -> None:
    everyone, few = styles_of(["mine", *reversed(ENTRIES)]), styles_of(list(FEW))
    assert list(everyone) == ["mine", *reversed(ENTRIES)]
    assert {name: everyone[name] for name in FEW} == few
    for names in (["uniform", "adaptive-master-base, shared"], ["mine", "exp3"], ["clipped-omd, told S", *FEW]):
        assert len({style.colour for style in styles_of(names).values()}) == len(names)


def test_the_learner_to_start_with_has_the_thickest_line() -> None:
    widths = {name: style.width for name, style in styles_of(list(ENTRIES)).items()}
    thick = widths.pop("turncoat")
    assert set(widths.values()) == {THIN} and thick > 1.5 * THIN
    point = pl.DataFrame({"learner": ["turncoat"], "t": [1.0], "mean": [0.5], "low": [0.4], "high": [0.6]})
    unit = Axis("unit", "linear", 0, 1)
    _, line, _ = lines(point, unit, unit, styles_of(["exp3", "turncoat"]), "t")
    scale = line.to_dict()["encoding"]["strokeWidth"]["scale"]
    assert (scale["domain"], scale["range"]) == (["exp3", "turncoat"], [THIN, thick])


def test_the_frontier_has_the_regret_at_every_S_and_the_theorems(frames: Frames, specs: Specs) -> None:
    assert frames.frontier is not None
    spec, environment, learner = specs["frontier"], "piecewise/10", "exp3.s, told S"
    panel = titled(spec, environment)
    line = next(layer for layer in panel["layer"] if "strokeDash" in layer["encoding"])
    here = (pl.col("environment") == environment) & (pl.col("learner") == learner)
    mean = dict(frames.frontier.filter(here).group_by("S").agg(pl.col("regret").mean()).iter_rows())
    drawn = {row["S"]: row["mean"] for row in rows(spec, line) if row["learner"] == learner}
    assert drawn.keys() == set(range(31))
    assert drawn == pytest.approx(mean, rel=1e-4)
    curves = [rows(spec, layer) for layer in panel["layer"] if layer["mark"].get("style") == "theory"]
    assert [curve[0]["curve"] for curve in curves] == ["Theorem 1", "Theorem 2", "Theorem W"]
    for curve, theorem in zip(curves, (tc.theorem_1, tc.theorem_2, tc.turncoat_bound), strict=True):
        assert {row["S"]: row["bound"] for row in curve} == pytest.approx(
            {S: theorem(2000, 10, S).total for S in range(31)}, rel=1e-4
        )
    low, high = line["encoding"]["y"]["scale"]["domain"]
    assert line["encoding"]["y"]["scale"]["type"] == "symlog"
    assert low <= min(mean.values()) and high >= tc.theorem_2(2000, 10, 30).total
    assert "planted S = 10" in str(spec["datasets"])


def test_regret_over_time_is_log_log_with_a_band_over_the_seeds(frames: Frames, specs: Specs) -> None:
    assert frames.traces is not None
    for name, column in (("regret", "regret"), ("pseudo-regret", "pseudo_regret")):
        panel = titled(specs[name], "flip/3")
        band, line = panel["layer"][:2]
        assert (band["mark"]["type"], line["mark"]["type"]) == ("area", "line")
        assert line["encoding"]["x"]["scale"]["type"] == line["encoding"]["y"]["scale"]["type"] == "log"
        assert line["encoding"]["x"]["scale"]["domain"] == [1, 2000]
        here = (pl.col("environment") == "flip/3") & (pl.col("learner") == "exp3") & (pl.col("t") == 2000)
        values = frames.traces.filter(here)[column].to_numpy()
        (row,) = (row for row in rows(specs[name], band) if row["learner"] == "exp3" and row["t"] == 2000)
        assert row["mean"] == pytest.approx(values.mean(), rel=1e-4)
        assert [row["low"], row["high"]] == pytest.approx(np.quantile(values, [0.1, 0.9]).tolist(), rel=1e-4)


def test_no_two_names_of_a_panel_touch(frames: Frames) -> None:
    two = frames.games.filter(pl.col("environment").is_in(["flip/3", "drift/2"]))
    many = replace(crowd(frames, 30), games=two, shares=None, trust=None, split=None, times=None)
    everyone = styles_of(many.learners())
    for styles in (everyone, dict(list(everyone.items())[:TOP_N])):
        n_panels = 0
        for figure, spec in draw_all(many, styles):
            for panel in spec["concat"] if figure.name != "leaderboard" else []:
                texts = [layer for layer in panel["layer"] if layer["encoding"].get("text", {}).get("field") == "text"]
                named = [layer for layer in texts if layer["encoding"]["y"].get("field") == "y2"]
                heights = sorted(row["y2"] for layer in named for row in rows(spec, layer))
                assert len(heights) >= len(styles)
                assert min(np.diff(heights)) > 12.9  # pixels; the letters are 11
                assert heights[0] >= 5 and heights[-1] <= panel["height"] - 5
                n_panels += 1
        assert n_panels == 8


def test_arms_played_between_two_checkpoints_are_differences() -> None:
    """60 bins over 120 rounds; arm 0 in the first 60, then arm 1: shares so far must not be mistaken for shares."""
    t = [30, 60, 90, 120]
    shares = pl.DataFrame(
        {"t": t * 2, "arm": [0] * 4 + [1] * 4, "share": [1, 1, 60 / 90, 0.5, 0, 0, 30 / 90, 0.5]},
        strict=False,
    )
    cells = map_of(shares).cells
    assert np.allclose(cells[0], [1] * 30 + [0] * 30) and np.allclose(cells[1], [0] * 30 + [1] * 30)


def test_the_arms_stand_under_the_planted_path_of_the_same_seed(frames: Frames, specs: Specs) -> None:
    assert frames.planted is not None
    spec = specs["arms"]
    path = frames.planted.filter((pl.col("environment") == "flip/3") & (pl.col("seed") == 0)).sort("start")
    panel = titled(spec, "flip/3")
    lines = next(rows(spec, layer) for layer in panel["layer"] if layer["mark"]["type"] == "rule")
    assert [(row["x"], row["y"]) for row in lines] == list(path.select("start", "arm").iter_rows())
    assert lines[-1]["x2"] == 2000
    assert len(spec["concat"]) == 6 * 4


def test_too_many_maps_are_the_best_ones_and_say_so() -> None:
    learners = [str(i) for i in range(12)]
    assert shown_learners(learners, 4) == learners  # and all of thirty: 120 maps
    assert shown_learners(learners, 33) == ["0", "1", "2"]
    assert shown_learners(learners, 100) == ["0", "1"]


def test_a_figure_with_fewer_maps_than_learners_says_so(
    frames: Frames, styles: dict[str, Style], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MOST_MAPS", 8)
    chart = arms(frames, styles)
    assert chart["title"] == "the best 2 of these 6 learners"
    assert len(chart["concat"]) == 2 * 4


def test_trust_is_shown_for_masters_only(specs: Specs) -> None:
    names = {row["learner"] for data in specs["trust"]["datasets"].values() for row in data if "learner" in row}
    assert names == {"adaptive-master-base, shared", "adaptive-master-base", "master-base"}


def part_rows(spec: dict[str, Any], panel: dict[str, Any]) -> list[dict[float, float]]:
    """What the two lines of a panel show, the bases' first: candidate -> mean."""
    lines = [layer for layer in panel["layer"] if layer["mark"]["type"] == "line"]
    return [{row["candidate"]: row["mean"] for row in rows(spec, layer)} for layer in lines]


def test_the_split_shows_both_parts_at_the_last_round_and_their_sum(frames: Frames, specs: Specs) -> None:
    assert frames.split is not None and frames.traces is not None
    spec, masters = specs["split"], ["adaptive-master-base, shared", "adaptive-master-base", "master-base"]
    assert len(spec["concat"]) == 4 * 3
    learners = {panel["title"]["subtitle"][0] for panel in spec["concat"]}
    assert learners == set(masters)
    for panel in spec["concat"]:
        environment, learner = panel["title"]["text"], panel["title"]["subtitle"][0]
        here = (pl.col("environment") == environment) & (pl.col("learner") == learner) & (pl.col("t") == 2000)
        one = frames.split.filter(here).group_by("candidate").agg(pl.col("master_regret", "base_regret").mean())
        for shown, part in zip(part_rows(spec, panel), ("base_regret", "master_regret"), strict=True):
            assert shown == pytest.approx(dict(one.select("candidate", part).iter_rows()), rel=1e-4)
        rules = [rows(spec, layer) for layer in panel["layer"] if layer["mark"]["type"] == "rule"]
        levels = [data[0]["y"] for data in rules if set(data[0]) == {"y"}]
        regret = frames.traces.filter(here)["regret"].to_numpy().mean()
        assert levels == [0.0, pytest.approx(regret, rel=1e-4)]


def test_masters_of_an_environment_are_split_on_one_scale_and_no_name_touches(specs: Specs) -> None:
    spec = specs["split"]
    scales: dict[str, set[str]] = {}
    for panel in spec["concat"]:
        line = next(layer for layer in panel["layer"] if layer["mark"]["type"] == "line")
        scales.setdefault(panel["title"]["text"], set()).add(str(line["encoding"]["y"]["scale"]))
        assert line["encoding"]["x"]["scale"]["type"] == "log"
        texts = [layer for layer in panel["layer"] if layer["encoding"].get("y", {}).get("field") == "y2"]
        named = [layer for layer in texts if layer["mark"]["type"] == "text"]
        heights = sorted(row["y2"] for layer in named for row in rows(spec, layer))
        assert len(heights) == 3 and min(np.diff(heights)) > 12.9
    assert [len(scale) for scale in scales.values()] == [1] * 4


def test_the_bounds_of_the_split_are_words(frames: Frames, specs: Specs, styles: dict[str, Style]) -> None:
    assert frames.split is not None and frames.bounds is not None
    words = {
        panel["title"]["subtitle"][0]: panel["title"]["subtitle"][1]
        for panel in specs["split"]["concat"]
        if panel["title"]["text"] == "piecewise/10"
    }
    bound = tc.theorem_1(2000, 10, 10)
    master = sum(term.value for term in bound.terms if "master" in term.name)
    assert words["master-base"] == (
        f"Theorem 1 at base S = {bound.parameters['h*']:.3g}: master ≤ {master / 1000:.2g}k, "
        f"base ≤ {(bound.total - master) / 1000:.2g}k, vacuous"
    )
    assert words["adaptive-master-base"].startswith("Theorem 2 at base S = ")
    assert words["adaptive-master-base, shared"] == ""
    only = Frames(frames.games, frames.leaderboard, split=frames.split)
    (_, (_, spec)) = draw_all(only, styles)
    assert {panel["title"]["subtitle"][1] for panel in spec["concat"]} == {""}


def test_a_split_without_a_comparator_is_left_out(frames: Frames, styles: dict[str, Style]) -> None:
    assert frames.split is not None
    unknown = frames.split.with_columns(base_regret=pl.lit(None, dtype=pl.Float64))
    assert len(draw_all(Frames(frames.games, frames.leaderboard, split=unknown), styles)) == 1


def games(
    regrets: dict[str, list[list[float | None]]], horizons: tuple[int, ...] = (100, 1000, 10_000)
) -> pl.DataFrame:
    """A growth frame: for each learner a row a seed, a number a horizon. None: not played."""
    rows = [
        {"learner": learner, "seed": seed, "horizon": T, "regret": regret}
        for learner, curves in regrets.items()
        for seed, curve in enumerate(curves)
        for T, regret in zip(horizons, curve, strict=True)
        if regret is not None
    ]
    return pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=1)  # in any order


def test_the_exponent_of_a_power_is_found() -> None:
    means = [3.0 * T**0.6 for T in (100, 1000, 10_000)]
    up, down = (
        [m * (1.0 + e) for m, e in zip(means, errors, strict=True)] for errors in ((0.1, 0, -0.1), (-0.1, 0, 0.1))
    )
    found = powers(games({"two": [up, down, [None, 1e9, 1e9]], "one": [means, [None, 1.0, 1.0]]}))
    two, one = found["two"], found["one"]  # seeds that lack a horizon are left out
    assert (float(two.scale), float(two.exponent.value)) == pytest.approx((3.0, 0.6))
    # Slope of three points at -1, 0, 1 (times ln 10): (y3 - y1)/2, which is 0.1/ln 10 off in either seed. Two seeds
    # have one degree of freedom, and t there is the tangent of half a turn times level / 2.
    half_width = math.tan(math.pi * 0.95 / 2) * 0.1 / math.log(10)
    assert float(two.exponent.high - two.exponent.value) == pytest.approx(half_width)
    assert _words(two) == f"T^0.60 ± {half_width:.2f}"
    assert _words(one) == "T^0.60"  # one seed has no interval


def test_no_power_is_found_where_there_is_none() -> None:
    assert powers(games({"one": [[1.0], [2.0]]}, horizons=(100,))) == {}
    assert powers(games({"below 0": [[1.0, -2.0, 3.0], [1.0, 1.0, 3.0]]})) == {}
    assert powers(games({"no whole seed": [[1.0, 2.0, None], [None, 2.0, 3.0]]})) == {}
    assert powers(games({"not a number": [[1.0, math.nan, 3.0]]})) == {}
    assert _words(None) == "no fit"


def test_exponents_are_written_beside_the_names(specs: Specs) -> None:
    assert "T^0." in str(specs["growth"]["datasets"]) and "±" in str(specs["growth"]["datasets"])


def test_what_is_missing_is_left_out(frames: Frames, styles: dict[str, Style]) -> None:
    assert frames.traces is not None and frames.growth is not None
    bare = Frames(frames.games, frames.leaderboard)
    assert [figure.name for figure, _ in draw_all(bare, styles)] == ["leaderboard"]
    partial = replace(
        bare,
        traces=frames.traces.with_columns(pseudo_regret=pl.lit(None, dtype=pl.Float64)),
        growth=frames.growth.filter(pl.col("horizon") == 2000),
    )
    assert [figure.name for figure, _ in draw_all(partial, styles)] == ["leaderboard", "regret"]


def test_long_traces_are_thinned_and_keep_their_ends() -> None:
    rounds = list(range(1, 2001))
    kept = thinned(rounds)
    assert len(kept) <= 70 and kept[0] == 1 and kept[-1] == 2000
    assert thinned([0, 5, 3]) == [0, 3, 5]
    assert thinned(list(range(500)))[:2] == [0, 1]  # numbers of switches begin at 0


def test_paper_has_nothing_for_the_mouse(specs: Specs) -> None:
    for spec in specs.values():
        text = str(still(spec))
        assert "tooltip" not in text and "'hover'" not in text
    assert "'hover'" in str(specs["regret"])


def test_a_race_of_many_games_is_drawn(frames: Frames, styles: dict[str, Style]) -> None:
    """Altair refuses more than 5,000 rows: nine learners, 32 games and 20 seeds have 5,760 times."""
    assert frames.times is not None
    times = frames.times.with_columns(pl.lit(list(range(5001))).alias("seed")).explode("seed").head(5001)
    drawn = dict(draw_all(Frames(frames.games, frames.leaderboard, times=times), styles))
    rows = [rows for figure, spec in drawn.items() if figure.name == "time" for rows in spec["datasets"].values()]
    assert 5001 in map(len, rows)


def test_a_learner_named_like_a_theorem_does_not_lend_it_its_colour(frames: Frames) -> None:
    """Names beside a panel were told apart by what they say."""
    name = {"exp3": "Theorem 1"}
    board = frames.leaderboard.filter(pl.col("learner") == "exp3").with_columns(pl.col("learner").replace(name))
    assert frames.frontier is not None
    frontier = frames.frontier.filter(pl.col("learner") == "exp3").with_columns(pl.col("learner").replace(name))
    drawn = dict(draw_all(Frames(frames.games, board, frontier=frontier), styles_of(["Theorem 1"])))
    datasets = next(spec["datasets"] for figure, spec in drawn.items() if figure.name == "frontier")
    named = [row["learner"] for rows in datasets.values() for row in rows if row.get("text") == "Theorem 1"]
    assert set(named) == {"", "Theorem 1"}


def test_a_line_of_one_point_can_be_seen(frames: Frames, styles: dict[str, Style]) -> None:
    """A game of a single round has one checkpoint, and its panel was empty."""
    assert frames.traces is not None
    one = Frames(frames.games, frames.leaderboard, traces=frames.traces.filter(pl.col("t") == 2000))
    for traces, seen in ((one, True), (replace(one, traces=frames.traces), False)):
        spec = next(spec for figure, spec in draw_all(traces, styles) if figure.name == "regret")
        lines = [layer["mark"] for layer in layers(spec) if layer["mark"]["type"] == "line"]
        assert len(lines) == 4 and all(bool(mark.get("point")) == seen for mark in lines)
