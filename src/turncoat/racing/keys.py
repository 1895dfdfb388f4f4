"""Keys: a name for every result that follows from all it depends on, and from nothing else.

A cell is known by its learner's first state, the environment's fields, horizon, seed and the package's sources; not by
what the learner is called. A ground is known by the environment's fields, its checkpoints and its comparator.
What comes from outside the package is also known by how it was written: see `result_keys.py`.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import reprlib
from typing import Any

from turncoat.environments import Environment
from turncoat.errors import OptionError
from turncoat.racing.result_keys import written

_PASSING = ("token", "turncoat")  # of a learner's state: what says nothing about how it plays


def key_of(parts: dict[str, Any]) -> str:
    """The sha256 of plain values, written in one way only."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def environment_parts(environment: Environment) -> dict[str, Any]:
    """What makes an environment the one it is."""
    fields = environment.fields()
    for word, value in fields.items():
        if not _is_plain({word: value}):
            raise OptionError(
                f"the field {word!r} of {environment!r} is {reprlib.repr(value)}; accepted are plain JSON values that "
                "tell it from every other environment"
            )
    return {"fields": fields, "file": written(type(environment))}


def learner_parts(name: str, learner: Any) -> dict[str, Any]:
    """What makes a learner the one it is before its first round: its state, or all of it where it cannot tell."""
    kind = type(learner)
    parts = {"class": f"{kind.__module__}.{kind.__qualname__}", "file": written(kind)}
    try:
        state = learner.state()
    except Exception:  # there is none, or it is something else of that name
        state = None
    if isinstance(state, dict) and _is_plain(state):
        return {**parts, "state": {word: state[word] for word in state if word not in _PASSING}}
    try:
        return {**parts, "pickle": hashlib.sha256(pickle.dumps(learner, protocol=4)).hexdigest()}
    except Exception as problem:  # whatever a class of somebody else's does when it is pickled
        raise OptionError(
            f"the results of {name!r} cannot be stored, as nothing tells its learner from another one; accepted in a "
            f"race with a folder are learners with a state() of plain values, or that can be pickled ({problem})"
        ) from problem


def _is_plain(value: Any) -> bool:
    """Can it be written as JSON?"""
    try:
        json.dumps(value, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
