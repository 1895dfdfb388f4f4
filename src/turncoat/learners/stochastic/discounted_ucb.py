"""Discounted UCB: UCB on averages that forget. For stochastic losses whose means change now and then.

Setting: stochastic, independent losses in [0, 1] whose means change S times. Needs T and S (`n_switches`), from which
its discount comes, or a `discount`, and then neither.

Rule (D-UCB of Garivier & Moulines 2011), with rewards r = 1 - loss: every round all counts and sums fade,
    N(a) <- gamma N(a) + 1{a = a_t},  X(a) <- gamma X(a) + 1{a = a_t} r                 (1)
and the arm is played with the largest
    X(a)/N(a) + 2 sqrt(xi ln n / N(a)),  n = sum of all N(a)                            (2)  index="ucb"
    max { q : N(a) kl(X(a)/N(a), q) ≤ xi ln n }                                         (3)  index="kl"
with gamma = 1 - sqrt(S/T)/4. An arm that was not told yet comes first.

    paper's symbol      name here
    gamma               gamma, the `discount`
    N_t(gamma, i)       counts(a) / w, w = gamma^-age (discounting.py)
    N X-bar             sums(a) / w
    n_t(gamma)          n
    xi, B               xi, the `exploration`; B = 1
    Upsilon_T           S

Guarantee: each arm is played O(sqrt(S T) ln T) times more than it should be, in expectation, for (2) with xi > 1/2
(shown there; the order was checked in Lattimore & Szepesvári, "Bandit Algorithms", 2020, section 31.3, and the
padding too, where it is written sqrt(alpha ln n / N), alpha = 4 xi). So regret is of order K sqrt(S T). None for (3)
or a smaller xi, which play better: 0.05 is a good value in practice. None for losses that are not stochastic.
Departures from the paper: the paper's Upsilon counts changes of any mean, `n_switches` those of the best arm, which
is what users know; where no arm changes (S = 0) nothing is forgotten, gamma = 1, and xi = 1/2 makes (2) UCB1. (3) is
not in the paper (used by Besson et al., JMLR 2022). Ties are broken at random (index.py). Time is the number of tells:
late losses count as new ones, and nothing fades while none comes.
Cost per round: O(K).
Reference: A. Garivier, E. Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from turncoat.learners.base import Facts, Option, State, array, jit_rule, register_learner, variant
from turncoat.learners.base.index import INDICES, Index, IndexLearner, kl_index, largest, parse_exploration, ucb_index
from turncoat.learners.parts.discounting import discount_for, grow_older, parse_discount, weight
from turncoat.types import Label, Seed, Vector
from turncoat.validation.games import parse_switches
from turncoat.validation.numbers import MOST_ROUNDS


class DiscountedUCBState(State):
    """The discount, and the counts and sums as they would be had nothing faded for `age` rounds."""

    K: int
    gamma: float
    xi: float
    kl: bool
    age: Vector = array(1)
    counts: Vector = array("K")
    sums: Vector = array("K")


@jit_rule
def confidence(state: DiscountedUCBState) -> tuple[float, float]:
    """4 xi ln n, or xi ln n for the kl index; and 1/w, which makes counts of what is stored."""
    shrink = 1.0 / weight(state.gamma, state.age[0])
    n = 0.0
    for a in range(state.K):
        n += state.counts[a] * shrink
    c = state.xi * math.log(max(n, 1.0))
    return (c if state.kl else 4.0 * c), shrink


@jit_rule
def index(state: DiscountedUCBState, known: tuple[float, float], arm: int, least: float) -> float:
    """The index of an arm; where it is below `least`, it may be another number below `least`."""
    c, shrink = known
    N, X = state.counts[arm] * shrink, state.sums[arm] * shrink
    return kl_index(N, X, c, least) if state.kl else ucb_index(N, X, c)  # (3), (2)


@jit_rule
def tell(state: DiscountedUCBState, choice: tuple[int, float], loss: float) -> None:
    """Learn the loss of an earlier choice."""
    arm, _ = choice
    state.clock[0] += 1
    w = grow_older(state.gamma, state.age, state.counts, state.sums)  # (1)
    state.counts[arm] += w
    state.sums[arm] += w * (1.0 - loss)


rule = largest(confidence, index)
register_learner(DiscountedUCBState, ask=rule.ask, tell=tell, probabilities=rule.probabilities)


class DiscountedUCB(IndexLearner):
    """Discounted UCB: UCB on averages that forget, for stochastic losses whose means change now and then.

    `arms`: a count, or distinct labels. `horizon`: the number of rounds T; not needed with a `discount`. `seed`: one
    seed, one run. `loss_range`: the lowest and highest loss that can be told. `n_switches`: S, how often the best arm
    changes; None is tuned as for 1. `discount`: what a sample counts a round later; by default from S and T. `index`:
    "ucb" (the paper's) or "kl" (often better). `exploration`: xi; by default 0.6 for "ucb", 1 for "kl". The rule and
    its guarantee: help("turncoat.learners.stochastic.discounted_ucb").
    """

    name = "discounted-ucb"
    facts = Facts(
        "needed",
        "wanted",
        "K√(ST)",
        "K",
        setting="stochastic",
        when='means drift or jump about S times; best as index="kl", exploration=0.3',
        when_not="losses may be anything: clipped-omd; S is a guess: glr-kl-ucb",
    )
    variants = (variant("discounted-ucb, kl", index="kl"),)
    state_type = DiscountedUCBState
    rule = rule
    n_switches = Option[int | None]("S, the number of switches it was told; None if it was not.")
    discount = Option[float]("gamma, the factor by which a sample is discounted per round.")
    index = Option[Index]('Which index it compares: "ucb" or "kl".', INDICES)
    exploration = Option[float]("xi, what stands before ln n.")

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None = None,
        *,
        seed: Seed = None,
        loss_range: Sequence[float] = (0.0, 1.0),
        n_switches: int | None = None,
        discount: float | None = None,
        index: Index = "ucb",
        exploration: float | None = None,
    ) -> None:
        needed_by = "DiscountedUCB without discount=" if discount is None else None
        super().__init__(arms, horizon, seed, loss_range, needed_by=needed_by)
        K, T = self.n_arms, self.horizon
        self.index = index
        self.exploration = parse_exploration(exploration, index)
        self.n_switches = parse_switches(n_switches, T or MOST_ROUNDS)
        self.discount = parse_discount(discount, discount_for(T or 1, self.n_switches))
        self.start(K=K, gamma=self.discount, xi=self.exploration, kl=index == "kl")
