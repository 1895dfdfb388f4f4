"""The paper's two theorems, with every constant written out.

Theorem 1: the S-switch regret of Algorithm 1 (`MasterBase`), with every constant written out.

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

Theorem 2: the S-switch regret of Algorithm 2 (`AdaptiveMasterBase`), with every constant written out.

Setting: losses in [0, 1] chosen in advance (an oblivious adversary), exact projection, own or shared feedback.
The derivation is in docs/mathematics.md; in short, with rho = E[rho_T(h*)], u = 1 - (H-1) alpha, phi(y) = y - 1 - ln y
and m the largest number of times a rate can grow,

    R_S ≤ (H-1) alpha T + ((H-1) ln(1/(H alpha)) - ln(H u))/eta + gamma^m eta T/2 - D (rho - 2H)
        + beta T (K-1) + (S ln(1/beta) + ln K)/xi_1 + (S+1) ln(1/beta) (1/xi_T - 1/xi_1) + xi_T K T rho/2

    D = (1 - 1/gamma) phi(2 u H) / (4 H eta gamma^(m-1)),   xi_t = sqrt(h*/(K T rho_t)),   rho_1 = 2H.

The right side is concave in rho, which lies between 2H and 2TH: its largest value there is the worst case.

Departures from the paper. It takes for h* the largest candidate below S; the proof holds for every base, so we take the
one that pays least for rho (a larger one: that saves a logarithm, and the bound then grows with S, as it should). Its
O(.) are unrolled. D stands for its 1/(40 eta ln T), which is smaller. ln(1/beta) is paid once per segment, not twice,
in S + 1 segments, not S, less what the uniform start saves. The rate of the theorem is sqrt(H/(KT)), that of the
algorithm sqrt(H/T): see `rate`.

References: Kim & Yun, "Adversarial Bandits Against Arbitrary Strategies", TMLR 2025, Theorem 3.2 and appendix A.2;
Agarwal, Luo, Neyshabur & Schapire, "Corralling a Band of Bandit Algorithms", COLT 2017, Lemma 13.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

from turncoat import kim_yun
from turncoat.bounds.bound import Bound, Term, parse_game
from turncoat.errors import OptionError


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


class Tuning(NamedTuple):
    """The parameters of Algorithm 2 and the constants of its bound, in the paper's letters."""

    H: int
    base: int
    h: float
    alpha: float
    beta: float
    gamma: float
    m: int
    eta: float
    u: float
    D: float


def theorem_2(
    horizon: int, n_arms: int, n_switches: int, *, rate: kim_yun.Rate = "paper", rho: float | None = None
) -> Bound:
    """The explicit bound on the expected regret of `AdaptiveMasterBase` against paths of at most `n_switches` switches.

    `rho` None: the worst case over rho, known before the game. A number: the bound a posteriori, with the expected
    rho_T(h*) replaced by this number. It is a statement in expectation: give the mean over many games of
    learner.rho[i], where i is what the bound's parameters call base. The rho of one game gives a figure, no guarantee.
    """
    T, K, S = parse_game(horizon, n_arms, n_switches)
    if rate not in ("paper", "theorem"):
        raise OptionError(f"rate is {rate!r}; accepted are 'paper', 'theorem'")
    tuning = _tuning(T, K, S, rate)
    given = _worst_rho(tuning, _cost_of_rho(tuning.h, T, K, S)) if rho is None else _checked(rho, tuning)
    xi_1 = kim_yun.base_rate_2(tuning.h, T, K, kim_yun.first_rho_2(T))
    xi_T = kim_yun.base_rate_2(tuning.h, T, K, given)
    parameters = {
        **{("h*" if name == "h" else name): value for name, value in tuning._asdict().items()},
        "rho": given,
        "xi_1": xi_1,
        "xi_T": xi_T,
    }
    title = f"Theorem 2: regret of Algorithm 2 against at most {S} switches, T = {T}, K = {K}, rate = {rate}"
    notes = ("rho is where the bound is largest between 2H and 2TH",) if rho is None else ()
    terms = _master(tuning, T, given) + _base(tuning, (T, K, S), given, (xi_1, xi_T))
    return Bound(title, T, terms, parameters, notes)


