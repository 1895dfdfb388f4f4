"""What a learner is measured against: the best sequence of arms with few switches, and the regret it leaves."""

from __future__ import annotations

from turncoat.regret.ball import best_point_losses
from turncoat.regret.comparator import Comparator, best_switching_losses
from turncoat.regret.measure import path_regret, switching_regret
from turncoat.regret.path import PathComparator, best_switching_path

__all__ = [
    "Comparator",
    "PathComparator",
    "best_point_losses",
    "best_switching_losses",
    "best_switching_path",
    "path_regret",
    "switching_regret",
]
