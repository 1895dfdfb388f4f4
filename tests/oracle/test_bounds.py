"""The bounds against an independent evaluation, against cases worked by hand, and against games."""

from __future__ import annotations

import math
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cases import compiles_nothing
from tests.naive import bounds as naive
from turncoat import kim_yun
from turncoat.bounds import Bound, theorem_1, theorem_2, turncoat_bound
from turncoat.bounds.__main__ import main
from turncoat.errors import ArmsError, HorizonError, OptionError, TurncoatError

pytestmark = compiles_nothing

LN2, ROOT2 = math.log(2), math.sqrt(2)
RATES: tuple[kim_yun.Rate, ...] = ("paper", "theorem")
GAMES = [
    (T, K, S)
    for T in (1, 2, 3, 7, 8, 100, 1000, 10**5, 10**7, 10**12)
    for K in (1, 2, 10, 1000)
    for S in (0, 1, 10, 300)
    if S < T
]


def as_dict(bound: Bound) -> dict[str, float]:
    return {term.name: term.value for term in bound.terms}


@pytest.mark.parametrize(("T", "K", "S"), GAMES)
def test_theorem_1_is_the_naive_sum(T: int, K: int, S: int) -> None:
    assert as_dict(theorem_1(T, K, S)) == pytest.approx(naive.theorem_1(T, K, S), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("T", "K", "S"), GAMES)
def test_theorem_2_is_the_naive_sum_and_its_worst_case_the_largest(T: int, K: int, S: int, rate: kim_yun.Rate) -> None:
    slow = naive.Two(T, K, rate)
    worst = float(theorem_2(T, K, S, rate=rate))
    assert worst == pytest.approx(slow.worst(S), rel=1e-9)  # attained
    for i in range(17):
        rho = 2.0 * slow.H * slow.t ** (i / 16)
        bound = theorem_2(T, K, S, rate=rate, rho=rho)
        expected = slow.terms(S, rho)
        close = 1e-10 * sum(abs(value) for value in expected.values())
        assert as_dict(bound) == pytest.approx(expected, rel=1e-10, abs=close)
        assert float(bound) <= worst * (1 + 1e-12)


def test_theorem_1_by_hand() -> None:
    # T = 8: candidates 1, 2, 4, 8. K = 1: alpha = 1/4, eta = 1/sqrt(32), xi(h) = sqrt(h)/4.
    # Bases: 2 ln 8 · 4/sqrt(h) + 4 sqrt(h) = 20.6, 17.4, 16.3, 17.2 for h = 1, 2, 4, 8: h* = 4.
    assert as_dict(theorem_1(8, 1, 2)) == pytest.approx(
        {
            "clipping the master": 6,
            "starting the master": 8 * ROOT2 * LN2,
            "master variance": 2 * ROOT2,
            "clipping the bases": 0,
            "switches": 12 * LN2,
            "base variance": 8,
        },
        rel=1e-14,
    )


def test_theorem_1_by_hand_where_alpha_is_capped() -> None:
    # T = K = 8: the paper's alpha is 1/2 > 1/4, so 1/8. xi(h) = sqrt(h)/8, beta = 1/64; 27 ln 2 in starts.
    # Bases: 27 ln 2 · 8/sqrt(h) + 32 sqrt(h) = 181.7, 151.1, 138.9, 143.4: h* = 4.
    bound = theorem_1(8, 8, 4)
    assert as_dict(bound) == pytest.approx(
        {
            "clipping the master": 3,
            "starting the master": 8 * ROOT2 * LN2,
            "master variance": 2 * ROOT2,
            "clipping the bases": 7 / 8,
            "switches": 108 * LN2,
            "base variance": 64,
        },
        rel=1e-14,
    )
    assert bound.parameters["alpha"] == 1 / 8
    assert "capped at 1/(2H)" in str(bound)
    assert "capped" not in str(theorem_1(8, 1, 4))


def test_theorem_2_by_hand() -> None:
    # T = 8, K = 2, S = 2: H = 4, alpha = 1/32, beta = 1/16, u = 29/32, rates grow at most twice, ln(1/beta) = 4 ln 2.
    # C = 12 ln 2 · 4/sqrt(h) + 2 sqrt(h) = 35.3, 26.4, 20.6, 17.4: h* = 8, so xi_1 = 1/4 and, at rho = 32, xi_T = 1/8.
    gamma = math.exp(1 / math.log(8))
    D = (1 - 1 / gamma) * (29 / 4 - 1 - math.log(29 / 4)) / (16 * gamma / ROOT2)
    bound = theorem_2(8, 2, 2, rho=32)
    assert as_dict(bound) == pytest.approx(
        {
            "clipping the master": 3 / 4,
            "starting the master": (9 * LN2 - math.log(29 / 8)) * ROOT2,
            "master variance": gamma**2 * 4 / ROOT2,
            "rising master rates": -24 * D,
            "clipping the bases": 1 / 2,
            "switches": 36 * LN2,
            "falling base rate": 48 * LN2,
            "base variance": 32,
        },
        rel=1e-14,
    )
    assert bound.parameters["D"] == pytest.approx(D, rel=1e-14)
    assert theorem_2(8, 2, 2, rho=32, rate="theorem").parameters["eta"] == pytest.approx(1 / 2)
    quiet = theorem_2(8, 2, 2, rho=8)
    assert (quiet["rising master rates"], quiet["falling base rate"]) == (0, 0)


