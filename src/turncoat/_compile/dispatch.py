"""The generic rules that compiled loops call: what a learner does, and what an environment.

`view_of`, `ask`, `tell`, `teach`, `write_probabilities` and `probability_of`, `loss_of`, `mean_of`, `planted_of` and
`see` dispatch on the NamedTuple that holds a learner's state or an environment's fields, for which `register_learner`
and `register_environment` have made kernels known. Compiled callers are specialised per pair of types, and that
specialisation is what numba keeps on disk; with the JIT off the same functions dispatch on `type(...)` themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turncoat._compile.jit import compiled_as, jit_rule, sent_on

_VIEW: dict[type, Callable[..., Any]] = {}
_ASK: dict[type, Callable[..., Any]] = {}
_TELL: dict[type, Callable[..., Any]] = {}
_SEES_ALL: set[type] = set()
_WRITE_PROBABILITIES: dict[type, Callable[..., Any]] = {}
_PROBABILITY_OF: dict[type, Callable[..., Any]] = {}
_LOSS_OF: dict[type, Callable[..., Any]] = {}
_MEAN_OF: dict[type, Callable[..., Any]] = {}
_PLANTED_OF: dict[type, Callable[..., Any]] = {}
_SEE: dict[type, Callable[..., Any]] = {}


def register_learner(
    state: type,
    *,
    view: Callable[..., Any] | None,
    ask: Callable[..., Any],
    tell: Callable[..., Any],
    probability: Callable[..., Any] | None = None,
    probabilities: Callable[..., Any] | None = None,
    sees_all: bool = False,
) -> None:
    """Make these kernels the rule of learners whose state is this NamedTuple.

    `view(buffer)` names the parts of the buffer. `ask(state)` returns what was chosen, `(index, propensity)`, which
    `tell(state, choice, loss)` is given back. The distribution it draws from is told arm by arm, `probability(state,
    arm)`, or at once, `probabilities(state, out)`; a rule that cannot say it gives neither, and asks `(index, None)`.
    One that `sees_all` is told every arm's loss, `tell(state, choice, losses)`, and has a field `losses` for them. A
    learner of learners has no `view` of its own (None): what its buffer holds depends on its bases, see base_stack.py.
    """
    _ASK[state], _TELL[state] = ask, tell
    if view is not None:
        _VIEW[state] = view
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


def register_environment(
    game: type,
    *,
    loss_of: Callable[..., Any],
    mean_of: Callable[..., Any] | None = None,
    planted_of: Callable[..., Any] | None = None,
    see: Callable[..., Any] | None = None,
) -> None:
    """Make these kernels the rule of environments whose fields are this NamedTuple.

    Without `mean_of` losses are their own means, without `planted_of` nothing is planted, and without `see` the
    adversary is oblivious.
    """
    _LOSS_OF[game] = loss_of
    _MEAN_OF[game] = mean_of or loss_of
    _PLANTED_OF[game] = planted_of or _nothing_planted
    _SEE[game] = see or _nothing_seen


def is_state(state: Any) -> bool:
    """Has a learner been registered whose state is this NamedTuple?"""
    return state in _VIEW


def shows_probabilities(state: type) -> bool:
    """Can learners whose state is this NamedTuple say what their next ask draws from?"""
    return state in _WRITE_PROBABILITIES


def sees_all(state: type) -> bool:
    """Are learners whose state is this NamedTuple told the losses of all arms?"""
    return state in _SEES_ALL


def is_game(game: Any) -> bool:
    """Has an environment been registered whose fields are such a NamedTuple?"""
    return type(game) in _LOSS_OF


def view_of(state: type, buffer: Any) -> Any:
    """The parts of a learner's buffer by name: the NamedTuple `state`, over this buffer."""
    return _VIEW[state](buffer)


def ask(state: Any) -> Any:
    """One choice: (index, what the tell needs …). Moves the state's random numbers and nothing else."""
    return _ASK[type(state)](state)


def tell(state: Any, choice: Any, loss: float) -> Any:
    """One update with the loss, in [0, 1], of an earlier choice."""
    return _TELL[type(state)](state, choice, loss)


def teach(state: Any, game: Any, t: int, choice: Any, loss: float, low: float, high: float) -> Any:
    """Tell what round t revealed. Returns -1, or the arm whose loss is outside the range: then nothing was told."""
    kernel = _teach_all if type(state) in _SEES_ALL else _teach_one
    return kernel(state, game, t, choice, loss, low, high)


def write_probabilities(state: Any, out: Any) -> Any:
    """The distribution over arms that the next ask draws from."""
    return _WRITE_PROBABILITIES[type(state)](state, out)


def probability_of(state: Any, arm: int, room: Any) -> Any:
    """What `write_probabilities` says of one arm. `room`: K zeros, for rules that can only say all at once."""
    kernel: Callable[..., Any] = _PROBABILITY_OF.get(type(state), _one_of_all)
    return kernel(state, arm, room)


def loss_of(game: Any, t: int, arm: int) -> Any:
    """The loss of an arm in round t, counted from 0: a pure function for an oblivious adversary."""
    return _LOSS_OF[type(game)](game, t, arm)


def mean_of(game: Any, t: int, arm: int) -> Any:
    """The mean loss of an arm in round t: what its loss would be without the noise."""
    return _MEAN_OF[type(game)](game, t, arm)


def planted_of(game: Any, t: int) -> Any:
    """The best arm in mean of round t, on the path the environment planted; -1 where nothing is planted."""
    return _PLANTED_OF[type(game)](game, t)


def see(game: Any, t: int, arm: int) -> Any:
    """Show an adaptive adversary the arm played in round t. An oblivious one does not look, and it costs nothing."""
    return _SEE[type(game)](game, t, arm)


@jit_rule
def _teach_one(state: Any, game: Any, t: int, choice: Any, loss: float, low: float, high: float) -> int:
    if not low <= loss <= high:
        return int(choice[0])
    tell(state, choice, (loss - low) / (high - low))
    return -1


@jit_rule
def _teach_all(state: Any, game: Any, t: int, choice: Any, loss: float, low: float, high: float) -> int:
    for arm in range(state.losses.size):
        one = loss_of(game, t, arm)
        if not low <= one <= high:
            return arm
        state.losses[arm] = (one - low) / (high - low)
    tell(state, choice, state.losses)
    return -1


@jit_rule
def _nothing_planted(game: Any, t: int) -> int:
    return -1


@jit_rule
def _nothing_seen(game: Any, t: int, arm: int) -> None:
    pass


@compiled_as(view_of)
def _overload_view_of(state: Any, buffer: Any) -> Any:
    kernel = _VIEW[state.instance_class]
    return lambda state, buffer: kernel(buffer)


sent_on(ask, lambda state: _ASK[state.instance_class])
sent_on(tell, lambda state: _TELL[state.instance_class])
sent_on(teach, lambda state: _teach_all if state.instance_class in _SEES_ALL else _teach_one)
sent_on(write_probabilities, lambda state: _WRITE_PROBABILITIES[state.instance_class])
sent_on(probability_of, lambda state: _PROBABILITY_OF.get(state.instance_class, _one_of_all))
sent_on(loss_of, lambda game: _LOSS_OF[game.instance_class])
sent_on(mean_of, lambda game: _MEAN_OF[game.instance_class])
sent_on(planted_of, lambda game: _PLANTED_OF[game.instance_class])
sent_on(see, lambda game: _SEE[game.instance_class])
