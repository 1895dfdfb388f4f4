"""Who races by default, and how each is made: maker(arms, horizon, seed=…, n_switches=…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turncoat import learners
from turncoat.learners import Learner

Maker = Callable[..., Learner]


def untold(learner: Callable[..., Learner], **words: Any) -> Maker:
    """A maker that keeps the planted number of switches from the learner."""

    def make(arms: int, horizon: int, *, seed: Any, n_switches: int) -> Learner:
        return learner(arms, horizon, seed=seed, **words)

    return make


def told(learner: Callable[..., Learner]) -> Maker:
    """A maker that tells the learner the planted number of switches."""

    def make(arms: int, horizon: int, *, seed: Any, n_switches: int) -> Learner:
        return learner(arms, horizon, seed=seed, n_switches=n_switches)

    return make


ENTRIES: dict[str, Maker] = {
    "adaptive-master-base, shared": untold(learners.AdaptiveMasterBase, feedback="shared"),
    "adaptive-master-base": untold(learners.AdaptiveMasterBase),
    "master-base, shared": untold(learners.MasterBase, feedback="shared"),
    "master-base": untold(learners.MasterBase),
    "clipped-omd, told S": told(learners.ClippedOMD),
    "exp3.s, told S": told(learners.Exp3S),
    "exp3.s": untold(learners.Exp3S),
    "exp3": untold(learners.Exp3),
    "uniform": untold(learners.Uniform),
}
