"""The certificate of docs/guarantee.md on average: small games, every sequence of draws with its probability."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import pytest

from tests.naive import guarantee as naive
from tests.naive.comparator import recursion
from tests.naive.guarantee import Band, Round, Tuning
from tests.theory.games import estimates, make

pytestmark = pytest.mark.jit_off  # nothing here is compiled

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
def test_expected_regret_certificate_and_right_side(table: list[list[float]]) -> None:
    ends = list(leaves(make(SMALL), table, 1.0, []))
    assert math.fsum(weight for weight, _ in ends) == pytest.approx(1, rel=1e-12)
    assert len({one.N for one in ends[0][1]}) == 3
    loss = math.fsum(weight * sum(one.ell for one in rounds) for weight, rounds in ends)
    for S, best in enumerate(recursion(table, 2)):
        certificates = [0.0] * SMALL.n_clipped
        rights, taken, least = list(certificates), list(certificates), 0.0
        for weight, rounds in ends:
            found = naive.certificates(SMALL, rounds, S)
            least += weight * min(found)
            for j, right in enumerate(naive.right_sides(SMALL, rounds, table, S)):
                certificates[j] += weight * found[j]
                rights[j] += weight * right
                for one, row in zip(rounds, table, strict=True):
                    own = sum(x * y for x, y in zip(one.P[j], row, strict=True))
                    taken[j] += weight * math.fsum(SMALL.floors(one.N)) * own
        for certificate, right, less in zip(certificates, rights, taken, strict=True):
            assert certificate == pytest.approx(right - less, rel=1e-10)  # the mean of the correction, exactly
        assert 0 <= loss - best <= least <= min(certificates) <= min(rights)


def test_the_left_side_of_the_certificate_has_the_regret_as_its_mean() -> None:
    table, path = TABLES[0], [0] * 4 + [1] * 4
    mean, wanted = 0.0, 0.0
    for weight, rounds in leaves(make(SMALL), table, 1.0, []):
        for one, row, arm in zip(rounds, table, path, strict=True):
            floors, u = SMALL.floors(one.N), naive.inside(arm, [SMALL.beta(one.N)] * 2)
            mean += weight * sum((p - floor) * d for p, floor, d in zip(one.p, floors, one.d, strict=True))
            mean -= weight * sum(x * y for x, y in zip(u, estimates(one), strict=True))
            owed = [sum(x * y for x, y in zip(opinion, row, strict=True)) for opinion in one.P]
            wanted += weight * (one.ell - sum(x * y for x, y in zip(floors, owed, strict=True)))
            wanted -= weight * sum(x * y for x, y in zip(u, row, strict=True))
    assert mean == pytest.approx(wanted, rel=1e-10)
