"""What decides: one file a learner, each with its rule, its guarantee and its paper."""

from __future__ import annotations

from turncoat._jit import jit_rule
from turncoat._rules import register_learner
from turncoat.learners.ad_switch import AdSwitch
from turncoat.learners.adaptive_master_base import AdaptiveMasterBase
from turncoat.learners.band import Band
from turncoat.learners.bandit_over_bandit import BanditOverBandit
from turncoat.learners.cbce import CBCE
from turncoat.learners.clipped_omd import ClippedOMD
from turncoat.learners.corral import Corral
from turncoat.learners.discounted_thompson import DiscountedThompson
from turncoat.learners.discounted_ucb import DiscountedUCB
from turncoat.learners.dlinucb import DLinUCB
from turncoat.learners.exp3 import Exp3
from turncoat.learners.exp3ix import Exp3IX
from turncoat.learners.exp3p import Exp3P
from turncoat.learners.exp3r import Exp3R
from turncoat.learners.exp3s import Exp3S
from turncoat.learners.exp3six import Exp3SIX
from turncoat.learners.fixed_share import FixedShare
from turncoat.learners.flat import HEAD, clock_of, rng_of
from turncoat.learners.full_information import FullInformationLearner
from turncoat.learners.glr_kl_ucb import GLRklUCB
from turncoat.learners.hedge import Hedge
from turncoat.learners.kl_ucb import KLUCB
from turncoat.learners.learner import SETTINGS, Facts, Learner
from turncoat.learners.linear import LinearLearner
from turncoat.learners.master_base import MasterBase
from turncoat.learners.master_ucb import MasterUCB
from turncoat.learners.meta import Meta
from turncoat.learners.monitored_ucb import MonitoredUCB
from turncoat.learners.restarted_exp3 import RestartedExp3
from turncoat.learners.roster import LEARNERS, restore
from turncoat.learners.saol import SAOL
from turncoat.learners.sliding_window_ucb import SlidingWindowUCB
from turncoat.learners.stochastic_corral import StochasticCorral
from turncoat.learners.switching_linear import SwitchingLinear
from turncoat.learners.thompson_sampling import ThompsonSampling
from turncoat.learners.tsallis_inf import TsallisINF
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.ucb1 import UCB1
from turncoat.learners.uniform import Uniform

__all__ = [
    "AdSwitch",
    "AdaptiveMasterBase",
    "Band",
    "BanditOverBandit",
    "CBCE",
    "ClippedOMD",
    "Corral",
    "DLinUCB",
    "DiscountedThompson",
    "DiscountedUCB",
    "Exp3",
    "Exp3IX",
    "Exp3P",
    "Exp3R",
    "Exp3S",
    "Exp3SIX",
    "Facts",
    "FixedShare",
    "FullInformationLearner",
    "GLRklUCB",
    "HEAD",
    "Hedge",
    "KLUCB",
    "LEARNERS",
    "Learner",
    "LinearLearner",
    "MasterBase",
    "MasterUCB",
    "Meta",
    "MonitoredUCB",
    "RestartedExp3",
    "SAOL",
    "SETTINGS",
    "SlidingWindowUCB",
    "StochasticCorral",
    "SwitchingLinear",
    "ThompsonSampling",
    "TsallisINF",
    "Turncoat",
    "UCB1",
    "Uniform",
    "clock_of",
    "jit_rule",
    "register_learner",
    "restore",
    "rng_of",
]
