"""Comparators and regret: the best sequence of arms with at most S switches, exactly, and the regret against it."""

from __future__ import annotations

from turncoat.regret.ball import best_point_losses
from turncoat.regret.comparator import Comparator, best_switching_losses
from turncoat.regret.path import PathComparator, best_switching_path, path_regret, switching_regret

__all__ = [
    "Comparator",
    "PathComparator",
    "best_point_losses",
    "best_switching_losses",
    "best_switching_path",
    "path_regret",
    "switching_regret",
]
