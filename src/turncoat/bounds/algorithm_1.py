"""Theorem 1: the S-switch regret of Algorithm 1 (`MasterBase`), with every constant written out.

Setting: losses in [0, 1] chosen in advance (an oblivious adversary), exact projection, own or shared feedback.
The derivation is in docs/mathematics.md; in short, for any alpha ≤ 1/H, eta, xi and every base h*,

    R_S ≤ (H-1) alpha T + ln(H)/eta + eta T H/2                                       master against base h*
        + beta T (K-1) + (S ln(1/beta) + ln K)/xi(h*) + xi(h*) K T/(2 alpha)          base h* against the path

With the tuning of the paper this is O(S^(1/2) K^(1/3) T^(2/3)) up to powers of ln(KT).

Departures from the paper. It takes for h* the largest candidate below S; the proof holds for every base, so we take the
one with the smallest bound (a larger one: that saves a logarithm, and the bound then grows with S, as it should).
S switches make S + 1 segments, and the first starts from the uniform distribution, so the starts cost
S ln(KT) + ln K where the paper writes S log(KT). (H-1) alpha T, where its last line has H alpha T.

Reference: Kim & Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025, Theorem 3.1 and appendix A.1.
"""

from __future__ import annotations

import math

from turncoat import kim_yun
from turncoat.bounds.bound import Bound, Term, parse_game


def theorem_1(horizon: int, n_arms: int, n_switches: int) -> Bound:
    """The explicit bound on the expected regret of `MasterBase` against every path of at most `n_switches` switches.

    The learner is not told the number of switches; only the bound is. With one arm the formulas are still evaluated,
    though no regret is possible there.
    """
    T, K, S = parse_game(horizon, n_arms, n_switches)
    H = kim_yun.size(T)
    alpha, capped = kim_yun.floor_1(T, K)
    beta = kim_yun.base_floor(T, K)
    eta = kim_yun.master_rate_1(T)
    starts = S * math.log(1.0 / beta) + math.log(K)
    candidates = kim_yun.candidates(T)
    rates = [kim_yun.base_rate_1(h, T, K) for h in candidates]
    base = min(range(H), key=lambda i: starts / rates[i] + rates[i] * K * T / (2.0 * alpha))
    h, xi = candidates[base], rates[base]
    terms = (
        Term("clipping the master", (H - 1) * alpha * T, "(H-1) alpha T"),
        Term("starting the master", math.log(H) / eta, "ln(H) / eta"),
        Term("master variance", eta * T * H / 2.0, "eta T H / 2"),
        Term("clipping the bases", beta * T * (K - 1), "beta T (K-1)"),
        Term("switches", starts / xi, "(S ln(1/beta) + ln K) / xi"),
        Term("base variance", xi * K * T / (2.0 * alpha), "xi K T / (2 alpha)"),
    )
    parameters = {"H": H, "base": base, "h*": h, "alpha": alpha, "beta": beta, "eta": eta, "xi": xi}
    title = f"Theorem 1: regret of Algorithm 1 against at most {S} switches, T = {T}, K = {K}"
    notes = ("alpha is capped at 1/(2H): what the paper recommends exceeds 1/H at this horizon",) if capped else ()
    return Bound(title, T, terms, parameters, notes)
