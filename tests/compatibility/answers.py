"""Comparison of recorded answers with today's: numbers and names must be equal, sentences may be reworded.

An answer may have gained fields. Inside a recorded field everything is compared.
"""

from __future__ import annotations

from typing import Any

RENAMED = {"faith": "kind", "faiths": "kinds"}  # fields with a new name, at any depth: recorded name to present name
SENTENCES = {"why", "explanation_text"}  # prose, not compared
OF_BASES = {"bases", "kinds", "chance", "likeliest", "pages"}  # what an explanation reads off the trust in bases


def as_now(said: Any) -> Any:
    """An answer under the present names, without sentences."""
    if isinstance(said, dict):
        return {RENAMED.get(name, name): as_now(value) for name, value in said.items() if name not in SENTENCES}
    return [as_now(one) for one in said] if isinstance(said, list) else said


def without_bases(said: Any) -> Any:
    """An answer without what its explanations say of the bases: a learner that was migrated may have others now."""
    if isinstance(said, dict):
        left_out = OF_BASES if "bases" in said else set()
        return {name: without_bases(value) for name, value in said.items() if name not in left_out}
    return [without_bases(one) for one in said] if isinstance(said, list) else said


def same_fields(now: Any, then: Any) -> Any:
    """Today's answer, or list of answers, reduced to the fields of the recorded one."""
    if isinstance(then, list):
        return [same_fields(*pair) for pair in zip(now, then, strict=True)]
    if isinstance(then, dict):
        return {name: value for name, value in now.items() if name in then}
    return now
