"""How compiled code gives arrays and tuples to Python.

numba's own way calls functions written in Python. Where Ctrl-C is noticed in one of them it goes on with a null, and
the process crashes. Here classes are constants of the kernel, and what lacks a part is not made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import boxing, cgutils, pythonapi
from numba.np.numpy_support import as_dtype

INT = ir.IntType(32)


def box_without_python() -> None:
    """From now on numba's kernels do it this way."""
    registered = pythonapi._boxers.functions
    registered[types.Array] = _box_array
    registered[types.Tuple] = registered[types.UniTuple] = _box_tuple
    registered[types.NamedTuple] = registered[types.NamedUniTuple] = _box_named


def _box_array(kind: Any, value: Any, context: Any) -> Any:
    api, builder = context.pyapi, context.builder
    signature = ir.FunctionType(api.pyobj, [api.voidptr, api.pyobj, INT, INT, api.pyobj])
    adapt = cgutils.get_or_insert_function(builder.module, signature, "NRT_adapt_ndarray_to_python_acqref")
    place = builder.bitcast(cgutils.alloca_once_value(builder, value), api.voidptr)
    owner, dtype = _constant(context, kind.box_type), _constant(context, as_dtype(kind.dtype))
    array = builder.call(adapt, [place, owner, INT(kind.ndim), INT(int(kind.mutable)), dtype])
    context.context.nrt.decref(builder, kind, value)
    return array


def _box_tuple(kind: Any, value: Any, context: Any) -> Any:
    def itself(content: Any) -> Any:
        context.pyapi.incref(content)
        return content

    return _box_parts(kind, value, context, itself)


def _box_named(kind: Any, value: Any, context: Any) -> Any:
    owner = _constant(context, kind.instance_class)
    return _box_parts(kind, value, context, lambda content: context.pyapi.call(owner, content))


def _box_parts(kind: Any, value: Any, context: Any, make: Callable[[Any], Any]) -> Any:
    """What is made of a tuple of the parts, if none of them has met an error; else null."""
    api, builder = context.pyapi, context.builder
    content = boxing.box_tuple(kind, value, context)
    made = cgutils.alloca_once(builder, api.pyobj, zfill=True)
    with builder.if_then(cgutils.is_null(builder, api.err_occurred()), likely=True):
        builder.store(make(content), made)
    api.decref(content)
    return builder.load(made)


def _constant(context: Any, thing: Any) -> Any:
    return context.env_manager.read_const(context.env_manager.add_const(thing))
