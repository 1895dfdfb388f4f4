"""Games that compiled loops call by address, so that a loop is compiled once per learner and not once per pair.

An environment's `game` is a NamedTuple of numbers and arrays, with kernels `loss_of(game, t, arm)` and so on. `pack`
(games.py) turns it into a vector of 64-bit words:

    words 0–3    the addresses of its callbacks loss, mean, planted and see; 0 where there is nothing to call
    words 4, 5   a mark, checked before every call; and 1 once a kernel has raised an error
    then         for each field: a number's bits, or an array's address and shape

A callback is the environment's kernel compiled as a C function that is given the words, rebuilds the NamedTuple (it
needs the fields' types, which `spec_of` writes as a text) and calls the kernel. A call costs about 2 ns. The arrays are
not copied: the packed words are valid as long as the game they were packed from.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from turncoat._compile.jit import UNWRAPPED, is_ours_function, name_closure
from turncoat._compile.kernel_files import attach
from turncoat.errors import OptionError

LOSS, MEAN, PLANTED, SEE, MARK, FAILED = range(6)
N_FIRST = 6  # words before the fields
MAGIC = 0x7475726E636F6174  # tells packed words from other arrays

WORDS = types.CPointer(types.uint64)
FLOAT_OF_ARM = types.float64(WORDS, types.intp, types.intp)
INT_OF_ROUND = types.intp(WORDS, types.intp)
NOTHING_OF_ARM = types.void(WORDS, types.intp, types.intp)
_WORD = ir.IntType(64)


def spec_of(game: Any) -> str:
    """The types of a game's fields, as a text: "uint64:0 float64:2:ru" is a number and a read-only unaligned matrix."""
    return " ".join(_spec(type(game).__name__, *field) for field in zip(game._fields, game, strict=True))


def _spec(owner: str, name: str, value: Any) -> str:
    if isinstance(value, bool | int | float | np.generic) and np.asarray(value).dtype.kind in "uifb":
        return f"{_wide(value).dtype.name}:0"
    if type(value) in (np.ndarray, np.memmap) and value.ndim and value.dtype.kind in "uifb":
        flags = value.flags
        if value.dtype.isnative and value.dtype.itemsize <= 8 and flags.c_contiguous:
            access = ("" if flags.writeable else "r") + ("" if flags.aligned else "u")
            return f"{value.dtype.name}:{value.ndim}:{access}"
    raise OptionError(
        f"the field {name!r} of {owner} is {reprlib.repr(value)}; accepted are numbers, and arrays of numbers with at "
        "least one axis, in C order (see numpy.ascontiguousarray)"
    )


def _wide(value: Any) -> Any:
    """A number of 64 bits, or a bool."""
    number = np.asarray(value)
    wide = {"b": np.bool_, "u": np.uint64, "i": np.int64, "f": np.float64}[number.dtype.kind]
    return number.astype(wide)


def words_of(game: Any, addresses: tuple[int, ...]) -> Any:
    """The words of a game with these callbacks."""
    words = [*addresses, MAGIC, 0]
    for value in game:
        if isinstance(value, np.ndarray):
            words += [value.ctypes.data, *value.shape]
        else:
            number = _wide(value)
            words.append(int(number) if number.dtype.kind == "b" else int(number.view(np.uint64)))
    return np.array(words, dtype=np.uint64)


_ALIVE: list[Any] = []  # machine code whose address was given away


def callback(function: Callable[..., Any], signature: Any, kernel: Callable[..., Any]) -> int:
    """Compile a function as a C function and return its address. `kernel`: what it calls; others' are never kept.

    An error cannot pass through a C function: it is marked in the words, and the caller raises. (`numba.cfunc` would
    print it, and call the function by a second call, with the result in memory.)
    """
    ours = name_closure(function) and is_ours_function(kernel)
    address = _address_of(function, signature)

    def entry() -> Any:
        return address()

    entry.__qualname__ = function.__qualname__
    made: Any = numba.njit(entry)
    attach(made, function, ours)
    _ALIVE.append(made)
    return int(made())


