"""SwitchingLinear: adversarial linear losses over points of a ball, against the best points with S switches.

Setting: adversarial; in each round a point x of the unit ball in d dimensions is played and <x, l> is seen, |l| ≤ 1, so
losses lie in [-1, 1]. Needs T; takes S (`n_switches`), and without it is tuned as for one switch. Experimental.

Rule (after Luo, Zhang, Zhao & Zhou 2022): bases i, each on a point a_i of the ball, under a fixed-share master p.
    with probability beta explore; else draw i from p, and with probability |a_i| play a_i/|a_i|, else explore:
    exploring is playing one of ±e_1, …, ±e_d                                                          (1)
    M = E x xᵀ under (1) = (q/d) I + (1 - beta) sum_i p_i a_i a_iᵀ/|a_i|,
    q = beta + (1 - beta) sum_i p_i (1 - |a_i|), the chance of exploring                               (2)
    lhat = M⁻¹ x <x, l>, one estimate for all: unbiased                                                (3)
    p_i <- (1 - mu) p_i exp(-eta (<a_i, lhat> - bonus_i))/Z + mu/H,  bonus_i = eta d (1 - |a_i|)/q     (4)
    base i: theta_i <- theta_i - eta lhat, |theta_i| at most T - 1; a_i = theta_i/(1 + |theta_i|)      (5)
with eta = sqrt((S + 1) ln T/(d T)), at most 1/(4d); beta = 2 d eta; mu = 1/T.                         (6)
(5) is mirror descent under -ln(1 - |x|) - |x| on |x| ≤ 1 - 1/T. Base k restarts every 2^k rounds, 2^k from 2d on up to
the first that is at least T.                                                                          (7)

    paper's symbol              name here
    gamma, beta, mu             1/T, beta, mu
    eta, epsilon                eta, for both
    M-tilde, p-hat, a^(i)       M, p, points

Guarantee: of the paper's own algorithm, O(sqrt(d S T)) up to logarithms (theorem 1, from memory). Of this one, derived
from (1) to (7): beta keeps eta |lhat| ≤ 1/2, and the bonus takes the variance (1 - |a_i|) E|lhat|² of a base off the
master's account, as its mean over p is at most 2 eta d. So regret is of order sqrt(d S T) if E|lhat|² is of order d/q,
as with exploring rounds alone; what is certain is d²/q, which costs another sqrt(d).
Departures from the paper: (7) has about log2 T bases in the place of one started in every round (the geometric covering
of Daniely et al. 2015; a path with S switches has S log T pieces there: one more logarithm). From memory, the paper's
bases learn from exploring rounds alone, ours by (3) from all; and its bonus is a_iᵀ M⁻¹ a_i/(lambda T) for a lambda to
be tuned, where (4) has a bound on a base's own variance. (6) was derived here. Late tells: lhat has the M that the
point was drawn with; all else is as it is now.
Cost per round: O(d³ + d² log T).
References: H. Luo, M. Zhang, P. Zhao, Z.-H. Zhou, "Corralling a larger band of bandits: a case study on switching
regret for linear bandits", COLT 2022. S. Bubeck, N. Cesa-Bianchi, S. Kakade, "Towards minimax policies for online
linear optimization with bandit feedback", COLT 2012, for (1) and (5). A. Daniely, A. Gonen, S. Shalev-Shwartz,
"Strongly adaptive online learning", ICML 2015, for (7).
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from turncoat.decision import Decision
from turncoat.errors import ArmsError, FeaturesError, OptionError, StateError
from turncoat.learners.base import Facts, Learner, Option, Shown, State, array, copied, jit_rule, register_learner
from turncoat.learners.base.linear import MOST_DIMENSIONS
from turncoat.learners.base.saved_state import Checks, packed, unpacked
from turncoat.mirror.cholesky import dot, factor, solve
from turncoat.random import uniform
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_propensity, parse_switches, unit_loss

SLACK = 1e-9


def rate(T: int, d: int, S: int | None) -> float:
    """eta: (6)."""
    segments = 2 if S is None else S + 1
    return min(math.sqrt(segments * math.log(max(T, 2)) / (d * T)), 0.25 / d)


def lengths(T: int, d: int) -> tuple[int, int]:
    """The powers k of the shortest and of the longest 2^k: (7)."""
    longest = (T - 1).bit_length()
    return min((2 * d - 1).bit_length(), longest), longest


class SwitchingLinearState(State):
    """The master and its bases, what follows from them, and the point that was drawn last."""

    d: int
    H: int
    shortest: int
    eta: float
    beta: float
    horizon: float
    point: Vector = array("d")  # drawn by the last ask
    solved: Vector = array("d")  # M⁻¹ point
    q: Vector = array(1)
    p: Vector = array("H")
    sizes: Vector = array("H")  # |a_i|
    theta: Matrix = array("H", "d")
    M: Matrix = array("d", "d")
    lower: Matrix = array("d", "d")  # its Cholesky factor


@jit_rule
def prepare(state: SwitchingLinearState) -> None:
    """Find what the next ask draws from, and M: (2)."""
    d, beta, M = state.d, state.beta, state.M
    M[:] = 0.0
    still = 0.0
    for i in range(state.H):
        norm = math.sqrt(dot(state.theta[i], state.theta[i]))
        size = norm / (1.0 + norm)  # |a_i|, by (5)
        state.sizes[i] = size
        still += state.p[i] / (1.0 + norm)
        if norm > 0.0:
            weight = (1.0 - beta) * state.p[i] * size / (norm * norm)
            for j in range(d):
                for k in range(d):
                    M[j, k] += weight * state.theta[i, j] * state.theta[i, k]
    state.q[0] = beta + (1.0 - beta) * still
    for j in range(d):
        M[j, j] += state.q[0] / d
    factor(M, beta / d, state.lower)


@jit_rule
def draw(state: SwitchingLinearState) -> int:
    """The base whose direction is played, or -1 to explore: (1)."""
    if uniform(state.rng) < state.beta:
        return -1
    u, base = uniform(state.rng), 0
    while base < state.H - 1 and u >= state.p[base]:
        u -= state.p[base]
        base += 1
    return base if uniform(state.rng) < state.sizes[base] else -1


@jit_rule
def ask(state: SwitchingLinearState) -> tuple[int, None]:
    """Draw the point: (1)."""
    base, d = draw(state), state.d
    if base < 0:
        side = min(int(uniform(state.rng) * 2 * d), 2 * d - 1)
        state.point[:] = 0.0
        state.point[side % d] = 1.0 if side < d else -1.0
    else:
        norm = math.sqrt(dot(state.theta[base], state.theta[base]))
        for j in range(d):
            state.point[j] = state.theta[base, j] / norm
    state.solved[:] = state.point
    solve(state.lower, state.solved)
    return 0, None


@jit_rule
def move(state: SwitchingLinearState, base: int, lhat: Vector) -> None:
    """One step of a base, which restarts when its time is over: (5), (7)."""
    theta = state.theta[base]
    for j in range(state.d):
        theta[j] -= state.eta * lhat[j]
    norm, longest = math.sqrt(dot(theta, theta)), max(state.horizon, 2.0) - 1.0
    if norm > longest:
        for j in range(state.d):
            theta[j] *= longest / norm
    if state.clock[0] % (1 << (state.shortest + base)) == 0:
        theta[:] = 0.0


@jit_rule
def tell(state: SwitchingLinearState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of the point whose M⁻¹ x is `solved`; losses in [0, 1] stand for those in [-1, 1]."""
    state.clock[0] += 1
    lhat, eta, d, total = state.solved, state.eta, state.d, 0.0
    for j in range(d):
        lhat[j] *= 2.0 * loss - 1.0  # (3)
    for i in range(state.H):
        still = 1.0 - state.sizes[i]
        charged = still * dot(state.theta[i], lhat)  # a = theta (1 - |a|)
        state.p[i] *= math.exp(-eta * (charged - eta * d * still / state.q[0]))
        total += state.p[i]
    for i in range(state.H):
        state.p[i] = (1.0 - 1.0 / state.horizon) * state.p[i] / total + 1.0 / (state.horizon * state.H)  # (4)
        move(state, i, lhat)
    prepare(state)


