"""The registry of learners by name, and `restore`, which makes a learner of its saved state."""

from __future__ import annotations

import reprlib
from typing import Any

from turncoat.errors import StateError, TurncoatError
from turncoat.learners.base.declarations import SETTINGS, is_ours
from turncoat.learners.base.learner import KNOWN, Learner
from turncoat.learners.base.rule_version import STATE_FORMAT

# What must be told, the least first.
_SWITCHES = {"unknown": 0, "optional": 0, "as bases": 0, "wanted": 1, "S = 0 only": 2, "unused": 3}
_HORIZONS = {"unused": 0, "optional": 1, "as bases": 2, "needed": 3}


def _place(learner: type[Learner]) -> tuple[int, int, int, str]:
    """Where it stands in `turncoat list`: by setting, then by what it must be told, then by name."""
    facts = learner.facts
    return list(SETTINGS).index(facts.setting), _SWITCHES[facts.switches], _HORIZONS[facts.horizon], learner.name


LEARNERS = {kind.name: kind for kind in sorted(filter(is_ours, KNOWN.values()), key=_place)}


def restore(state: dict[str, Any]) -> Learner:
    """The learner whose `state()` this is. It goes on identically: random numbers, outstanding decisions and all.

    A state of an older version of the learner's rule is migrated where the learner says how, and refused otherwise.
    It knows the learners of this package. One of your own is saved by pickle, which keeps the same state.
    """
    if not isinstance(state, dict):
        hint = " (did you forget json.loads?)" if isinstance(state, str | bytes) else ""
        raise StateError(
            f"{reprlib.repr(state)} is not a state: accepted is the dict that a learner's state() returned{hint}"
        )
    written = state.get("format")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise StateError(f"the state's format is {written!r}; accepted is what state() writes, {STATE_FORMAT}")
    if written > STATE_FORMAT:
        raise StateError(
            f"the state has format {written}, written by turncoat {state.get('turncoat')}; this version reads formats "
            f"up to {STATE_FORMAT}: upgrade turncoat to restore it"
        )
    name = state.get("learner")
    if not isinstance(name, str) or name not in LEARNERS:
        raise StateError(f"the state's learner is {name!r}; known are {', '.join(LEARNERS)}")
    try:
        return LEARNERS[name]._from_state(state)
    except StateError:
        raise
    except (TurncoatError, TypeError, ValueError) as problem:
        raise StateError(f"the state of {name!r} is damaged: {problem}") from problem
