"""The catalogue of figures: the name, caption and drawing function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import altair as alt
from altair.utils.schemapi import debug_mode

from turncoat.report.figures.arms import arms, beliefs
from turncoat.report.figures.frontier import frontier
from turncoat.report.figures.growth import growth
from turncoat.report.figures.leaderboard import leaderboard, times
from turncoat.report.figures.over_time import regret_over_time, trust
from turncoat.report.figures.panel import FOCUS, HOVER, Spec
from turncoat.report.figures.split import split
from turncoat.report.frames import Frames
from turncoat.report.styles import Style

NO_REMARKS: Mapping[str, str] = MappingProxyType({})

Draw = Callable[[Frames, Mapping[str, Style]], Spec | None]


class Figure(NamedTuple):
    """A figure waiting for its frames."""

    name: str  # of its files
    title: str
    reading: str  # how to read it, in a sentence
    needs: str  # the frame it draws
    draw: Draw


FIGURES = (
    Figure(
        "leaderboard",
        "Leaderboard",
        "Mean regret at the end and its interval, further left is better; the rank follows, with the ranks that "
        "the seeds leave possible in brackets.",
        "leaderboard",
        leaderboard,
    ),
    Figure(
        "frontier",
        "The frontier: regret against S, for all S at once",
        "How much more each learner lost than the best path with S switches, for every S: a learner that needs no S "
        "stays low along the whole line, below 0 it beat all such paths, and the theorems promise, in expectation "
        "(1 and 2 for Algorithms 1 and 2, W for Turncoat), what lies below their curves: nothing yet above T. The "
        "scale is logarithmic on both sides of 0.",
        "frontier",
        frontier,
    ),
    Figure(
        "regret",
        "Regret over time",
        "Loss above that of the best path with the planted number of switches so far, both axes logarithmic: a slope "
        "of 1 is learning nothing, a slope of ½ is regret growing as √t; the line is the mean, the band holds the "
        "middle 80 % of the seeds.",
        "traces",
        regret_over_time,
    ),
    Figure(
        "pseudo-regret",
        "Pseudo-regret over time",
        "The same against the planted path and in mean losses, so without the luck of the draw; it never falls.",
        "traces",
        partial(regret_over_time, column="pseudo_regret"),
    ),
    Figure(
        "growth",
        "Regret against the horizon",
        "Each point is the mean of games of that length, its bar the middle 80 % of the seeds; the line is the power "
        "of T that fits best, its exponent beside the name with a 95 % interval over the seeds.",
        "growth",
        growth,
    ),
    Figure(
        "arms",
        "The arms played",
        "One game (the first seed): the darker, the more often the arm was played; the orange line is the planted "
        "path, so a good learner is dark under it soon after every step.",
        "shares",
        arms,
    ),
    Figure(
        "beliefs",
        "What the learners believed",
        "The same game, of learners that explain themselves. A triangle is a switch that the learner believes "
        "happened, on the arm it takes for the best from then on, dated to the first doubts about the one before. A "
        "good learner's triangles stand at the steps of the orange line, and nowhere else.",
        "beliefs",
        beliefs,
    ),
    Figure(
        "trust",
        "The masters' trust in their bases",
        "How likely a master follows each base, mean over the seeds, bases tuned to more switches further up; the "
        "orange line is the planted number of switches. In games this short masters settle far above it: bases tuned "
        "to few switches learn so slowly that those tuned to many are better (docs/regret.md).",
        "trust",
        trust,
    ),
    Figure(
        "split",
        "Where the regret came from",
        "A master's regret in two parts, for every base it could have followed: its own against that base (filled "
        "markers), and the base's against the best path (hollow squares); at each base the two add up to the dotted "
        "line, the regret. The lowest square is the best base there was; what the master lost beyond it is its price "
        "for finding it. Bands hold the middle 80 % of the seeds. Beneath the names: what the theorem allows each "
        "part, evaluated after the game; a bound is vacuous from the horizon on.",
        "split",
        split,
    ),
    Figure(
        "time",
        "Time per round",
        "A tick for every game and a marker with its number at the median, in nanoseconds; further left is faster.",
        "times",
        times,
    ),
)


def draw_all(
    frames: Frames, styles: Mapping[str, Style], remarks: Mapping[str, str] = NO_REMARKS
) -> list[tuple[Figure, dict[str, Any]]]:
    """Every figure that there is something to draw in, as a Vega-Lite specification, with a remark above some.

    Altair checks every piece against its schema as it is made, which takes most of the time; here that is off, and the
    tests check the whole. It also refuses more than 5,000 rows, which a large race has of times.
    """
    drawn = []
    with debug_mode(False), alt.data_transformers.enable("default", max_rows=None):
        for figure in FIGURES:
            spec = figure.draw(frames, styles) if frames.has(figure.needs) else None
            if spec is not None:
                if figure.needs in remarks:
                    spec["title"] = {"text": remarks[figure.needs], "fontWeight": "normal", "offset": 14}
                drawn.append((figure, {**spec, "description": f"{figure.title}. {figure.reading}", **FOCUS}))
    return drawn


def still(spec: Any) -> Any:
    """The same specification for paper: without what only answers to a mouse."""
    if isinstance(spec, list):
        return [still(part) for part in spec if not _is_hover(part)]
    if isinstance(spec, dict):
        return {key: still(part) for key, part in spec.items() if key != "tooltip"}
    return spec


def _is_hover(part: Any) -> bool:
    mark = part.get("mark") if isinstance(part, dict) else None
    return isinstance(mark, dict) and mark.get("style") == HOVER