register_learner(SwitchingLinearState, ask=ask, tell=tell)


class SwitchingLinear(Learner):
    """Points of the unit ball against an adversary whose loss vectors turn now and then. Experimental.

    `dimension`: of the ball, or names for its axes. `horizon`: the number of rounds T. `seed`: one seed, one run.
    `loss_range`: (-c, c), where c is the largest norm of a loss vector. `n_switches`: S, how often the best point
    changes; None is tuned as for 1. `ask` takes nothing; the decision's arm is the point, a tuple of numbers.
    The rule and its guarantee: help("turncoat.learners.linear.switching_linear").
    """

    name = "switching-linear"
    facts = Facts(
        "needed",
        "wanted",
        "√(dST), or d√(ST)",
        "d³ + Hd²",
        setting="linear",
        when="any point of a ball can be played, and losses are linear in it and may be adversarial",
        when_not="arms are finitely many: dlinucb with features, turncoat without",
    )
    can_race = False  # it plays points, and races are over arms
    state_type = SwitchingLinearState
    signed = ("point", "solved", "theta", "M", "lower")
    uses_propensity = False
    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")
    master_probabilities = Shown(copied, "(H,): how far each base is trusted.", "p")

    def __init__(
        self,
        dimension: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (-1.0, 1.0),
        n_switches: int | None = None,
    ) -> None:
        super().__init__(dimension, horizon, seed, loss_range, type(self).__name__)
        d, T = self.dimension, int(self.horizon or 1)
        if d > MOST_DIMENSIONS:
            raise ArmsError(f"dimension is {d}; accepted are at most {MOST_DIMENSIONS}")
        if self._low != -self._high:
            raise OptionError(
                f"loss_range is {loss_range!r}; accepted is (-c, c): a point's opposite costs the opposite"
            )
        self.n_switches = parse_switches(n_switches, T)
        shortest, longest = lengths(T, d)
        H, eta = longest - shortest + 1, rate(T, d, self.n_switches)
        state = self.start(d=d, H=H, shortest=shortest, eta=eta, beta=2.0 * d * eta, horizon=T)
        self._solved: dict[int, Vector] = {}  # M⁻¹ x of outstanding decisions
        state.p[:] = 1.0 / H
        prepare(state)

    @property
    def dimension(self) -> int:
        """d, of the ball."""
        return self.n_arms

    @property
    def base_points(self) -> Matrix:
        """(H, d): where the bases are, the most often restarted first."""
        state = self.view()
        points: Matrix = state.theta * (1.0 - state.sizes)[:, None]
        return points

    def _size(self) -> str:
        return f"{self.dimension} dimensions" if self.dimension > 1 else "1 dimension"

    def ask(self, *, allowed: Iterable[Label] | None = None, m: int | None = None) -> Decision:
        """Draw a point: the decision's arm. Tell what it cost later, in any order, or forget it."""
        decision = super().ask(allowed=allowed, m=m)
        state = self.view()
        self._solved[decision.id] = state.solved.copy()
        return decision._replace(arm=tuple(state.point.tolist()))

    def _ask_rows(self, n: int, allowed: Any, m: Any) -> Any:
        raise ArmsError(f"{type(self).__name__} plays points of a ball, not arms; accepted is one ask at a time")

    def tell(self, decision: Decision, loss: float | None = None, *, reward: float | None = None) -> None:
        """Learn what a point cost: a loss, or a reward, inside `loss_range`. Each decision can be told once."""
        if not self._is_outstanding(decision):
            raise self._refusal(decision)
        if (decision.index, decision.propensity, decision.base, *decision[-2:]) != (0, None, None, None, 1):
            raise self._altered(decision)
        self._learn(self._solved[decision.id], unit_loss(loss, reward, self._low, self._high))
        self._outstanding.discard(decision.id)
        del self._solved[decision.id]

    def observe(
        self,
        point: ArrayLike,
        loss: float | None = None,
        propensity: float | None = None,
        *,
        reward: float | None = None,
        allowed: Iterable[int] | None = None,
        m: int | None = None,
    ) -> None:
        """Learn from a point that was played elsewhere, as if this learner had drawn it now."""
        try:
            x = np.array(point, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            x = np.empty(0)
        if x.shape != (self.dimension,) or not (x @ x) <= 1.0 + SLACK:
            raise FeaturesError(
                f"point is {reprlib.repr(point)}; accepted are {self.dimension} numbers whose norm is at most 1"
            )
        parse_propensity(propensity, needed=False)
        if allowed is not None or m is not None:
            raise self._no_planning(allowed, m)
        unit = unit_loss(loss, reward, self._low, self._high)
        solve(self.view().lower, x)
        self._learn(x, unit)

    def _learn(self, solved: Vector, unit: float) -> None:
        self.view().solved[:] = solved
        if self._tell(self._buffer, 0, unit, 1.0) > self._warn_after:
            self._warn_past_horizon(stacklevel=4)

    def forget(self, decision: Decision) -> None:
        """Drop a decision that will never be told."""
        super().forget(decision)
        del self._solved[decision.id]

    def state(self) -> dict[str, Any]:
        """All of it as a dict that JSON can hold: `tc.restore` goes on from there identically."""
        waiting = np.array([self._solved[number] for number in sorted(self._solved)], dtype="<f8")
        return {**super().state(), "solved": packed(waiting)}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        learner = super()._rebuilt(state)
        ids = sorted(learner._outstanding)
        rows = unpacked(state.get("solved"), "<f8").astype(np.float64).reshape(len(ids), learner.dimension)
        most = learner.dimension / learner.view().beta * (1.0 + SLACK)
        if not np.all(np.abs(rows) <= most):
            raise StateError("the state's solved vectors are not those of points")
        learner._solved = {number: row.copy() for number, row in zip(ids, rows, strict=True)}
        return learner

    def _checks(self) -> Checks:
        state = self.view()
        yield not abs(state.p.sum() - 1.0) <= 1e-6, "its probabilities do not sum to 1"
        longest = max(state.horizon, 2.0) * (1.0 + SLACK)
        yield np.linalg.norm(state.theta, axis=1).max() > longest, "theta is too long"
        found = np.concatenate([state.q, state.sizes, state.M.ravel(), state.lower.ravel()])
        prepare(state)
        again = np.concatenate([state.q, state.sizes, state.M.ravel(), state.lower.ravel()])
        yield not np.allclose(found, again, rtol=1e-9, atol=1e-12), "M does not follow from its bases"
