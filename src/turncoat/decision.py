"""Decision: what `ask` returns and `tell` takes."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from turncoat.errors import DecisionError
from turncoat.types import Label, Point


class Decision(NamedTuple):
    """What a learner decided, and all that its update will need: small, immutable, serialisable.

    `propensity` is the probability with which this arm was served, over everything the learner did at random
    (for a master: summed over its bases); None if the learner cannot say. The three fields after it are filled by
    masters only. A learner that plays points of a ball has no arms: then `arm` is the point. Where only some arms were
    to be chosen from, `allowed` holds their indices. `m` is the number of pulls that were planned ahead
    (docs/production.md): 1 where every loss is told before the next decision.
    """

    arm: Label | Point
    index: int  # type: ignore[assignment]  # hides tuple.index, which is not needed here
    propensity: float | None
    base: int | None
    master_probability: float | None
    base_probability: float | None
    learner: str
    id: int
    allowed: tuple[int, ...] | None = None
    m: int = 1

    def to_dict(self) -> dict[str, Any]:
        """The decision as a dict of plain JSON values."""
        return {**self._asdict(), "allowed": None if self.allowed is None else list(self.allowed)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Decision:
        """The decision that `to_dict` wrote; older ones have no `allowed`, or no `m`."""
        if not isinstance(values, dict) or {*values, "allowed", "m"} != set(cls._fields):
            raise DecisionError(
                f"{values!r} is not a decision: a dict with exactly the keys {', '.join(cls._fields)} is"
            )
        decision = cls(**values)
        if isinstance(decision.arm, list | tuple):  # JSON has no tuples
            decision = decision._replace(arm=tuple(decision.arm))
        if isinstance(decision.allowed, list):
            decision = decision._replace(allowed=tuple(decision.allowed))
        problem = _problem(decision)
        if problem:
            raise DecisionError(f"{values!r} is not a decision: {problem}")
        q, p_master, p_base = (None if p is None else float(p) for p in _probabilities(decision))
        return decision._replace(propensity=q, master_probability=p_master, base_probability=p_base)


def _problem(decision: Decision) -> str:
    """What is wrong with the fields of a decision read from outside; empty if nothing is."""
    if not _is_arm(decision.arm):
        return "arm must be a label (str or int), or a point (finite floats)"
    if any(type(number) is not int or number < 0 for number in (decision.index, decision.id)):
        return "index and id must be whole numbers of at least 0"
    if type(decision.learner) is not str:
        return "learner must be a str"
    extra = (decision.base, decision.master_probability, decision.base_probability)
    if any(value is None for value in extra) and any(value is not None for value in extra):
        return "base, master_probability and base_probability come together or not at all"
    if decision.base is not None and (type(decision.base) is not int or decision.base < 0):
        return "base must be a whole number of at least 0"
    if decision.base is not None and decision.propensity is None:
        return "where there is a base, there is a propensity"
    for p in _probabilities(decision):
        if p is not None and (not isinstance(p, int | float) or isinstance(p, bool) or not 0.0 < p <= 1.0):
            return f"{p!r} is not a probability above 0 and at most 1"
    if type(decision.m) is not int or decision.m < 1:
        return "m must be a whole number of at least 1"
    if decision.allowed is not None and not _are_arms(decision.allowed, decision.index):
        return "allowed must be distinct indices, increasing, that of the arm among them"
    return ""


def _are_arms(allowed: Any, index: int) -> bool:
    if type(allowed) is not tuple or any(type(number) is not int for number in allowed) or index not in allowed:
        return False
    return allowed[0] >= 0 and all(before < after for before, after in pairwise(allowed))


def _is_arm(arm: Any) -> bool:
    if type(arm) is tuple:
        return len(arm) > 0 and all(type(x) is float and math.isfinite(x) for x in arm)
    return type(arm) in (int, str)


def _probabilities(decision: Decision) -> tuple[float | None, ...]:
    return decision.propensity, decision.master_probability, decision.base_probability
