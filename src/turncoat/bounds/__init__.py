"""The paper's theorems and Turncoat's, term by term. (Derivations: docs/mathematics.md, docs/guarantee.md.)"""

from __future__ import annotations

from turncoat.bounds.bound import Bound, Term
from turncoat.bounds.theorems import theorem_1, theorem_2
from turncoat.bounds.worst_case import turncoat_bound

__all__ = ["Bound", "Term", "theorem_1", "theorem_2", "turncoat_bound"]
