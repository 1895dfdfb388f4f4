"""Learners, one file each: bandit algorithms, masters over them, and learners with full information.

Generated from the classes by `make generated`. The names in `__all__` are exported by `turncoat` too.
"""

from __future__ import annotations

from turncoat._compile.dispatch import register_learner as register_learner
from turncoat._compile.jit import jit_rule as jit_rule
from turncoat._compile.state import State as State
from turncoat._compile.state import array as array
from turncoat._compile.state import computed as computed
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
from turncoat.learners.base.declarations import SETTINGS as SETTINGS
from turncoat.learners.base.declarations import Facts as Facts
from turncoat.learners.base.declarations import Option as Option
from turncoat.learners.base.full_information import FullInformationLearner
from turncoat.learners.base.learner import Learner
from turncoat.learners.base.linear import LinearLearner as LinearLearner
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
from turncoat.learners.turncoat.learner import Turncoat

# isort: split
from turncoat.learners.registry import LEARNERS as LEARNERS
from turncoat.learners.registry import restore  # when all learners are known

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
    "FixedShare",
    "FullInformationLearner",
    "GLRklUCB",
    "Hedge",
    "KLUCB",
    "Learner",
    "MasterBase",
    "MasterUCB",
    "Meta",
    "MonitoredUCB",
    "RestartedExp3",
    "SAOL",
    "SlidingWindowUCB",
    "StochasticCorral",
    "SwitchingLinear",
    "ThompsonSampling",
    "TsallisINF",
    "Turncoat",
    "UCB1",
    "Uniform",
    "restore",
]
