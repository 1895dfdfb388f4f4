"""Noise that keeps the mean: a loss drawn around it, from one uniform number.

| `noise`       | loss                                               |                          |
|---------------|----------------------------------------------------|--------------------------|
| "bernoulli"   | 1 with probability mean, else 0                    |                          |
| w in (0, 0.5] | uniform on mean ± min(w, mean, 1 - mean)           | in [0, 1], mean unmoved  |
| 0             | the mean                                           | no randomness at all     |
"""

from __future__ import annotations

from turncoat._compile.jit import jit_rule


@jit_rule
def scattered(mean: float, u: float, bernoulli: bool, spread: float) -> float:
    """The loss that a uniform number u in [0, 1) makes of a mean."""
    if bernoulli:
        return 1.0 if u < mean else 0.0
    return mean + (2.0 * u - 1.0) * min(spread, mean, 1.0 - mean)
