"""Keys: a name for every result that follows from all it depends on, and from nothing else.

A cell is known by its learner's first state, the environment's fields, horizon, seed and the package's sources; not by
what the learner is called. A ground is known by the environment's fields, its checkpoints and its comparator.
What comes from outside the package is also known by the file it was written in.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

from turncoat._jit import PACKAGE
from turncoat.environments import Environment
from turncoat.errors import OptionError

_PASSING = ("token", "turncoat")  # of a learner's state: what says nothing about how it plays


def key_of(parts: dict[str, Any]) -> str:
    """The sha256 of plain values, written in one way only."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def environment_parts(environment: Environment) -> dict[str, Any]:
    """What makes an environment the one it is."""
    return {"fields": environment.fields(), "file": _file_hash(type(environment))}


def learner_parts(name: str, learner: Any) -> dict[str, Any]:
    """What makes a learner the one it is before its first round: its state, or all of it where it cannot tell."""
    kind = type(learner)
    parts = {"class": f"{kind.__module__}.{kind.__qualname__}", "file": _file_hash(kind)}
    if callable(getattr(learner, "state", None)):
        state = learner.state()
        return {**parts, "state": {word: state[word] for word in state if word not in _PASSING}}
    try:
        return {**parts, "pickle": hashlib.sha256(pickle.dumps(learner, protocol=4)).hexdigest()}
    except Exception as problem:  # whatever a class of somebody else's does when it is pickled
        raise OptionError(
            f"the results of {name!r} cannot be stored, as nothing tells its learner from another one; accepted in a "
            f"race with a folder are learners with a state() of plain values, or that can be pickled ({problem})"
        ) from problem


def _file_hash(kind: type) -> str:
    """A hash of the file a class of somebody else's was written in; ours are in the package's hash."""
    try:
        file = Path(inspect.getfile(kind)).resolve()
        return "" if PACKAGE.resolve() in file.parents else hashlib.sha256(file.read_bytes()).hexdigest()
    except (TypeError, OSError):  # typed in, or built in
        return ""
