"""Theorem W: the worst-case bound on the S-switch regret of `Turncoat`, with every constant as shipped.

Setting: losses in [0, 1] chosen in advance (an oblivious adversary), each told before the next arm is asked for. The
proof is in docs/guarantee.md; in short, with the slow base o (rate xi, floor beta), c = (e^z - 1 - z)/z² at
z = 1 + 2 eta_1, and N_t the guess of the horizon,

    R_S ≤ ln(1/alpha_o)/eta_T + B + sum of (A - alpha_o)                             master against base o
        + (K-1) sum of beta_t + (S+1)(1 - K beta_T) ln(1/beta_T)/xi_T - …            base o against the path
        + c (min(K,H) + 1) sum of eta_t + (K/2) sum of xi_t                          gaps and refunds

T and S are not told to the learner; only the bound has them.
"""

from __future__ import annotations

from turncoat.bounds.bound import Bound, Term, parse_game
from turncoat.learners.turncoat.constants import N_BASES
from turncoat.learners.turncoat.observers.certificate import CURVE, fixed_terms


def turncoat_bound(horizon: int, n_arms: int, n_switches: int) -> Bound:
    """The explicit bound on the expected regret of `Turncoat` against every path of at most `n_switches` switches."""
    T, K, S = parse_game(horizon, n_arms, n_switches)
    known = fixed_terms(T, K, S)
    least = min(K, N_BASES) + 1
    terms = (
        Term("starting the master", known.start, "ln(1/alpha_o)/eta_T + B"),
        Term("floors of the master", known.floors, "sum of (A - alpha_o)"),
        Term("floors of the slow base", known.base_floors, "(K-1) sum of beta_t"),
        Term("switches", known.switches, "(S+1)(1 - K beta_T) L/xi_T - ((1 - K beta_1) L - ln K)/xi_1"),
        Term("gaps of the master", CURVE * least * known.etas, "c (min(K,H) + 1) sum of eta_t"),
        Term("refunds of the slow base", K / 2.0 * known.xis, "(K/2) sum of xi_t"),
    )
    title = f"Theorem W: regret of Turncoat against at most {S} switches, T = {T}, K = {K}"
    return Bound(title, T, terms, {"H": N_BASES, "c": CURVE, "L": known.far})
