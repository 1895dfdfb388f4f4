"""Write the page and the figures of a report into a folder, as canonical output: the same figure gives the same bytes.

Vega counts the ids of clips and gradients through the life of a process. The PDF writer numbers and orders fonts and
resources by a hash table with a random seed. Here ids are counted anew in each file, and PDF objects are sorted by name
and numbered in the order in which they are first referred to. Nothing that can be seen changes.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from turncoat.atomic_files import write_whole
from turncoat.errors import RaceError
from turncoat.optional_imports import require
from turncoat.report.frames import Frames
from turncoat.report.styles import LIGHT, styles_of

PACKAGES = ("polars", "altair", "vl_convert")
ENDINGS = ("svg", "png", "pdf")
PIXELS = 2  # of a PNG, for one of the figure


def report(frames: Frames, folder: str | os.PathLike[str]) -> Path:
    """Write report.html and figures/*.pdf, *.svg, *.png into the folder, and say where the page is.

    The page needs no network and no other file. The same frames give the same bytes.
    """
    for package in PACKAGES:
        require(package, "a report")
    from turncoat.report.figures.catalogue import FIGURES, draw_all, still
    from turncoat.report.frames import remarks, top_frames, top_learners, with_everyone
    from turncoat.report.page import bundle, page

    script = ThreadPoolExecutor(1).submit(bundle)
    styles = styles_of(frames.learners(), frames.settings())
    crowded = len(top_learners(frames)) < len(styles)
    drawn = draw_all(top_frames(frames), styles, remarks(frames)) if crowded else draw_all(frames, styles)
    everyone = draw_all(with_everyone(frames), styles) if crowded else []
    home = Path(folder)
    try:
        (home / "figures").mkdir(parents=True, exist_ok=True)
        for figure, spec in drawn:
            for ending, content in pictures(still(spec)).items():
                write_whole(home / "figures" / f"{figure.name}.{ending}", content)
        write_whole(home / "report.html", page(frames, styles, script.result(), drawn, everyone).encode())
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

    svg = canonical_svg(vl_convert.vegalite_to_svg(spec, config=LIGHT, vl_version=vega_lite_version()))
    png = vl_convert.svg_to_png(svg, scale=PIXELS)
    return dict(zip(ENDINGS, (svg.encode(), png, canonical_pdf(vl_convert.svg_to_pdf(svg))), strict=True))


def vega_lite_version() -> str:
    """The version that altair writes for, as vl-convert names it: 6.4 for v6.4.1."""
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


ID = re.compile(r"\b(clip|gradient_)\d+\b")
PATHS = re.compile(r'(<g class="mark-group[^"]*_pathgroup")(.*?)(?=<g class="mark-group|$)', re.DOTALL)
CLIPPED = re.compile(r'(?<=<g class="mark-line)([^>]*?)( clip-path="[^"]*")')
REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
NAMED_REFERENCES = re.compile(rb"(?:\n +/[A-Za-z]+\d+ \d+ 0 R){2,}")
XREF_ENTRY = re.compile(rb"(\d{10}) \d{5} n")


def canonical_svg(svg: str) -> str:
    """The same SVG with its ids counted from 0, and one clip for all lines of a panel: in a PNG each takes 30 ms."""
    places: dict[str, str] = {}
    return ID.sub(lambda found: places.setdefault(found[0], f"{found[1]}{len(places)}"), PATHS.sub(_clipped_once, svg))


def _clipped_once(found: re.Match[str]) -> str:
    """A group of lines with the clip of its first line, which is that of all."""
    clip = CLIPPED.search(found[2])
    return found[1] + (clip[2] if clip else "") + CLIPPED.sub(r"\1", found[2])


def canonical_pdf(pdf: bytes) -> bytes:
    """The same PDF with its objects in one order. A file that is not built as expected is returned as it is."""
    last = re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", pdf)
    if last is None or not pdf.startswith(b"xref", int(last[1])):
        return pdf
    table = int(last[1])
    trailer = pdf.index(b"trailer", table)
    offsets = [int(entry) for entry in XREF_ENTRY.findall(pdf, table, trailer)]
    stop_of = dict(pairwise([*sorted(offsets), table]))
    head = pdf[: min(offsets)]
    objects = {}
    for offset in offsets:
        label, rest = pdf[offset : stop_of[offset]].split(b" 0 obj", 1)
        words, mark, stream = rest.partition(b"\nstream")
        objects[int(label)] = (NAMED_REFERENCES.sub(_in_order, words), mark + stream)
    met: list[int] = []

    def renumbered(words: bytes) -> bytes:
        met.extend(dict.fromkeys(number for number in map(int, REFERENCE.findall(words)) if number not in met))
        return REFERENCE.sub(lambda found: b"%d 0 R" % (met.index(int(found[1])) + 1), words)

    end = renumbered(pdf[trailer : last.start()])
    written, starts = bytearray(head), []
    for number in met:  # which grows as objects refer to others
        words, stream = objects[number]
        starts.append(len(written))
        written += b"%d 0 obj" % len(starts) + renumbered(words) + stream
    entries = b"".join(b"%010d 00000 n\r\n" % start for start in starts)
    where = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f\r\n" % (len(met) + 1) + entries
    written += re.sub(rb"/Size \d+", b"/Size %d" % (len(met) + 1), end)
    return bytes(written + b"startxref\n%d\n%%%%EOF" % where)


def _in_order(found: re.Match[bytes]) -> bytes:
    """Lines such as `/fo1 2 0 R`, sorted by name."""
    return b"\n" + b"\n".join(sorted(found[0].split(b"\n")[1:]))
