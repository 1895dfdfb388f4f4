"""Styles: every learner has one colour, dash and marker in all figures, on a light or a dark background.

The first colours are those of Okabe & Ito ("Color universal design", 2008), which the colour-blind can tell apart,
less black and yellow, which vanish on one of the two backgrounds, with a middle grey added. Five more make a dozen;
some people take them for others. There, and in black and white, the dashes, the markers and the names at the ends of
the lines do the work; text is never coloured. The learner to start with has the thickest line.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

from turncoat.learners.entries import BANDIT, ENTRIES, FEW, feedback_group

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#808080"),
    *("#8C564B", "#7F63B8", "#8FA31E", "#C2185B", "#17A2A2"),
)
DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (14, 4))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
THIN, THICK = 1.8, 3.2  # pixels

PLANTED = COLOURS[1]  # the planted path, on top of a map
BELIEVED, EDGE = "white", "#1f1f1f"  # the switches that a learner believes in
EMPTY, FULL = "#f2f2f2", "#08306b"  # a share of 0 and of 1

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})

_KNOWN = {learner: place for place, learner in enumerate(dict.fromkeys([*FEW, *ENTRIES]))}


class Style(NamedTuple):
    """A learner's colour, dash, marker and line: 12 colours and 5 dashes make 60 pairs before one comes again."""

    colour: str
    dash: tuple[int, ...]
    shape: str
    width: float
    group: str = ""  # feedback group, if not bandit: shown after the name


def label(text: str, style: Style | None) -> str:
    """What is written of a learner, with its group if it sees more than the others."""
    return f"{text} ({style.group})" if style is not None and style.group else text


def styles_of(learners: list[str], settings: Mapping[str, str] = NO_SETTINGS) -> dict[str, Style]:
    """A style for each learner, in this order. Those that race by default have the same one in every report."""
    places: dict[str, int] = {}
    for learner in sorted(learners, key=lambda learner: _KNOWN.get(learner, len(_KNOWN))):
        wished = _KNOWN.get(learner, 0)
        places[learner] = next(place for place in count(wished) if _is_free(place, set(places.values())))
    groups = {learner: feedback_group(settings.get(learner, "")) for learner in learners}
    return {
        learner: _style(places[learner], learner)._replace(group="" if group == BANDIT else group)
        for learner, group in groups.items()
    }


def _is_free(place: int, taken: set[int]) -> bool:
    """No colour comes a second time before all were used."""
    n = len(COLOURS)
    return place not in taken and (len(taken) >= n or place % n not in {other % n for other in taken})


def _style(place: int, learner: str) -> Style:
    width = THICK if learner == FEW[0] else THIN
    return Style(COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)], SHAPES[place % len(SHAPES)], width)


def theme(ink: str, faint: str, background: str) -> dict[str, Any]:
    """What Vega needs to know to draw with this ink on this paper."""
    return {
        "background": background,
        "font": "Liberation Sans, Arial, Helvetica, sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": ink,
            "titleColor": ink,
            "domainColor": ink,
            "tickColor": ink,
            "gridColor": faint,
            "titleFontWeight": "normal",
            "titleFontSize": 11,
            "labelFontSize": 10,
            "tickSize": 4,
        },
        "legend": {"labelColor": ink, "titleColor": ink, "titleFontWeight": "normal"},
        "title": {"color": ink, "subtitleColor": ink, "fontSize": 13, "fontWeight": "bold", "anchor": "start"},
        "text": {"color": ink, "fontSize": 11},
        "style": {
            "theory": {"color": ink, "opacity": 0.75},
            "theory-name": {"color": ink, "fontStyle": "italic"},
            "mark": {"color": ink, "opacity": 0.45},
            "note": {"color": ink, "opacity": 0.7, "fontSize": 10},
        },
    }


LIGHT = theme(ink="#1f1f1f", faint="#e6e6e6", background="white")
DARK = theme(ink="#e8e8e8", faint="#3a3a3a", background="#16181c")
