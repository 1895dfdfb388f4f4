"""D-LinUCB: optimism about a linear model that forgets. For arms with feature vectors whose worth changes over time.

Setting: stochastic; an arm with the vector x, |x| ≤ L, has the mean reward <x, theta_t>, r = 1 - loss in [0, 1], and
theta_t jumps S times. Needs T; takes S (`n_switches`), and without it is tuned as for one jump. No intercept is added:
if rewards are not near 0 where x is, give every arm one more feature that is always the same, such as 1.

Rule (Russac et al. 2019, algorithm 1): each told reward r of a vector x fades what was known and adds to it,
    V  <- gamma V  + x xᵀ + (1 - gamma) lambda I                                                        (1)
    V~ <- gamma² V~ + x xᵀ + (1 - gamma²) lambda I                                                      (2)
    b  <- gamma b  + x r                                                                                (3)
from V = V~ = lambda I, b = 0; and the arm is played with the largest
    <x, theta> + exploration · beta sqrt(xᵀ V⁻¹ V~ V⁻¹ x),  theta = V⁻¹ b                               (4)
    beta = sqrt(lambda) B + sigma sqrt(2 ln(1/delta) + d ln(1 + L² (1 - gamma^2n)/(lambda d (1 - gamma²))))   (5)
after n rewards, with gamma = 1 - (S/(d T))^(2/3).                                                      (6)

    paper's symbol      name here
    gamma               gamma, the `discount`
    lambda              lam, the `regularisation`
    L, S                L, the `feature_norm`; B, the `parameter_norm`: |theta| ≤ B
    sigma, delta        1/2, as rewards lie in [0, 1] (Hoeffding's lemma); 1/T
    V, V-tilde, b       V, Vt, b
    Gamma_T             S

Guarantee (their theorem for abrupt changes, from memory): with exploration 1, regret of order d^(2/3) S^(1/3) T^(2/3)
with probability 1 - delta. Their theorem for slow drift rests on a lemma that does not hold in general (P. Zhao,
L. Zhang, "Non-stationary linear bandits revisited", 2021, from memory; T^(3/4) is what can be shown so). None against
an adversary, and none for a smaller exploration, which plays better.
Departures from the paper: S is the number of switches of the best arm, which is what users know, where the paper counts
jumps of theta; S = 0 forgets nothing, gamma = 1, and (4) is LinUCB; delta is tied to T; ties are broken at random
(index.py); late rewards count as new ones; a lambda that is lost to rounding beside V, as with very long vectors, is
lifted to where it is not (cholesky.py). The authors' program computes V~ of (2) from V, which makes the width in (4)
about √2 too large; this one does not.
Cost per round: O(d³ + n d²) for n arms, most of it in the tell: (1) adds to the diagonal, so V⁻¹ cannot be updated in
d² and V is factored anew (cholesky.py). With V~ = R Rᵀ the root in (4) is |Rᵀ V⁻¹ x|, never of a negative number.
Reference: Y. Russac, C. Vernade, O. Cappé, "Weighted linear bandits for non-stationary environments", NeurIPS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.dispatch import register_learner, view_of
from turncoat._compile.state import State, array, beside, computed
from turncoat.learners.base import Checks, Facts, Option, Shown, copied, jit_rule, variant
from turncoat.learners.base.index import MOST_EXPLORATION, largest
from turncoat.learners.base.linear import MOST_NORM, LinearLearner
from turncoat.learners.parts.discounting import SMALLEST_DISCOUNT, parse_discount
from turncoat.mirror.cholesky import add_outer, dot, factor, solve, transpose
from turncoat.types import Label, Matrix, Seed, Vector
from turncoat.validation.games import parse_switches
from turncoat.validation.numbers import parse_between, parse_positive

SIGMA = 0.5


def discount_of_jumps(T: int, d: int, S: int | None) -> float:
    """gamma: (6)."""
    jumps = 1 if S is None else S
    return max(1.0 - math.pow(jumps / (d * T), 2.0 / 3.0), SMALLEST_DISCOUNT)


@jit_rule
def n_rows(features: Matrix) -> int:
    """How many arms there are."""
    return int(features.shape[0])


class DLinUCBState(State):
    """The discounted least squares, what follows from them, and the arms of the round."""

    d: int
    gamma: float
    lam: float
    bias: float  # exploration · sqrt(lambda) B
    sigma: float  # exploration · sigma
    log_risk: float  # 2 ln(1/delta)
    L: float
    b: Vector = array("d")
    theta: Vector = array("d")  # V⁻¹ b
    V: Matrix = array("d", "d")
    Vt: Matrix = array("d", "d")
    lower: Matrix = array("d", "d")  # the Cholesky factor of V
    root: Matrix = array("d", "d")  # Rᵀ V⁻¹
    features: Matrix = beside(2)  # (K, d)
    K: int = computed(n_rows, "features")


@jit_rule
def confidence(state: DLinUCBState) -> float:
    """exploration · beta: (5)."""
    n, gamma, d = float(state.clock[0]), state.gamma, state.d
    weight = n if gamma == 1.0 else -math.expm1(2.0 * n * math.log(gamma)) / (1.0 - gamma * gamma)
    growth = math.log1p(state.L * state.L * weight / (state.lam * d))
    return state.bias + state.sigma * math.sqrt(state.log_risk + d * growth)


@jit_rule
def index(state: DLinUCBState, beta: float, arm: int, least: float) -> float:
    """The index of an arm: (4)."""
    x, square = state.features[arm], 0.0
    for i in range(state.d):
        part = dot(state.root[i], x)
        square += part * part
    return dot(state.theta, x) + beta * math.sqrt(square)


@jit_rule
def tell(state: DLinUCBState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _ = choice
    state.clock[0] += 1
    x, gamma, lam = state.features[arm], state.gamma, state.lam
    add_outer(state.V, gamma, x, (1.0 - gamma) * lam)  # (1)
    add_outer(state.Vt, gamma * gamma, x, (1.0 - gamma * gamma) * lam)  # (2)
    for i in range(state.d):
        state.b[i] = gamma * state.b[i] + x[i] * (1.0 - loss)  # (3)
    refresh(state)


@jit_rule
def refresh(state: DLinUCBState) -> None:
    """Find what follows from V, V~ and b: theta, and Rᵀ V⁻¹."""
    state.theta[:] = state.b
    factor(state.V, state.lam, state.lower)
    solve(state.lower, state.theta)
    factor(state.Vt, state.lam, state.root)
    transpose(state.root)
    for i in range(state.d):
        solve(state.lower, state.root[i])


rule = largest(confidence, index)
register_learner(DLinUCBState, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


class DLinUCB(LinearLearner):
    """D-LinUCB: for arms with feature vectors, when what makes an arm good changes now and then.

    `dimension`: how many numbers describe an arm, or names for them. `horizon`: the number of rounds T. `seed`: one
    seed, one run. `loss_range`: the lowest and highest loss that can be told. `n_switches`: S, how often the best arm
    changes; None is tuned as for 1. `discount`: what a sample counts a round later; by default from S and T.
    `feature_norm`: the largest norm of a feature vector. `parameter_norm`: that of the vector to be learned.
    `regularisation`: lambda. `exploration`: scales the width; 1 is the paper's, less is often better.
    The rule and its guarantee: help("turncoat.learners.linear.dlinucb").
    """

    name = "dlinucb"
    facts = Facts(
        "needed",
        "wanted",
        "d^⅔ S^⅓ T^⅔",
        "d³ + Kd²",
        setting="linear",
        when="many arms described by few numbers, what makes one good jumps; best as exploration=0.2",
        when_not="rewards are not linear in the features, or arms are few and have none: discounted-ucb",
    )
    variants = (variant("dlinucb, practical", exploration=0.2),)
    state_type = DLinUCBState
    signed = ("b", "theta", "V", "Vt", "lower", "root", "features")
    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")
    discount = Option[float]("gamma, the factor by which a sample is discounted per round.")
    parameter_norm = Option[float]("The largest norm that theta is taken to have.")
    regularisation = Option[float]("lambda, what pulls theta towards 0.")
    exploration = Option[float]("What its width is of the paper's.")
    parameter = Shown(copied, "theta, its estimate of what a feature is worth, in rewards.", "theta")

    def __init__(  # noqa: PLR0913  the paper's gamma, L, S, lambda and alpha; all but the first two optional
        self,
        dimension: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
        discount: float | None = None,
        feature_norm: float = 1.0,
        parameter_norm: float = 1.0,
        regularisation: float = 1.0,
        exploration: float = 1.0,
    ) -> None:
        super().__init__(dimension, horizon, seed, loss_range, type(self).__name__, feature_norm)
        d, T = self.dimension, int(self.horizon or 1)
        self.n_switches = parse_switches(n_switches, T)
        self.discount = parse_discount(discount, discount_of_jumps(T, d, self.n_switches))
        self.parameter_norm = parse_positive("parameter_norm", parameter_norm, MOST_NORM)
        self.regularisation = lam = parse_between("regularisation", regularisation, 1e-6, MOST_NORM)
        self.exploration = parse_positive("exploration", exploration, MOST_EXPLORATION)
        bias = self.exploration * math.sqrt(lam) * self.parameter_norm
        sigma, risk, L = self.exploration * SIGMA, 2.0 * math.log(T), self.feature_norm
        state = self.start(d=d, gamma=self.discount, lam=lam, bias=bias, sigma=sigma, log_risk=risk, L=L)
        for matrix in (state.V, state.Vt):
            np.fill_diagonal(matrix, lam)
        refresh(state)

    def indices(self, features: ArrayLike | None = None) -> Vector:
        """The index of every arm, a row of `features` each, in rewards: what an `ask` compares."""
        rows = self.rows(features)
        shown = np.empty(len(rows))
        rule.indices(view_of(self.state_type, self.parts_seeing(rows)), shown)
        return shown

    def _checks(self) -> Checks:
        state = self.view()
        n, most = float(state.clock[0]), 1.0 + 1e-9
        squares = max(np.abs(state.V).max(), np.abs(state.Vt).max())
        counted = squares > (state.lam + n * state.L**2) * most or np.abs(state.b).max() > n * state.L * most
        yield counted, "more was counted than was told"
        for matrix in (state.V, state.Vt):
            spectrum = np.linalg.eigvalsh(matrix)
            wrong = not np.array_equal(matrix, matrix.T) or spectrum[0] < -1e-6 * spectrum[-1]
            yield wrong, "what it knows of the features is no sum of squares"
        found = np.concatenate([state.theta, state.lower.ravel(), state.root.ravel()])
        refresh(state)
        again = np.concatenate([state.theta, state.lower.ravel(), state.root.ravel()])
        followed = np.allclose(found, again, rtol=1e-6, atol=1e-12)
        yield not followed, "theta and root do not follow from what it knows"
        yield from super()._checks()
