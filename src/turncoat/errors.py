"""Errors and warnings. Every message names the value it refuses and says what is accepted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TurncoatError(Exception):
    """The parent of every error raised by Turncoat."""


class ArmsError(TurncoatError, ValueError):
    """The arms are neither a count of at least 1 nor distinct labels, or not those that can be chosen or changed."""


class HorizonError(TurncoatError, ValueError):
    """The horizon is missing where a learner needs it, or is not a whole number of at least 1."""


class OptionError(TurncoatError, ValueError):
    """A word or number given to a constructor or function is not one it knows."""


class LossError(TurncoatError, ValueError):
    """A loss or reward is NaN or outside its range."""


class LossTypeError(TurncoatError, TypeError):
    """A loss or reward is not a number, is missing, or is given twice."""


class FeaturesError(TurncoatError, ValueError):
    """Feature vectors have the wrong shape, or one of them is too long or not finite; the row is named."""


class DecisionError(TurncoatError, ValueError):
    """The decision was never made by this learner, was told or forgotten before, or has been altered."""


class DecisionTypeError(TurncoatError, TypeError):
    """What was told is not a Decision."""


class ObserveError(TurncoatError, TypeError):
    """This learner cannot learn from a round decided elsewhere."""


class PropensityError(TurncoatError, TypeError):
    """This learner cannot say how probable its choices are."""


class StateError(TurncoatError, ValueError):
    """A saved state is damaged, of another kind, or from a newer version."""


class TableError(LossError):
    """A table of losses has the wrong shape or holds a value that is not accepted; row and column are named."""


class RaceError(TurncoatError, RuntimeError):
    """A race could not go on, or there is none to load; what was saved before is intact."""


class MissingPackageError(TurncoatError, ImportError):
    """A package that this needs is not installed; the message says how to get it."""


class TurncoatWarning(UserWarning):
    """The parent of every warning given by Turncoat."""


class HorizonWarning(TurncoatWarning):
    """The learner went past the horizon it was tuned for and keeps its last rates."""


class TuningWarning(TurncoatWarning):
    """A recommended parameter is infeasible at this horizon and was capped."""


def unknown(kind: str, name: object, known: Iterable[str]) -> OptionError:
    """The error for an unknown name: it lists the similar names, or all if none is similar."""
    names = list(known)
    likeness = {one: _likeness(str(name).lower(), one) for one in names}
    near = sorted((one for one in names if likeness[one] >= 0.5), key=lambda one: -likeness[one])[:5]
    some = ("near it is" if len(near) == 1 else "near it are") if near else "accepted are"
    return OptionError(f"there is no {kind} {name!r}; {some} {', '.join(map(repr, near or names))}")


def _likeness(word: str, name: str) -> float:
    """From 0 to 1. Of `hedge, sees all` the first part also counts alone: users often type no more."""
    parts = {name, name.partition(", ")[0]}
    return max(difflib.SequenceMatcher(None, part.lower(), word).ratio() for part in parts)
