"""Sums of comparable decisions, one loop over the raw decisions for each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

WIDTHS = (10, 300, 10_800)


class Decision(NamedTuple):
    """A closed decision with a reward, the probabilities it was drawn with, and the settings it was drawn under.

    `settings`: the control arm, its share, its state, the holdout share; None: not known.
    """

    at: float
    arm: str
    stream: str
    reward: float
    propensity: float
    allowed: list[str] | None
    probabilities: dict[str, float]
    settings: tuple[str | None, float, str, float] | None
    group: int | None


def stratum(one: Decision, rival: str) -> str | None:
    """The stratum's name; None: it is not compared with this rival."""
    if one.settings is None:
        return "before_upgrade" if rival == "control" and one.stream == "learn" else None
    arm, share, state, holdout = one.settings
    if arm is None or share == 0.0:
        why = "no_control"
    elif state != "active":
        why = "control_paused"
    elif one.stream != "control" and one.allowed is not None and arm not in one.allowed:
        why = "control_not_allowed"
    else:
        why = ""
    said = f"[{'null' if why else chr(34) + str(arm) + chr(34)},{0.0 if why else share},{holdout}]"
    if rival == "holdout":
        return said if holdout > 0.0 else None
    return why or said


def comparisons(some: Iterable[Decision]) -> dict[tuple[Any, ...], tuple[float, ...]]:
    """By (width, start, rival, stratum): n, r, Σ1/p of the learn stream; n, w, w², wr, wr², w²r, w²r² of the rival."""
    cells: dict[tuple[Any, ...], tuple[list[Decision], list[Decision]]] = {}
    for one in some:
        for width in WIDTHS:
            start = math.floor(one.at / width) * width
            names = {rival: stratum(one, rival) for rival in ("control", "holdout")}
            if one.stream != "learn":
                cells.setdefault((width, start, one.stream, names[one.stream]), ([], []))[1].append(one)
                continue
            for rival, name in names.items():
                if name is not None:
                    cells.setdefault((width, start, rival, name), ([], []))[0].append(one)
            for arm, p in one.probabilities.items():
                if p >= 0.01:
                    ours, theirs = cells.setdefault((width, start, "arm", arm), ([], []))
                    ours.append(one)
                    theirs += [one] if one.arm == arm else []
    return {cell: (*learned(cell, ours), *had(cell, theirs)) for cell, (ours, theirs) in cells.items()}


def learned(cell: tuple[Any, ...], some: list[Decision]) -> tuple[float, ...]:
    chances = [1.0 / one.probabilities[cell[3]] for one in some] if cell[2] == "arm" else []
    return len(some), math.fsum(one.reward for one in some), math.fsum(chances)


def had(cell: tuple[Any, ...], some: list[Decision]) -> tuple[float, ...]:
    pairs = [(one.reward, 1.0 / one.propensity if cell[2] == "arm" else 1.0) for one in some]
    powers = [(0, 1), (0, 2), (1, 1), (2, 1), (1, 2), (2, 2)]
    return len(some), *(math.fsum(r**a * w**b for r, w in pairs) for a, b in powers)


def groups(some: Iterable[Decision]) -> dict[tuple[Any, ...], tuple[float, ...]]:
    """By (rival, stratum, group of units): n, r, r²."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for one in some:
        if one.group is not None and one.stream != "learn":
            found.setdefault((one.stream, stratum(one, one.stream), one.group), []).append(one.reward)
    return {key: (len(rs), math.fsum(rs), math.fsum(r * r for r in rs)) for key, rs in found.items()}
