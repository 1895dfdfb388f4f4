"""Band: a master over learners of any kinds, all of which learn from every round.

Setting: adversarial losses in [0, 1], oblivious; anytime if its bases are. What S it follows is up to the bases.

Rule, over H bases with distributions p_h over the arms. N is T, or without a horizon 16, 32, … just above the clock t.
    draw h ~ p, then a ~ p_h: arm a is served with q(a) = sum_h p(h) p_h(a)                       (1)
    every base is told the loss of a, and q(a) as the probability it was served with              (2)
    d_h = p_h(a) (loss - b 1{a high})/q(a) + b sum over high k of p_h(k)                          (3)
          k is high where q(k) ≥ eta b;  b guesses the loss from those before (shared_master.py)
    p <- argmin over {r : r ≥ f} of  <r, eta d> + KL(r || p),  f = min(1/(N H), 1/(2H))           (4)
with eta = min(2/sqrt(N), 1/2), and p at first the `prior`, raised to f. All arms are candidates for "high", whatever K.
(3) is unbiased for what base h loses on average, and eta d ≥ -1. With master="bold" it is
    d_h = max(p_h(a) (loss - 0.8 b)/q(a), -1/eta),  eta = 10/sqrt(N)                              (5)
which often plays better, and is biased against bases whose arms are rare: no guarantee.

Guarantee, for (3), a horizon and losses told in order: for every base j, with p_j as it was in each round,
    E loss of the band - E sum_t <p_j, loss_t>  ≤  ln(1/p_1(j))/eta + eta E sum_t sum_h p(h) d_h² + 1             (6)
p_1 being p at first; and E sum_h p(h) d_h² ≤ 2 min(K, H) + 2. So it is O(sqrt(T)) behind what any base *proposes*.
This is mirror descent with exp(-x) ≤ 1 - x + x² for x ≥ -1, against the corner of j in the clipped simplex, which is
no more than H f T ≤ 1 from base j.
Without a horizon the first term is at most ln(NH)/eta_N, N ≤ 2T, as rates and floors only fall; the last becomes a sum
over the doublings, of order ln(NH).
What a base proposes, learning from the band's rounds, is up to the base. ClippedOMD keeps its theorem, but for the
sum of sum_k p_j(k) loss(k)²/q(k) in place of K T; each is at most K/p(j). UCB-like bases are shown true samples, though
others choose them, which their theorems do not cover; by (6) they can cost the band little more than their prior.
Late tells: (3) takes q(a) as it was served and everything else as it is now; eta d ≥ -1 still.
Departures from our other masters: bases are not asked; the band keeps what each would play, and draws from that.
Cost per round: one update of every base, and O(H K). Memory: twice that of the bases, and H K.
References: the rule is ours. Learning through the mixture is a remark of A. Agarwal, H. Luo, B. Neyshabur, R. Schapire,
"Corralling a band of bandit algorithms", COLT 2017; mirror descent and clipping, T. Lattimore, C. Szepesvári, "Bandit
Algorithms", 2020, chapters 28 and 31.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from turncoat._compile.jit import jit, jit_rule
from turncoat._compile.state import N_WORDS, State, array
from turncoat.errors import OptionError
from turncoat.learners.adversarial.clipped_omd import ClippedOMD
from turncoat.learners.base import Checks, Facts, Option, Shown, copied, register_learner, variant
from turncoat.learners.base.base_stack import NOTHING, learn_base
from turncoat.learners.base.generic_master import Choice, GenericMaster
from turncoat.learners.base.master import pick
from turncoat.learners.base.shared_master import FIRST, N_SEEN, baseline, bold_charge, charge, may_be_high, see
from turncoat.learners.parts.tree_sampling import SMALLEST_SERVED
from turncoat.learners.stochastic.discounted_ucb import DiscountedUCB
from turncoat.learners.stochastic.glr_kl_ucb import GLRklUCB
from turncoat.mirror.entropy import step_dense
from turncoat.random import uniform
from turncoat.types import Label, Matrix, Seed, Vector, Words
from turncoat.validation.numbers import is_number

MasterRule: TypeAlias = Literal["guaranteed", "bold"]
MASTERS = ("guaranteed", "bold")
FIRST_GUESS = 16
MOST_TRUST = 1e9


@jit
def rounds_ahead(T: int, t: int) -> float:
    """N, what rates and floors are set for after t tells: T, or where T is 0 the least 16 · 2^i above t."""
    if T > 0:
        return float(T)
    return max(math.ldexp(1.0, math.frexp(float(t))[1]), float(FIRST_GUESS))


@jit
def rate(N: float, bold: bool) -> float:
    """eta."""
    return 10.0 / math.sqrt(N) if bold else min(2.0 / math.sqrt(N), 0.5)  # (5), (4)


@jit
def floor(N: float, H: int) -> float:
    """f: (4)."""
    return min(1.0 / (N * H), 0.5 / H)


class BandState(State):
    """`chances` is what every base would play next, `mixture` what the band would; both change with tells only."""

    K: int
    ways: int  # H
    n_blocks: int
    sizes: Vector = array("2 * n_blocks")
    T: int  # 0 without a horizon
    bold: bool
    first: Vector = array("ways")  # the prior
    p: Vector = array("ways")
    charges: Vector = array("ways")  # of the last round, eta d
    seen: Vector = array(N_SEEN)  # of shared_master.py
    mixture: Vector = array("K")
    chances: Matrix = array("ways", "K")
    dice: Words = array(N_WORDS)
    memory: Words = array(...)


@jit
def mix(p: Vector, chances: Matrix, mixture: Vector) -> None:
    """q: (1)."""
    for k in range(mixture.size):
        mixture[k] = 0.0
    for h in range(p.size):
        for k in range(mixture.size):
            mixture[k] += p[h] * chances[h, k]
    for k in range(mixture.size):
        mixture[k] = min(mixture[k], 1.0) if mixture.size > 1 else 1.0  # rounding must not serve more than certainty


@jit
def pick_arm(chances: Vector, u: float) -> int:
    """The arm whose slice of the distribution holds u; what rounding leaves goes to the last that has any chance."""
    below, arm = 0.0, 0
    for k in range(chances.size):
        if chances[k] > 0.0:
            arm = k
            below += chances[k]
            if u < below:
                break
    return arm


@jit_rule
def ask(state: BandState) -> Choice:
    """Draw a base, then an arm from what it would play."""
    h = pick(state.p, uniform(state.rng))  # (1)
    arm = pick_arm(state.chances[h], uniform(state.rng))
    return arm, h, state.p[h], state.chances[h, arm], max(state.mixture[arm], SMALLEST_SERVED)


@jit_rule
def marginal(state: BandState, arm: int) -> float:
    """q(arm): what a user is served, whichever base decides."""
    return float(state.mixture[arm])


@jit
def covered_by(chances: Vector, mixture: Vector, least: float, a: int, a_is_high: bool) -> float:
    """The chance that a base plays a high arm: (3)."""
    sum_high = chances[a] if a_is_high else 0.0
    for k in range(chances.size):
        if k != a and mixture[k] >= least:
            sum_high += chances[k]
    return float(sum_high)


@jit_rule
def tell(state: BandState, choice: Choice, loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _, _, _, q = choice
    t, H = state.clock[0], state.p.size
    state.clock[0] += 1
    N = rounds_ahead(state.T, t)
    eta, b = rate(N, state.bold), baseline(state.seen, t)
    is_high = may_be_high(eta, b, q)
    for h in range(H):
        chance = state.chances[h, arm]
        if state.bold:
            state.charges[h] = bold_charge(eta, b, q, loss, chance)  # (5)
        else:
            covered = covered_by(state.chances[h], state.mixture, eta * b, arm, is_high)
            state.charges[h] = charge(eta, b, q, loss, is_high, chance, covered)  # (3)
    step_dense(state.p, state.charges, floor(N, H))  # (4)
    see(state.seen, t, loss)
    for h in range(H):
        learn_base(state, h, state.dice, (arm, q), loss, state.chances[h])  # (2)
    mix(state.p, state.chances, state.mixture)


register_learner(BandState, ask=ask, tell=tell, probability=marginal)


class Band(GenericMaster):
    """A band: a master over learners of any kinds, which all learn from every round, whichever base decided it.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T; not needed if no base needs it. `seed`: one
    seed, one run. `loss_range`: the lowest and highest loss that can be told. `bases`: a list of learners' classes, of
    their names, or of anything that makes one when called as maker(arms, horizon, seed=…); None is two of ClippedOMD,
    for few and for many switches, GLRklUCB and DiscountedUCB. `prior`: a positive number for each base, how much it is
    trusted at first; None for all alike. `master`: "guaranteed", or "bold", which has no guarantee and often loses
    less. The rule and its guarantee: help("turncoat.learners.masters.band").
    """

    name = "band"
    facts = Facts(
        "as bases",
        "as bases",
        "a base's + H√T",
        "HK, all bases",
        setting="adversarial",
        when="learners of different kinds are at hand, and it is unknown which is right",
        when_not="one kind is surely right: that learner alone, such as clipped-omd or glr-kl-ucb",
    )
    variants = (variant("band, bold", master="bold"),)
    master_state_type = BandState
    master = Option[MasterRule]('How it learns which base to trust: "guaranteed" or "bold".', MASTERS)
    master_probabilities = Shown(
        copied, "How much each base is trusted: the distribution the next base is drawn from (H,).", "p"
    )
    base_probabilities = Shown(copied, "Each base's distribution over the arms (H, K).", "chances")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        bases: Any = None,
        prior: Sequence[float] | Vector | None = None,
        master: MasterRule = "guaranteed",
    ) -> None:
        self.master = master
        super().__init__(arms, horizon, seed, loss_range, bases, needed_by=None)
        self._prior = parse_prior(prior, len(self._fresh))
        self.signed = ("charges", *self.signed)
        T, H = self.horizon or 0, len(self._fresh)
        first = np.ones(H) / H if self._prior is None else np.array(self._prior) / sum(self._prior)
        state = self._start_generic_master(ways=H, T=T, bold=master == "bold", first=first)
        state.p[:] = first
        step_dense(state.p, state.charges, floor(rounds_ahead(T, 0), H))
        state.seen[:] = FIRST
        self._write_chances(state.chances)
        mix(state.p, state.chances, state.mixture)

    def _default_bases(self) -> Any:
        T = self.horizon or 1
        few, many = (partial(ClippedOMD, n_switches=min(S, T - 1)) for S in (1, math.isqrt(T)))
        detector = partial(GLRklUCB, exploration=0.0)
        return [few, many, detector, partial(DiscountedUCB, discount=0.998, index="kl", exploration=0.3)]

    def _write_chances(self, chances: Matrix) -> None:
        state = self.view()
        for h in range(len(self._fresh)):
            learn_base(state, h, np.zeros(N_WORDS, dtype=np.uint64), NOTHING, 0.0, chances[h])

    def _observe(self, index: int, loss: float, propensity: float) -> int:
        return self._tell(self._buffer, index, loss, propensity, 0, 1.0, 1.0)

    def _checks(self) -> Checks:
        state, H = self.view(), len(self._fresh)
        total, fast = state.seen
        yield not (total <= FIRST + state.clock[0] and fast <= 1.0), "seen holds more than was told"
        least = floor(rounds_ahead(state.T, max(int(state.clock[0]) - 1, 0)), H) * (1.0 - 1e-6)
        yield state.p.min() < least, "p holds a value below its floor"
        yield from super()._checks()
        chances, mixture = np.empty_like(state.chances), np.empty_like(state.mixture)
        self._write_chances(chances)
        mix(state.p, chances, mixture)
        yield not np.allclose(chances, state.chances, rtol=1e-6, atol=1e-9), "chances are not those of its bases"
        yield not np.allclose(mixture, state.mixture, rtol=1e-6, atol=1e-9), "mixture is not that of its bases"

    @property
    def prior(self) -> list[float] | None:
        """How much each base was trusted at first, up to a factor; None for all alike."""
        return None if self._prior is None else list(self._prior)

    @property
    def rate(self) -> float:
        """The master's learning rate, eta, for the next tell."""
        state = self.view()
        return rate(rounds_ahead(state.T, int(state.clock[0])), state.bold)


def parse_prior(prior: Any, n_bases: int) -> list[float] | None:
    """A positive number for each base, or None."""
    if prior is None:
        return None
    several = list(prior) if isinstance(prior, Sequence | np.ndarray) and not isinstance(prior, str) else []
    trusted = [float(value) if is_number(value) and 0 < value <= MOST_TRUST else 0.0 for value in several]
    if len(trusted) != n_bases or min(trusted) <= 0.0:
        text = f"prior is {reprlib.repr(prior)}; accepted are {n_bases} numbers above 0, at most {MOST_TRUST:g}"
        raise OptionError(f"{text}, one for each base, or None")
    return trusted