def test_the_figures_of_the_documentation() -> None:
    assert theorem_1(10**6, 2, 0).per_round == pytest.approx(0.0911, abs=5e-5)
    assert theorem_1(10**7, 10, 10).per_round == pytest.approx(0.446, abs=5e-4)
    assert theorem_2(10**12, 10, 10).per_round == pytest.approx(2.26, abs=5e-3)
    assert theorem_2(10**12, 10, 10, rate="theorem").per_round == pytest.approx(0.714, abs=5e-4)


@pytest.mark.parametrize("T", [2, 3, 30, 10**4, 10**9])
@pytest.mark.parametrize("K", [1, 2, 100])
def test_bounds_grow_with_the_number_of_switches(T: int, K: int) -> None:
    switches = range(min(T, 300))
    for totals in (
        [float(theorem_1(T, K, S)) for S in switches],
        [float(theorem_2(T, K, S)) for S in switches],
        [float(theorem_2(T, K, S, rho=2 * kim_yun.size(T))) for S in switches],
    ):
        assert all(a < b for a, b in pairwise(totals))


def test_a_game_of_one_round_is_tuned_as_one_of_two_but_pays_for_one() -> None:
    one, two = theorem_1(1, 3, 0), theorem_1(2, 3, 0)
    assert one.parameters["eta"] == two.parameters["eta"]
    assert one["clipping the master"] == two["clipping the master"] / 2
    assert one["starting the master"] == two["starting the master"]


def test_one_arm_and_no_switch_cost_the_bases_no_start() -> None:
    for bound in (theorem_1(1000, 1, 0), theorem_2(1000, 1, 0)):
        assert bound["switches"] == 0
        assert bound["clipping the bases"] == 0
        assert 0 < float(bound) < math.inf


def test_vacuous_means_at_least_the_horizon() -> None:
    assert theorem_1(1000, 10, 10).vacuous
    assert not theorem_1(10**6, 2, 0).vacuous
    bound = theorem_1(10**6, 2, 0)
    assert (bound.per_round, float(bound)) == (bound.total / 10**6, bound.total)


@pytest.mark.parametrize(
    "bound",
    [theorem_1(10**6, 10, 10), theorem_2(10**4, 2, 3), theorem_2(100, 5, 0, rho=12), turncoat_bound(10**6, 10, 10)],
)
def test_printing_shows_every_term_and_the_printed_terms_sum_to_the_printed_total(bound: Bound) -> None:
    lines = str(bound).splitlines()
    printed = {}
    for line in lines:
        if row := re.match(r"  ([a-zA-Z ]+?)  +(-?[\d,]+\.\d\d)  (.+)$", line):
            printed[row[1]] = float(row[2].replace(",", ""))
    assert set(printed) == {term.name for term in bound.terms} | {"total"}
    assert all(any(term.formula in line and term.name in line for line in lines) for term in bound.terms)
    total = printed.pop("total")
    assert total == pytest.approx(bound.total, abs=0.006)
    assert sum(printed.values()) == pytest.approx(total, abs=0.01 * (len(printed) + 1))
    assert all(f"{name} = " in str(bound) for name in bound.parameters)


def test_each_rise_of_rho_is_paid_back_at_least_as_the_bound_says() -> None:
    # Every way rho can go: it starts at 2H and at least doubles n times, up to 2TH; what the proof gains is least when
    # all but the last value are as small as they can be.
    for T in (3, 4, 5, 8, 30, 1000, 10**6, 10**12):
        slow = naive.Two(T, 2, "paper")
        D = theorem_2(T, 2, 0).parameters["D"]
        assert 1 / (40 * slow.eta * math.log(T)) <= D  # the paper's constant
        for n in range(1, slow.most + 1):
            early = [2 * slow.H * 2.0**i for i in range(1, n)]
            for x in range(50):
                rho = 2 * slow.H * 2.0**n * (T / 2.0**n) ** (x / 49)
                assert slow.gain([*early, rho]) >= D * (rho - 2 * slow.H) * (1 - 1e-12)


