"""The certificate of docs/guarantee.md on average: small games, every sequence of draws with its probability."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import pytest

from tests.cases import compiles_nothing
from tests.naive import guarantee as naive
from tests.naive.comparator import recursion
from tests.naive.guarantee import Band, Round, Tuning
from tests.theory.games import estimates, make

pytestmark = compiles_nothing

SMALL = Tuning(K=2, n_clipped=2, n_specialists=3, first=2, trust=0.2, even=True)
TABLES = [[[0.0, 1.0]] * 4 + [[0.7, 0.2]] * 4, [[1.0, 0.3], [0.0, 0.6]] * 4]


def leaves(
    band: Band, table: list[list[float]], weight: float, rounds: list[Round]
) -> Iterator[tuple[float, list[Round]]]:
    """Every way the game can go, with its probability."""
    t = len(rounds)
    if t == len(table):
        yield weight, rounds
        return
    for a, q in enumerate(naive.mixture(band.p, band.opinions())):
        then = copy.deepcopy(band)
        one = then.tell(a, table[t][a])
        yield from leaves(then, table, weight * q, [*rounds, one])


@pytest.mark.parametrize("table", TABLES)
def test_expected_regret_certificate_and_bound(table: list[list[float]]) -> None:
    """In games this short the known terms alone exceed the regret: what has power is the equality at the end of this
    file, the inequalities of paths, and the tests that come near the bounds (test_constants.py, test_charges.py)."""
    ends = list(leaves(make(SMALL), table, 1.0, []))
    assert math.fsum(weight for weight, _ in ends) == pytest.approx(1, rel=1e-12)
    assert len({one.N for one in ends[0][1]}) == 3
    loss = math.fsum(weight * sum(one.ell for one in rounds) for weight, rounds in ends)
    for S, best in enumerate(recursion(table, 2)):
        mean = math.fsum(weight * naive.certificate(SMALL, rounds, S) for weight, rounds in ends)
        assert 0 <= loss - best <= mean <= naive.worst_case(SMALL, len(table), S)


def test_means_of_the_two_sums_are_as_small_as_the_proof_says() -> None:
    """From every state that four rounds can lead to: summed over the draw, nothing is sampled."""
    for table in TABLES:
        reached = [(rounds[:-1], make(SMALL)) for _, rounds in leaves(make(SMALL), table[:5], 1.0, [])]
        for before, band in reached:
            for one in before:
                band.tell(one.a, one.ell)
            row = table[len(before)]
            pairs = [
                (q, copy.deepcopy(band).tell(a, row[a])) for a, q in enumerate(naive.mixture(band.p, band.opinions()))
            ]
            N = pairs[0][1].N
            refund = math.fsum(q * one.p[0] * one.r for q, one in pairs)
            square = math.fsum(q * sum(p * x * x for p, x in zip(one.p, one.x, strict=True)) for q, one in pairs)
            gap = math.fsum(q * naive.gap(one.p, [SMALL.eta(N) * x for x in one.x]) / SMALL.eta(N) for q, one in pairs)
            assert refund <= SMALL.xi(0, N) * SMALL.K / 2
            assert square <= min(SMALL.K, SMALL.H) + 1
            assert gap <= naive.curve(naive.below(SMALL)) * SMALL.eta(N) * (min(SMALL.K, SMALL.H) + 1)


def test_the_left_side_of_the_certificate_has_the_regret_as_its_mean() -> None:
    table, path = TABLES[0], [0] * 4 + [1] * 4
    mean, wanted = 0.0, 0.0
    for weight, rounds in leaves(make(SMALL), table, 1.0, []):
        for one, row, arm in zip(rounds, table, path, strict=True):
            floors, u = SMALL.floors(one.N), naive.inside(arm, [SMALL.beta(0, one.N)] * 2)
            v = naive.inside(0, floors)
            mean += weight * sum((p - v_i) * x for p, v_i, x in zip(one.p, v, one.x, strict=True))
            mean += weight * (one.P[0][one.a] * one.ell / one.q[one.a] - one.r + one.p[0] * one.r)
            mean -= weight * sum(x * y for x, y in zip(u, estimates(one), strict=True))
            owed = [sum(x * y for x, y in zip(opinion, row, strict=True)) for opinion in one.P]
            mixed = owed[0] - one.r
            wanted += weight * (one.ell - sum(x * (y - mixed) for x, y in zip(floors[1:], owed[1:], strict=True)))
            wanted -= weight * sum(x * y for x, y in zip(u, row, strict=True))
    assert mean == pytest.approx(wanted, rel=1e-10)
