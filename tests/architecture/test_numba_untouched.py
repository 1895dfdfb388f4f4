"""Using turncoat changes nothing of numba for the kernels of others, but for SVML.

A bare import proves nothing: names are imported when first used. So these tests make, ask, tell, play, save and race.
At 8d72b1b the first two fail: five boxers of numba's were turncoat's.
"""

from __future__ import annotations

import re

import pytest

from tests.architecture.test_start_up import PACKAGE, run
from tests.cases import some

USE = """
import json, os
import numba, numpy
from numba.core import datamodel, imputils, pythonapi
from numba.core.typing.templates import builtin_registry
from numba.core.typing.typeof import typeof_impl

def registered():
    registries = (pythonapi._boxers, pythonapi._unboxers, pythonapi._reflectors)
    return {(i, key): entry for i, registry in enumerate(registries) for key, entry in registry.functions.items()}

def is_ours(thing):
    return "turncoat" in str(getattr(thing, "__module__", "") or "")

def foreign():
    # what turncoat has registered for types and functions that are not its own
    lowered = [(key, impl) for key, impl, *_ in imputils.builtin_registry.functions]
    lowered += [(kinds[0], impl) for impl, _, kinds in imputils.builtin_registry.getattrs if kinds]
    typed = [(template.key, template) for template in builtin_registry.attributes]
    models = [*datamodel.default_manager._handlers.items()]
    pairs = [*typeof_impl.registry.items(), *lowered, *typed, *models]
    return sum(is_ours(made) and not is_ours(owner) for owner, made in pairs)

def settings():
    names = [name for name in vars(numba.config) if name.isupper()]
    return {name: repr(getattr(numba.config, name)) for name in names}

numba.njit(lambda x: (x, [x]))(1)  # numba has imported all of itself
boxes, before, environ = registered(), settings(), dict(os.environ)
import turncoat as tc
learner = tc.Turncoat(3, seed=1)
learner.tell(learner.ask(), loss=0.5)
learner.tell(learner.ask(allowed=[0, 2]), loss=0.5)
learner.add_arm("new")
tc.play(learner, numpy.random.default_rng(1).random((50, 4)))
tc.restore(json.loads(json.dumps(learner.state()))).explain()
tc.race({"exp3": tc.Exp3, "corral": tc.Corral}, ["flip/3"], 100, seeds=1)
"""


def test_no_boxer_of_numba_is_ours() -> None:
    shown = """
now = registered()
print(sum(map(is_ours, now.values())), all(now[key] is boxes[key] for key in boxes), foreign())
"""
    assert run(USE + shown) == ["0 True 0"]


def test_no_setting_has_changed_but_svml() -> None:
    """numba was imported first here, so even SVML is as it was; only the variable for later processes is set."""
    shown = """
print([name for name, value in settings().items() if before.get(name) != value])
print(sorted(set(os.environ.items()) ^ set(environ.items())))
"""
    assert run(USE + shown) == ["[]", "[('NUMBA_DISABLE_INTEL_SVML', '1')]"]


FIRST = ["Turncoat", "Exp3", "environments", "play", "race", "compile", "switching_regret", "restore"]


@pytest.mark.parametrize("name", some(FIRST, lambda name: name in ("Turncoat", "environments", "play")))
def test_whatever_is_used_first_svml_is_off(name: str) -> None:
    """It once stayed on where environments or `play` came first: their module imported numba before it was set."""
    assert run(f"import turncoat; turncoat.{name}; import numba; print(numba.config.DISABLE_INTEL_SVML)") == ["1"]


def test_numba_is_imported_by_one_package_alone() -> None:
    importing = re.compile(r"^\s*(import|from) numba\b", re.MULTILINE)
    files = [file for file in PACKAGE.rglob("*.py") if importing.search(file.read_text())]
    assert files
    assert {file.parent.name for file in files} == {"_compile"}


# -- kernels called from Python ---------------------------------------------------------------------------------------

