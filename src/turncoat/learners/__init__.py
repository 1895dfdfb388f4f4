"""What decides: one file a learner, each with its rule, its guarantee and its paper."""

from __future__ import annotations

from turncoat._compile.dispatch import register_learner
from turncoat._compile.jit import jit_rule
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
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.base.learner import SETTINGS, Facts, Learner
from turncoat.learners.base.linear import LinearLearner
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
from turncoat.learners.registry import LEARNERS, restore
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
