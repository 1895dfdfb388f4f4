"""What users can reach: every exported name is there, explained, and its words are the ones in its signature.

(That everything public has a docstring at all is ruff's business, rules D1.)
"""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import turncoat
from tests.architecture import exports

QUOTED = re.compile(r"`([A-Za-z_]\w*)=?`")


def exported() -> list[tuple[str, Any]]:
    """Every public name of the package, with what it stands for."""
    return [(name, getattr(turncoat, name)) for name in turncoat.__all__ if not name.startswith("__")]


def learners() -> list[type]:
    """The learner classes users can name, and make."""
    kinds = turncoat.Learner, turncoat.FullInformationLearner
    return [
        thing
        for _, thing in exported()
        if inspect.isclass(thing) and issubclass(thing, turncoat.Learner) and thing not in kinds
    ]


def callables() -> Iterator[tuple[str, Any, type | None]]:
    """Exported functions, classes, and the public methods written in those classes: (name, callable, its class)."""
    for name, thing in exported():
        if inspect.isclass(thing):
            yield name, thing, thing
            for method, function in vars(thing).items():
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{method}", function, thing
        elif callable(thing):
            yield name, thing, None


def parameters(function: Any) -> set[str]:
    """The words in a signature; none where there is no signature, as for some exception classes."""
    try:
        return set(inspect.signature(function).parameters)
    except ValueError:
        return set()


@functools.cache
def vocabulary() -> set[str]:
    """Every exported name, its parameters and its attributes: one word means one thing, wherever it stands."""
    words = {*turncoat.__all__, *dir(builtins)}
    for _, function, owner in callables():
        words |= parameters(function)
        if owner is not None:
            words |= {*dir(owner), *inspect.get_annotations(owner)}
    return words


def unknown_words(function: Any) -> set[str]:
    """Words in backquotes in a docstring that are neither users' words nor names in its module."""
    in_sight = {*dir(sys.modules[function.__module__]), *parameters(function)}
    return set(QUOTED.findall(function.__doc__ or "")) - in_sight - vocabulary()


def test_unknown_words_are_seen() -> None:
    def example(horizon: int) -> int:
        """For `horizon` rounds, with `horizons` misspelt; `len` is known and `a + b` is no word."""
        return horizon

    assert unknown_words(example) == {"horizons"}


@pytest.mark.parametrize("name", turncoat.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(turncoat, name) is not None
    assert name in dir(turncoat)


def test_exported_names_are_listed_once() -> None:
    assert len(set(turncoat.__all__)) == len(turncoat.__all__)


def test_generated_exports_are_up_to_date() -> None:
    assert exports.package() == exports.LEARNERS.read_text(encoding="utf-8"), (
        "a learner was added or moved: make generated"
    )
    assert exports.root(text := exports.ROOT.read_text(encoding="utf-8")) == text, "make generated"


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(turncoat, "no_such_name")  # noqa: B009


def test_every_exported_name_is_explained() -> None:
    for name, thing in exported():
        if inspect.isclass(thing) or inspect.isroutine(thing) or isinstance(thing, ModuleType):
            said = inspect.getdoc(thing) or ""
            assert len(said.split()) >= 3, f"{name} has no docstring to speak of"
            assert not said.startswith(f"{name}("), f"{name} has only the docstring a NamedTuple gets by itself"


def test_words_in_backquotes_exist() -> None:
    unknown = {name: words for name, function, _ in callables() if (words := unknown_words(function))}
    assert not unknown


def test_every_learner_file_says_where_its_rule_comes_from() -> None:
    assert learners()
    for learner in learners():
        header = sys.modules[learner.__module__].__doc__ or ""
        assert "Departures" in header, f"{learner.__module__}: departures from the paper, or that there are none"
        assert re.search(r"\bReferences?\b", header), f"{learner.__module__}: the papers, in full"
        assert re.search(r"\b(19|20)\d\d\b", header), f"{learner.__module__}: a reference has a year"
