"""What went wrong in other libraries must not go wrong here. A check also meets the wrong rule, and refuses it.

The wrong rules are a few lines of our own that make the mistake we measured or read elsewhere; a check that lets one of
them pass would be no check. Where a defect is caught by a test that stands elsewhere, it is named; such tests, and that
of seeds of learners, were seen to fail with the mistake made in our own code.

    defect                                                      refused by
    SMPyBandits Exp3S: weights overflow at t = 2,412 and it
        plays uniformly; river Exp3: dies at t = 2,840          test_the_better_arm_is_still_known_after_10000_rounds,
                                                                contract/test_numerics.py for a million rounds
    river Exp3: gamma = 0 never learns; banditpylib EXP3:
        integer weights never learn                             test_who_should_learn_learns
    SMPyBandits TsallisInf: probabilities off by up to 0.96     test_tsallis_weights_are_those_of_the_estimates,
                                                                oracle/test_tsallis.py to 60 digits
    SMPyBandits Exp3: propensity computed anew after t moved;
        pymab EXP3: divides by the propensity of the last draw  test_a_loss_is_divided_by_what_was_served,
                                                                oracle/test_estimators.py by summing over draws
    pyribs: tells matched by their order                        contract/test_telling.py, tells in any order
    SMPyBandits and others, CORRAL: log-barrier solved beyond
        its pole                                                test_a_log_barrier_step_has_one_multiplier,
                                                                oracle/test_log_barrier.py to 60 digits
    coba Corral: rates shrink where they should grow            test_a_rate_rises_with_its_threshold
    SMPyBandits CORRAL: bases are fed losses without weights    oracle/test_estimators.py::test_masters
    SMPyBandits: seeds drawn with replacement                   test_no_two_seeds_of_a_race_are_the_same_game
    coba: one default seed for every learner                    test_without_a_seed_two_learners_are_two_streams
    MABWiser UCB1: an arm missing from the first fit is never
        played; coba UCB: each arm's first reward is forgotten  contract/test_index.py
    SMPyBandits D-UCB: integer counts, and only the played arm
        fades; SW-UCB: no window at T = 1                       contract/test_index.py
    SMPyBandits M-UCB: restarts for ever                        oracle/test_changes.py
    pymab: no pickling; cmaes: pickles without its randomness   contract/test_saving.py, a copy goes on identically

Defects of rules that are not here: a `burn_in` that raises (river), Exp3++.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import EVERYONE, Maker, each, tell_row
from turncoat.environments import Environment, scenario
from turncoat.mirror.log_barrier import step_one_hot
from turncoat.types import Matrix, Vector

BETTER = np.array([0.0, 1.0])  # losses of two arms, the first of which is the better one in every round


@dataclass(frozen=True)
class Drawn:
    """What a wrong rule answers."""

    index: int
    propensity: float


class WrongRule:
    """Exponential weights on gains, like EXP3 and, with a share, EXP3.S, and as careless as subclasses are."""

    def __init__(self, gamma: float, share: float = 0.0, seed: int = 1) -> None:
        self.gamma, self.share = gamma, share
        self.w: Any = np.ones(2)
        self.chance = np.random.default_rng(seed)

    def probabilities(self) -> Vector:
        p: Vector = (1 - self.gamma) * self.w / self.w.sum() + self.gamma / 2
        return p

    def ask(self) -> Drawn:
        p = self.probabilities()
        a = int(self.chance.random() > p[0])
        return Drawn(a, float(p[a]))

    def tell(self, drawn: Drawn, *, loss: float) -> None:
        old = self.w.sum()
        self.w[drawn.index] *= math.exp(self.gamma * (1 - loss) / (2 * drawn.propensity))
        self.w += math.e * self.share / 2 * old


def plays_of_the_better_arm(rule: Any, n_rounds: int) -> float:
    """The share of the better arm in the second half of the rounds, in which it costs 0 and the other 1."""
    n = 0
    for t in range(n_rounds):
        drawn = rule.ask()
        tell_row(rule, drawn, BETTER)
        n += t >= n_rounds // 2 and drawn.index == 0
    return n / (n_rounds - n_rounds // 2)


# -- weights that leave the floats ------------------------------------------------------------------------------------


class SilentlyUniform(WrongRule):
    """Never rescales, and plays uniformly once a probability is no number: SMPyBandits' Exp3S."""

    def probabilities(self) -> Vector:
        p = super().probabilities()
        return p if np.isfinite(p).all() else np.full(2, 0.5)


def check_the_better_arm_is_known(rule: Any) -> None:
    """After 10,000 rounds with gamma about 1/2, weights have grown by more than e^709."""
    plays_of_the_better_arm(rule, 10_000)
    p = rule.probabilities()
    assert np.isfinite(p).all() and p.sum() == pytest.approx(1) and p[0] > 0.7