def _master(tuning: Tuning, T: int, rho: float) -> tuple[Term, ...]:
    """What following base h* costs the master."""
    H, alpha, eta, u = tuning.H, tuning.alpha, tuning.eta, tuning.u
    start = (H - 1) * math.log(1.0 / (H * alpha)) - math.log(H * u)
    return (
        Term("clipping the master", (H - 1) * alpha * T, "(H-1) alpha T"),
        Term("starting the master", start / eta, "((H-1) ln(1/(H alpha)) - ln(H u)) / eta"),
        Term("master variance", tuning.gamma**tuning.m * eta * T / 2.0, "gamma^m eta T / 2"),
        Term("rising master rates", tuning.D * (2.0 * H - rho), "-D (rho - 2H)"),
    )


def _base(tuning: Tuning, game: tuple[int, int, int], rho: float, xi: tuple[float, float]) -> tuple[Term, ...]:
    """What following the path costs base h*."""
    T, K, S = game
    xi_1, xi_T = xi
    far = math.log(1.0 / tuning.beta)
    fall = (S + 1) * far * (1.0 / xi_T - 1.0 / xi_1)
    return (
        Term("clipping the bases", tuning.beta * T * (K - 1), "beta T (K-1)"),
        Term("switches", (S * far + math.log(K)) / xi_1, "(S ln(1/beta) + ln K) / xi_1"),
        Term("falling base rate", fall, "(S+1) ln(1/beta) (1/xi_T - 1/xi_1)"),
        Term("base variance", xi_T * K * T * rho / 2.0, "xi_T K T rho / 2"),
    )


def _tuning(T: int, K: int, S: int, rate: kim_yun.Rate) -> Tuning:
    H = kim_yun.size(T)
    candidates = kim_yun.candidates(T)
    base = min(range(H), key=lambda i: _cost_of_rho(candidates[i], T, K, S))
    alpha = kim_yun.floor_2(T)
    gamma = kim_yun.growth_2(T)
    m = kim_yun.most_increases_2(T)
    eta = kim_yun.master_rate_2(T, K, rate)
    u = 1.0 - (H - 1) * alpha
    y = 2.0 * u * H
    highest = eta * gamma ** max(m - 1, 0)  # from which a rate can still rise (m = 0, at T = 2: none ever does)
    D = (1.0 - 1.0 / gamma) * (y - 1.0 - math.log(y)) / (4.0 * H * highest)
    return Tuning(H, base, candidates[base], alpha, kim_yun.base_floor(T, K), gamma, m, eta, u, D)


def _cost_of_rho(h: float, T: int, K: int, S: int) -> float:
    """C, where C sqrt(rho) is all that base h pays for rho: C = (S+1) ln(1/beta)/xi + xi K T/2 at rho = 1."""
    xi = kim_yun.base_rate_2(h, T, K, 1.0)
    return (S + 1) * math.log(1.0 / kim_yun.base_floor(T, K)) / xi + xi * K * T / 2.0


def _worst_rho(tuning: Tuning, C: float) -> float:
    """Where C sqrt(rho) - D rho is largest on [2H, 2/alpha]."""
    return min(max((C / (2.0 * tuning.D)) ** 2, 2.0 * tuning.H), 2.0 / tuning.alpha)


def _checked(rho: Any, tuning: Tuning) -> float:
    least, most = 2.0 * tuning.H, 2.0 / tuning.alpha
    number = not isinstance(rho, bool) and isinstance(rho, numbers.Real)
    if not number or not least <= rho <= most * (1.0 + 1e-9):  # the floor may be off by rounding
        raise OptionError(f"rho is {rho!r}; accepted are None and numbers from 2H = {least:g} to 2TH = {most:g}")
    return float(rho)
