"""Compile a learner ahead: every method that runs a kernel is called once, on a copy. (Whole games: simulate.)"""

from __future__ import annotations

import warnings
from contextlib import suppress
from copy import copy
from typing import Any

from turncoat.errors import TurncoatError
from turncoat.learners.base.linear import LinearLearner
from turncoat.learners.turncoat import Turncoat


def compile_methods(learner: Any) -> None:
    """Compile all that the learner can be asked, or read it from disk. The learner itself stays as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = copy(learner)  # which saves and restores
        _ask_and_tell(one)
        _look_at(one)
        if isinstance(one, Turncoat):
            _change_arms(one)


def middle_loss(learner: Any) -> float:
    """A loss that can be told."""
    low, high = learner.accepts
    return float(low / 2.0 + high / 2.0)


def _ask_and_tell(one: Any) -> None:
    loss = middle_loss(one)
    told: Any = [loss] * one.n_arms if one.sees_all else loss
    one.tell(one.ask(), told)
    if isinstance(one, LinearLearner):
        features = one.rows(None)[:1]
        one.tell(one.ask(features), told)
        one.probabilities(features)
    with suppress(TurncoatError):  # some cannot observe
        one.observe(*[told] if one.sees_all else (0, told, 0.5))
    with suppress(TurncoatError):  # one plays points
        one.tell_many(one.ask_many(1), [told])


def _look_at(one: Any) -> None:
    """Look at the probabilities, the indices and all properties. What a learner does not have it refuses."""
    for name in dir(type(one)):
        if not name.startswith("_"):
            with suppress(TurncoatError):
                found = getattr(one, name)
                if name in ("probabilities", "indices") and callable(found):
                    found()


def _change_arms(one: Turncoat) -> None:
    """What Turncoat alone can do: some arms, plans, arms that come and go, explanations, certificates, any range."""
    loss, label = middle_loss(one), one.living[0]
    for allowed in ([label], None):
        one.tell(one.ask(allowed=allowed, m=2), loss)
        one.probabilities(allowed=allowed, m=2)
    one.observe(one.arms.index(label), loss, 0.5, allowed=[one.arms.index(label)])
    new = "+" + max(map(str, one.arms), key=len)  # longer than any label
    one.add_arm(new)
    one.retire_arm(new)
    str(one), one.explain(), one.explain().to_dict()
    if one.loss_range == (0.0, 1.0):
        one.certificate(0)
        adaptive = Turncoat(2, seed=0, loss_range="adaptive")
        for other in (1.0, 2.0, 3.0):
            adaptive.tell(adaptive.ask(), other)
        adaptive.take_in(0, 4.0)
