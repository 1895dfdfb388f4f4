"""The figure of docs/explain.md: what Turncoat believed, in four games.

Run: make figures (or python docs/figures/beliefs.py). Writes beliefs.svg beside itself.
"""

from __future__ import annotations

from pathlib import Path

import turncoat as tc
from turncoat.racing.report_frames import frames_of
from turncoat.report.figures.arms import beliefs
from turncoat.report.figures.catalogue import still
from turncoat.report.figures.panel import FOCUS
from turncoat.report.styles import styles_of
from turncoat.report.write import pictures

GAMES = ["flip/3", "piecewise/10", "close/10", "drift/2"]
T = 20_000


def picture() -> bytes:
    """The report's figure of these games, as SVG."""
    frames = frames_of(tc.race({"turncoat": tc.Turncoat}, GAMES, T, seeds=1))
    chart = beliefs(frames, styles_of(frames.learners()))
    assert chart is not None
    return pictures(still({**chart, **FOCUS}))["svg"]


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_bytes(picture())
