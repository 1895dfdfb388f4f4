"""The page: one HTML file with everything in it. It opens from a disk, a mail or an archive, and asks for nothing.

Vega, Vega-Lite and Vega-Embed come from vl-convert's bundle. A content security policy in the page's head forbids every
request, so a figure that tried to load something would fail rather than call home.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

import polars as pl
import vl_convert

from turncoat.report.figures import Figure
from turncoat.report.frames import Frames
from turncoat.report.looks import DARK, FRONT, LIGHT, Look
from turncoat.report.standings import rank_words
from turncoat.report.write import vega_lite_version

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


def page(frames: Frames, looks: Mapping[str, Look], drawn: Drawn, everyone: Drawn) -> str:
    """The whole page as text. `everyone`: the figures with all learners, if `drawn` has only the best."""
    whole = {figure.name: spec for figure, spec in everyone}
    figures = {figure.name: {"front": spec, "all": whole.get(figure.name)} for figure, spec in drawn}
    data = {"figures": figures, "light": LIGHT, "dark": DARK, "front": list(looks)[:FRONT]}
    words = {
        "title": html.escape(frames.title),
        "raced": _raced(frames),
        "games": _games(frames),
        "legend": "\n".join(_chip(learner, look, i >= FRONT) for i, (learner, look) in enumerate(looks.items())),
        "more": _more(len(looks)),
        "leaderboard": _table(frames, looks),
        "figures": "\n".join(_section(figure) for figure, _ in drawn),
        "about": "\n".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in frames.about.items()),
        "bundle": _code(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vega_lite_version())),
        "data": _json(data),
    }
    template = files("turncoat.report").joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(words)


def _code(text: str) -> str:
    """JavaScript that cannot end the script element it stands in. (In it, `</` may also begin a regular expression.)"""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _json(data: Any) -> str:
    """Data for a script element: no `<` at all, whatever a learner is called."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


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
    return html.escape(
        f"{who} in {where}, {length} rounds each{over}. All learners of a seed met the same losses{but}."
    )


def _games(frames: Frames) -> str:
    """What the environments are, a row each."""
    rows = []
    for game in frames.games.iter_rows(named=True):
        switches = "–" if game["n_switches"] is None else f"{game['n_switches']:,}"
        cells = (
            game["environment"],
            game["description"] or "",
            f"{game['n_arms']:,}",
            f"{game['horizon']:,}",
            switches,
        )
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    return "\n".join(rows)


def _chip(learner: str, look: Look, rest: bool) -> str:
    """A learner in the legend: a piece of its line, its marker, its name."""
    dash = " ".join(map(str, look.dash))
    line = f'<line x1="0" y1="7" x2="40" y2="7" stroke="{look.colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    marker = f'<path d="{MARKERS[look.shape]}" transform="translate(20 7)" fill="{look.colour}"/>'
    swatch = f'<svg width="40" height="14" aria-hidden="true">{line}{marker}</svg>'
    name = html.escape(learner, quote=True)
    kind = ' class="rest"' if rest else ""
    return f'<button type="button" data-learner="{name}" aria-pressed="false"{kind}>{swatch}{name}</button>'


def _more(n: int) -> str:
    if n <= FRONT:
        return ""
    return (
        f'<button type="button" id="more" aria-pressed="false" data-other="show the best {FRONT} only">'
        f"show all {n} learners, not only the best {FRONT}</button>"
    )


def _table(frames: Frames, looks: Mapping[str, Look]) -> str:
    """The leaderboard: a row for each learner, best first, a column for each environment."""
    environments = frames.environments()
    board = {(row["environment"], row["learner"]): row for row in frames.leaderboard.iter_rows(named=True)}
    games = frames.leaderboard if frames.times is None else frames.times
    took = dict(games.group_by("learner").agg(pl.col("ns_per_round").median()).iter_rows())
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in environments)
    rows = []
    for i, learner in enumerate(looks):
        cells = "".join(f"<td>{_standing(board.get((name, learner)))}</td>" for name in environments)
        ns = "–" if took.get(learner) is None else f"{took[learner]:,.0f}"
        kind = ' class="rest"' if i >= FRONT else ""
        rows.append(f'<tr{kind}><th scope="row">{html.escape(learner)}</th>{cells}<td>{ns}</td></tr>')
    last = '<th scope="col">ns a round</th>'
    return f'<thead><tr><th scope="col">learner</th>{head}{last}</tr></thead><tbody>{"".join(rows)}</tbody>'


def _standing(row: dict[str, Any] | None) -> str:
    """`1,234 ± 56`, and the rank below it."""
    if row is None:
        return "–"
    half = math.nan if row["high"] is None or row["low"] is None else (row["high"] - row["low"]) / 2
    interval = "" if math.isnan(half) else f" ± {half:,.0f}"
    first = " class='best'" if row["rank"] == 1 else ""
    return f"<span{first}>{row['regret']:,.0f}{interval}</span><small>rank {html.escape(rank_words(row))}</small>"


def _section(figure: Figure) -> str:
    return (
        f'<section id="{figure.name}"><h2>{html.escape(figure.title)}</h2><p>{html.escape(figure.reading)}</p>'
        f'<div class="figure" data-figure="{figure.name}"></div></section>'
    )