@pytest.mark.filterwarnings("ignore::turncoat.errors.HorizonWarning")
@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
def test_the_better_arm_is_still_known_after_10000_rounds() -> None:
    told = tc.Exp3S(2, 20_000, n_switches=400, seed=1)
    few = tc.Exp3(2, 3, form="gain", seed=1)
    assert told.view().gamma == pytest.approx(0.5, abs=0.01) and few.view().gamma == pytest.approx(0.52, abs=0.01)
    check_the_better_arm_is_known(told)
    check_the_better_arm_is_known(few)
    with pytest.raises(AssertionError):
        check_the_better_arm_is_known(SilentlyUniform(0.5, share=1 / 20_000))
    with pytest.raises(AssertionError):
        check_the_better_arm_is_known(WrongRule(0.5))


# -- rules that do not learn ------------------------------------------------------------------------------------------


class WholeWeights(WrongRule):
    """Weights are whole numbers, so a factor below 2 is cut to 1: banditpylib's EXP3."""

    def tell(self, drawn: Drawn, *, loss: float) -> None:
        self.w = self.w.astype(np.int64)
        self.w[drawn.index] = int(self.w[drawn.index] * math.exp(self.gamma * (1 - loss) / (2 * drawn.propensity)))


def check_it_learns(rule: Any) -> None:
    """Who does not learn plays the better arm in half of 1,500 rounds: 0.6 is then 7.7 standard deviations away."""
    assert plays_of_the_better_arm(rule, 3000) > 0.6


@each([(name, make) for name, make in EVERYONE if name not in ("uniform", "ad-switch-touchy")])  # ever looking again
def test_who_should_learn_learns(make: Maker) -> None:
    check_it_learns(make(2, 3000, seed=1))


@pytest.mark.jit_off
def test_who_does_not_learn_is_refused() -> None:
    for stuck in (WholeWeights(0.05), WrongRule(0.0), tc.Uniform(2, seed=1)):
        with pytest.raises(AssertionError):
            check_it_learns(stuck)
    check_it_learns(WrongRule(0.05))  # which is right for as long as its weights are floats


# -- the normaliser of Tsallis-INF ------------------------------------------------------------------------------------


def check_tsallis(p: Vector, estimates: Vector, eta: float) -> None:
    """p_i = 4/(eta (L_i - x))² for one x: so 2/(eta sqrt(p_i)) - L_i is -x for every arm. No root is looked for."""
    assert p.sum() == pytest.approx(1, abs=1e-12)
    shifts = 2 / (eta * np.sqrt(p)) - estimates
    assert np.ptp(shifts) <= 1e-9 * np.abs(estimates).max()


@pytest.mark.parametrize("estimator", ["iw", "rv"])
def test_tsallis_weights_are_those_of_the_estimates(estimator: Any) -> None:
    learner = tc.TsallisINF(6, seed=2, estimator=estimator)
    losses = np.random.default_rng(1).random((3000, 6)) ** np.linspace(0.2, 4, 6)
    for stop in range(500, 3001, 500):
        tc.play(learner, losses[stop - 500 : stop])
        scores, eta = learner.view().scores, (2.0 if estimator == "iw" else 4.0) / math.sqrt(stop + 1)
        estimates = scores[:6] + scores[6:]
        check_tsallis(learner.probabilities(), estimates, eta)
        near = estimates - estimates.min() + 1 / eta  # a shift that is not the root, made a distribution by force
        forced = near**-2.0
        with pytest.raises(AssertionError):
            check_tsallis(forced / forced.sum(), estimates, eta)


# -- the propensity ---------------------------------------------------------------------------------------------------


class LastDraws(WrongRule):
    """Divides by the propensity of the last draw, whichever is told: pymab's EXP3."""

    def ask(self) -> Drawn:
        self.last = super().ask()
        return self.last

    def tell(self, drawn: Drawn, *, loss: float) -> None:
        super().tell(replace(drawn, propensity=self.last.propensity), loss=loss)


class ComputedAgain(WrongRule):
    """Moves its clock, and gamma with it, before it computes the propensity that it divides by: SMPyBandits' Exp3."""

    def tell(self, drawn: Drawn, *, loss: float) -> None:
        gamma, self.gamma = self.gamma, 0.99 * self.gamma
        p = self.probabilities()[drawn.index]
        self.w[drawn.index] *= math.exp(gamma * (1 - loss) / (2 * p))


def weights(rule: Any) -> Vector:
    """The weights of a rule of ours, or of a wrong one, as they stand."""
    w: Vector = (rule.w if isinstance(rule, WrongRule) else rule.view().tree[:2]).copy()
    return w


def divided_by(rule: Any) -> tuple[float, float]:
    """Of two decisions that wait, for different arms, the first is told: what it was divided by, and its propensity.

    The logarithm of its weight grows by gamma r/(K p), which gives p away.
    """
    plays_of_the_better_arm(rule, 20)
    first = rule.ask()
    while rule.ask().index == first.index:
        pass
    gamma, before = float(rule.gamma if isinstance(rule, WrongRule) else rule.view().gamma), weights(rule)
    rule.tell(first, loss=0.25)
    moved = np.log(weights(rule) / before)
    return gamma * 0.75 / (2 * (moved[first.index] - moved[1 - first.index])), first.propensity


