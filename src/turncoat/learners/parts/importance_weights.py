"""The importance-weighted loss: what was seen, divided by the probability with which it was served."""

from __future__ import annotations

from turncoat._compile.jit import jit

LARGEST = 1e30  # far above any estimate of a decision that was really drawn; keeps sums of them finite


@jit
def importance_weighted(loss: float, served: float) -> float:
    """loss / served, unbiased for the loss of the arm that was drawn with probability `served`."""
    return min(loss / served, LARGEST)


@jit
def is_probability(served: float) -> bool:
    """Can something have been drawn with this probability?"""
    return 0.0 < served <= 1.0
