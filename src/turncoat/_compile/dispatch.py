"""The generic rules of learners: `view_of`, `ask`, `tell`, the same planned, and their probabilities.

They dispatch on the class of a learner's state, for which `register_learner` has made kernels known: in compiled code
when it is compiled, and in Python, where the JIT is off, at each call. A subclass of a state has its rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turncoat._compile.jit import compiled_as, dispatch, jit_rule
from turncoat._compile.state_type import make_state

_ASK: dict[type, Callable[..., Any]] = {}
_TELL: dict[type, Callable[..., Any]] = {}
_ASK_PLANNED: dict[type, Callable[..., Any]] = {}
_TELL_PLANNED: dict[type, Callable[..., Any]] = {}
_SEES_ALL: set[type] = set()
_WRITE_PROBABILITIES: dict[type, Callable[..., Any]] = {}
_PROBABILITY_OF: dict[type, Callable[..., Any]] = {}


def register_learner(
    state: type,
    *,
    ask: Callable[..., Any],
    tell: Callable[..., Any],
    probability: Callable[..., Any] | None = None,
    probabilities: Callable[..., Any] | None = None,
    planned: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    sees_all: bool = False,
) -> None:
    """Make these kernels the rule of learners whose state is of this class.

    `ask(state)` returns what was chosen, `(index, propensity)`, which `tell(state, choice, loss)` is given back. The
    distribution it draws from is told arm by arm, `probability(state, arm)`, or at once, `probabilities(state, out)`; a
    rule that cannot say it gives neither, and asks `(index, None)`. One that `sees_all` is told every arm's loss,
    `tell(state, choice, losses)`, and has a field `losses` for them. `planned`: an ask and a tell that plan m pulls
    ahead, `ask_planned(state, plan, m)` and `tell_planned(state, plan, m, choice, loss)`.
    """
    _ASK[state], _TELL[state] = ask, tell
    if planned is not None:
        _ASK_PLANNED[state], _TELL_PLANNED[state] = planned
    if sees_all:
        _SEES_ALL.add(state)
    if probability is not None:
        _PROBABILITY_OF[state] = _without_room(probability)
        probabilities = _arm_by_arm(probability)
    if probabilities is not None:
        _WRITE_PROBABILITIES[state] = probabilities


def _arm_by_arm(probability: Callable[..., Any]) -> Callable[..., Any]:
    @jit_rule
    def probabilities(state: Any, out: Any) -> None:
        for arm in range(out.size):
            out[arm] = probability(state, arm)

    return probabilities


def _without_room(probability: Callable[..., Any]) -> Callable[..., Any]:
    @jit_rule
    def probability_of_arm(state: Any, arm: int, room: Any) -> Any:
        return probability(state, arm)

    return probability_of_arm


@jit_rule
def _one_of_all(state: Any, arm: int, room: Any) -> Any:
    write_probabilities(state, room)
    p = room[arm]
    room[:] = 0.0
    return p


@jit_rule
def _ask_unplanned(state: Any, plan: Any, m: float) -> Any:
    return ask(state)


@jit_rule
def _tell_unplanned(state: Any, plan: Any, m: float, choice: Any, loss: Any) -> None:
    tell(state, choice, loss)


def _rule(known: dict[type, Callable[..., Any]], state: type) -> Any:
    """What is known of a class of states, or of one that it is derived from; None if nothing is."""
    return next((known[owner] for owner in state.__mro__ if owner in known), None)


def is_state(state: Any) -> bool:
    """Has a learner been registered whose state is of this class?"""
    return isinstance(state, type) and _rule(_ASK, state) is not None


def shows_probabilities(state: type) -> bool:
    """Can learners whose state is of this class say what their next ask draws from?"""
    return _rule(_WRITE_PROBABILITIES, state) is not None


def sees_all(state: type) -> bool:
    """Are learners whose state is of this class told the losses of all arms?"""
    return any(owner in _SEES_ALL for owner in state.__mro__)


def view_of(state: Any, parts: Any) -> Any:
    """The state over a buffer. Where a state has arrays beside it, `parts` are the buffer and those."""
    if not state.layout.beside:
        return state(parts)
    return state(parts[0], **dict(zip(state.layout.beside, parts[1:], strict=True)))


def ask(state: Any) -> Any:
    """One choice: (index, what the tell needs …). Moves the state's random numbers and nothing else."""
    return _rule(_ASK, type(state))(state)


def tell(state: Any, choice: Any, loss: float) -> Any:
    """One update with the loss, in [0, 1], of an earlier choice."""
    return _rule(_TELL, type(state))(state, choice, loss)


def ask_planned(state: Any, plan: Any, m: float) -> Any:
    """The same where m pulls are planned, in `plan`; rules that plan nothing just ask."""
    return (_rule(_ASK_PLANNED, type(state)) or _ask_unplanned)(state, plan, m)


def tell_planned(state: Any, plan: Any, m: float, choice: Any, loss: Any) -> Any:
    """Tell a choice for which m pulls were planned."""
    return (_rule(_TELL_PLANNED, type(state)) or _tell_unplanned)(state, plan, m, choice, loss)


def write_probabilities(state: Any, out: Any) -> Any:
    """The distribution over arms that the next ask draws from."""
    return _rule(_WRITE_PROBABILITIES, type(state))(state, out)


def probability_of(state: Any, arm: int, room: Any) -> Any:
    """What `write_probabilities` says of one arm. `room`: K zeros, for rules that can only say all at once."""
    kernel = _rule(_PROBABILITY_OF, type(state)) or _one_of_all
    return kernel(state, arm, room)


@compiled_as(view_of)
def _overload_view_of(state: Any, parts: Any) -> Any:
    layout = state.instance_class.layout
    if layout.beside:
        return lambda state, parts: make_state(state, parts[0], parts[1:])
    return lambda state, parts: make_state(state, parts, ())


dispatch(ask, lambda state: _rule(_ASK, state.instance_class))
dispatch(tell, lambda state: _rule(_TELL, state.instance_class))
dispatch(ask_planned, lambda state: _rule(_ASK_PLANNED, state.instance_class) or _ask_unplanned)
dispatch(tell_planned, lambda state: _rule(_TELL_PLANNED, state.instance_class) or _tell_unplanned)
dispatch(write_probabilities, lambda state: _rule(_WRITE_PROBABILITIES, state.instance_class))
dispatch(probability_of, lambda state: _rule(_PROBABILITY_OF, state.instance_class) or _one_of_all)
