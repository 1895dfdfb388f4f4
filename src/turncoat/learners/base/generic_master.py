"""A learner that keeps a herd of bases: the buffer it lays out, the kernels on it, and what it shows.

Its rule is written as every learner's, over a NamedTuple with the fields below beside its own, and is made known by
`register_keeper`. What its buffer holds depends on the kinds of its bases, so `view(Kinds, buffer)` is given them too.

    K        the number of arms                 p           what the master's step acts on, a distribution over bases
    ways     base numbers run below this        herd        the bases
    dice     random words that only tells move: what is learned must not depend on how often was asked

Numbers first in the buffer: K, M, the number of blocks B, then n and size of every block, then the keeper's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from turncoat._compile.dispatch import ask, probability_of, register_learner, tell, write_probabilities
from turncoat._compile.jit import borrow, compiled_as, jit, jit_rule
from turncoat.learners.base.base_factory import recruit, written
from turncoat.learners.base.base_stack import blocks_of, kinds_of, row_of
from turncoat.learners.base.buffer import HEAD, Flat, Served
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.saved_state import problem
from turncoat.learners.parts.importance_weights import is_probability
from turncoat.learners.parts.tree_sampling import SMALLEST_SERVED
from turncoat.random import N_WORDS, seed_words
from turncoat.types import Label, Matrix, Seed, Vector

SIZES = HEAD + 3  # where n and size of the blocks begin

# (arm, base, p(base), p_base(arm), q(arm)); q is 0 where the rule never looks at the marginal
Choice: TypeAlias = tuple[int, int, float, float, float]

_VIEWS: dict[type, Callable[..., Any]] = {}
_JITTED: dict[type, Callable[..., Any]] = {}


def register_keeper(
    state: type,
    *,
    view: Callable[..., Any],
    ask: Callable[..., Any],
    tell: Callable[..., Any],
    probability: Callable[..., Any],
) -> None:
    """Make these kernels the rule of keepers whose state is this NamedTuple. `view` is plain: it is compiled here."""
    _VIEWS[state], _JITTED[state] = view, jit_rule(view)
    register_learner(state, view=None, ask=ask, tell=tell, probability=probability)


def view_keeper(State: type, Kinds: type, buffer: Vector) -> Any:
    """The parts of a keeper's buffer by name, for bases of these kinds."""
    return _VIEWS[State](Kinds, buffer)


@compiled_as(view_keeper)
def _overload_view_keeper(State: Any, Kinds: Any, buffer: Any) -> Any:
    kernel = _JITTED[State.instance_class]
    return lambda State, Kinds, buffer: kernel(Kinds, buffer)


def flat_keeper(State: Any, Kinds: Any) -> Flat:
    """The kernels of a keeper on its buffer; beside index and marginal, the base, p(base) and p_base(index)."""

    @jit
    def ask_flat(buffer: Vector) -> Served:
        state = view_keeper(State, Kinds, borrow(buffer))
        arm, j, p_j, p_arm, _ = ask(state)
        q = probability_of(state, arm, buffer)  # keepers say it arm by arm, and need no room
        return arm, max(q, SMALLEST_SERVED), j, p_j, p_arm

    @jit
    def tell_flat(buffer: Vector, index: int, loss: float, q: float, j: int, p_j: float, p_arm: float) -> int:
        state = view_keeper(State, Kinds, borrow(buffer))
        inside = 0 <= index < buffer[HEAD] and 0 <= j < state.ways
        if not (inside and is_probability(p_j) and is_probability(p_arm) and is_probability(q)):
            return -1
        tell(state, (index, j, p_j, p_arm, q), loss)
        return int(state.clock[0])

    @jit
    def probabilities_flat(buffer: Vector, out: Vector) -> None:
        write_probabilities(view_keeper(State, Kinds, borrow(buffer)), borrow(out))

    return Flat(ask_flat, tell_flat, probabilities_flat)


_FLAT: dict[tuple[type, type], Flat] = {}


