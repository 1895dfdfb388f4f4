"""Deterministic rounds for saved learners: every loss follows from the round and the arm by whole-number arithmetic.

The generator (write.py) and the tests play the same rounds. Only public methods of learners are used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import turncoat as tc
from turncoat.errors import PropensityError

How: TypeAlias = Literal["plain", "allowed", "features", "all losses", "points", "any scale", "any scale, allowed"]

N_ROWS = 7  # arms per round where features describe them
N_NEXT = 50  # rounds of a restored learner before its outstanding decisions are told
N_LAST = 10  # and after


def unit_loss(t: int, arm: int) -> float:
    """In [0, 1]; the best arm changes every 60 rounds."""
    return ((31 * t + 17 * arm + t * t * arm) % 101 + 50 * ((t // 60 + arm) % 5 != 0)) / 150.0


def direction(t: int, arm: int, d: int) -> list[float]:
    """A vector of d numbers, of norm below 1."""
    return [((t + 7 * arm + 3 * i + t * i * arm) % 19 - 9) / (10.0 * math.sqrt(d)) for i in range(d)]


def features(learner: tc.Learner, t: int) -> list[list[float]]:
    """Feature vectors of the arms of round t."""
    return [direction(t, row, learner.n_arms) for row in range(N_ROWS)]


def some_arms(learner: Any, t: int) -> list[Any]:
    """About two thirds of the arms that are not retired."""
    return [label for i, label in enumerate(learner.living) if (i + t) % 3 or len(learner.living) == 1]


def ask(learner: Any, how: How, t: int) -> tc.Decision:
    """The decision of a round."""
    decision: tc.Decision
    if how == "features":
        decision = learner.ask(features(learner, t))
    elif how in ("allowed", "any scale, allowed") and t % 4:
        decision = learner.ask(allowed=some_arms(learner, t))
    else:
        decision = learner.ask()
    return decision


def tell(learner: Any, decision: tc.Decision, how: How, t: int) -> None:
    """Tell the learner the loss of a decision, that of round t."""
    if how == "all losses":
        low, high = learner.loss_range
        learner.tell(decision, [low + (high - low) * unit_loss(t, arm) for arm in range(learner.n_arms)])
    elif how == "points":
        assert isinstance(decision.arm, tuple)
        learner.tell(decision, _product(direction(t // 60, 1, len(decision.arm)), decision.arm))
    elif how in ("any scale", "any scale, allowed"):  # the losses grow, so the observed range widens
        learner.tell(decision, loss=4.0 * unit_loss(t, decision.index) * (1 + t // 80) - 3.0)
    else:
        low, high = learner.loss_range
        learner.tell(decision, loss=low + (high - low) * unit_loss(t, decision.index))


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(one, other, strict=True))


def probabilities(learner: Any, how: How, t: int) -> list[float] | None:
    """The distribution that round t is drawn from; None where the learner cannot say its probabilities."""
    with suppress(PropensityError):
        if how == "features":
            return list(learner.probabilities(features(learner, t)).tolist())
        if how in ("allowed", "any scale, allowed"):
            return list(learner.probabilities(allowed=some_arms(learner, t)).tolist())
        return list(learner.probabilities().tolist())
    return None


def go_on(learner: tc.Learner, outstanding: Sequence[tc.Decision], how: How, t: int) -> dict[str, Any]:
    """Play on from round t: some rounds, then tell the outstanding decisions, then some more rounds."""
    before = probabilities(learner, how, t)
    decisions = []
    for now in range(t, t + N_NEXT):
        decisions.append(ask(learner, how, now))
        tell(learner, decisions[-1], how, now)
    for late, decision in enumerate(reversed(outstanding)):
        tell(learner, decision, how, t + late)
    for now in range(t + N_NEXT, t + N_NEXT + N_LAST):
        decisions.append(ask(learner, how, now))
        tell(learner, decisions[-1], how, now)
    return {
        "probabilities": before,
        "decisions": [decision.to_dict() for decision in decisions],
        "last probabilities": probabilities(learner, how, t + N_NEXT + N_LAST),
        "last state": learner.state(),
    }


def thoughts(learner: tc.Turncoat) -> dict[str, Any]:
    """Turncoat's explanation, and its certificates unless the range of losses is unknown."""
    certificates = []
    if learner.state()["loss_range"] != "adaptive":
        certificates = [{**one._asdict(), "total": one.total} for one in map(learner.certificate, (0, 3))]
    return {"explanation": learner.explain().to_dict(), "certificates": certificates}
