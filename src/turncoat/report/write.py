"""report: write a race's page and figures into a folder."""

from __future__ import annotations

import os
from pathlib import Path

from turncoat.errors import RaceError
from turncoat.packages import needed
from turncoat.race.files import write_whole
from turncoat.report.frames import Frames
from turncoat.report.looks import FRONT, LIGHT, looks_of
from turncoat.report.settle import settled_pdf, settled_svg

PACKAGES = ("polars", "altair", "vl_convert")
PIXELS = 2  # of a PNG, for one of the figure


def report(frames: Frames, folder: str | os.PathLike[str]) -> Path:
    """Write report.html and figures/*.pdf, *.svg, *.png into the folder, and say where the page is.

    The page needs no network and no other file. The same frames give the same bytes.
    """
    for package in PACKAGES:
        needed(package, "a report")
    from turncoat.report.figures import draw_all, still
    from turncoat.report.page import page

    looks = looks_of(frames.learners())
    front = dict(list(looks.items())[:FRONT])
    drawn = draw_all(frames, front)
    everyone = draw_all(frames, looks) if len(looks) > len(front) else []
    home = Path(folder)
    try:
        (home / "figures").mkdir(parents=True, exist_ok=True)
        for figure, spec in drawn:
            for ending, content in pictures(still(spec)).items():
                write_whole(home / "figures" / f"{figure.name}.{ending}", content)
        write_whole(home / "report.html", page(frames, looks, drawn, everyone).encode())
    except OSError as problem:
        raise RaceError(
            f"the report cannot be written to {str(home)!r}: {problem.strerror or problem}; accepted is a folder that "
            "can be made and written"
        ) from problem
    return home / "report.html"


def pictures(spec: dict[str, object]) -> dict[str, bytes]:
    """A figure in the three formats, drawn once."""
    import vl_convert

    svg = settled_svg(vl_convert.vegalite_to_svg(spec, config=LIGHT, vl_version=vega_lite_version()))
    png = vl_convert.svg_to_png(svg, scale=PIXELS)
    return {"svg": svg.encode(), "png": png, "pdf": settled_pdf(vl_convert.svg_to_pdf(svg))}


def vega_lite_version() -> str:
    """The version that altair writes for, as vl-convert names it: 6.4 for v6.4.1."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
