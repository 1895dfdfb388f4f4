"""What a learner's class declares of itself: its facts, its options, and how a Corral may feed it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar, overload

import numpy as np

from turncoat._compile.cache import PACKAGE
from turncoat.types import Vector
from turncoat.validation.numbers import parse_word

SETTINGS = {
    "adversarial": "losses may be anything, as long as they are fixed in advance",
    "stochastic": "losses are random; their means may change now and then",
    "full information": "the losses of all arms are seen after every round",
    "linear": "arms have features, and losses are linear in them",
}
# How a Corral may feed a learner, whose losses then reach up to some rho (corral.py):
#   "none"  as every learner: losses scaled down into [0, 1], by rho, and restarted when rho grows
#   "half"  its step is rate × loss/p, so a loss of any size may be told, and one divided by √rho is a rate divided by
#           √rho; its regret then grows like √rho. It is restarted when rho grows
#   "kept"  the same, and its weights have a floor, so that a rate which falls does no harm: it is never restarted
Stability: TypeAlias = Literal["none", "half", "kept"]


class Facts(NamedTuple):
    """What a user compares learners by: a few lines of `turncoat list`."""

    horizon: str  # is T needed?
    switches: str  # is S needed?
    bound: str  # on expected regret, logarithms left out
    cost: str  # per round
    setting: str  # what losses it is for, one of SETTINGS
    when: str  # to use it, in one short line
    when_not: str  # and when to take another, and which


Variant: TypeAlias = tuple[str, dict[str, Any]]
TOLD: Any = "told S"  # of a variant's n_switches: as many as the race has planted


def variant(name: str, **options: Any) -> Variant:
    """One more entry of a learner in races, with these options."""
    return name, options


T = TypeVar("T")


class Option(Generic[T]):
    """An attribute that the constructor sets once, and that is read-only from then on.

        form = Option[Form]('Which rule it plays: "loss" or "gain".', FORMS)

    declares it with its docstring and, where it is one of a few words, the words it accepts. Where the constructor has
    a keyword of the same name, it is one of the learner's `options`: part of its `repr` and of its saved state.
    """

    def __init__(self, doc: str, accepted: Collection[str] = ()) -> None:
        self.__doc__ = doc
        self._accepted = accepted

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._place = name, f"_option_{name}"  # looking at vars(learner) would slow down its attributes

    @overload
    def __get__(self, learner: None, owner: type) -> Self: ...

    @overload
    def __get__(self, learner: object, owner: type) -> T: ...

    def __get__(self, learner: Any, owner: type) -> Any:
        if learner is None:
            return self
        try:
            return getattr(learner, self._place)
        except AttributeError:
            raise AttributeError(f"{owner.__name__} has not set {self._name!r} yet") from None

    def __set__(self, learner: object, value: T) -> None:
        if hasattr(learner, self._place):
            raise AttributeError(f"{self._name!r} of {type(learner).__name__} is fixed: make a new learner instead")
        if self._accepted:
            parse_word(self._name, value, self._accepted)  # type: ignore[arg-type]  # anything may be given
        setattr(learner, self._place, value)


class Shown(Generic[T]):
    """A read-only attribute: what `read` makes of a field of the state, of the same name if none is given.

    n_restarts = Shown(first_number, "The number of restarts so far.")
    """

    def __init__(self, read: Callable[[Any], T], doc: str, field: str = "") -> None:
        self.__doc__ = doc
        self._read, self._field = read, field

    def __set_name__(self, owner: type, name: str) -> None:
        self._field = self._field or name

    @overload
    def __get__(self, learner: None, owner: type) -> Self: ...

    @overload
    def __get__(self, learner: object, owner: type) -> T: ...

    def __get__(self, learner: Any, owner: type) -> Any:
        return self if learner is None else self._read(getattr(learner.view(), self._field))

    def __set__(self, learner: object, value: T) -> None:
        raise AttributeError(f"{self._field!r} of {type(learner).__name__} is shown, and cannot be set")


def first_number(field: Any) -> int:
    """The number in an array of one place, or in a field of one number."""
    return int(np.ravel(field)[0])


def copied(field: Any) -> Vector:
    """A copy of an array."""
    return np.array(field)


def options_of(learner: type) -> tuple[str, ...]:
    """The keywords of the constructor, beside those that all learners have, that are attributes of the class."""
    words = inspect.signature(learner).parameters.values()
    own = (word.name for word in words if word.kind is word.KEYWORD_ONLY and word.name not in ("seed", "loss_range"))
    return tuple(name for name in own if hasattr(learner, name))


def is_ours(learner: type) -> bool:
    """Is it a learner of this package?"""
    return learner.__module__.partition(".")[0] == PACKAGE.name
