"""What the paper's theorems promise, in numbers, every term named. (Derivations: docs/mathematics.md.)"""

from __future__ import annotations

from turncoat.bounds.algorithm_1 import theorem_1
from turncoat.bounds.bound import Bound, Term
from turncoat.bounds.theorems import theorem_2

__all__ = ["Bound", "Term", "theorem_1", "theorem_2"]
