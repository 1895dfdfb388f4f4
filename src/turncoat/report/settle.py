"""Settle what a renderer leaves to chance, so that the same figure is the same bytes.

Vega counts the ids of clips and gradients through the life of a process. The PDF writer numbers and orders fonts and
resources by a hash table with a random seed. Here ids are counted anew in each file, and PDF objects are sorted by name
and numbered in the order in which they are first referred to. Nothing that can be seen changes.
"""

from __future__ import annotations

import re
from itertools import pairwise

ID = re.compile(r"\b(clip|gradient_)\d+\b")
REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
NAMED_REFERENCES = re.compile(rb"(?:\n +/[A-Za-z]+\d+ \d+ 0 R){2,}")
XREF_ENTRY = re.compile(rb"(\d{10}) \d{5} n")


def settled_svg(svg: str) -> str:
    """The same SVG with its ids counted from 0."""
    places: dict[str, str] = {}
    return ID.sub(lambda found: places.setdefault(found[0], f"{found[1]}{len(places)}"), svg)


def settled_pdf(pdf: bytes) -> bytes:
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
    end = pdf[trailer : last.start()]
    order = _first_met(end, {number: words for number, (words, _) in objects.items()})
    places = {number: place for place, number in enumerate(order, 1)}

    def renumbered(words: bytes) -> bytes:
        return REFERENCE.sub(lambda found: b"%d 0 R" % places[int(found[1])], words)

    written, starts = bytearray(head), []
    for number in order:
        words, stream = objects[number]
        starts.append(len(written))
        written += b"%d 0 obj" % places[number] + renumbered(words) + stream
    entries = b"".join(b"%010d 00000 n\r\n" % start for start in starts)
    where = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f\r\n" % (len(order) + 1) + entries
    written += re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(end))
    return bytes(written + b"startxref\n%d\n%%%%EOF" % where)


def _in_order(found: re.Match[bytes]) -> bytes:
    """Lines such as `/fo1 2 0 R`, sorted by name."""
    return b"\n" + b"\n".join(sorted(found[0].split(b"\n")[1:]))


def _first_met(end: bytes, words: dict[int, bytes]) -> list[int]:
    """The objects in the order in which they are met from the trailer on."""
    order: dict[int, None] = {}
    waiting = [int(number) for number in reversed(REFERENCE.findall(end))]
    while waiting:
        number = waiting.pop()
        if number not in order:
            order[number] = None
            waiting += [int(met) for met in reversed(REFERENCE.findall(words[number]))]
    return list(order)
