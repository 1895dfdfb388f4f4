"""The one way to compile a function.

Every kernel of the package is decorated here and nowhere else, for four reasons.

* numba's disk cache looks only at the file of the *calling* function: change a kernel in another file and the
  old one keeps running. So the cache folder is named by a hash of the package's sources.
* A folder that cannot be written must mean "no cache", never an error.
* numba numbers a function's compiled versions in an index: two processes that compile at once may give two versions
  one number, and a later process is served the wrong machine code. So each version is a file of its own, named by a
  hash of types, processor and byte code.
* Ctrl-C may crash numba where compiled code gives something to Python: see `boxing`.

The folder's hash covers this package alone. So kernels written elsewhere, and loops over the games and learners
registered for them, are compiled anew in every process: a user who edits a rule must never be shown the old one.

A closure is found on disk again if all it closes over are NamedTuple classes of the package, which numba knows by name;
one over kernels never is.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")  # one libm, so that one seed means one result

import numba
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import intrinsic, overload

from turncoat._compile.boxing import box_safely
from turncoat._compile.cache import CACHE, PACKAGE

box_safely()

Function = TypeVar("Function", bound=Callable[..., Any])

DIGEST = 32  # bytes of a SHA-256
not_kept: list[str] = []  # kernels of this process that the next will have to compile again, though they are ours
UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # numba wraps every function for Python


def _is_ours(owner: type) -> bool:
    return owner.__module__.partition(".")[0] == PACKAGE.name


def _is_foreign(kind: Any) -> bool:
    """Is this the type of a NamedTuple from outside the package, or does it hold one? Or is it a class itself?"""
    owner = getattr(kind, "instance_class", None)
    if owner is not None and not _is_ours(owner):
        return True
    if isinstance(kind, numba.types.NamedTupleClass):
        return True  # it may be made at run time: no other process would know it again
    return isinstance(kind, numba.types.BaseTuple) and any(_is_foreign(part) for part in kind)


def _spelled(kind: Any) -> str:
    """A type in words. numba's own leave out where a NamedTuple is from."""
    owner = getattr(kind, "instance_class", object)
    parts = ", ".join(map(_spelled, kind)) if isinstance(kind, numba.types.BaseTuple) else ""
    return f"{kind!r} as {owner.__module__}.{owner.__qualname__}({parts})"


def _kinds(signature: Any) -> Any:
    """The types of the arguments. numba passes a signature, or just them."""
    return getattr(signature, "args", signature)


class _KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """A file for each version of a function, named by what it was compiled for, and replaced as a whole."""

    def load(self, key: Any) -> Any:
        """What was kept under this key, if it is there and as it was written."""
        with suppress(OSError):
            content = Path(self._path(key)).read_bytes()
            digest, written = content[:DIGEST], content[DIGEST:]
            if hashlib.sha256(written).digest() == digest:
                known, data = pickle.loads(written)
                return data if known == key else None
        return None

    def save(self, key: Any, data: Any) -> None:
        """Keep it."""
        written = self._dump((key, data))
        with self._open_for_write(self._path(key)) as file:
            file.write(hashlib.sha256(written).digest() + written)

    def _path(self, key: Any) -> str:
        signature, *rest = key  # the rest: processor and byte code
        words = [self._version, *map(_spelled, _kinds(signature)), *map(repr, rest)]
        digest = hashlib.sha256("\n".join(words).encode()).digest()
        return str(self._data_path(self._data_name(int.from_bytes(digest[:8], "big"))))


class _PackageCache(FunctionCache):  # type: ignore[misc]
    """numba's disk cache, but in such files, and only for what the source hash covers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, None)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types before, if it is on disk."""
        foreign = any(map(_is_foreign, _kinds(sig)))
        return None if foreign else super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these types, if the disk lets us."""
        if not any(map(_is_foreign, _kinds(sig))):
            try:
                super().save_overload(sig, data)
            except OSError:
                not_kept.append(self._name)


def _compile(function: Function, **flags: bool) -> Function:
    closed_over = [cell.cell_contents for cell in function.__closure__ or ()]
    ours = PACKAGE in Path(function.__code__.co_filename).parents
    ours = ours and all(isinstance(thing, type) and _is_ours(thing) for thing in closed_over)
    for owner in closed_over if ours else ():  # else kernels of two processes may have one symbol
        function.__qualname__ += f"-{owner.__module__}.{owner.__qualname__}"
    kernel: Any = numba.njit(error_model="numpy", **flags)(function)
    if ours and kernel is not function:  # it is the function itself when the JIT is off
        cache = _cache_of(function)
        if cache is None:
            not_kept.append(function.__qualname__)
        else:
            kernel._cache = cache
    return kernel  # type: ignore[no-any-return]


def _cache_of(function: Callable[..., Any]) -> _PackageCache | None:
    """Where its versions are kept, if anywhere. numba may choose another folder, which our sources do not name."""
    if CACHE is None:
        return None
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        cache = _PackageCache(function)
    except (OSError, RuntimeError):
        return None
    finally:
        numba.config.CACHE_DIR = before
    return cache if CACHE in Path(cache.cache_path).parents else None


def jit(function: Function) -> Function:
    """Compile a kernel. It keeps the GIL, so a learner used from two threads by mistake cannot be torn."""
    return _compile(function)


def jit_rule(function: Function) -> Function:
    """Compile a kernel over a NamedTuple of views, into its caller: its hundred words are not passed on."""
    return _compile(function, forceinline=True)


def jit_inside(function: Function) -> Function:
    """Like `jit_rule`, for kernels that only compiled code calls: they compile in two thirds of the time.

    They have no way in from Python: a call from there crashes.
    """
    return _compile(function, forceinline=True, **UNWRAPPED)


def jit_game(function: Function) -> Function:
    """Compile a loop over a whole game. It releases the GIL."""
    return _compile(function, nogil=True)


def compiled_as(stub: Callable[..., Any]) -> Callable[[Function], Function]:
    """Say what a generic function does in compiled code: the decorated one is given the types, and returns the body."""
    options = {"forceinline": True, **UNWRAPPED}
    decorate: Callable[[Function], Function] = overload(stub, jit_options=options, strict=False)
    return decorate


def sent_on(stub: Callable[..., Any], choose: Callable[[Any], Any]) -> None:
    """Say which kernel a generic function is in compiled code, by the type of its first argument.

    It takes the same arguments. With `compiled_as` all that is in it would be compiled once more, for the call.
    """

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


def borrow(value: Any) -> Any:
    """The same array, or NamedTuple of arrays, but not counted: compiled code then skips all reference counting.

    For the top of a compiled call only, whose caller owns the memory; never return what was borrowed to Python.
    """
    return value


@compiled_as(borrow)
def _overload_borrow(value: Any) -> Any:
    return lambda value: _uncounted(value)


@intrinsic
def _uncounted(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, value, arguments[0])

    return value(value), generate


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
