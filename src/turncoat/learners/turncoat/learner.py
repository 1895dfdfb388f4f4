"""Turncoat, the learner: no horizon, no number of switches, nothing to tune.

Setting: any losses in [0, 1]; T and S unknown. Rule (docs/guarantee.md, section 1, whose equation numbers these are):
H bases of four kinds (constants.py) all learn from every round, under a master p.
    q(k) = sum_h p(h) P_h(k): draw base h with probability p(h), then its arm                           (1)
    g(k) = min(b, q(k)/eta) for candidate arms, 0 for others; b is a baseline, (3)                      (4)
    d(h) = P_h(a) (loss - g(a))/q(a) + sum over k of P_h(k) g(k)                                        (5)
    x(h) = d(h), but for the slow base its mix loss in the place of its mean loss                       (5a)
    p <- an exact entropy step with eta x(h), onto p(h) ≥ floor(h)                                      (6)
b is a mean of past losses (shared_master.py). Candidates are all arms; of more than 16, those that a detector or
follower proposes. All of it is known before the draw, so (5) is unbiased for the loss of base h, and eta d(h) ≥ -1.
    constants.py, state.py             the bases, their constants and rates; the fields of the buffer
    rule.py                            the master: (1) to (6)
    mirror_bases.py, index_bases.py    clipped and signed bases, (7) and (8); detectors and followers, (9) to (11)
    planning.py, delays.py             several pulls ahead, (11a) to (11c); how many
    restricted_arms.py                 ask(allowed=…) and its tell
    planned_asks.py                    the methods of both
    arms.py, changing_arms.py          adding and retiring arms: kernels; methods
    loss_range.py                      loss_range="adaptive"
    observers/history.py               what explain.py and explanation_text.py read
    observers/certificate.py           the guarantee, evaluated after the game
    slots.py                           room for long records, of the arms that are told often
    earlier_rules.py, state_checks.py  restored states: migration of earlier rules; checks

Guarantee: expected regret of order (S + 1) sqrt(KT) up to a logarithm, for all S and T at once, with T not given
(Theorem W of docs/guarantee.md; `tc.turncoat_bound`); and sqrt(KT) + sqrt(T) ln T behind its best base.
Cost per round: O(H log K); a restart of a detector goes through the arms, of more than 1,024 through those whose index
was computed since the restart before. Memory: O(H K).
Departures: there is no paper to depart from. Clipped bases are ClippedOMD's, the detectors' test and index are those of
GLRklUCB with less exploration, followers are a DiscountedUCB; indices of only two arms are recomputed per round.
References: J. Kim, S. Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025, for masters over clipped
bases; those of glr_kl_ucb.py and discounted_ucb.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from turncoat._compile.dispatch import register_learner
from turncoat.errors import OptionError
from turncoat.learners.base.declarations import Facts
from turncoat.learners.base.saved_state import packed, unpacked
from turncoat.learners.base.shared_master import FIRST
from turncoat.learners.turncoat.constants import FIRST_GUESS, PRIOR, set_rates
from turncoat.learners.turncoat.earlier_rules import migrated
from turncoat.learners.turncoat.explain import Explanation, beliefs, explain
from turncoat.learners.turncoat.explanation_text import few_lines
from turncoat.learners.turncoat.index_bases import ABSENT, UNTRIED
from turncoat.learners.turncoat.loss_range import LossRange
from turncoat.learners.turncoat.observers.certificate import Certificate, certify, parse_switches
from turncoat.learners.turncoat.planned_asks import PlanningLearner, ask_planned, tell_planned
from turncoat.learners.turncoat.rule import ask, probability, tell
from turncoat.learners.turncoat.state import TurncoatState, fill_tree
from turncoat.learners.turncoat.state_checks import damage
from turncoat.types import Label, Matrix, Seed, Vector

register_learner(TurncoatState, ask=ask, tell=tell, probability=probability, planned=(ask_planned, tell_planned))


class Turncoat(PlanningLearner):
    """Choose among arms whose best keeps changing. There is nothing to tune.

    `arms`: a count, or distinct labels. `horizon`: not needed, and not used. `seed`: one seed, one run. `loss_range`:
    the lowest and highest loss that can be told, or "adaptive": then losses of any size can, and it finds the range by
    itself, without a guarantee (docs/production.md).
    """

    name = "turncoat"
    facts = Facts(
        "unused",
        "unknown",
        "S√(KT), anytime",
        "log K",
        setting="adversarial",
        when="always, unless you know better",
        when_not="means never change: kl-ucb had less regret; all losses are seen: cbce",
    )
    state_type = TurncoatState
    rule_version = 3
    uses_horizon = False
    signed = ("x", "rest", "weights", "place", "max_trees", "vote")

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
        state = self.start(K=K)
        state.n_living[0], state.guess[0] = K, FIRST_GUESS
        state.living[:] = state.place[:] = np.arange(K)
        state.p[:] = np.array(PRIOR) / sum(PRIOR)
        state.seen[:] = FIRST
        state.weights[state.P : state.P + K] = 1.0 / K
        fill_tree(state.weights, np.add)
        state.alive[state.P : state.P + K] = 1.0
        fill_tree(state.alive, np.add)
        state.max_trees[:] = ABSENT
        state.max_trees[state.P : state.P + K] = UNTRIED
        fill_tree(state.max_trees, np.maximum)
        state.owners[:] = np.arange(state.M)
        state.sizes[:] = 1.0
        state.fading[:, 0] = 1.0
        state.page[2] = 1.0
        state.vote[0] = -1.0
        set_rates(state)

    @classmethod
    def _migrated(cls, state: dict[str, Any]) -> dict[str, Any]:
        """A state of rule 1 or 2, made one of rule 3."""
        rule = state.get("rule", 1)
        if rule > 2 or cls.rule_version != 3:
            return super()._migrated(state)
        buffer = migrated(unpacked(state.get("buffer"), "<f8").astype(np.float64), rule)
        return {**state, "rule": 3, "buffer": packed(buffer.astype("<f8", copy=False))}

    def _damage(self) -> str:
        return damage(self.view()) or super()._damage()

    @property
    def master_probabilities(self) -> Vector:
        """The master's distribution p over bases."""
        return np.array(self.view().p)

    @property
    def believed(self) -> Matrix:
        """One row per belief, the present one last: since which round, the index of the arm, how sure (0 to 1)."""
        return beliefs(self.view())

    def explain(self) -> Explanation:
        """The trust in each base and why, the arm and the switches it believes in, the shares of arms over time."""
        return explain(self)

    def certificate(self, n_switches: int) -> Certificate:
        """The guarantee evaluated after the game: an estimate of a bound on its expected regret against S switches."""
        S = parse_switches(n_switches)
        if self._adapts:
            raise OptionError("loss_range is 'adaptive', which has no guarantee; accepted is a range that was given")
        return certify(self.view(), S, self._high - self._low)

    def __str__(self) -> str:
        return few_lines(explain(self), self.n_outstanding)
