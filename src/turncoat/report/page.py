"""The page of a report: one self-contained HTML file, which loads nothing from the network.

Vega, Vega-Lite and Vega-Embed come from vl-convert's bundle. A content security policy in the page's head forbids every
request, so a figure that tried to load something would fail rather than call home. The template, page.html, escapes
all that it is given, except what is marked as safe here.

Its leaderboards: a table per feedback group, a row per learner, a column per game; all but the best dozen are folded.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import polars as pl
import vl_convert
from markupsafe import Markup

from turncoat._compile.side_process import another_python
from turncoat.learners.entries import TOP_N, by_feedback_group
from turncoat.report.figures.catalogue import Figure
from turncoat.report.figures.leaderboard import rank_words
from turncoat.report.frames import Frames, top_learners
from turncoat.report.styles import DARK, LIGHT, Style, label
from turncoat.report.write import vega_lite_version

MANY_GAMES = 8  # with more, figures are folded, and drawn when the reader opens them
OPEN = ("leaderboard", "times")  # frames whose figures are never folded
GROUPS = {
    "bandit": "They see the loss of the arm they played",
    "full information": "They see the losses of all arms, and are ranked among themselves",
    "linear": "They see the features of the arms, and are ranked among themselves",
}

Drawn = list[tuple[Figure, dict[str, Any]]]

# Vega's markers as SVG paths around 0, for the legend.
MARKERS = {
    "circle": "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0",
    "square": "M-3-3h6v6h-6z",
    "triangle-up": "M0-4l4 7h-8z",
    "triangle-down": "M0 4l4-7h-8z",
    "diamond": "M0-4.4l3.4 4.4l-3.4 4.4l-3.4-4.4z",
    "cross": "M-1.3-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
}


# What a second process runs: -P keeps it from finding another vl_convert in the folder it is started in.
CHILD = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle(*sys.argv[1:]).encode())"


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, made by a second process where that is possible.

    It takes more than a second, in which a thread would keep all others waiting.
    """
    words = ("window.vegaEmbed = vegaEmbed;", vega_lite_version())
    if another_python():
        with suppress(OSError, subprocess.CalledProcessError):
            command = [sys.executable, "-P", "-c", CHILD, *words]
            return subprocess.check_output(command, stderr=subprocess.DEVNULL).decode()
    return vl_convert.javascript_bundle(*words)


def page(frames: Frames, styles: Mapping[str, Style], script: str, drawn: Drawn, everyone: Drawn) -> str:
    """The whole page as text. `everyone`: the figures with all learners, if `drawn` has only the best."""
    whole = {figure.name: spec for figure, spec in everyone}
    figures = {figure.name: {"front": spec, "all": whole.get(figure.name)} for figure, spec in drawn}
    many = len(frames.environments()) > MANY_GAMES
    template: jinja2.Template = jinja2.Template(
        files("turncoat.report").joinpath("page.html").read_text(encoding="utf-8"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return template.render(
        frames=frames,
        raced=_raced(frames),
        many=many,
        legend=[(name, label(name, style), style, MARKERS[style.shape]) for name, style in styles.items()],
        chosen=set(top_learners(frames)),
        figures=[(figure, many and figure.needs not in OPEN) for figure, _ in drawn],
        bundle=_code(script),
        data=_json({"figures": figures, "light": LIGHT, "dark": DARK}),
        **_standings(frames, styles),
    )


def _code(text: str) -> Markup:
    """JavaScript that cannot end the script element it stands in. (In it, `</` may also begin a regular expression.)"""
    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def _json(data: Any) -> Markup:
    """Data for a script element: no `<` at all, whatever a learner is called."""
    return Markup(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _raced(frames: Frames) -> str:
    """What was raced, in a sentence."""
    horizons = sorted(set(frames.games["horizon"]))
    length = " or ".join(f"{T:,}" for T in horizons) if len(horizons) < 4 else f"{horizons[0]:,} to {horizons[-1]:,}"
    seeds = next(
        (getattr(frames, name)["seed"].n_unique() for name in ("frontier", "traces") if frames.has(name)), None
    )
    over = f", over {_count(seeds, 'seed')}" if seeds else ""
    who, where = _count(len(frames.learners()), "learner"), _count(len(frames.environments()), "environment")
    watching = frames.games.filter(~pl.col("oblivious"))["environment"].to_list()
    but = f", except against adversaries that see the arms played ({', '.join(watching)})" if watching else ""
    return f"{who} in {where}, {length} rounds each{over}. All learners of a seed met the same losses{but}."


def _standings(frames: Frames, styles: Mapping[str, Style]) -> dict[str, Any]:
    """What the template needs for the tables. Where nothing is known of settings or ranks, they have no column."""
    settings, ranks = frames.settings(), None
    if frames.overall is not None and "mean_rank" in frames.overall.columns:
        ranks = dict(frames.overall.select("learner", "mean_rank").iter_rows())
    games = frames.leaderboard if frames.times is None else frames.times
    return {
        "groups": [(group, GROUPS[group], names) for group, names in by_feedback_group(styles, settings).items()],
        "top": TOP_N,
        "settings": settings,
        "ranks": ranks,
        "took": dict(games.group_by("learner").agg(pl.col("ns_per_round").median()).iter_rows()),
        "board": {(row["environment"], row["learner"]): row for row in frames.leaderboard.iter_rows(named=True)},
        "number": lambda value, digits: "–" if value is None else f"{value:,.{digits}f}",
        "regret": _regret,
        "rank": rank_words,
    }


def _regret(row: dict[str, Any]) -> str:
    """`1,234 ± 56`."""
    half = math.nan if row["high"] is None or row["low"] is None else (row["high"] - row["low"]) / 2
    return f"{row['regret']:,.0f}" + ("" if math.isnan(half) else f" ± {half:,.0f}")
