"""The paper's theorems evaluated, term by term. (Derivations: docs/mathematics.md.)"""

from __future__ import annotations

from turncoat.bounds.bound import Bound, Term
from turncoat.bounds.theorems import theorem_1, theorem_2

__all__ = ["Bound", "Term", "theorem_1", "theorem_2"]
