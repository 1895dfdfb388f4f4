"""Every learner there is, by name, and `restore`, which brings one back from its saved state."""

from __future__ import annotations

import reprlib
from typing import Any

from turncoat.errors import StateError, TurncoatError
from turncoat.learners.adversarial.clipped_omd import ClippedOMD
from turncoat.learners.adversarial.exp3 import Exp3
from turncoat.learners.adversarial.exp3ix import Exp3IX
from turncoat.learners.adversarial.exp3p import Exp3P
from turncoat.learners.adversarial.exp3r import Exp3R
from turncoat.learners.adversarial.exp3s import Exp3S
from turncoat.learners.adversarial.exp3six import Exp3SIX
from turncoat.learners.adversarial.restarted_exp3 import RestartedExp3
from turncoat.learners.adversarial.tsallis_inf import TsallisINF
from turncoat.learners.adversarial.uniform import Uniform
from turncoat.learners.base.learner import STATE_FORMAT, Learner
from turncoat.learners.full_information.cbce import CBCE
from turncoat.learners.full_information.fixed_share import FixedShare
from turncoat.learners.full_information.hedge import Hedge
from turncoat.learners.full_information.saol import SAOL
from turncoat.learners.linear.dlinucb import DLinUCB
from turncoat.learners.linear.switching_linear import SwitchingLinear
from turncoat.learners.masters.adaptive_master_base import AdaptiveMasterBase
from turncoat.learners.masters.band import Band
from turncoat.learners.masters.bandit_over_bandit import BanditOverBandit
from turncoat.learners.masters.corral import Corral
from turncoat.learners.masters.master_base import MasterBase
from turncoat.learners.masters.stochastic_corral import StochasticCorral
from turncoat.learners.stochastic.ad_switch import AdSwitch
from turncoat.learners.stochastic.discounted_thompson import DiscountedThompson
from turncoat.learners.stochastic.discounted_ucb import DiscountedUCB
from turncoat.learners.stochastic.glr_kl_ucb import GLRklUCB
from turncoat.learners.stochastic.kl_ucb import KLUCB
from turncoat.learners.stochastic.master_ucb import MasterUCB
from turncoat.learners.stochastic.meta import Meta
from turncoat.learners.stochastic.monitored_ucb import MonitoredUCB
from turncoat.learners.stochastic.sliding_window_ucb import SlidingWindowUCB
from turncoat.learners.stochastic.thompson_sampling import ThompsonSampling
from turncoat.learners.stochastic.ucb1 import UCB1
from turncoat.learners.turncoat import Turncoat

# In the order of `turncoat list`: by setting, those that follow changes first, those for a best arm that stays last.
LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        Turncoat,
        AdaptiveMasterBase,
        MasterBase,
        Band,
        Corral,
        BanditOverBandit,
        ClippedOMD,
        Exp3S,
        Exp3SIX,
        RestartedExp3,
        Exp3R,
        TsallisINF,
        Exp3,
        Exp3IX,
        Exp3P,
        Uniform,
        GLRklUCB,
        DiscountedThompson,
        DiscountedUCB,
        SlidingWindowUCB,
        MonitoredUCB,
        AdSwitch,
        MasterUCB,
        Meta,
        KLUCB,
        UCB1,
        ThompsonSampling,
        StochasticCorral,
        CBCE,
        FixedShare,
        SAOL,
        Hedge,
        DLinUCB,
        SwitchingLinear,
    )
}


def restore(state: dict[str, Any]) -> Learner:
    """The learner whose `state()` this is. It goes on identically: random numbers, outstanding decisions and all.

    It knows the learners of this package. One of your own is saved by pickle, which keeps the same state.
    """
    if not isinstance(state, dict):
        hint = " (did you forget json.loads?)" if isinstance(state, str | bytes) else ""
        raise StateError(
            f"{reprlib.repr(state)} is not a state: accepted is the dict that a learner's state() returned{hint}"
        )
    written = state.get("format")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise StateError(f"the state's format is {written!r}; accepted is what state() writes, {STATE_FORMAT}")
    if written > STATE_FORMAT:
        raise StateError(
            f"the state has format {written}, written by turncoat {state.get('turncoat')}; this version reads formats "
            f"up to {STATE_FORMAT}: upgrade turncoat to restore it"
        )
    name = state.get("learner")
    if not isinstance(name, str) or name not in LEARNERS:
        raise StateError(f"the state's learner is {name!r}; known are {', '.join(LEARNERS)}")
    try:
        return LEARNERS[name]._from_state(state)
    except StateError:
        raise
    except (TurncoatError, TypeError, ValueError) as problem:
        raise StateError(f"the state of {name!r} is damaged: {problem}") from problem
