"""Environments: losses as a function of round and arm, and scenarios, which are environments with stable names."""

from __future__ import annotations

from turncoat._compile.games import register_environment
from turncoat._compile.jit import jit_rule
from turncoat.environments.adaptive import Adaptive
from turncoat.environments.ball import BallSwitching
from turncoat.environments.drift import Drift, RandomWalk
from turncoat.environments.environment import Environment
from turncoat.environments.level_jumps import LevelJumps, StochasticallyConstrained
from turncoat.environments.linear import LinearDrift, LinearSwitching
from turncoat.environments.one_gap import Burst, Corrupted, Flip, LowerBound, Stationary
from turncoat.environments.piecewise import Piecewise
from turncoat.environments.scenarios import SCENARIOS, SUITES, Scenario, scenario, suite
from turncoat.environments.table import Table
from turncoat.environments.traps import HiddenSteps, LateArm, SecondArm

__all__ = [
    "SCENARIOS",
    "SUITES",
    "Adaptive",
    "BallSwitching",
    "Burst",
    "Corrupted",
    "Drift",
    "Environment",
    "Flip",
    "HiddenSteps",
    "LateArm",
    "LevelJumps",
    "LinearDrift",
    "LinearSwitching",
    "LowerBound",
    "Piecewise",
    "RandomWalk",
    "Scenario",
    "SecondArm",
    "Stationary",
    "StochasticallyConstrained",
    "Table",
    "jit_rule",
    "register_environment",
    "scenario",
    "suite",
]
