"""What a learner meets: losses as a pure function of round and arm."""

from __future__ import annotations

from turncoat.environments.environment import Environment
from turncoat.environments.piecewise import Piecewise
from turncoat.environments.table import Table

__all__ = ["Environment", "Piecewise", "Table"]
