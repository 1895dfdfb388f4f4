"""A learner's state: one flat buffer of float64, whose parts are declared once, by name and shape.

    class Exp3State(State):
        K: int                              # numbers: one place each, constant while the learner lives
        eta: float
        scores: Vector = array("2 * K")     # arrays: a shape in whole numbers and in the names of `int` fields
        tree: Vector = array(...)           # the rest of the buffer; arrays declared after it stand at the end

Fields stand in the buffer in the order in which they are declared, after the random words and the clock, which every
state has. From the declaration follow the buffer (`lay_out`), the state as Python sees it (`Exp3State(buffer)`,
whose attributes are numpy views) and the state as compiled code sees it (`view_of` in dispatch.py).

Compiled code passes a state on as one pointer and its few sizes; the pointer, shape and strides of an array are
computed where the array is used. A NamedTuple of forty arrays would be three hundred machine words, passed by value
from function to function: Turncoat compiled in twice the time with it.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

N_WORDS = 4  # of the random number generator
CLOCK = N_WORDS
HEAD = CLOCK + 1  # where a state's own fields begin

LENGTH = "length of the buffer"  # a size that every state knows
NUMBERS: dict[str, type] = {"int": int, "bool": bool, "float": float}
_DTYPES = {"Ints": "int64", "Words": "uint64"}  # annotations of arrays that do not hold float64


class Polynomial:
    """A polynomial in the sizes of a state, with whole coefficients: {("K", "L"): 2} is 2 K L."""

    def __init__(self, terms: dict[tuple[str, ...], int]) -> None:
        self.terms = {names: factor for names, factor in terms.items() if factor}

    def __add__(self, other: Polynomial | int) -> Polynomial:
        terms = dict(self.terms)
        for names, factor in polynomial(other).terms.items():
            terms[names] = terms.get(names, 0) + factor
        return Polynomial(terms)

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        total = Polynomial({})
        for mine, factor in self.terms.items():
            for theirs, more in polynomial(other).terms.items():
                total += Polynomial({tuple(sorted(mine + theirs)): factor * more})
        return total

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + polynomial(other) * -1

    __radd__, __rmul__ = __add__, __mul__

    def at(self, sizes: Mapping[str, int]) -> int:
        """Its value."""
        return sum(factor * math.prod(sizes[name] for name in names) for names, factor in self.terms.items())


def polynomial(value: Polynomial | int) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial({(): value})


_RESERVED = ("copy", "items", "kinds", "lay_out", "layout")  # what a state is and can do
MOST_SIZE = 2**53  # whole numbers that float64 holds exactly


class Array(NamedTuple):
    """An array field as it is declared."""

    shape: tuple[Any, ...]
    at: str


class Computed(NamedTuple):
    """A size that is not in the buffer, as it is declared."""

    kernel: Callable[..., int]
    of: str


class Beside(NamedTuple):
    """An array that is given beside the buffer, as it is declared."""

    n_axes: int


def array(*shape: int | str | Any, at: str = "") -> Any:
    """Declare an array. A length is a number or an expression in the names of sizes; `...` is the rest of the buffer.

    `at`: where it stands, if not behind the field before it: an expression that may name other array fields too.
    """
    return Array(shape, at)


def computed(kernel: Callable[..., int], of: str) -> Any:
    """Declare a size that compiled code computes from another size, or from an array beside the buffer."""
    return Computed(kernel, of)


def beside(n_axes: int) -> Any:
    """Declare an array of float64 with so many axes that is not in the buffer: `view_of` is given both."""
    return Beside(n_axes)


class Field(NamedTuple):
    """A field of the buffer: where it stands, and either its shape or the kind of number it is."""

    at: Polynomial
    kind: str
    shape: tuple[Polynomial, ...] = ()

    @property
    def length(self) -> Polynomial:
        return reduce(operator.mul, self.shape, polynomial(1))


class Layout:
    """Where everything stands: what follows from the declarations of a class."""

    def __init__(self, annotations: Mapping[str, str], declared: Mapping[str, Any]) -> None:
        self.fields = {
            "rng": Field(polynomial(0), "uint64", (polynomial(N_WORDS),)),
            "clock": Field(polynomial(CLOCK), "int64", (polynomial(1),)),
        }
        self.sizes: dict[str, Polynomial | Computed] = {}
        self.beside: dict[str, int] = {}
        self.names = ["rng", "clock"]
        self.end = polynomial(HEAD)
        self.behind: list[str] = []  # the field that takes the rest of the buffer, and those behind it
        for name, annotation in annotations.items():
            if name in (*self.names, *_RESERVED):
                raise TypeError(f"the field {name!r} is declared twice, or means something in every state")
            self.names.append(name)
            try:
                self._place(name, annotation, declared.get(name))
            except (ArithmeticError, LookupError, NameError, SyntaxError, TypeError, ValueError) as problem:
                known = ", ".join(self.sizes) or "none yet"
                text = (
                    f"the field {name!r} is {annotation} = {declared.get(name)!r} ({problem}); accepted are int, bool,"
                )
                lengths = f"whole numbers, and sums, differences and products of sizes ({known})"
                raise TypeError(f"{text} float, computed(…), and array(…) of lengths that are {lengths}") from None

    def _place(self, name: str, annotation: str, how: Any) -> None:
        if isinstance(how, Computed):
            if how.of not in (*self.sizes, *self.beside):
                raise NameError(f"{how.of!r} is no size")
            self.sizes[name] = how
        elif isinstance(how, Beside):
            self.beside[name] = how.n_axes
        elif isinstance(how, Array):
            at = self._expression(how.at, offsets=True) if how.at else self.end
            rest = Polynomial({(LENGTH,): 1}) - at
            shape = tuple(rest if length is ... else self._expression(length) for length in how.shape)
            if ... in how.shape and (self.behind or len(shape) > 1):
                raise ValueError("one array of one axis takes the rest")
            self.fields[name] = Field(at, _dtype(annotation), shape)
            if ... not in how.shape and not how.at:
                self.end += self.fields[name].length
            if ... in how.shape or (self.behind and not how.at):
                self._end_with(name)
        elif annotation in NUMBERS:
            self.fields[name] = Field(self.end, annotation)
            if annotation == "int":
                self.sizes[name] = self.end
            self.end = self.end + 1
        else:
            raise TypeError("not declared")

    def _end_with(self, name: str) -> None:
        """Place an array at the end of the buffer: the rest is shorter by it, and those between move up."""
        if self.behind:
            length = self.fields[name].length
            rest, *between = self.behind
            self.fields[rest] = self.fields[rest]._replace(shape=(self.fields[rest].length - length,))
            for other in between:
                self.fields[other] = self.fields[other]._replace(at=self.fields[other].at - length)
            self.fields[name] = self.fields[name]._replace(at=Polynomial({(LENGTH,): 1}) - length)
        self.behind.append(name)

    def _expression(self, text: int | str, offsets: bool = False) -> Polynomial:
        known = {name: Polynomial({(name,): 1}) for name in self.sizes}
        if offsets:
            known = {**{name: field.at for name, field in self.fields.items() if field.shape}, **known}
        return polynomial(eval(str(text), {"__builtins__": {}}, known))


class StateMeta(type):
    """The class of state classes: reads the declarations."""

    layout: Layout

    def __new__(meta, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        declared = {key: how for key, how in body.items() if isinstance(how, Array | Computed | Beside)}
        own = super().__new__(meta, name, bases, {key: what for key, what in body.items() if key not in declared})
        annotations = {key: _spelled(what) for key, what in inspect.get_annotations(own).items()}
        fields = {key: what for key, what in annotations.items() if not what.startswith("ClassVar")}
        if bases and fields:
            if getattr(bases[0], "layout", None) is not None:
                raise TypeError(f"{name} adds fields to {bases[0].__name__}; accepted are all fields in one class")
            if default := next((key for key in fields if key in body and key not in declared), ""):
                raise TypeError(f"the field {default!r} of {name} has a value; accepted is none: `lay_out` is given it")
            own.layout = Layout(fields, declared)
        return own


def _dtype(annotation: str) -> str:
    """What an array with this annotation holds."""
    if annotation in _DTYPES:
        return _DTYPES[annotation]
    found = re.search(r"u?int\d+|float(16|32)|bool", annotation)
    if found and found[0] not in _DTYPES.values():
        raise TypeError(f"{found[0]} has not 64 bits")
    return found[0] if found else "float64"


def _spelled(annotation: Any) -> str:
    """An annotation as a text, also where a module does not defer annotations."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and annotation.__module__ == "builtins":
        return annotation.__name__
    return next((name for name, dtype in _DTYPES.items() if f".{dtype}" in str(annotation)), str(annotation))


