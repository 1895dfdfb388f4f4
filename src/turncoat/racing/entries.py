"""Who races by default, and how each is made: maker(arms, horizon, seed=…)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from turncoat import learners
from turncoat.environments import Environment
from turncoat.errors import OptionError, unknown

Maker = Callable[..., Any]


class Told:
    """A maker whose learner is also told `n_switches`, the planted number of switches, where there is one."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker

    def __call__(self, arms: Any, horizon: int | None = None, **words: Any) -> Any:
        """What the maker makes."""
        return self.maker(arms, horizon, **words)

    def __repr__(self) -> str:
        return f"told({self.maker!r})"


def told(maker: Maker) -> Told:
    """A maker for `race` whose learner is told how many switches were planted; where none were, it is told nothing."""
    return Told(maker)


def size_of(maker: Maker, environment: Environment) -> int:
    """What a maker is told first: the number of arms, or of features, if they have any and it makes linear learners.

    It does if it is a class of them, a `partial` of one, or `told`.
    """
    made = learner_of(maker)
    is_linear = made is not None and issubclass(made, learners.LinearLearner)
    return environment.n_arms if environment.features is None or not is_linear else environment.features.shape[1]


def make_learner(maker: Maker, size: int, horizon: int, seed: Any, n_switches: int | None) -> Any:
    """A learner for a game with so many arms (or features) and rounds, and so many planted switches."""
    if isinstance(maker, Told) and n_switches is not None:
        return maker(size, horizon, seed=seed, n_switches=n_switches)
    return maker(size, horizon, seed=seed)


ENTRIES: dict[str, Maker] = {
    "turncoat": learners.Turncoat,
    "adaptive-master-base, shared": partial(learners.AdaptiveMasterBase, feedback="shared"),
    "adaptive-master-base": learners.AdaptiveMasterBase,
    "master-base, shared": partial(learners.MasterBase, feedback="shared"),
    "master-base": learners.MasterBase,
    "clipped-omd, told S": told(learners.ClippedOMD),
    "exp3.s, told S": told(learners.Exp3S),
    "exp3.s": learners.Exp3S,
    "exp3": learners.Exp3,
    "uniform": learners.Uniform,
    "exp3-ix": learners.Exp3IX,
    "exp3-six, told S": told(learners.Exp3SIX),
    "tsallis-inf": learners.TsallisINF,
    "tsallis-inf, rv": partial(learners.TsallisINF, estimator="rv"),
    "restarted-exp3, told S": told(learners.RestartedExp3),
    "kl-ucb": learners.KLUCB,
    "ucb1": learners.UCB1,
    "discounted-ucb, told S": told(learners.DiscountedUCB),
    "discounted-ucb, kl, told S": told(partial(learners.DiscountedUCB, index="kl")),
    "sliding-window-ucb, told S": told(learners.SlidingWindowUCB),
    "sliding-window-ucb, kl, told S": told(partial(learners.SlidingWindowUCB, index="kl")),
    "glr-kl-ucb": learners.GLRklUCB,
    "glr-kl-ucb, local": partial(learners.GLRklUCB, restart="local"),
    "exp3.p": learners.Exp3P,
    "clipped-omd sharing, told S": told(partial(learners.ClippedOMD, projection="sharing")),
    "discounted-thompson, told S": told(learners.DiscountedThompson),
    "thompson-sampling": learners.ThompsonSampling,
    "monitored-ucb, told S": told(learners.MonitoredUCB),
    "hedge, sees all": learners.Hedge,
    "bob": learners.BanditOverBandit,
    "dlinucb, told S": told(learners.DLinUCB),
    "dlinucb, practical, told S": told(partial(learners.DLinUCB, exploration=0.2)),
    "ad-switch": learners.AdSwitch,
    "master-ucb": learners.MasterUCB,
    "master-ucb, practical": partial(learners.MasterUCB, scale=0.0005, replays=0.03, exploration=0.5),
    "exp3.r": learners.Exp3R,
    "meta": learners.Meta,
    "corral": learners.Corral,
    "stochastic-corral": learners.StochasticCorral,
    "fixed-share, sees all, told S": told(learners.FixedShare),
    "saol, sees all": learners.SAOL,
    "cbce, sees all": learners.CBCE,
    "band": learners.Band,
    "band, bold": partial(learners.Band, master="bold"),
}

# Six for a newcomer's first minute: the one to start with, its hardest rival, the paper's two, and the classics.
FEW = ("turncoat", "glr-kl-ucb", "adaptive-master-base", "master-base", "exp3.s, told S", "exp3")


def learner_of(maker: Maker) -> type[learners.Learner] | None:
    """The class that a maker makes, where it is one of ours with words filled in or told S; None of any other."""
    while isinstance(maker, Told | partial):
        maker = maker.maker if isinstance(maker, Told) else maker.func
    return maker if isinstance(maker, type) and issubclass(maker, learners.Learner) else None


def entry(name: str) -> Maker:
    """The maker of this name."""
    if name not in ENTRIES:
        if name in learners.LEARNERS and learners.LEARNERS[name] not in map(learner_of, ENTRIES.values()):
            raise OptionError(f"the learner {name!r} cannot race: turncoat list {name} says what it is for")
        raise unknown("learner", name, ENTRIES)
    return ENTRIES[name]
