"""The ways to compile a function. Every kernel of the package is decorated here and nowhere else.

    jit_entry   a kernel that Python calls
    jit         a kernel that compiled code calls, and Python too
    jit_rule    a kernel that compiled code calls, inlined there; from Python it is the plain function
    jit_step    the same for long kernels, not inlined
    jit_part    the same for a part of one long kernel
    jit_game    a loop over a whole game: like jit_entry, and it releases the GIL
    callback    a kernel that a compiled loop calls by its address

A kernel that Python calls takes and returns numbers, arrays as arguments, and tuples of numbers. It returns no array
and no NamedTuple: numba makes those by running Python code, and a Ctrl-C noticed there crashes the process.

A closure is found on disk again (kernel_files.py) if all it closes over are classes of the package and texts; one over
kernels never is.

One setting changes for the whole process: Intel's SVML is off (__init__.py).
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from turncoat._compile.cache import PACKAGE
from turncoat._compile.kernel_files import attach, is_ours

Function = TypeVar("Function", bound=Callable[..., Any])

UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # numba wraps every function for Python


_inside: dict[Any, Any] = {}  # the kernel of each function that is compiled for compiled callers; keeps it alive


def can_dispatch() -> bool:
    """Probe: has numba the private parts that `dispatch` builds on? If not, it uses `overload`, and compiles longer."""
    try:
        from numba.core.imputils import lower_builtin  # noqa: F401
        from numba.core.typing.templates import AbstractTemplate, infer_global
    except ImportError:
        return False
    return callable(AbstractTemplate) and {"val", "typ"} <= {*inspect.signature(infer_global).parameters}


CAN_DISPATCH = can_dispatch()


def uses_svml() -> bool:
    """Does numba compile calls of Intel's SVML in this process? Then results are equal in law only."""
    return bool(getattr(numba.config, "USING_SVML", False))


def _compile(function: Function, **flags: Any) -> Any:
    kernel: Any = numba.njit(error_model="numpy", **flags)(function)
    if kernel is not function:  # it is the function itself when the JIT is off
        attach(kernel, function, name_closure(function))
    return kernel


def is_ours_function(function: Callable[..., Any]) -> bool:
    """Is this function defined in the package?"""
    plain = getattr(function, "__wrapped__", function)
    return PACKAGE in Path(getattr(plain, "py_func", plain).__code__.co_filename).parents


def name_closure(function: Callable[..., Any]) -> bool:
    """Is this a function of the package, closing over nothing that other processes would not know again?

    What it closes over becomes part of its name, else kernels of two processes may have one symbol.
    """
    closed_over = [cell.cell_contents for cell in function.__closure__ or ()]
    known = all(isinstance(one, str) or (isinstance(one, type) and is_ours(one)) for one in closed_over)
    ours = known and is_ours_function(function)
    for one in closed_over if ours else ():
        name = f"{zlib.crc32(one.encode()):x}" if isinstance(one, str) else f"{one.__module__}.{one.__qualname__}"
        function.__qualname__ += f"-{name}"
    return ours


def jit_entry(function: Function) -> Function:
    """Compile a kernel that Python calls. It keeps the GIL: two threads that share a learner cannot tear its state."""
    return _compile(function)  # type: ignore[no-any-return]


def jit(function: Function) -> Function:
    """Compile a kernel that compiled code calls, and Python too.

    Python gets a version of its own, compiled when it is first called, in which indices are checked, there and
    in the kernels of this sort that it calls.
    """
    inside = _compile_inside(function)
    if numba.config.DISABLE_JIT:
        return inside

    @cache
    def checked() -> Callable[..., Any]:
        code, known = function.__code__, dict(function.__globals__)
        for name in code.co_names:
            if hasattr(known.get(name), "checked"):
                known[name] = known[name].checked()
        same = FunctionType(code, known, function.__name__, None, function.__closure__)
        same.__qualname__ = f"{function.__qualname__}-checked"  # a name of its own on disk
        return _compile(same, boundscheck=True)  # type: ignore[no-any-return]

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return checked()(*arguments)

    call.checked = checked  # type: ignore[attr-defined]
    if CAN_DISPATCH:
        _known_as(call, _inside[function])
    else:
        overload(call, strict=False)(lambda *kinds: function)
    return call  # type: ignore[return-value]