@pytest.mark.jit_off
def test_a_loss_is_divided_by_what_was_served() -> None:
    learner = tc.Exp3(2, 30, form="gain", seed=4)
    for right in (learner, WrongRule(0.16, seed=4)):  # with nothing overridden
        used, served = divided_by(right)
        assert used == pytest.approx(served, rel=1e-9)
    for wrong in (LastDraws(0.16, seed=4), ComputedAgain(0.16, seed=4)):
        used, served = divided_by(wrong)
        assert used != pytest.approx(served, rel=1e-4)


# -- masters ----------------------------------------------------------------------------------------------------------


def check_log_barrier(p: Vector, q: Vector, a: int, loss: float, eta: Vector) -> None:
    """1/q_i = 1/p_i + eta_i (loss_i - lam) for one lam, and q is a distribution."""
    assert (q > 0).all() and q.sum() == pytest.approx(1, abs=1e-12)
    multipliers = np.where(np.arange(p.size) == a, loss, 0.0) - (1 / q - 1 / p) / eta
    assert np.ptp(multipliers) <= 1e-9 * np.abs(multipliers).max()


def beyond_the_pole(p: Vector, a: int, loss: float, eta: Vector) -> Vector:
    """Looks for lam between the smallest and the largest loss, poles or not, by the smallest (sum - 1)²."""
    losses = np.where(np.arange(p.size) == a, loss, 0.0)
    lam = np.linspace(0.0, loss, 20_001)[:, None]
    with np.errstate(divide="ignore"):
        q = 1 / (1 / p + eta * (losses - lam))
    best = np.maximum(q[np.argmin((q.sum(axis=1) - 1) ** 2)], 0.0)
    step: Vector = best / best.sum()
    return step


@pytest.mark.jit_off
def test_a_log_barrier_step_has_one_multiplier() -> None:
    p, eta = np.array([0.05, 0.15, 0.8]), np.array([0.4, 0.7, 0.5])
    for a, loss in ((0, 20.0), (1, 1 / 0.15), (2, 1.25), (0, 0.3)):
        q = p.copy()
        step_one_hot(q, a, loss, eta, 0.0)
        check_log_barrier(p, q, a, loss, eta)
    with pytest.raises(AssertionError):
        check_log_barrier(p, beyond_the_pole(p, 0, 20.0, eta), 0, 20.0, eta)


def check_rates(rho: Matrix, eta: Matrix) -> None:
    """Rows in time: a threshold that rises takes its rate up with it; a rate alone never moves."""
    rises, grows = np.diff(rho, axis=0) > 0, np.diff(eta, axis=0)
    assert rises.any() and (grows[rises] > 0).all() and (grows[~rises] == 0).all()


@pytest.mark.jit_off
def test_a_rate_rises_with_its_threshold() -> None:
    master = tc.AdaptiveMasterBase(2, 3000, seed=1)
    rho, eta = [master.rho], [master.master_rates]
    for _ in range(3000):
        decision = master.ask()
        master.tell(decision, loss=BETTER[decision.index])
        rho.append(master.rho)
        eta.append(master.master_rates)
    check_rates(np.array(rho), np.array(eta))
    with pytest.raises(AssertionError):  # coba's Corral divides where it should multiply
        check_rates(np.array(rho), eta[0] ** 2 / np.array(eta))


# -- seeds ------------------------------------------------------------------------------------------------------------


def check_games_differ(games: list[str], n_seeds: int) -> None:
    """There are as many games as seeds."""
    assert len(set(games)) == n_seeds


def test_no_two_seeds_of_a_race_are_the_same_game() -> None:
    """300 seeds drawn from 1,000 with replacement all differ with probability 2e-22."""
    seen: list[str] = []

    def game(horizon: int, seed: Any) -> Environment:
        one = scenario("flip/3", horizon, seed)
        seen.append(str(one.fields()["seed"]))
        return one

    tc.race({"uniform": tc.Uniform}, {"flip": game}, 10, seeds=300, max_switches=0)
    check_games_differ(seen, 300)
    drawn = np.random.default_rng(1).integers(0, 1000, 300)
    with pytest.raises(AssertionError):
        check_games_differ([str(scenario("flip/3", 10, int(seed)).fields()["seed"]) for seed in drawn], 300)


@each([(name, make) for name, make in EVERYONE if not name.startswith("ad-switch")])  # which plays untold arms in turn
def test_without_a_seed_two_learners_are_two_streams(make: Maker) -> None:
    """Untold asks over 9 arms. Even where one arm has 94 % (Turncoat's first), all 300 agree with chance < 1e-15."""
    one, other = make(9, 1000), make(9, 1000)
    assert [one.ask().index for _ in range(300)] != [other.ask().index for _ in range(300)]
    same, again = make(9, 1000, seed=1), make(9, 1000, seed=1)
    assert [same.ask().index for _ in range(300)] == [again.ask().index for _ in range(300)]
