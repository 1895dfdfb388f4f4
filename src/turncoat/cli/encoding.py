"""Signs that a terminal may not have, written in those it has. Light to import."""

from __future__ import annotations

import codecs
import sys

PLAIN = {"±": "+-", "–": "-", "−": "-", "…": "...", "√": "sqrt ", "·": "*", "⅓": "(1/3)", "⅔": "(2/3)", "≤": "<="}


def show_what_can_be_shown() -> None:
    """From now on a sign that an output's encoding does not have is no error."""
    codecs.register_error("turncoat-plain", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="turncoat-plain")


def _plainly(problem: UnicodeError) -> tuple[str, int]:
    assert isinstance(problem, UnicodeEncodeError)
    signs = problem.object[problem.start : problem.end]
    return "".join(PLAIN.get(sign, "?") for sign in signs), problem.end
