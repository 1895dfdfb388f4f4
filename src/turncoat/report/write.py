"""report: write a race's page and figures into a folder."""

from __future__ import annotations

import os
from pathlib import Path

from turncoat.errors import RaceError
from turncoat.optional_imports import needed
from turncoat.racing.files import write_whole
from turncoat.report.frames import Frames
from turncoat.report.settle import settled_pdf, settled_svg
from turncoat.report.styles import LIGHT, looks_of

PACKAGES = ("polars", "altair", "vl_convert")
ENDINGS = ("svg", "png", "pdf")
PIXELS = 2  # of a PNG, for one of the figure


def report(frames: Frames, folder: str | os.PathLike[str]) -> Path:
    """Write report.html and figures/*.pdf, *.svg, *.png into the folder, and say where the page is.

    The page needs no network and no other file. The same frames give the same bytes.
    """
    for package in PACKAGES:
        needed(package, "a report")
    from turncoat.report.figures.catalogue import FIGURES, draw_all, still
    from turncoat.report.front import front, in_front, remarks, with_everyone
    from turncoat.report.page import page

    looks = looks_of(frames.learners(), frames.settings())
    crowded = len(front(frames)) < len(looks)
    drawn = draw_all(in_front(frames), looks, remarks(frames)) if crowded else draw_all(frames, looks)
    everyone = draw_all(with_everyone(frames), looks) if crowded else []
    home = Path(folder)
    try:
        (home / "figures").mkdir(parents=True, exist_ok=True)
        for figure, spec in drawn:
            for ending, content in pictures(still(spec)).items():
                write_whole(home / "figures" / f"{figure.name}.{ending}", content)
        write_whole(home / "report.html", page(frames, looks, drawn, everyone).encode())
        for figure in FIGURES:
            if figure not in [one for one, _ in drawn]:  # but in the report that was here before
                for ending in ENDINGS:
                    (home / "figures" / f"{figure.name}.{ending}").unlink(missing_ok=True)
    except OSError as problem:
        raise RaceError(
            f"the report cannot be written to {str(home)!r}: {problem.strerror or problem}; the results themselves "
            "are intact, and their report can be drawn again, there or elsewhere"
        ) from problem
    return home / "report.html"


def pictures(spec: dict[str, object]) -> dict[str, bytes]:
    """A figure in the three formats, drawn once."""
    import vl_convert

    svg = settled_svg(vl_convert.vegalite_to_svg(spec, config=LIGHT, vl_version=vega_lite_version()))
    png = vl_convert.svg_to_png(svg, scale=PIXELS)
    return dict(zip(ENDINGS, (svg.encode(), png, settled_pdf(vl_convert.svg_to_pdf(svg))), strict=True))


def vega_lite_version() -> str:
    """The version that altair writes for, as vl-convert names it: 6.4 for v6.4.1."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
