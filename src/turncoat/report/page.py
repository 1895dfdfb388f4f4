"""The page: one HTML file with everything in it. It opens from a disk, a mail or an archive, and asks for nothing.

Vega, Vega-Lite and Vega-Embed come from vl-convert's bundle. A content security policy in the page's head forbids every
request, so a figure that tried to load something would fail rather than call home.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

import polars as pl
import vl_convert

from turncoat.report.figures.catalogue import Figure
from turncoat.report.frames import Frames
from turncoat.report.front import front
from turncoat.report.standings_table import standings
from turncoat.report.styles import DARK, LIGHT, Look, label
from turncoat.report.write import vega_lite_version

MANY_GAMES = 8  # more, and figures wait folded until somebody wants to see them

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
    data = {"figures": figures, "light": LIGHT, "dark": DARK}
    chosen, many = set(front(frames)), len(frames.environments()) > MANY_GAMES
    words = {
        "title": html.escape(frames.title),
        "raced": _raced(frames),
        "games": _games(frames),
        "open": "" if many else " open",
        "legend": "\n".join(_chip(learner, looks, learner not in chosen) for learner in looks),
        "more": _more(len(looks), len(chosen)),
        "leaderboard": standings(frames, looks),
        "figures": "\n".join(
            _section(figure, folded=many and figure.needs not in ("leaderboard", "times")) for figure, _ in drawn
        ),
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


def _chip(learner: str, looks: Mapping[str, Look], rest: bool) -> str:
    """A learner in the legend: a piece of its line, its marker, its name."""
    look = looks[learner]
    dash = " ".join(map(str, look.dash))
    line = f'<line x1="0" y1="7" x2="40" y2="7" stroke="{look.colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    marker = f'<path d="{MARKERS[look.shape]}" transform="translate(20 7)" fill="{look.colour}"/>'
    swatch = f'<svg width="40" height="14" aria-hidden="true">{line}{marker}</svg>'
    name = html.escape(learner, quote=True)
    words = html.escape(label(learner, look))
    kind = ' class="rest"' if rest else ""
    return f'<button type="button" data-learner="{name}" aria-pressed="false"{kind}>{swatch}{words}</button>'


def _more(n: int, n_front: int) -> str:
    if n <= n_front:
        return ""
    return (
        f'<button type="button" id="more" aria-pressed="false" data-other="show the best {n_front} only">'
        f"show all {n} learners, not only the best {n_front}</button>"
    )


def _section(figure: Figure, *, folded: bool) -> str:
    """A figure with its words; folded, it is drawn when its reader opens it."""
    title, reading = html.escape(figure.title), f"<p>{html.escape(figure.reading)}</p>"
    place = f'<div class="figure" data-figure="{figure.name}"></div>'
    if folded:
        inside = f"<details><summary><h2>{title}</h2></summary>{reading}{place}</details>"
    else:
        inside = f"<h2>{title}</h2>{reading}{place}"
    return f'<section id="{figure.name}">{inside}</section>'
