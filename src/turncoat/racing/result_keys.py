"""Keys of results: a hash of everything that a result depends on, and of nothing else (content addressing).

A cell is known by its learner's first state, the environment's fields, horizon, seed and the package's sources; not by
what the learner is called. A reference is known by the environment's fields, its checkpoints and its comparator.
What comes from outside the package is also known by how it was written.

Source hash: a hash of the code behind a class from outside the package, so that an edited class is another one.

Of a class that stands in a file all of that file counts, and so do the files of the classes it is built on. Of one that
was typed in, at a prompt or in a notebook, all functions and classes typed in there count, with the plain values they
read by name. What they import and do not inherit from does not count.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
import reprlib
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from turncoat._compile.cache import PACKAGE
from turncoat.environments import Environment
from turncoat.errors import OptionError

_PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, frozenset)


def class_hash(kind: type) -> str:
    """A hash of the code behind a class; empty if all of it is this package's, which has a hash of its own."""
    files, typed = set(), set()
    for one in kind.__mro__:
        try:
            files.add(Path(inspect.getfile(one)).resolve(strict=True))
        except (TypeError, OSError):  # typed in (some prompts name a file that does not exist), or built in
            typed.add(one.__module__)
    theirs = sorted(file for file in files if PACKAGE.resolve() not in file.parents)
    parts = [_file_hash(file, file.stat().st_mtime_ns) for file in theirs]
    parts += [part for name in sorted(typed - set(sys.builtin_module_names)) for part in _typed_in(name)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest() if parts else ""


@lru_cache(maxsize=256)
def _file_hash(file: Path, changed: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _typed_in(module: str) -> Iterator[str]:
    """All functions and classes of a module that has no file."""
    for name, thing in sorted(vars(sys.modules[module]).items()) if module in sys.modules else ():
        thing = getattr(thing, "py_func", thing)  # of a compiled function
        if isinstance(thing, type | FunctionType) and thing.__module__ == module:
            yield from (name, *_code(thing))


def _code(thing: Any) -> Iterator[str]:
    """What a function or a class does, as text."""
    thing = getattr(thing, "py_func", thing)
    if isinstance(thing, staticmethod | classmethod):
        yield from _code(thing.__func__)
    elif isinstance(thing, property):
        yield from (text for part in (thing.fget, thing.fset) for text in _code(part))
    elif isinstance(thing, type):
        yield from (text for name, part in sorted(vars(thing).items()) for text in (name, *_code(part)))
    elif isinstance(thing, FunctionType):
        yield from (text for part in (thing.__defaults__, thing.__kwdefaults__) for text in _code(part))
        yield from _words(thing.__code__, thing.__globals__)
    elif isinstance(thing, dict):
        yield from (text for name, part in thing.items() for text in (str(name), *_code(part)))
    elif isinstance(thing, _PLAIN):
        yield _value(thing)


def _words(code: CodeType, known: dict[str, Any]) -> Iterator[str]:
    """The instructions of a function, those of functions in it, and the plain values it reads by name."""
    yield from (code.co_code.hex(), repr(code.co_names), repr(code.co_varnames), repr(code.co_freevars))
    for constant in code.co_consts:
        yield from _words(constant, known) if isinstance(constant, CodeType) else (_value(constant),)
    yield from (_value(known[name]) for name in code.co_names if name in known and isinstance(known[name], _PLAIN))


def _value(value: Any) -> str:
    """A plain value, in one way only."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


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
    return {"fields": fields, "file": class_hash(type(environment))}


def learner_parts(name: str, learner: Any) -> dict[str, Any]:
    """What makes a learner the one it is before its first round: its state, or all of it where it cannot tell."""
    kind = type(learner)
    parts = {"class": f"{kind.__module__}.{kind.__qualname__}", "file": class_hash(kind)}
    try:
        state = learner.state()
    except Exception:  # there is none, or it is something else of that name
        state = None
    if isinstance(state, dict) and _is_plain(state):
        return {**parts, "state": {word: state[word] for word in state if word not in _PASSING}}
    try:
        return {**parts, "pickle": hashlib.sha256(pickle.dumps(learner, protocol=4)).hexdigest()}
    except Exception as problem:  # pickling a user's class may fail in any way
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
