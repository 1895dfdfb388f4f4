"""Draws from Beta laws, for Thompson sampling: two Gamma variates and their odds.

    G ~ Gamma(a), G' ~ Gamma(b) independent:  G/(G + G') ~ Beta(a, b)                    (1)

Gamma variates by Marsaglia & Tsang: for a ≥ 1, d = a - 1/3 and c = 1/sqrt(9 d), draw x normal and v = (1 + c x)³ until
    v > 0 and ln u < x²/2 + d - d v + d ln v,  u uniform,                               (2)
then d v is one, after 1.05 tries at a = 1 and fewer above. For a < 1,
    Gamma(a) = Gamma(a + 1) u^(1/a).                                                    (3)
Normal variates by Marsaglia's polar method.

Everything stays in logarithms: for small shapes (3) underflows, and both Gammas may be 0 where their odds are not.
What is compared between arms is ln(G/G'), which is larger exactly where G/(G + G') is.

References: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM Trans. Math. Softw. 26
(2000); G. Marsaglia, T. A. Bray, "A convenient method for generating normal variables", SIAM Review 6 (1964).
"""

from __future__ import annotations

import math

from turncoat._jit import jit
from turncoat.rng import uniform
from turncoat.types import Words

SQUEEZE = 0.0331  # u < 1 - 0.0331 x⁴ implies (2), and spares its logarithms nearly always


@jit
def normal(words: Words) -> float:
    """A standard normal variate."""
    while True:
        x = 2.0 * uniform(words) - 1.0
        y = 2.0 * uniform(words) - 1.0
        s = x * x + y * y
        if 0.0 < s < 1.0:
            return x * math.sqrt(-2.0 * math.log(s) / s)


@jit
def log_gamma(words: Words, shape: float) -> float:
    """The logarithm of a Gamma(shape) variate, for shapes of at least 0.001."""
    boost = 0.0
    if shape < 1.0:
        boost = math.log(1.0 - uniform(words)) / shape  # (3)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(words)
        v = 1.0 + c * x
        v = v * v * v
        u = 1.0 - uniform(words)
        if v <= 0.0:
            continue
        if u < 1.0 - SQUEEZE * (x * x) * (x * x) or math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):  # (2)
            return math.log(d * v) + boost


@jit
def log_odds(words: Words, a: float, b: float) -> float:
    """ln(theta/(1 - theta)) of a Beta(a, b) variate theta."""
    return log_gamma(words, a) - log_gamma(words, b)  # (1)
