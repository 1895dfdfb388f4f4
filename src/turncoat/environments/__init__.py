"""What a learner meets: losses as a pure function of round and arm, and games that are known by name."""

from __future__ import annotations

from turncoat._compile.dispatch import register_environment
from turncoat._compile.jit import jit_rule
from turncoat.environments.adaptive import Adaptive
from turncoat.environments.ball import BallSwitching
from turncoat.environments.burst import Burst
from turncoat.environments.corrupted import Corrupted
from turncoat.environments.drift import Drift
from turncoat.environments.environment import Environment
from turncoat.environments.flip import Flip
from turncoat.environments.level_jumps import LevelJumps
from turncoat.environments.linear import LinearDrift, LinearSwitching
from turncoat.environments.lower_bound import LowerBound
from turncoat.environments.piecewise import Piecewise
from turncoat.environments.random_walk import RandomWalk
from turncoat.environments.scenarios import SCENARIOS, SUITES, Scenario, scenario, suite
from turncoat.environments.stationary import Stationary
from turncoat.environments.stochastically_constrained import StochasticallyConstrained
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
