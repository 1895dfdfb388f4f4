"""Every learner in every mode: a contract is a suite that all of these pass.

A learner that is not listed here is tried as its class makes it by default.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numba
import numpy as np
import pytest

import turncoat as tc
from tests.cases import where
from turncoat.learners import LEARNERS, LinearLearner
from turncoat.learners.base.index import IndexLearner
from turncoat.learners.base.master import Master
from turncoat.types import Vector

Maker = Callable[..., tc.Learner]


def _anytime(learner: Maker, arms: Any, horizon: int | None = None, **words: Any) -> tc.Learner:
    """A learner without a horizon, whatever horizon is offered."""
    return learner(arms, **words)


def _told(learner: Maker, arms: Any, horizon: Any = None, **words: Any) -> tc.Learner:
    """A learner told that there are two switches, or as many as the smallest horizons hold."""
    return learner(arms, horizon, n_switches={1: 0, 2: 1}.get(horizon, 2), **words)


MASTERS: list[tuple[str, Maker]] = [
    *(
        (f"master-base-{feedback}-{projection}", partial(tc.MasterBase, feedback=feedback, projection=projection))
        for feedback in ("own", "shared")
        for projection in ("exact", "mixing")
    ),
    *(
        (
            f"adaptive-master-base-{feedback}-{projection}-{rate}",
            partial(tc.AdaptiveMasterBase, feedback=feedback, projection=projection, rate=rate),
        )
        for feedback in ("own", "shared")
        for projection in ("exact", "mixing")
        for rate in ("paper", "theorem")
    ),
]

# Fed in all three ways; one kind comes back. A chain of kinds takes half a minute to compile: take this one.
MIXED: list[Any] = [tc.Exp3, partial(tc.ClippedOMD, n_switches=0), "ucb1", tc.Exp3]
CORRALS: list[tuple[str, Maker]] = [
    ("corral", tc.Corral),
    ("corral-mixed", partial(tc.Corral, bases=MIXED, rate=0.3)),
    ("stochastic-corral", partial(tc.StochasticCorral, n_snapshots=3, rate=0.3)),  # of rules that play an index
]

BANDS: list[tuple[str, Maker]] = [
    ("band", tc.Band),  # three kinds, one of them twice
    ("band-anytime", partial(tc.Band, bases=["exp3", "ucb1"], prior=[3.0, 1.0], master="bold")),
]

HORIZON_FREE: list[tuple[str, Maker]] = [  # modes that are made without a horizon
    ("exp3-anytime", partial(_anytime, tc.Exp3)),
    ("exp3-ix-anytime", partial(_anytime, tc.Exp3IX)),
]

UNTUNED: list[tuple[str, Maker]] = [  # that take a horizon and do not use it
    ("uniform", tc.Uniform),
    ("tsallis-inf", tc.TsallisINF),
    ("tsallis-inf-rv", partial(tc.TsallisINF, estimator="rv")),
    ("turncoat", tc.Turncoat),
]

ANYTIME: list[tuple[str, Maker]] = [
    *UNTUNED,
    ("exp3-loss", tc.Exp3),
    ("exp3-ix", tc.Exp3IX),
    *HORIZON_FREE,
    BANDS[1],
]

# They play the largest index: every other arm has probability 0.
INDEXED_ANYTIME: list[tuple[str, Maker]] = [
    ("ucb1", tc.UCB1),
    ("kl-ucb", tc.KLUCB),
    ("discounted-ucb-given", partial(tc.DiscountedUCB, discount=0.97)),
    ("sliding-window-ucb-given", partial(tc.SlidingWindowUCB, window=30)),
]
INDEXED_TUNED: list[tuple[str, Maker]] = [
    ("discounted-ucb", tc.DiscountedUCB),
    ("discounted-ucb-kl-told", partial(_told, partial(tc.DiscountedUCB, index="kl"))),
    ("sliding-window-ucb", tc.SlidingWindowUCB),
    ("sliding-window-ucb-kl-told", partial(_told, partial(tc.SlidingWindowUCB, index="kl"))),
    ("glr-kl-ucb-unexploring", partial(tc.GLRklUCB, exploration=0.0)),
    ("monitored-ucb-unexploring", partial(tc.MonitoredUCB, exploration=0.0)),
]
INDEXED: list[tuple[str, Maker]] = [*INDEXED_ANYTIME, *INDEXED_TUNED]
ANYTIME += INDEXED_ANYTIME

# So do these, but for rounds in which exploration is forced.
EXPLORING: list[tuple[str, Maker]] = [
    ("glr-kl-ucb", tc.GLRklUCB),
    ("glr-kl-ucb-local", partial(tc.GLRklUCB, restart="local", threshold="experiments", n_splits=6, every=2)),
    ("glr-kl-ucb-told", partial(_told, partial(tc.GLRklUCB, threshold="proven"))),
    ("monitored-ucb", partial(tc.MonitoredUCB, window=8, tolerance=0.3)),
    ("monitored-ucb-kl-told", partial(_told, partial(tc.MonitoredUCB, index="kl", exploration=0.1))),
    ("ad-switch", tc.AdSwitch),
    ("ad-switch-touchy", partial(tc.AdSwitch, confidence=0.2, elimination=0.3, precision=4, exploration=20)),
]

# They are told the losses of all arms: see `as_told` below.
SEEING_ALL_ANYTIME: list[tuple[str, Maker]] = [
    ("hedge", tc.Hedge),
    ("hedge-anytime", partial(_anytime, tc.Hedge)),
    ("saol", tc.SAOL),
    ("cbce", tc.CBCE),
    ("cbce-anytime", partial(_anytime, tc.CBCE)),
]
SEEING_ALL_TUNED: list[tuple[str, Maker]] = [
    ("fixed-share", tc.FixedShare),
    ("fixed-share-told", partial(_told, tc.FixedShare)),
]
SEEING_ALL = [*SEEING_ALL_ANYTIME, *SEEING_ALL_TUNED]
BETTING = [(name, make) for name, make in SEEING_ALL if name.startswith("cbce")]  # arms they bet nothing on never come
ANYTIME += SEEING_ALL_ANYTIME
HORIZON_FREE += [(name, make) for name, make in SEEING_ALL if name.endswith("-anytime")]

# And these play the largest index of one of several copies, which begin anew at random.
RESTARTING: list[tuple[str, Maker]] = [
    ("master-ucb", tc.MasterUCB),
    ("master-ucb-touchy", partial(tc.MasterUCB, scale=0.0005, replays=0.3)),
]

# These play some arms alike, and the others not at all.
EVICTING: list[tuple[str, Maker]] = [
    ("meta", tc.Meta),
    ("meta-touchy", partial(tc.Meta, eviction=0.1, replays=1.0)),
]

MAKERS: list[tuple[str, Maker]] = [
    *ANYTIME,
    ("exp3-gain", partial(tc.Exp3, form="gain")),
    ("exp3.s", tc.Exp3S),
    ("exp3.s-told", partial(_told, tc.Exp3S)),
    ("clipped-omd", tc.ClippedOMD),
    ("clipped-omd-told", partial(_told, tc.ClippedOMD)),
    *MASTERS,
    ("exp3-six", tc.Exp3SIX),
    ("exp3-six-told", partial(_told, tc.Exp3SIX)),
    ("restarted-exp3", tc.RestartedExp3),
    ("restarted-exp3-told", partial(_told, tc.RestartedExp3)),
    *INDEXED_TUNED,
    *EXPLORING,
    ("exp3.p", tc.Exp3P),
    ("exp3.p-risk", partial(tc.Exp3P, risk=0.01)),
    ("clipped-omd-sharing", partial(tc.ClippedOMD, projection="sharing")),
    ("bob", tc.BanditOverBandit),
    *RESTARTING,
    ("exp3.r", partial(tc.Exp3R, gap=0.5, delta=0.5)),
    *EVICTING,
    *CORRALS,
    *SEEING_ALL_TUNED,
    BANDS[0],
]

# They cannot say their probabilities. Tests that do not ask for them run with these too.
NO_CLOSED_FORM: list[tuple[str, Maker]] = [
    ("thompson-sampling", tc.ThompsonSampling),
    ("discounted-thompson", tc.DiscountedThompson),
    ("discounted-thompson-told", partial(_told, tc.DiscountedThompson)),
    ("discounted-thompson-given", partial(tc.DiscountedThompson, discount=0.97, prior=0.5)),
]

# Linear learners, over so many dimensions: without features each is an arm. A round costs d³, so no thousand of them.
LINEAR: list[tuple[str, Maker]] = [
    ("dlinucb", tc.DLinUCB),
    ("dlinucb-told", partial(_told, partial(tc.DLinUCB, exploration=0.2))),
]


def _learner_of(make: Any) -> Any:
    """The class behind a maker."""
    while isinstance(make, partial):
        make = make.args[0] if make.args else make.func
    return make


def _place(name: str, learner: type[tc.Learner]) -> None:
    """A learner that no list names: in its default mode, where its class says that it belongs."""
    case = name, learner
    if issubclass(learner, LinearLearner):
        LINEAR.append(case)
    elif not learner._says_propensity:
        NO_CLOSED_FORM.append(case)
    else:
        MAKERS.append(case)
        ANYTIME.extend([case] * (learner.facts.horizon != "needed"))
        UNTUNED.extend([case] * (not learner.uses_horizon))
        SEEING_ALL.extend([case] * learner.sees_all)
        INDEXED.extend([case] * issubclass(learner, IndexLearner))


_NAMED = {_learner_of(make) for _, make in [*MAKERS, *NO_CLOSED_FORM, *LINEAR]}
for _name, _learner in LEARNERS.items():
    if _learner.can_race and _learner not in _NAMED:
        _place(_name, _learner)
EVERYONE = [*MAKERS, *NO_CLOSED_FORM, *LINEAR]
OTHERS = [(name, make) for name, make in EVERYONE if make is not tc.Turncoat]  # whose arms and losses are as they are

NEEDS_BASE = [*[(name, make) for name, make in MASTERS if "-own-" in name], *CORRALS]  # so these cannot observe
CAN_OBSERVE = [(name, make) for name, make in MAKERS if (name, make) not in NEEDS_BASE + SEEING_ALL]  # one loss
TAKES_HORIZON = [(name, make) for name, make in MAKERS if (name, make) not in HORIZON_FREE]
TUNED_BY_HORIZON = [(name, make) for name, make in TAKES_HORIZON if (name, make) not in [*UNTUNED, *INDEXED_ANYTIME]]
NEEDS_HORIZON = [(name, make) for name, make in MAKERS if (name, make) not in ANYTIME]
NOT_RANDOMISED = [*INDEXED, *EXPLORING, *RESTARTING, *EVICTING, *BETTING, CORRALS[-1]]
RANDOMISED = [one for one in MAKERS if one not in NOT_RANDOMISED]  # every arm may come


# What takes long to compile. `make test` tries it with the JIT off; compiled, bands and corrals of fewer kinds, and in
# tests/oracle those of three.
DEAR = ("band", "corral-mixed")
# One learner of each kind, so that every kind of state, choice and tell is there, and what is dear to compile.
KINDS = (
    *("turncoat", "exp3-loss", "exp3.s", "clipped-omd", "ucb1", "discounted-ucb", "hedge", "cbce", "band"),
    *("master-base-own-exact", "adaptive-master-base-own-exact-paper", "glr-kl-ucb", "master-ucb", "bob"),
    *("corral-mixed", "thompson-sampling", "dlinucb"),
)


def each(
    makers: list[tuple[str, Maker]], *, kinds: bool = True, modes: bool = True, all_learners: bool = True
) -> pytest.MarkDecorator:
    """Run a test with each of these makers as `make`; see `case`."""
    cases = [case(makers, name, make, kinds=kinds, modes=modes, all_learners=all_learners) for name, make in makers]
    return pytest.mark.parametrize("make", cases)


def case(
    makers: list[tuple[str, Maker]],
    name: str,
    make: Maker,
    *more: Any,
    label: str = "",
    kinds: bool = True,
    modes: bool = True,
    all_learners: bool = True,
) -> Any:
    """One of these as a case, of which `make test` tries some and `make test-all` all.

    Compiled it tries all but what is dear to compile; unless `modes`, each learner in one mode; unless `all_learners`,
    one of each kind. With the JIT off it tries one of each kind; unless `kinds`, each learner in one mode.
    """
    if not numba.config.DISABLE_JIT:
        skipped = name in DEAR or not (modes or in_first_mode(makers, name, make))
        skipped = skipped or not (all_learners or name in KINDS or name == BANDS[1][0])
    elif kinds and any(other in KINDS for other, _ in makers):
        skipped = name not in KINDS
    else:
        skipped = not in_first_mode(makers, name, make)
    return pytest.param(make, *more, id=label or name, marks=where(skipped))


def in_first_mode(makers: list[tuple[str, Maker]], name: str, make: Maker) -> bool:
    """Is this the first mode of its learner among them, but for what is dear to compile?"""
    modes = [other for other, another in makers if _learner_of(another) is _learner_of(make)]
    return name == next((other for other in modes if other not in DEAR), modes[0])


every_learner = each(MAKERS)
everyone = each(EVERYONE)


def loss_at(t: int, arm: int) -> float:
    """Losses for games played by hand: multiples of 1/16 in [0, 1], 0 and 1 among them, in no simple order."""
    return float((t * t + 5 * t * arm + 3 * arm) % 17) / 16.0


def play_by_hand(learner: tc.Learner, n_rounds: int) -> list[tc.Decision]:
    """Ask and tell for some rounds; the decisions."""
    decisions = []
    for t in range(n_rounds):
        decisions.append(learner.ask())
        tell(learner, decisions[-1], loss=loss_at(t, decisions[-1].index))
    return decisions


def tell_row(learner: tc.Learner, decision: tc.Decision, row: Vector) -> None:
    """Tell what a row of a table holds: all of it, or the loss of the arm decided for."""
    if isinstance(learner, tc.FullInformationLearner):
        learner.tell(decision, row)
    else:
        learner.tell(decision, loss=float(row[decision.index]))


PLURAL = {"loss": "losses", "reward": "rewards"}


def tell(learner: tc.Learner, decision: tc.Decision, **told: Any) -> None:
    """Tell a loss or a reward of the arm decided for, as the learner wants to be told."""
    learner.tell(decision, **as_told(learner, decision, **told))


def as_told(learner: tc.Learner, decision: tc.Decision, **told: Any) -> dict[str, Any]:
    """The words of a tell: loss or reward as they are, or those of all arms for a learner that sees all.

    Then every second arm has the same number and the others its mirror image, so that rewards are the mirror image of
    losses here too. What is no loss stands for its arm alone.
    """
    if not learner.sees_all:
        return told
    low, high = learner.loss_range
    K = learner.n_arms
    index = decision.index if isinstance(decision, tc.Decision) and decision.index in range(K) else 0
    words: dict[str, Any] = {}
    for word, value in told.items():
        if isinstance(value, int | float | Fraction | np.number) and low <= value <= high:
            mirrored = low + high - float(value)
            words[PLURAL[word]] = [mirrored if (arm - index) % 2 else value for arm in range(K)]
        else:
            words[PLURAL[word]] = value if value is None else [value if arm == index else low for arm in range(K)]
    return words


def contents(learner: tc.Learner) -> dict[str, Any]:
    """Everything a learner is, but for the token that no two share."""
    return {key: value for key, value in learner.state().items() if key != "token"}


def planned(learner: tc.Learner, m: int = 1) -> dict[str, Any]:
    """The words of an ask, a look or an observation that fix how many pulls are planned, where that many can be."""
    return {"m": m} if learner.plans_ahead else {}


def without_delays(learner: tc.Learner) -> dict[str, Any]:
    """The same without the delays of its tells, which an observed round does not have."""
    return {key: value for key, value in contents(learner).items() if key != "delays"}


def as_master(learner: tc.Learner) -> Master:
    """The same learner, known to be a master."""
    assert isinstance(learner, Master)
    return learner


def takes_turns(learner: tc.Learner) -> bool:
    """Does it mark who was played last? Then an ask moves these marks, and nothing else."""
    return hasattr(learner.view(), "last")


def learned(learner: tc.Learner) -> list[Any]:
    """All numbers of its state but those that an ask may move."""
    return [value for name, value in learner.view().items() if name not in ("rng", "last")]