class State(metaclass=StateMeta):
    """Named, live views on a buffer. An attribute is made when it is first looked at."""

    rng: Any
    clock: Any
    layout: ClassVar[Layout]

    def __init__(self, buffer: Any, **given: Any) -> None:
        self._buffer, self._sizes = buffer, {LENGTH: buffer.size}
        self.__dict__.update(given)
        for name, how in self.layout.sizes.items():
            if isinstance(how, Computed):
                value = how.kernel(self._sizes[how.of] if how.of in self._sizes else given[how.of])
            else:
                value = buffer[how.at(self._sizes)]
            self.__dict__[name] = self._sizes[name] = int(value)

    def __getattr__(self, name: str) -> Any:
        field = self.layout.fields.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        at = field.at.at(self._sizes)
        if field.kind in NUMBERS:
            value = NUMBERS[field.kind](self._buffer[at])
        else:
            shape = [length.at(self._sizes) for length in field.shape]
            value = self._buffer[at : at + math.prod(shape)].view(field.kind).reshape(shape)
        self.__dict__[name] = value
        return value

    def copy(self) -> Self:
        """The same state over a copy of the buffer."""
        return type(self)(self._buffer.copy(), **{name: getattr(self, name) for name in self.layout.beside})

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every field, by name."""
        return ((name, getattr(self, name)) for name in self.layout.names)

    @classmethod
    def lay_out(cls, rest: int = 0, **constants: Any) -> tuple[Any, list[int]]:
        """A buffer of zeros but for these constants, by the names of their fields, and the places where they stand.

        `rest`: the length of the array that takes the rest of the buffer.
        """
        layout = cls.layout
        sizes: dict[str, int] = {}
        missing = [name for name, field in layout.fields.items() if field.kind in NUMBERS and name not in constants]
        unknown = [name for name in constants if name not in layout.fields]
        if missing or unknown:
            raise TypeError(f"{cls.__name__} is laid out without {missing} and with {unknown}; accepted are its fields")
        for name, how in layout.sizes.items():
            if not isinstance(how, Computed):
                sizes[name] = int(constants[name])
                if sizes[name] != constants[name] or not 0 <= sizes[name] <= MOST_SIZE:
                    raise ValueError(f"{name} is {constants[name]!r}; accepted are whole numbers from 0 to {MOST_SIZE}")
            elif how.of in sizes:
                sizes[name] = how.kernel(sizes[how.of])
        places: list[int] = []
        buffer = np.zeros(layout.end.at(sizes) + rest)
        sizes[LENGTH] = buffer.size
        for name, field in layout.fields.items():
            if any(one not in sizes for names in (*field.at.terms, *field.length.terms) for one in names):
                continue  # it depends on what is beside the buffer
            at, n = field.at.at(sizes), field.length.at(sizes)
            if not 0 <= at <= at + n <= buffer.size or np.size(constants.get(name, np.empty(n))) != n:
                value = constants.get(name, "zeros")
                raise ValueError(f"{name} is {value!r} at {at}; accepted are {n} numbers within {buffer.size}")
            if name in constants:
                place = buffer[at : at + n]
                (place if field.kind in NUMBERS else place.view(field.kind))[:] = constants[name]
                places += range(at, at + n)
        return buffer, places