class Keeper(Learner):
    """A learner that chooses among learners of any kinds. Made by its subclasses only."""

    keeper_type: ClassVar[type]  # the NamedTuple of its state, given to register_keeper
    _has_bases = True
    _says_propensity = True
    _is_plain = False

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None,
        seed: Seed,
        loss_range: Sequence[float],
        bases: Any,
        copies: int = 1,
        *,
        needed_by: str | None,
    ) -> None:
        # `copies`: how many rows of the herd a base has; the first of them is the base itself
        super().__init__(arms, horizon, seed, loss_range, needed_by=needed_by)
        self._fresh = recruit(self._default_bases() if bases is None else bases, self._labels, self.horizon)
        for base in self._fresh:
            base._buffer[:N_WORDS] = 0.0  # it draws from its keeper's stream
        self._copies = copies
        self.signed = tuple({word for base in self._fresh for word in base.signed})

    def _default_bases(self) -> Any:
        """The bases where none are given."""
        raise NotImplementedError

    def _start_keeper(self, numbers: Sequence[float], n_more: int) -> Any:
        """Lay out the buffer, with `n_more` zeros before the bases; the view, where the master is still to be set."""
        rows = [base for base in self._fresh for _ in range(self._copies)]
        blocks = blocks_of([(base.state_type, base._buffer.size) for base in rows])
        self._kinds = kinds_of([state for state, _, _ in blocks])
        key = (self.keeper_type, self._kinds)
        if key not in _FLAT:
            _FLAT[key] = flat_keeper(*key)
        self._ask, self._tell, self._probabilities = _FLAT[key]
        sizes = [number for _, n, size in blocks for number in (n, size)]
        n_words = sum(2 * n * size for _, n, size in blocks)
        self.start([self.n_arms, len(self._fresh), len(blocks), *sizes, *numbers], n_more=n_more + n_words)
        self._fill(rows, blocks, self._buffer.size - n_words)
        state = self.view()
        state.dice[:] = seed_words(np.random.SeedSequence([int(word) for word in self._words]))
        return state

    def _fill(self, rows: list[Learner], blocks: list[tuple[type, int, int]], at: int) -> None:
        """Write the bases where the herd will look for them, and count among the constants what never changes there."""
        constants = [np.arange(self._buffer.size)[self._constants]]
        for _, n, size in blocks:
            here, rows = rows[:n], rows[n:]
            for j, base in enumerate(here):
                now, began = at + j * size, at + (n + j) * size
                self._buffer[now : now + size] = self._buffer[began : began + size] = base._buffer
                constants += [now + np.arange(N_WORDS), now + np.arange(size)[base._constants], began + np.arange(size)]
            at += 2 * n * size
        self._constants = np.concatenate(constants)

    def view(self) -> Any:
        """The state as a NamedTuple of named, live views: for looking at, and for compiled loops."""
        return view_keeper(self.keeper_type, self._kinds, self._buffer)

    def _observe(self, index: int, loss: float, propensity: float) -> int:
        raise self._no_observe("its rule needs the base that decided")

    def _damage(self) -> str:
        state = self.view()
        if not state.dice.any():
            return "dice are all zero"
        if not abs(state.p.sum() - 1.0) <= 1e-6:
            return "p does not sum to 1"
        for j, base in enumerate(self._fresh):
            for row in range(j * self._copies, (j + 1) * self._copies):
                if wrong := damage_of(base, row_of(state.herd, row).view(np.float64)):
                    return f"of base {j}, {wrong}"
        return super()._damage()

    @property
    def bases(self) -> list[dict[str, Any]]:
        """The bases, in plain values: the learner's name, its horizon and its own words."""
        return [written(base) for base in self._fresh]

    @property
    def base_probabilities(self) -> Matrix:
        """Each base's distribution over the arms (M, K)."""
        herd = self.view().herd
        shown = np.empty((len(self._fresh), self.n_arms))
        for j, base in enumerate(self._fresh):
            type(base)._probabilities(row_of(herd, j * self._copies).view(np.float64), shown[j])
        return shown


def damage_of(base: Learner, row: Vector) -> str:
    """What no base of this kind can have written into its row; empty if there is nothing. The base is as it began."""
    before = base._buffer
    base._buffer = row.copy()
    base._buffer[:N_WORDS] = 1.0  # random words of a base at rest are 0
    try:
        return problem(base.view(), base.n_arms, base.signed) or base._damage()
    finally:
        base._buffer = before
