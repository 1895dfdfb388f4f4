"""Beta variates for Thompson sampling, as log-odds ln(theta/(1 - theta)).

Arms are compared by ln(theta/(1 - theta)), which grows with theta and neither underflows nor loses digits near 1. The
shapes decide between three methods:

Both above 1, the usual case: Cheng's rejection from a log-logistic law. With a ≤ b, uniforms u and u', and
r = sqrt((a + b - 2)/(2 a b - a - b)), the log-odds V + ln(a/b) of V = r ln(u/(1 - u)) are those of Beta(a, b) if
    (a + b) ln((a + b)/(b + a e^V)) + (a + 1/r) V - ln 4 ≥ ln(u² u'),                   (1)
which holds after 1 to 1.5 tries. Two cheaper conditions, each enough, spare most logarithms. Which of a and b is the
smaller does not matter: swapping them turns the sign.

A shape of exactly 1, as for an arm without a success: by inversion, 1 - theta = u^(1/b) for Beta(1, b).

Otherwise two Gamma variates and their odds:
    G ~ Gamma(a), G' ~ Gamma(b) independent:  G/(G + G') ~ Beta(a, b)                    (2)

Gamma variates by Marsaglia & Tsang: for a ≥ 1, d = a - 1/3 and c = 1/sqrt(9 d), draw x normal and v = (1 + c x)³ until
    v > 0 and ln u < x²/2 + d - d v + d ln v,  u uniform,                               (3)
then d v is one, after 1.05 tries at a = 1 and fewer above. For a < 1,
    Gamma(a) = Gamma(a + 1) u^(1/a).                                                    (4)
Normal variates by Marsaglia's polar method.

Everything stays in logarithms: for small shapes (4) underflows, and both Gammas may be 0 where their odds are not.

References: R. C. H. Cheng, "Generating beta variates with nonintegral shape parameters", Comm. ACM 21 (1978), algorithm
BB; G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM Trans. Math. Softw. 26
(2000); G. Marsaglia, T. A. Bray, "A convenient method for generating normal variables", SIAM Review 6 (1964).
"""

from __future__ import annotations

import math
from typing import Any

from turncoat._compile.jit import jit, jit_rule
from turncoat.random import uniform
from turncoat.types import Words

SQUEEZE = 0.0331  # u < 1 - 0.0331 x⁴ implies (3), and spares its logarithms nearly always
NEARLY_1 = 1.001  # below it Cheng's r is a ratio of numbers that cancel
MOST = 1e15  # more rounds than any learner counts; above it products overflow
LEAST = 1e-100  # in place of 0, whose logarithm is infinite
LN_4, LN_5 = math.log(4.0), math.log(5.0)


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
        boost = math.log(1.0 - uniform(words)) / shape  # (4)
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
        if u < 1.0 - SQUEEZE * (x * x) * (x * x) or math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):  # (3)
            return math.log(d * v) + boost


@jit
def log_odds_of_1(words: Words, b: float) -> float:
    """The log-odds of a Beta(1, b) variate."""
    e = -math.log(1.0 - uniform(words)) / b
    return math.log(math.expm1(max(e, LEAST))) if e < 1.0 else e + math.log1p(-math.exp(-e))


@jit
def log_odds_above_1(words: Words, low: float, high: float) -> float:
    """The log-odds of a Beta(low, high) variate, for 1 < low ≤ high."""
    both = low + high
    r = math.sqrt((both - 2.0) / (2.0 * low * high - both))
    c = low + 1.0 / r
    while True:
        u = max(uniform(words), LEAST)
        v = r * math.log(u / (1.0 - u))
        z = u * u * (1.0 - uniform(words))
        w = low * math.exp(v)
        x = c * v - LN_4
        if x + low - w + 1.0 + LN_5 >= 5.0 * z:
            return v + math.log(low / high)
        lz = math.log(z)
        if x + low - w >= lz or x + both * math.log(both / (high + w)) >= lz:  # (1)
            return v + math.log(low / high)


@jit
def log_odds(words: Words, a: float, b: float) -> float:
    """ln(theta/(1 - theta)) of a Beta(a, b) variate theta."""
    a, b = min(a, MOST), min(b, MOST)
    if min(a, b) > NEARLY_1:
        return log_odds_above_1(words, a, b) if a <= b else -log_odds_above_1(words, b, a)
    if a == 1.0:
        return log_odds_of_1(words, b)
    if b == 1.0:
        return -log_odds_of_1(words, a)
    return log_gamma(words, a) - log_gamma(words, b)  # (2)


@jit_rule
def ask_largest(state: Any, shrink: float) -> tuple[int, None]:
    """The arm with the largest draw from its Beta law; `shrink` makes counts of what is stored."""
    best, arm = -math.inf, 0
    for a in range(state.K):
        good, bad = state.successes[a] * shrink, state.failures[a] * shrink
        theta = log_odds(state.rng, state.prior + good, state.prior + bad)
        if theta > best:
            best, arm = theta, a
    return arm, None
