"""Linear learners: arms are described by feature vectors, and what is learned of one arm is learned of all.

`ask(features)` is given the arms that are available now, one row of `features` each; their number may change from ask
to ask. The decision's index is the row. Asked without features, the arms are the unit vectors, one for every
dimension: a linear learner over d dimensions is then a learner over d arms, with all that those can do.

A linear learner's state has the arms of the round among its fields: `features`, (n, d), and K = n. They are not in its
buffer but beside it, and its `ask`, `tell` and `probabilities` are kernels like every other learner's. In a whole game
the features are those of the environment (`parts_seeing`).

The update of a decision needs the vector that was chosen. It stays here, with the ids of outstanding decisions, until
the decision is told or forgotten, and is saved with them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.dispatch import ask, tell, view_of, write_probabilities
from turncoat._compile.jit import jit_entry, without_refcount
from turncoat.decision import Decision
from turncoat.errors import ArmsError, FeaturesError, StateError
from turncoat.learners.base.buffer import BufferKernels, Served
from turncoat.learners.base.declarations import Option
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.saved_state import packed, unpacked
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_propensity, unit_loss
from turncoat.validation.numbers import is_whole, parse_positive

MOST_DIMENSIONS = 256  # a round costs their cube
MOST_NORM = 1e6
_SLACK = 1e-9  # a vector scaled to the largest norm may be longer by rounding


def linear_kernels(State: Any) -> BufferKernels:
    """The kernels on a buffer and the arms of the round; closures over a class, as in buffer.py."""

    @jit_entry
    def ask_linear(buffer: Vector, features: Matrix) -> Served:
        index, propensity = ask(view_of(State, without_refcount((buffer, features))))
        return index, propensity, None, None, None

    @jit_entry
    def tell_linear(buffer: Vector, features: Matrix, index: int, loss: float) -> int:
        state = view_of(State, without_refcount((buffer, features)))
        tell(state, (index, 1.0), loss)
        return int(state.clock[0])

    @jit_entry
    def probabilities_linear(buffer: Vector, features: Matrix, out: Vector) -> None:
        write_probabilities(view_of(State, without_refcount((buffer, features))), without_refcount(out))

    return BufferKernels(ask_linear, tell_linear, probabilities_linear)


class LinearLearner(Learner):
    """A learner whose arms have feature vectors. Made by its subclasses only."""

    uses_propensity = False
    _kernels_of = staticmethod(linear_kernels)
    feature_norm = Option[float]("L, the largest Euclidean norm that a feature vector may have.")

    def __init__(
        self,
        dimension: int | Sequence[Label],
        horizon: int | None,
        seed: Seed,
        loss_range: Sequence[float],
        needed_by: str | None,
        feature_norm: float,
    ) -> None:
        super().__init__(dimension, horizon, seed, loss_range, needed_by)
        if self.dimension > MOST_DIMENSIONS:
            raise ArmsError(f"dimension is {self.dimension}; accepted are at most {MOST_DIMENSIONS}")
        self.feature_norm = parse_positive("feature_norm", feature_norm, MOST_NORM)
        self._units = min(self.feature_norm, 1.0) * np.eye(self.dimension)
        self._chosen: dict[int, tuple[int, Matrix]] = {}  # of outstanding decisions: the row, and the vector in it

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """d, how many numbers describe an arm."""
        return self.n_arms

    @property
    def parts(self) -> Any:
        """What compiled loops are given of it: its buffer, and the arms, here the unit vectors."""
        return self.parts_seeing(self._units)

    def parts_seeing(self, features: Matrix) -> Any:
        """The same with these arms."""
        return self._buffer, features

    def probabilities(
        self, features: ArrayLike | None = None, *, allowed: Iterable[Label] | None = None, m: int | None = None
    ) -> Vector:
        """The distribution over these arms, rows of `features`, that an `ask` draws from."""
        if allowed is not None or m is not None:
            return self._probabilities_planned(allowed, m)
        arms = self.rows(features)
        served = np.empty(len(arms))
        self._probabilities(self._buffer, arms, served)
        return served

    def rows(self, features: ArrayLike | None) -> Matrix:
        """Features as compiled code reads them, checked; the unit vectors where there are none."""
        if features is None:
            return self._units
        d, L = self.dimension, self.feature_norm
        try:
            rows = np.array(features, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError):
            rows = np.empty(0)
        if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != d:
            shape = f"have shape {rows.shape}" if rows.size else f"are {reprlib.repr(features)}"
            raise FeaturesError(f"features {shape}; accepted are rows of {d} numbers, one row per arm, at least one")
        norms = np.sqrt((rows * rows).sum(axis=1))
        wrong = ~(norms <= L * (1.0 + _SLACK))  # NaN is not
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise FeaturesError(
                f"row {i} of features is {reprlib.repr(rows[i].tolist())}, of norm {norms[i]:g}; accepted are vectors "
                f"of finite numbers with a norm of at most {L:g} (see feature_norm)"
            )
        return rows

    def _size(self) -> str:
        return f"{self.dimension} dimensions" if self.dimension > 1 else "1 dimension"

    # -- ask and tell -------------------------------------------------------------------------------------------

    def ask(
        self, features: ArrayLike | None = None, *, allowed: Iterable[Label] | None = None, m: int | None = None
    ) -> Decision:
        """Choose one of the arms whose vectors are the rows of `features`; without them, one of the unit vectors.

        The decision's index is the row. Tell what it cost later, in any order, or forget it.
        """
        if allowed is not None or m is not None:
            return self._ask_planned(allowed, m)
        rows = self.rows(features)
        index, q, _, _, _ = self._ask(self._buffer, rows)
        number = self._next_id
        self._next_id = number + 1
        self._outstanding.add(number)
        if features is not None:
            self._chosen[number] = index, rows[index : index + 1].copy()
        label = index if features is not None else self._labels[index]
        return Decision(label, index, q, None, None, None, self._token, number)

    def tell(self, decision: Decision, loss: float | None = None, *, reward: float | None = None) -> None:
        """Learn what a decision cost: a loss, or a reward, inside `loss_range`. Each decision can be told once."""
        if not self._is_outstanding(decision):
            raise self._refusal(decision)
        unit = unit_loss(loss, reward, self._low, self._high)
        row, vector = self._chosen.get(decision.id, (None, self._units))
        index, q = decision.index, decision.propensity
        fits = is_whole(index) and (0 <= index < self.dimension if row is None else index == row)
        plain = decision.base is None and decision.allowed is None and decision.m == 1
        if not (fits and plain and isinstance(q, float) and 0.0 < q <= 1.0):
            raise self._altered(decision)
        clock = self._tell(self._buffer, vector, index if row is None else 0, unit)
        self._outstanding.discard(decision.id)
        self._chosen.pop(decision.id, None)
        if clock > self._warn_after:
            self._warn_past_horizon()

    def observe(
        self,
        arm: int | ArrayLike,
        loss: float | None = None,
        propensity: float | None = None,
        *,
        reward: float | None = None,
        allowed: Iterable[int] | None = None,
        m: int | None = None,
    ) -> None:
        """Learn from a round decided elsewhere: the vector of the arm, or the index of a unit vector, and its loss.

        `propensity` is not needed.
        """
        named: Any = arm
        if is_whole(arm) and not 0 <= named < self.dimension:
            whole = f"whole numbers from 0 to {self.dimension - 1}"
            raise FeaturesError(f"arm is {arm!r}; accepted are vectors of {self.dimension} numbers, and {whole}")
        rows, index = (self._units, int(named)) if is_whole(arm) else (self.rows([named]), 0)
        parse_propensity(propensity, needed=False)
        if allowed is not None or m is not None:
            raise self._no_planning(allowed, m)
        clock = self._tell(self._buffer, rows, index, unit_loss(loss, reward, self._low, self._high))
        if clock > self._warn_after:
            self._warn_past_horizon()

    def forget(self, decision: Decision) -> None:
        """Drop a decision that will never be told."""
        super().forget(decision)
        self._chosen.pop(decision.id, None)

    # -- saving -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it as a dict that JSON can hold: `tc.restore` goes on from there identically."""
        chosen = sorted(self._chosen.items())
        marks = np.array([[number, row] for number, (row, _) in chosen], dtype="<i8")
        vectors = np.array([vector for _, (_, vector) in chosen], dtype="<f8")
        return {**super().state(), "chosen": {"marks": packed(marks), "vectors": packed(vectors)}}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        learner = super()._rebuilt(state)
        chosen = state.get("chosen")
        if not isinstance(chosen, dict) or set(chosen) != {"marks", "vectors"}:
            raise StateError(f"the state's chosen are {reprlib.repr(chosen)}; accepted is a dict of marks and vectors")
        marks = unpacked(chosen["marks"], "<i8").reshape(-1, 2).tolist()
        vectors = unpacked(chosen["vectors"], "<f8").astype(np.float64).reshape(len(marks), learner.dimension)
        if len(marks):
            learner.rows(vectors)
        learner._chosen = {n: (row, vectors[i : i + 1].copy()) for i, (n, row) in enumerate(marks)}
        if not set(learner._chosen) <= learner._outstanding or any(row < 0 for _, row in marks):
            raise StateError("the state's chosen vectors are not those of outstanding decisions")
        return learner