def _address_of(function: Callable[..., Any], signature: Any) -> Any:
    """An intrinsic that makes the C function beside its caller, and returns the address."""
    kernel = numba.njit(error_model="numpy", forceinline=True, **UNWRAPPED)(function)

    @intrinsic
    def address(typing: Any) -> Any:
        def generate(context: Any, builder: Any, given: Any, arguments: Any) -> Any:
            kernel.compile(signature.args)
            compiled = kernel.overloads[signature.args]
            context.active_code_library.add_linking_library(compiled.library)
            made = ir.Function(builder.module, _c_type(context, signature), f"c.{compiled.fndesc.mangled_name}")
            made.linkage = "internal"
            inner = ir.IRBuilder(made.append_basic_block())
            status, result = context.call_internal_no_propagate(inner, compiled.fndesc, compiled.signature, made.args)
            with inner.if_then(status.is_error, likely=False):
                inner.store(_WORD(1), inner.gep(made.args[0], [_WORD(FAILED)]))
                if signature.return_type is types.float64:
                    inner.ret(ir.DoubleType()(math.nan))
            inner.ret_void() if signature.return_type is types.void else inner.ret(result)
            return builder.ptrtoint(made, context.get_value_type(types.intp))

        return types.intp(), generate

    return address


def _c_type(context: Any, signature: Any) -> Any:
    """The C function in LLVM's words."""
    returned = signature.return_type
    result = ir.VoidType() if returned is types.void else context.get_value_type(returned)
    return ir.FunctionType(result, [context.get_value_type(kind) for kind in signature.args])


# -- the same in compiled code ------------------------------------------------------------------------------------


@intrinsic
def unpack(typing: Any, Game: Any, spec: Any, words: Any) -> Any:
    """The game that was packed into these words: a NamedTuple whose arrays have no owner."""
    if not isinstance(spec, types.StringLiteral):
        return None
    kinds = [_kind(*part.split(":")) for part in spec.literal_value.split()]
    made = types.NamedTuple(kinds, Game.instance_class)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, values = N_FIRST, []
        for kind in kinds:
            n_axes = kind.ndim if isinstance(kind, types.Array) else 0
            here = [builder.load(builder.gep(arguments[2], [_WORD(at + i)])) for i in range(1 + n_axes)]
            values.append(_array_at(context, builder, kind, *here) if n_axes else _number(builder, kind, here[0]))
            at += 1 + n_axes
        return context.make_tuple(builder, made, values)

    return made(Game, spec, words), generate


def _kind(dtype: str, n_axes: str, access: str = "") -> Any:
    one = types.boolean if dtype == "bool" else getattr(types, dtype)
    axes = int(n_axes)
    return types.Array(one, axes, "C", readonly="r" in access, aligned="u" not in access) if axes else one


def _number(builder: Any, kind: Any, word: Any) -> Any:
    if isinstance(kind, types.Float):
        return builder.bitcast(word, ir.DoubleType())
    return builder.icmp_unsigned("!=", word, _WORD(0)) if kind is types.boolean else word


def _array_at(context: Any, builder: Any, kind: Any, address: Any, *shape: Any) -> Any:
    made = context.make_array(kind)(context, builder)
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    context.populate_array(
        made,
        data=builder.inttoptr(address, made.data.type),
        shape=shape,
        strides=strides,
        itemsize=itemsize,
        meminfo=None,
        parent=None,
    )
    return made._getvalue()


def _caller(slot: int, signature: Any) -> Any:
    """An intrinsic that calls the callback in this place of the words; it does nothing where there is none."""

    @intrinsic
    def call(typing: Any, words: Any, t: Any, arm: Any) -> Any:
        wanted = signature.args[1:]

        def generate(context: Any, builder: Any, given: Any, arguments: Any) -> Any:
            data = context.make_array(words)(context, builder, arguments[0]).data
            address = builder.load(builder.gep(data, [_WORD(slot)]))
            pointer = builder.inttoptr(address, _c_type(context, signature).as_pointer())
            numbers = [
                context.cast(builder, value, kind, want)
                for value, kind, want in zip(arguments[1:], given.args[1:], wanted, strict=False)
            ]
            if signature.return_type is not types.void:
                return builder.call(pointer, [data, *numbers])
            with cgutils.if_likely(builder, builder.icmp_unsigned("!=", address, _WORD(0))):
                builder.call(pointer, [data, *numbers])
            return context.get_dummy_value()

        return signature.return_type(words, t, arm), generate

    return call


call_loss = _caller(LOSS, FLOAT_OF_ARM)
call_mean = _caller(MEAN, FLOAT_OF_ARM)
call_planted = _caller(PLANTED, INT_OF_ROUND)
call_see = _caller(SEE, NOTHING_OF_ARM)
