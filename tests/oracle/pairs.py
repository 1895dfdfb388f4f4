"""Compiled learners beside their oracles: made alike, told the same rounds, compared number by number.

The compiled learner plays, so arms and propensities are its own; the oracle is told those rounds. Both then differ by
rounding alone, however long the game is (left to itself each would soon draw other arms). Rounds go to the kernel,
below the checks of `tell`, so they may come late and in any order.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.naive import adversarial as naive_adversarial
from tests.naive import learners as naive
from tests.naive import masters as naive_masters
from tests.naive.driver import Oracle, Round, Row, tell
from turncoat.errors import TuningWarning
from turncoat.learners import (
    LEARNERS,
    AdaptiveMasterBase,
    ClippedOMD,
    Exp3,
    Exp3IX,
    Exp3P,
    Exp3S,
    Exp3SIX,
    Learner,
    MasterBase,
    RestartedExp3,
    TsallisINF,
    Uniform,
)

Numbers = dict[str, NDArray[np.float64]]

TINY = 1e-290  # probabilities below this are compared absolutely: there floats themselves lose digits


class Pair(NamedTuple):
    """A learner in one of its modes, and its oracle."""

    learner: type[Learner]
    naive: Callable[..., Oracle]
    words: dict[str, Any]
    anytime: bool = False

    def make(self, K: int, T: int, seed: int = 0) -> Learner:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TuningWarning)
            return self.learner(K, None if self.anytime else T, seed=seed, **self.words)

    def oracle(self, K: int, T: int) -> Oracle:
        return self.naive(K, None if self.anytime else T, **self.words)


SINGLES: dict[str, Pair] = {
    "uniform": Pair(Uniform, naive.Uniform, {}),
    "exp3": Pair(Exp3, naive.Exp3, {}),
    "exp3 anytime": Pair(Exp3, naive.Exp3, {}, anytime=True),
    "exp3 gain": Pair(Exp3, naive.Exp3, {"form": "gain"}),
    "exp3.s": Pair(Exp3S, naive.Exp3S, {}),
    "exp3.s told 4": Pair(Exp3S, naive.Exp3S, {"n_switches": 4}),
    "clipped-omd": Pair(ClippedOMD, naive.ClippedOMD, {}),
    "clipped-omd told 0": Pair(ClippedOMD, naive.ClippedOMD, {"n_switches": 0}),
    "clipped-omd told 10": Pair(ClippedOMD, naive.ClippedOMD, {"n_switches": 10}),
    "exp3-ix": Pair(Exp3IX, naive_adversarial.Exp3IX, {}),
    "exp3-ix anytime": Pair(Exp3IX, naive_adversarial.Exp3IX, {}, anytime=True),
    "exp3-six": Pair(Exp3SIX, naive_adversarial.Exp3SIX, {}),
    "exp3-six told 0": Pair(Exp3SIX, naive_adversarial.Exp3SIX, {"n_switches": 0}),
    "exp3-six told 4": Pair(Exp3SIX, naive_adversarial.Exp3SIX, {"n_switches": 4}),
    "tsallis-inf": Pair(TsallisINF, naive_adversarial.TsallisINF, {}),
    "tsallis-inf rv": Pair(TsallisINF, naive_adversarial.TsallisINF, {"estimator": "rv"}),
    "restarted-exp3": Pair(RestartedExp3, naive_adversarial.RestartedExp3, {}),
    "restarted-exp3 told 4": Pair(RestartedExp3, naive_adversarial.RestartedExp3, {"n_switches": 4}),
    "exp3.p": Pair(Exp3P, naive_adversarial.Exp3P, {}),
    "exp3.p risk": Pair(Exp3P, naive_adversarial.Exp3P, {"risk": 0.01}),
    "clipped-omd sharing": Pair(ClippedOMD, naive_adversarial.SharingOMD, {"projection": "sharing"}),
}


def unlisted() -> Iterator[tuple[str, Pair]]:
    """Other learners with an oracle of the same name in a file of the same name, each as it is made by default."""
    listed = {pair.learner for pair in SINGLES.values()}
    for learner in set(LEARNERS.values()) - listed:
        module = f"tests.naive.{learner.__module__.rpartition('.')[2]}"
        oracle = getattr(import_module(module), learner.__name__, None) if find_spec(module) else None
        if isinstance(oracle, type) and issubclass(oracle, naive.Single):
            yield learner.name, Pair(learner, oracle, {})


UNLISTED: dict[str, Pair] = dict(unlisted())
SINGLES |= UNLISTED


def masters() -> Iterator[tuple[str, Pair]]:
    for feedback in ("own", "shared"):
        for projection in ("exact", "mixing"):
            words = {"feedback": feedback, "projection": projection}
            name = " ".join(words.values())
            yield f"master-base {name}", Pair(MasterBase, naive_masters.MasterBase, words)
            for rate in ("paper", "theorem"):
                both = {**words, "rate": rate}
                adaptive = Pair(AdaptiveMasterBase, naive_masters.AdaptiveMasterBase, both)
                yield f"adaptive-master-base {name} {rate}", adaptive


MASTERS: dict[str, Pair] = dict(masters())
PAIRS: dict[str, Pair] = {**SINGLES, **MASTERS}


def draw(learner: Learner) -> Round:
    """What the learner would play now, its loss still unknown."""
    a, q, base, p_master, p_base = learner._ask(learner._buffer)
    assert q is not None
    return Round(a, base, p_master, p_base, q, np.nan)


def feed(learner: Learner, one: Round) -> None:
    """One update of the compiled learner, below the checks of `tell`."""
    base = () if one.base is None else (one.base, one.p_master, one.p_base)
    assert learner._tell(learner._buffer, one.a, one.loss, one.q, *base) > 0


def record(learner: Learner, losses: Iterable[Row], delay: int = 0, seed: int = 0) -> Iterator[Round]:
    """Let the learner play; each round as it is told, any one of up to delay + 1 that are outstanding."""
    chance = random.Random(seed)
    outstanding: list[Round] = []
    for row in losses:
        one = draw(learner)
        outstanding.append(one._replace(loss=float(row[one.a])))
        if len(outstanding) > delay:
            one = outstanding.pop(chance.randrange(len(outstanding)))
            feed(learner, one)
            yield one
    chance.shuffle(outstanding)
    for one in outstanding:
        feed(learner, one)
        yield one


def numbers(learner: Learner) -> Numbers:
    """All that a compiled learner shows."""
    shown: Numbers = {"probabilities": learner.probabilities()}
    if isinstance(learner, MasterBase | AdaptiveMasterBase):
        shown["master"] = learner.master_probabilities
        shown["bases"] = learner.base_probabilities
        shown["master rates"] = learner.master_rates
        shown["base rates"] = learner.base_rates
    if isinstance(learner, AdaptiveMasterBase):
        shown["rho"] = learner.rho
    return shown


def naive_numbers(oracle: Oracle) -> Numbers:
    """The same numbers of an oracle."""
    shown: dict[str, Any] = {"probabilities": oracle.probabilities()}
    if isinstance(oracle, naive_masters.Master):
        shown["master"] = oracle.master()
        shown["bases"] = oracle.bases()
        shown["master rates"] = oracle.master_rates()
        shown["base rates"] = oracle.base_rates()
    if isinstance(oracle, naive_masters.AdaptiveMasterBase):
        shown["rho"] = oracle.rho()
    return {name: np.array(values) for name, values in shown.items()}


def worst_error(found: Numbers, exact: Numbers) -> tuple[float, str]:
    """The largest relative error of all the numbers, and whose it is."""
    assert found.keys() == exact.keys()
    errors = {}
    for name, values in exact.items():
        assert found[name].shape == values.shape
        assert np.isfinite(found[name]).all()
        errors[name] = float(np.max(np.abs(found[name] - values) / (np.abs(values) + TINY)))
    name = max(errors, key=lambda name: errors[name])
    return errors[name], name


def play_both(
    pair: Pair, K: int, T: int, losses: Iterable[Row], *, delay: int = 0, every: int = 1, seed: int = 0
) -> Iterator[tuple[int, Numbers, Numbers]]:
    """Play the learner, tell the oracle the same; the numbers of both, every so many tells and at the end."""
    learner, oracle = pair.make(K, T, seed), pair.oracle(K, T)
    n = 0
    for n, one in enumerate(record(learner, losses, delay, seed), 1):
        tell(oracle, one)
        if n % every == 0:
            yield n, numbers(learner), naive_numbers(oracle)
    yield n, numbers(learner), naive_numbers(oracle)
