"""The base factory: makes learners of what a user names as bases, and plain values of them for saved states."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any, get_args

from turncoat.errors import HorizonError, OptionError, StateError, unknown
from turncoat.learners.base.declarations import Stability
from turncoat.learners.base.learner import KNOWN, Learner
from turncoat.learners.base.linear import LinearLearner
from turncoat.learners.base.rule_version import rule_of
from turncoat.types import Label

MOST_BASES = 1000
_ACCEPTED = (
    "accepted is a list of bases, each a learner's class, its name, or anything that makes one when called as "
    "maker(arms, horizon, seed=…)"
)
_WRITTEN = {"learner", "horizon", "options", "rule"}  # the last from rule 2 on


def make_bases(bases: Any, arms: Sequence[Label], horizon: int | None) -> list[Learner]:
    """Fresh learners, one for each base named."""
    if not isinstance(bases, list | tuple) or not 1 <= len(bases) <= MOST_BASES:
        raise OptionError(f"bases is {reprlib.repr(bases)}; {_ACCEPTED}, from 1 to {MOST_BASES} of them")
    return [_make_base(base, arms, horizon) for base in bases]


def _make_base(base: Any, arms: Sequence[Label], horizon: int | None) -> Learner:
    words: dict[str, Any] = {}
    written: dict[str, Any] = {}
    if isinstance(base, dict) and {*base, "rule"} == _WRITTEN and isinstance(base["options"], dict):
        written, base, horizon, words = base, base["learner"], base["horizon"], base["options"]
    maker = _named(base) if isinstance(base, str) else base
    if not callable(maker):
        raise OptionError(f"bases has {reprlib.repr(base)}; {_ACCEPTED}")
    if isinstance(maker, type) and issubclass(maker, Learner):
        _refuse(maker)  # before it is made: it may want other words
        if written and (rule := rule_of(written, maker.name, maker.rule_version)) < maker.rule_version:
            newer = f"rule {maker.rule_version}, because a master cannot migrate its bases"
            raise StateError(f"bases has a saved {maker.name!r} of rule {rule}; accepted are those of {newer}")
    try:
        learner = maker(list(arms), horizon, seed=0, **words)
    except HorizonError as error:
        raise HorizonError(f"{error}; it is wanted as a base") from None
    if not isinstance(learner, Learner):
        what = f"bases has {reprlib.repr(base)}, which made {reprlib.repr(learner)}"
        raise OptionError(f"{what}; accepted are makers of a tc.Learner: to race, ask and tell are enough, not here")
    _refuse(type(learner))
    if learner.n_arms != len(arms):
        raise OptionError(f"bases has {learner!r}; accepted are learners over the same {len(arms)} arms")
    if learner.n_told or learner.n_outstanding:  # a saved master makes its bases again by their words
        raise OptionError(f"bases has {learner!r}; accepted are learners that have not begun")
    if learner.stability not in get_args(Stability):
        known = ", ".join(repr(word) for word in get_args(Stability))
        raise OptionError(f"bases has {learner!r} with the stability {learner.stability!r}; accepted are {known}")
    return learner


def _refuse(kind: type[Learner]) -> None:
    """Say why learners of this class cannot be bases, if they cannot."""
    why = ""
    if kind.sees_all:
        why = "it learns from the losses of all arms, and a base is told the loss of one"
    elif issubclass(kind, LinearLearner) or (hasattr(kind, "facts") and kind.facts.setting == "linear"):
        why = "it chooses among features, and a base is asked without any"
    if kind._has_bases:
        why = "it has bases of its own, and a decision has room for one base only"
    elif not getattr(kind, "_says_propensity", False):
        why = "it cannot say how probable its choices are"
    if why:
        raise OptionError(f"bases has {kind.__name__}, which cannot be a base: {why}")


def base_spec(learner: Learner) -> dict[str, Any]:
    """A base in plain values: `make_bases` takes them too."""
    options = {word: getattr(learner, word) for word in learner.options}
    rule = {"rule": learner.rule_version} if learner.rule_version > 1 else {}
    return {"learner": learner.name, "horizon": learner.horizon, "options": options, **rule}


def _named(name: str) -> type[Learner]:
    """The learner of this name: ours, or the last one that was defined in this process."""
    if name not in KNOWN:
        raise unknown("learner", name, KNOWN) if name else OptionError(f"bases has ''; {_ACCEPTED}")
    return KNOWN[name]
