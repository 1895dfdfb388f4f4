"""A master over a stack of bases of any kinds: the buffer it lays out, the kernels on it, and what it shows.

Its rule is written as every learner's, over a State with these fields beside its own:

    K                  the number of arms; the first field
    ways               base numbers run below this
    n_blocks, sizes    the blocks of the stack: n and the size of a row, for each
    p                  what the master's step acts on, a distribution over bases
    dice               random words that only tells move: what is learned must not depend on the number of asks
    memory             the bases (base_stack.py); the last field
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from turncoat._compile.state import N_WORDS
from turncoat.learners.base.base_factory import base_spec, make_bases
from turncoat.learners.base.base_stack import blocks_of, row_of, stacked_state
from turncoat.learners.base.buffer import master_kernels
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.saved_state import Checks, problem
from turncoat.random import seed_words
from turncoat.types import Label, Matrix, Seed, Vector

# (arm, base, p(base), p_base(arm), q(arm)); q is 0 where the rule never looks at the marginal
Choice: TypeAlias = tuple[int, int, float, float, float]


class GenericMaster(Learner):
    """A learner that chooses among learners of any kinds. Made by its subclasses only."""

    master_state_type: ClassVar[type]  # its State, of which there is a subclass for each sequence of kinds of bases
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
        # `copies`: how many rows of the stack a base has; the first of them is the base itself
        super().__init__(arms, horizon, seed, loss_range, needed_by=needed_by)
        self._fresh = make_bases(self._default_bases() if bases is None else bases, self._labels, self.horizon)
        for base in self._fresh:
            base._buffer[:N_WORDS] = 0.0  # it draws from its master's stream
        self._copies = copies
        self.signed = tuple({word for base in self._fresh for word in base.signed})

    def _default_bases(self) -> Any:
        """The bases where none are given."""
        raise NotImplementedError

    def _start_generic_master(self, **constants: Any) -> Any:
        """Lay out the buffer with these constants and those of the stack; the state, where the master is to be set."""
        rows = [base for base in self._fresh for _ in range(self._copies)]
        blocks = blocks_of([(base.state_type, base._buffer.size) for base in rows])
        self.state_type = stacked_state(self.master_state_type, [state for state, _, _ in blocks])
        kernels = master_kernels(self.state_type)
        self._ask, self._tell, self._probabilities, self._ask_many, self._tell_many = kernels
        sizes = [number for _, n, size in blocks for number in (n, size)]
        n_words = sum(2 * n * size for _, n, size in blocks)
        self.start(n_words, K=self.n_arms, n_blocks=len(blocks), sizes=sizes, **constants)
        self._fill(rows, blocks, self._buffer.size - n_words)
        state = self.view()
        state.dice[:] = seed_words(np.random.SeedSequence([int(word) for word in self._words]))
        return state

    def _fill(self, rows: list[Learner], blocks: list[tuple[type, int, int]], at: int) -> None:
        """Write the bases where the stack looks for them, and count among the constants what never changes there."""
        constants = [np.arange(self._buffer.size)[self._constants]]
        for _, n, size in blocks:
            here, rows = rows[:n], rows[n:]
            for j, base in enumerate(here):
                now, began = at + j * size, at + (n + j) * size
                self._buffer[now : now + size] = self._buffer[began : began + size] = base._buffer
                constants += [now + np.arange(N_WORDS), now + np.arange(size)[base._constants], began + np.arange(size)]
            at += 2 * n * size
        self._constants = np.concatenate(constants)

    def _observe(self, index: int, loss: float, propensity: float) -> int:
        raise self._no_observe("its rule needs the base that decided")

    def _checks(self) -> Checks:
        state = self.view()
        yield not state.dice.any(), "dice are all zero"
        yield not abs(state.p.sum() - 1.0) <= 1e-6, "p does not sum to 1"
        for j, base in enumerate(self._fresh):
            for row in range(j * self._copies, (j + 1) * self._copies):
                wrong = damage_of(base, row_of(state, row).view(np.float64))
                yield wrong, f"of base {j}, {wrong}"
        yield from super()._checks()

    @property
    def bases(self) -> list[dict[str, Any]]:
        """The bases, in plain values: the learner's name, its horizon and its own words."""
        return [base_spec(base) for base in self._fresh]

    @property
    def base_probabilities(self) -> Matrix:
        """Each base's distribution over the arms (M, K)."""
        state = self.view()
        shown = np.empty((len(self._fresh), self.n_arms))
        for j, base in enumerate(self._fresh):
            type(base)._probabilities(row_of(state, j * self._copies).view(np.float64), shown[j])
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