def jit_game(function: Function) -> Function:
    """Compile a loop over a whole game. It releases the GIL."""
    return _compile(function, nogil=True)  # type: ignore[no-any-return]


def jit_rule(function: Function) -> Function:
    """Compile a kernel for compiled callers alone, into its caller. Python gets the plain function."""
    return _compile_inside(function, forceinline=True)


def jit_step(function: Function) -> Function:
    """Like `jit_rule` for long kernels, which stay functions of their own: inlined, each caller compiles them again."""
    return _compile_inside(function)


def jit_part(function: Function) -> Function:
    """Like `jit_rule` for a part of a longer kernel: inlined before anything is compiled, never compiled alone."""
    if not numba.config.DISABLE_JIT:  # what numba looks for in a function that it may inline before types are known
        function.targetoptions, function.py_func = {"inline": "always"}, function  # type: ignore[attr-defined]
    return _compile_inside(function, inline="always")


def _compile_inside(function: Function, **flags: Any) -> Function:
    if not CAN_DISPATCH:
        return register_jitable(function)  # type: ignore[no-any-return]
    kernel = _compile(function, **flags, **UNWRAPPED)
    if kernel is not function:
        _inside[function] = kernel
        _known_as(function, kernel)
    return function


def _known_as(function: Callable[..., Any], kernel: Any) -> None:
    """Compiled code takes the function for the kernel."""
    from numba.core.typing.templates import infer_global

    infer_global(function, numba.types.Dispatcher(kernel))


def compiled_as(stub: Callable[..., Any]) -> Callable[[Function], Function]:
    """Say what a generic function does in compiled code: the decorated one is given the types, and returns the body."""
    decorate: Callable[[Function], Function] = overload(stub, jit_options=UNWRAPPED, strict=False)
    return decorate


def dispatch(stub: Callable[..., Any], choose: Callable[[Any], Any]) -> None:
    """Say which kernel a generic function is in compiled code, by the type of its first argument.

    The kernel takes the same arguments. With `compiled_as` all that is in it would be compiled once more, for the call.
    """
    if not CAN_DISPATCH:
        _dispatch_by_overload(stub, choose)
        return
    from numba.core.imputils import lower_builtin
    from numba.core.typing.templates import AbstractTemplate, infer_global

    class Choice(AbstractTemplate):  # type: ignore[misc]
        key = stub

        def generic(self, args: Any, kws: Any) -> Any:
            kernel = self.context.resolve_value_type(choose(args[0]))
            return self.context.resolve_function_type(kernel, args, kws)

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kernel = context.typing_context.resolve_value_type(choose(signature.args[0]))
        return context.get_function(kernel, signature)(builder, arguments)

    infer_global(stub)(Choice)
    lower_builtin(stub, numba.types.VarArg(numba.types.Any))(call)


def _dispatch_by_overload(stub: Callable[..., Any], choose: Callable[[Any], Any]) -> None:
    @overload(stub, strict=False)
    def _choice(*kinds: Any) -> Any:
        kernel = choose(kinds[0])
        return lambda *arguments: kernel(*arguments)


def without_refcount(value: Any) -> Any:
    """The same array, or tuple of arrays, but not counted: compiled code then skips all reference counting.

    For the top of a compiled call only, whose caller owns the memory.
    """
    return value


@intrinsic
def _uncounted(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, value, arguments[0])

    return value(value), generate


dispatch(without_refcount, lambda kind: _uncounted)


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """LLVM for the value with the owner of every array in it set to null."""
    if isinstance(kind, numba.types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, numba.types.BaseTuple):
        for i, part in enumerate(kind):
            inner = _without_owner(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, inner, i)
    return value