CALL = """
import faulthandler, importlib, inspect, pkgutil, numpy, turncoat

BIG = 10**6
VALUES = {
    "int": (BIG, -BIG), "float": (0.5, 2.0), "bool": (True, False), "Words": 2 * (numpy.zeros(1, dtype=numpy.uint64),),
    "Vector": (numpy.zeros(3), numpy.full(40, 3.0)), "Matrix": 2 * (numpy.zeros((2, 3)),),
    "Ints": (numpy.full(3, BIG), numpy.full(3, -BIG)), "State": ("x", None),
}
ANYTHING = (numpy.full(3, 1e6), (numpy.zeros(3), numpy.zeros(3)))
# Of other types than they are annotated with, as the package passes them: so what is compiled here is what is used.
NAMED = {"m": VALUES["int"], "fields": 2 * ((numpy.uint64(1), 0.5, numpy.full(3, BIG), numpy.zeros((2, 3))),)}

called = 0
faulthandler.enable()
for found in pkgutil.walk_packages(turncoat.__path__, "turncoat."):
    if found.name.startswith(("turncoat.cli", "turncoat.service", "turncoat.__main__", "turncoat.bounds.__main__")):
        continue
    for name, kernel in list(vars(importlib.import_module(found.name)).items()):
        function = getattr(kernel, "py_func", None) or (hasattr(kernel, "checked") and kernel.__wrapped__)
        if not function or kernel.__module__ != found.name:
            continue
        parameters = inspect.signature(function).parameters.values()
        values = [NAMED.get(one.name) or VALUES.get(str(one.annotation), ANYTHING) for one in parameters]
        for turn in (0, 1):
            try:
                kernel(*[value[turn] for value in values])
            except Exception:
                pass
        called += 1
print(called > 80)
"""

PLAIN = """
import importlib, inspect, pkgutil, numpy, turncoat
from turncoat._compile.jit import _inside

n = 0
for found in pkgutil.walk_packages(turncoat.__path__, "turncoat."):
    if found.name.startswith(("turncoat.cli", "turncoat.service", "turncoat.__main__", "turncoat.bounds.__main__")):
        continue
    module = importlib.import_module(found.name)
    for name, thing in list(vars(module).items()):
        if not inspect.isfunction(thing) or thing.__module__ != found.name or thing not in _inside:
            continue
        parameters = inspect.signature(thing).parameters
        for value in (0, 1.5, numpy.zeros(3), None, "x"):
            try:
                thing(*[value] * len(parameters))
            except Exception:
                pass
        n += 1
print(n > 100)
"""


def test_kernels_for_compiled_code_alone_are_plain_functions_in_python() -> None:
    """Called from Python with anything they raise, or work. At 8d72b1b such a call crashed the process."""
    assert run(PLAIN, PYTHONWARNINGS="ignore") == ["True"]


@pytest.mark.slow
def test_kernels_for_python_refuse_sizes_and_indices_that_do_not_fit() -> None:
    """Each is called twice, with sizes and indices that are a million off: it raises, or works, and never crashes."""
    assert run(CALL, PYTHONWARNINGS="ignore") == ["True"]


def test_a_buffer_of_numbers_that_are_no_sizes_is_refused() -> None:
    """1e223 as a whole number is the least there is, and a state of so many arms would fit into any buffer."""
    code = """
import numpy
from turncoat.learners.turncoat.planned_asks import ask_on
for size in (3, 5, 6, 64):
    try:
        ask_on(numpy.full(size, 1e223), numpy.zeros(0), 1.0)
    except ValueError as refused:
        print("too short" in str(refused))
"""
    assert run(code) == ["True"] * 4


# -- private parts of numba -------------------------------------------------------------------------------------------

WITHOUT = """
import numba
numba.njit(lambda x: x)(1)  # numba has imported all of itself
{breakage}
import turncoat as tc, numpy
from turncoat._compile import jit, kernel_files
learner = tc.Exp3(3, seed=1)
table = numpy.random.default_rng(1).random((40, 3))
arms = tc.play(learner, table)
by_hand = tc.Exp3(3, seed=1)
for row in table:
    decision = by_hand.ask()
    by_hand.tell(decision, loss=float(row[decision.index]))
print(kernel_files.CAN_KEEP, jit.CAN_DISPATCH)
print(bool((by_hand.state()["buffer"] == learner.state()["buffer"])), int(arms.sum()))
"""

# Breaks a probe and nothing else: the function is as it was, and no longer shows its parameters.
OTHER_ARGUMENTS = """
import {module} as module
real = module.{name}
module.{name} = lambda *arguments, **options: real(*arguments, **options)
"""


@pytest.fixture(scope="module")
def unbroken() -> list[str]:
    return run(WITHOUT.format(breakage=""))


def test_every_probe_finds_what_it_looks_for(unbroken: list[str]) -> None:
    assert unbroken[0] == "True True" and unbroken[1].startswith("True ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "breakage, probes",
    [
        ("import numba.core.caching as c; del c.IndexDataCacheFile._data_path", "False True"),
        (OTHER_ARGUMENTS.format(module="numba.core.typing.templates", name="infer_global"), "True False"),
        *some([("import numba.core.caching as c; del c.IndexDataCacheFile", "False True")], 0),
    ],
)
def test_what_is_private_in_numba_has_a_fallback(breakage: str, probes: str, unbroken: list[str]) -> None:
    assert run(WITHOUT.format(breakage=breakage)) == [probes, unbroken[1]]
