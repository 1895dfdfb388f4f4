"""States in compiled code: what numba is told about the classes of state.py.

A state is a pointer to its buffer, the buffer's length, its sizes, and the arrays beside it. Attributes are lowered by
hand, in one place for all states: `state.weights` becomes an array structure whose pointer, shape and strides are
computed from the sizes. Those arrays have no owner; the caller from Python owns the buffer. States never cross into
Python: there a state is an object of its class (state.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model, typeof_impl

from turncoat._compile.state import LENGTH, NUMBERS, Computed, Field, Polynomial, StateMeta, polynomial

INTP, REAL = ir.IntType(types.intp.bitwidth), ir.DoubleType()


class StateType(types.Type):  # type: ignore[misc]
    """The type of a state: a pointer to the buffer, its length, the sizes, and arrays beside it."""

    def __init__(self, owner: Any) -> None:
        self.instance_class = owner
        super().__init__(f"State({owner.__module__}.{owner.__qualname__})")

    @property
    def key(self) -> Any:
        """What makes two types the same: the class, not its name, which a user may give to another."""
        return self.instance_class


class StateClass(types.Dummy):  # type: ignore[misc]
    """The type of a state class itself, as an argument of `view_of`."""

    def __init__(self, owner: Any) -> None:
        self.instance_class = owner
        super().__init__(f"StateClass({owner.__module__}.{owner.__qualname__})")

    @property
    def key(self) -> Any:
        """As above."""
        return self.instance_class


register_model(StateClass)(models.OpaqueModel)


@typeof_impl.register(StateMeta)
def _typeof_state_class(owner: Any, context: Any) -> StateClass:
    return StateClass(owner)


@register_model(StateType)
class _StateModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: StateType) -> None:
        layout = kind.instance_class.layout
        members = [("data", types.CPointer(types.float64)), ("length", types.intp)]
        members += [(f"size_{name}", types.intp) for name in layout.sizes]
        members += [(f"beside_{name}", _array_type("float64", n)) for name, n in layout.beside.items()]
        super().__init__(manager, kind, members)


def _array_type(kind: str, n_axes: int) -> Any:
    return types.Array(getattr(types, kind), n_axes, "C")


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = StateType

    def generic_resolve(self, kind: StateType, name: str) -> Any:
        layout = kind.instance_class.layout
        if name in layout.sizes:
            return types.intp
        if name in layout.beside:
            return _array_type("float64", layout.beside[name])
        field = layout.fields.get(name)
        if field is None:
            return None
        if field.kind in NUMBERS:
            return types.float64 if field.kind == "float" else types.boolean
        return _array_type(field.kind, len(field.shape))


@lower_getattr_generic(StateType)
def _lower_attribute(context: Any, builder: Any, kind: StateType, value: Any, name: str) -> Any:
    layout = kind.instance_class.layout
    state = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    if name in layout.sizes:
        return getattr(state, f"size_{name}")
    if name in layout.beside:
        return getattr(state, f"beside_{name}")
    sizes = _Sizes(builder, {LENGTH: state.length, **{one: getattr(state, f"size_{one}") for one in layout.sizes}})
    field = layout.fields[name]
    pointer = builder.gep(state.data, [sizes.value_of(field.at)], inbounds=True)
    if field.kind not in NUMBERS:
        return _make_array(context, builder, field, pointer, sizes)
    number = builder.load(pointer)
    return number if field.kind == "float" else builder.fcmp_ordered("!=", number, ir.Constant(number.type, 0.0))


class _Sizes(NamedTuple):
    """The sizes of a state in LLVM."""

    builder: Any
    known: dict[str, Any]

    def value_of(self, polynomial: Polynomial) -> Any:
        """The value of a polynomial."""
        total = INTP(0)
        for names, factor in polynomial.terms.items():
            term = INTP(factor)
            for name in names:
                term = self.builder.mul(term, self.known[name], flags=("nsw",))
            total = self.builder.add(total, term, flags=("nsw",))
        return total

    def real_value_of(self, polynomial: Polynomial) -> Any:
        """The same as a float, which cannot overflow."""
        total = REAL(0.0)
        for names, factor in polynomial.terms.items():
            term = REAL(factor)
            for name in names:
                term = self.builder.fmul(term, self.builder.sitofp(self.known[name], REAL))
            total = self.builder.fadd(total, term)
        return total


def _make_array(context: Any, builder: Any, field: Field, pointer: Any, sizes: _Sizes) -> Any:
    """An array over a part of the buffer. It has no owner, so compiled code counts no references to it."""
    kind = _array_type(field.kind, len(field.shape))
    made = context.make_array(kind)(context, builder)
    strides: list[Polynomial] = [polynomial(8)]
    for length in field.shape[:0:-1]:
        strides.insert(0, strides[0] * length)
    context.populate_array(
        made,
        data=builder.bitcast(pointer, made.data.type),
        shape=[sizes.value_of(length) for length in field.shape],
        strides=[sizes.value_of(stride) for stride in strides],
        itemsize=INTP(8),
        meminfo=None,
        parent=None,
    )
    return made._getvalue()


@intrinsic
def make_state(typing: Any, owner: Any, buffer: Any, given: Any) -> Any:
    """The state over a buffer; `given`: a tuple of the arrays beside it. One too short is refused."""
    layout, kind = owner.instance_class.layout, StateType(owner.instance_class)
    wanted = [_array_type("float64", 1), *(_array_type("float64", n) for n in layout.beside.values())]
    if [buffer, *given] != wanted:
        raise TypingError(f"{kind} is over {buffer} and {given}; accepted are {wanted}, contiguous and writable")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[1])(context, builder, arguments[1])
        state = cgutils.create_struct_proxy(kind)(context, builder)
        state.data, state.length = source.data, source.nitems
        known, fits = {LENGTH: state.length}, ir.IntType(1)(1)
        for i, name in enumerate(layout.beside):
            known[name] = builder.extract_value(arguments[2], i)
            setattr(state, f"beside_{name}", known[name])
        for name, how in layout.sizes.items():
            if isinstance(how, Computed):
                argument = _array_type("float64", layout.beside[how.of]) if how.of in layout.beside else types.intp
                known[name] = call_kernel(context, builder, how.kernel, (argument,), (known[how.of],))
            else:
                place = _Sizes(builder, known).value_of(how)
                inside = builder.icmp_signed("<", place, state.length)
                place = builder.select(inside, place, INTP(0))
                size = builder.load(builder.gep(state.data, [place], inbounds=True))
                most = REAL(2.0**53)  # larger ones need not fit into a whole number
                in_range = builder.and_(
                    builder.fcmp_ordered(">=", size, REAL(0.0)), builder.fcmp_ordered("<=", size, most)
                )
                possible = builder.and_(inside, in_range)
                known[name] = builder.fptosi(builder.select(possible, size, REAL(0.0)), INTP)
                fits = builder.and_(fits, possible)
            setattr(state, f"size_{name}", known[name])
        length = builder.sitofp(state.length, REAL)
        fits = builder.and_(fits, builder.fcmp_ordered(">=", length, _Sizes(builder, known).real_value_of(layout.end)))
        with builder.if_then(builder.not_(fits), likely=False):
            context.call_conv.return_user_exc(builder, ValueError, (f"the buffer is too short to be a {kind}",))
        return state._getvalue()

    return kind(owner, buffer, given), generate


def call_kernel(context: Any, builder: Any, kernel: Any, kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
    """LLVM for a call of a kernel that returns a whole number."""
    function = context.typing_context.resolve_value_type(kernel)
    signature = context.typing_context.resolve_function_type(function, kinds, {})
    found = context.get_function(function, signature)(builder, arguments)
    return context.cast(builder, found, signature.return_type, types.intp)
