"""How compiled code gives arrays and tuples to Python: all of it in this process, also that of others.

numba finds their classes by a function written in Python. Where Ctrl-C is noticed in it, or in the `__new__` of a
NamedTuple, numba goes on with a null, and the process crashes. Here classes are constants of the kernel, and a tuple
that lacks a part is not made: the caller gets the KeyboardInterrupt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import boxing, cgutils, pythonapi


def box_safely() -> None:
    """From now on it is done this way."""
    registered = pythonapi._boxers.functions
    registered[types.Array] = _box_array
    registered[types.Tuple] = registered[types.UniTuple] = _box_tuple
    registered[types.NamedTuple] = registered[types.NamedUniTuple] = _box_named


def _box_array(kind: Any, value: Any, context: Any) -> Any:
    api = context.pyapi
    api.serialize_object, api.unserialize = _itself, lambda thing: _constant(context, thing)
    try:
        return boxing.box_array(kind, value, context)
    finally:
        del api.serialize_object, api.unserialize  # they are the class's again


def _box_tuple(kind: Any, value: Any, context: Any) -> Any:
    return _box_parts(kind, value, context, _itself)


def _box_named(kind: Any, value: Any, context: Any) -> Any:
    if context.env_manager is None:
        return boxing.box_namedtuple(kind, value, context)  # there are no constants here

    def name(content: Any) -> Any:
        owner = _constant(context, kind.instance_class)
        named = context.pyapi.call(owner, content)
        context.pyapi.decref(owner)
        context.pyapi.decref(content)
        return named

    return _box_parts(kind, value, context, name)


def _box_parts(kind: Any, value: Any, context: Any, make: Callable[[Any], Any]) -> Any:
    """What is made of a tuple of the parts, or null if one of them could not be given."""
    api, builder = context.pyapi, context.builder
    content, whole = api.tuple_new(kind.count), cgutils.alloca_once_value(builder, cgutils.true_bit)
    for i, part in enumerate(kind):
        item = builder.extract_value(value, i)
        with builder.if_else(builder.load(whole), likely=True) as (going, broken):
            with going:
                given = context.box(part, item)
                builder.store(cgutils.is_not_null(builder, given), whole)
                api.tuple_setitem(content, i, given)
            with broken:
                context.context.nrt.decref(builder, part, item)
    made = cgutils.alloca_once(builder, api.pyobj, zfill=True)
    with builder.if_else(builder.load(whole), likely=True) as (done, broken):
        with done:
            builder.store(make(content), made)
        with broken:
            api.decref(content)
    return builder.load(made)


def _constant(context: Any, thing: Any) -> Any:
    """A new reference to one."""
    found = context.env_manager.read_const(context.env_manager.add_const(thing))
    context.pyapi.incref(found)
    return found


def _itself(thing: Any) -> Any:
    return thing
