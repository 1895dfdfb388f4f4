"""Ctrl-C is heard in the moment in which compiled code gives something to Python."""

from __future__ import annotations

import pytest

from tests.architecture.test_start_up import run

LOOK = """
import random, signal, turncoat

learner = {maker}
signal.signal(signal.SIGALRM, signal.default_int_handler)
learner.view()
heard, pause = 0, random.Random(1)
while heard < 2000:
    try:
        signal.setitimer(signal.ITIMER_REAL, pause.uniform(1e-6, 2e-4))
        while True:
            learner.view()
    except KeyboardInterrupt:
        heard += 1
print(heard)
"""

SPIN = """
import numba, numpy, signal, typing

@numba.njit
def ones(n):
    return numpy.ones(n)

ones(3)  # whoever is first in a process

class Inner(typing.NamedTuple):
    x: numpy.ndarray

class Outer(typing.NamedTuple):
    inner: Inner
    x: numpy.ndarray

from turncoat._compile.jit import jit

@jit
def spin(n):
    x = numpy.zeros(3)
    while x[0] < n:
        x[0] += 1.0
        x[1] += numpy.sin(x[0])
    return x

@jit
def arrays(n):
    x = spin(n)
    return x, x

@jit
def named(n):
    return Inner(spin(n))

@jit
def nested(n):
    return Outer(Inner(spin(n)), numpy.ones(3))

@jit
def hidden(n):
    return Inner(spin(n)), 1.0

signal.signal(signal.SIGALRM, signal.default_int_handler)
for kernel in (arrays, named, nested, hidden):
    kernel.compile((numba.float64,))
    for again in range(2):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            kernel(2e7)
        except KeyboardInterrupt:
            print(kernel.__name__)
"""

LEAK = """
import numba, numpy, typing
from numba.core.runtime import rtsys
from turncoat._compile.jit import jit

class Inner(typing.NamedTuple):
    x: numpy.ndarray

def interrupt(*words):
    raise KeyboardInterrupt

@jit
def hidden(n):
    return numpy.ones(n), Inner(numpy.ones(n)), numpy.ones(n)

hidden(3)
Inner.__new__ = interrupt
before = rtsys.get_allocation_stats()
for _ in range(100):
    try:
        hidden(3)
    except KeyboardInterrupt:
        pass
after = rtsys.get_allocation_stats()
print((after.alloc - before.alloc) - (after.free - before.free))
"""

OTHERS = """
import numba, turncoat._compile.jit, warnings

warnings.simplefilter("ignore")  # such lists will go from numba some day

def fail():
    raise ValueError("said")

@numba.njit
def change(pairs):
    pairs.append((3, 4))
    with numba.objmode():
        fail()

pairs = [(1, 2)]
try:
    change(pairs)
except ValueError as problem:
    print(problem, pairs)
"""


@pytest.mark.parametrize("maker", ["turncoat.Exp3(5)", "turncoat.MasterBase(5, 1000)"])  # of arrays; of tuples of them
def test_ctrl_c_where_python_is_given_named_tuples(maker: str) -> None:
    """With numba's own code for it a race now and then crashed on Ctrl-C. This died of the third at the latest."""
    assert run(LOOK.format(maker=maker)) == ["2000"]


def test_ctrl_c_that_came_while_it_was_computed() -> None:
    """It is noticed in the first line of Python that runs, the first time and the second."""
    assert run(SPIN) == [name for name in ("arrays", "named", "nested", "hidden") for _ in range(2)]


def test_what_others_compile_gives_tuples_to_python_though_an_error_waits() -> None:
    """The first version of this took the waiting error for one of its own, and spoiled the list."""
    assert run(OTHERS) == ["said [(1, 2), (3, 4)]"]


def test_what_is_not_given_is_let_go_of() -> None:
    assert run(LEAK, NUMBA_NRT_STATS="1") == ["0"]
