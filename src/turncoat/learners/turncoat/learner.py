"""Turncoat, the learner: no horizon, no number of switches, nothing to tune.

Setting: losses in [0, 1], anything; T and S unknown. Rule: H bases of different faiths (constants.py) all learn from
every round, and a master trusts each as much as it has earned.
    draw base h with probability p(h), and its arm: q(k) = sum_h p(h) P_h(k) is served                  (1)
    d(h) = P_h(a) (loss - b(a))/q(a) + sum over k of P_h(k) b(k),  b(k) = min(b, q(k)/eta)              (2)
    p <- an entropy step with eta d(h), exactly, onto p(h) ≥ floor(h)                                   (3)
b, the baseline, is a mean of past losses (shared_master.py); of more than 16 arms only those have b(k) > 0 that a
detector or follower proposes. All of it is known before the draw, so (2) is unbiased for the loss of base h, and
eta d(h) ≥ -1.
    constants.py, state.py                       which bases, their constants and rates; what is remembered
    rule.py                                      (1) to (3)
    mirror_bases.py, index_bases.py              clipped and signed mirror descent; detectors and followers
    restricted_arms.py, arms.py, loss_range.py   only some arms; arms that come and go; an unknown range of losses
    changing_arms.py                             arms that come and go, or are away, as users ask for them
    observers/history.py                         what is written down for explain.py and explanation_text.py
    observers/certificate.py, state_checks.py    the guarantee after the fact; what no state can hold

Guarantee: docs/guarantee.md. Cost per round: O(H log K), and O(K) when a detector starts again. Memory: O(H K).
Departures: there is no paper to depart from. Clipped bases are ClippedOMD's, the detectors' test and index are those of
GLRklUCB with less exploration, followers are a DiscountedUCB; indices are computed anew for few arms a round.
References: J. Kim, S. Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025, for masters over clipped
bases; those of glr_kl_ucb.py and discounted_ucb.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from turncoat._compile.dispatch import register_learner
from turncoat.errors import OptionError
from turncoat.learners.base.learner import Facts
from turncoat.learners.base.shared_master import FIRST
from turncoat.learners.turncoat.changing_arms import ChangingLearner
from turncoat.learners.turncoat.constants import FIRST_GUESS, PRIOR, set_rates_plainly
from turncoat.learners.turncoat.explain import Explanation, beliefs, explain
from turncoat.learners.turncoat.explanation_text import few_lines
from turncoat.learners.turncoat.index_bases import ABSENT, UNTRIED, crown_all
from turncoat.learners.turncoat.loss_range import LossRange
from turncoat.learners.turncoat.mirror_bases import rebuild
from turncoat.learners.turncoat.observers.certificate import Certificate, certify, parse_switches
from turncoat.learners.turncoat.rule import ask, probability, tell
from turncoat.learners.turncoat.state import TurncoatState, buffer_size, view
from turncoat.learners.turncoat.state_checks import damage
from turncoat.types import Label, Matrix, Seed, Vector

register_learner(TurncoatState, view=view, ask=ask, tell=tell, probability=probability)


class Turncoat(ChangingLearner):
    """Choose among arms whose best keeps changing. There is nothing to tune.

    `arms`: a count, or distinct labels. `horizon`: not needed, and not used. `seed`: one seed, one run. `loss_range`:
    the lowest and highest loss that can be told, or "adaptive": then losses of any size can, and it finds the range by
    itself, without a guarantee (docs/production.md).
    """

    name = "turncoat"
    facts = Facts(
        "unused",
        "unknown",
        "an oracle inequality",
        "log K",
        setting="adversarial",
        when="always, unless you know better",
        when_not="means never change: kl-ucb had less regret; all losses are seen: cbce",
    )
    state_type = TurncoatState
    uses_horizon = False
    signed = ("x", "place", "crowns", "vote", "spent")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: LossRange = (0.0, 1.0),
    ) -> None:
        super().__init__(arms, horizon, seed, loss_range, needed_by=None)
        K = self.n_arms
        self.start([K], n_more=buffer_size(K))
        state = self.view()
        state.n_living[0], state.guess[0] = K, FIRST_GUESS
        state.living[:] = state.place[:] = np.arange(K)
        state.p[:] = np.array(PRIOR) / sum(PRIOR)
        state.seen[:] = FIRST
        state.weights[state.P : state.P + K] = 1.0 / K
        rebuild(state.weights)
        state.crowns[:] = ABSENT
        state.crowns[state.P : state.P + K] = UNTRIED
        crown_all(state.crowns)
        state.sizes[:] = 1.0
        state.fading[:, 0] = 1.0
        state.page[2] = 1.0
        state.vote[0] = -1.0
        set_rates_plainly(state)

    def _damage(self) -> str:
        return damage(self.view()) or super()._damage()

    @property
    def master_probabilities(self) -> Vector:
        """How much each base is trusted."""
        return np.array(self.view().p)

    @property
    def believed(self) -> Matrix:
        """A row a belief, the last one the present: since which round, the index of the arm, how sure (0 to 1)."""
        return beliefs(self.view())

    def explain(self) -> Explanation:
        """Whom it trusts and why, the arm it believes best, the switches it believes happened, its shares over time."""
        return explain(self)

    def certificate(self, n_switches: int) -> Certificate:
        """What its guarantee comes to after the fact: estimates a bound on its expected regret against S switches."""
        S = parse_switches(n_switches)
        if self._adapts:
            raise OptionError("loss_range is 'adaptive', which has no guarantee; accepted is a range that was given")
        return certify(self.view(), type(self)(self.n_arms).view(), S, self._high - self._low)

    def __str__(self) -> str:
        return few_lines(explain(self), self.n_outstanding)