@pytest.mark.parametrize("boost", [1, 8, 40])
@pytest.mark.parametrize("seed", range(4))
def test_the_inequalities_of_the_proof_hold_on_every_path(seed: int, boost: float) -> None:
    # Path by path, on estimated losses: no expectation is involved, so one failure is a proof gone wrong. They hold
    # for every first rate; a high one makes master rates rise often even in a short game.
    rng = random.Random(seed)
    T, K = 300, 3
    two = naive.Two(T, K, RATES[seed % 2])
    two.eta *= boost
    path = [t * 4 // T % K for t in range(T)]
    best_loss = rng.random()
    losses = [[1.0 if k != best else best_loss * rng.random() for k in range(K)] for best in path]
    bases = naive.play_two(two, losses, path, seed)
    for base in bases:
        assert base.n_increases <= kim_yun.most_increases_2(T)
        assert base.rho <= 2 * T * two.H * (1 + 1e-9)
        assert base.gain >= two.slope() * (base.rho - 2 * two.H)
        assert base.master_regret <= base.master_bound
        assert base.base_regret <= base.base_bound
    if boost > 1:
        assert sum(base.n_increases for base in bases) > 0  # or the test would show little
    if boost == 40:
        assert max(base.n_increases for base in bases) > 1


def test_a_uniform_start_is_worth_less_once_the_rate_has_fallen() -> None:
    # What the corrected constant of Theorem 2 is about. Arm 0 is first charged down to the floor at rate xi_1; then arm
    # 1 is, at a rate 8 times lower (rho 64 times higher). One segment, comparator arm 0: ln(K)/xi_T is not enough.
    K, beta, xi_1 = 2, 1 / 2000, 1.0
    xi_T = xi_1 / 8
    regret, variance = naive.one_base(K, beta, [(0, 0.1, xi_1)] * 76 + [(1, 0.1, xi_T)] * 2000)
    far = math.log(1 / beta)
    assert regret[0] > math.log(K) / xi_T + variance
    assert regret[0] <= math.log(K) / xi_1 + far * (1 / xi_T - 1 / xi_1) + variance
    assert regret[0] >= 0.9 * (math.log(K) / xi_1 + far * (1 / xi_T - 1 / xi_1))  # and what is paid is needed


def test_the_tables_of_the_page_are_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    page = (Path(__file__).parents[2] / "docs" / "mathematics.md").read_text()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == 2 * 2 + 6 + 6
    assert [row for row in rows if row not in page] == []
    assert str(theorem_1(10**6, 10, 10)) in page


BAD: list[tuple[tuple[Any, ...], dict[str, Any], type[TurncoatError], str]] = [
    ((0, 2, 0), {}, HorizonError, "horizon is 0"),
    ((-5, 2, 0), {}, HorizonError, "horizon is -5"),
    ((True, 2, 0), {}, HorizonError, "horizon is True"),
    ((10.5, 2, 0), {}, HorizonError, "horizon is 10.5"),
    ((math.nan, 2, 0), {}, HorizonError, "horizon is nan"),
    ((math.inf, 2, 0), {}, HorizonError, "horizon is inf"),
    (("10", 2, 0), {}, HorizonError, "horizon is '10'"),
    ((None, 2, 0), {}, HorizonError, "horizon is None"),
    ((10**400, 2, 0), {}, HorizonError, "horizon is 1000"),
    ((10, 0, 0), {}, ArmsError, "n_arms is 0"),
    ((10, True, 0), {}, ArmsError, "n_arms is True"),
    ((10, ["a", "b"], 0), {}, ArmsError, "n_arms is ['a', 'b']"),
    ((10, 2, -1), {}, OptionError, "n_switches is -1"),
    ((10, 2, 10), {}, OptionError, "n_switches is 10; accepted are whole numbers from 0 to horizon - 1 = 9"),
    ((10, 2, False), {}, OptionError, "n_switches is False"),
    ((10, 2, None), {}, OptionError, "n_switches is None"),
    ((10, 2, 1), {"rate": "papers"}, OptionError, "rate is 'papers'; accepted are 'paper', 'theorem'"),
    ((10, 2, 1), {"rate": ["paper"]}, OptionError, "rate is ['paper']"),
    ((10, 2, 1), {"rho": 7.9}, OptionError, "rho is 7.9; accepted are None and numbers from 2H = 8 to 2TH = 80"),
    ((10, 2, 1), {"rho": 81}, OptionError, "rho is 81"),
    ((10, 2, 1), {"rho": math.nan}, OptionError, "rho is nan"),
    ((10, 2, 1), {"rho": True}, OptionError, "rho is True"),
    ((10, 2, 1), {"rho": "8"}, OptionError, "rho is '8'"),
]


@pytest.mark.parametrize(("game", "options", "error", "message"), BAD)
def test_bad_input_is_named(
    game: tuple[Any, ...], options: dict[str, Any], error: type[TurncoatError], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        theorem_2(*game, **options)
    if not options:
        with pytest.raises(error, match=re.escape(message)):
            theorem_1(*game)


def test_a_term_that_is_not_there_is_named() -> None:
    with pytest.raises(OptionError, match="'luck' is no term"):
        theorem_1(10, 2, 1)["luck"]


def test_whole_floats_are_whole_numbers() -> None:
    assert float(theorem_1(1e6, 10, 10)) == float(theorem_1(10**6, 10, 10))  # type: ignore[arg-type]


def test_bounds_are_computed_where_theorem_2_at_last_says_something() -> None:
    bound = theorem_2(10**40, 10, 100)
    assert not bound.vacuous and math.isfinite(float(bound))
    assert math.isfinite(float(theorem_2(10**60, 10**60, 10**60 - 1)))
