"""Games of the slow band of tests/naive/guarantee.py, and three specialists for it."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.naive import guarantee as naive
from tests.naive.guarantee import Band, History, Round, Tuning

N_SEGMENTS = 5


def specialists(K: int) -> naive.Propose:
    """Three: the least mean so far, an arm that takes its turn, and a spread-out opinion that drifts."""

    def propose(history: History) -> list[list[float]]:
        t = len(history)
        sums, counts = [0.0] * K, [0] * K
        for a, loss in history:
            sums[a], counts[a] = sums[a] + loss, counts[a] + 1
        means = [total / n if n else -1.0 for total, n in zip(sums, counts, strict=True)]
        leaders = [means.index(min(means)), t // 7 % K]
        weights = [1 + (k + t // 5) % K for k in range(K)]
        return [[float(k == leader) for k in range(K)] for leader in leaders] + [[w / sum(weights) for w in weights]]

    return propose


def make(tuning: Tuning) -> Band:
    return Band(tuning, specialists(tuning.K), [True, True, False][: tuning.n_specialists])


class Game(NamedTuple):
    tuning: Tuning
    rounds: list[Round]
    table: list[list[float]]


def play(tuning: Tuning, T: int, drawn: str, seed: int) -> Game:
    """Arms are drawn as served, or uniformly, or as served to the power -1; losses are 0 and 1, or anything."""
    rng, band = random.Random(seed), make(tuning)
    rounds, table = [], []
    for t in range(T):
        best = t * N_SEGMENTS // T % tuning.K
        if seed % 2:
            row = [rng.random() * (0.4 if k == best else 1.0) for k in range(tuning.K)]
        else:
            row = [float(rng.random() < (0.2 if k == best else 0.8)) for k in range(tuning.K)]
        q = naive.mixture(band.p, band.opinions())
        weights = {"served": q, "uniform": [1.0] * tuning.K, "rare": [1 / x for x in q]}[drawn]
        a = rng.choices(range(tuning.K), weights=weights)[0]
        rounds.append(band.tell(a, row[a]))
        table.append(row)
    return Game(tuning, rounds, table)


TUNINGS = [
    Tuning(K=3, n_clipped=4, n_specialists=3),
    Tuning(K=2, n_clipped=3, n_specialists=3, pace=40.0, trust=0.9, few=2),  # eta at 1/2 for long, floors that bind
    Tuning(K=3, n_clipped=3, n_specialists=3, most=0.04, grid=0.25, few=16, cap=0.03),  # rule 2
    Tuning(K=3, n_clipped=1, n_specialists=3, most=0.04, few=16, cap=1 / 150),  # as it ships
    Tuning(K=5, n_clipped=2, n_specialists=3, pace=0.5, trust=0.01, slow=3.0),
    Tuning(K=2, n_clipped=1, n_specialists=3, first=2, trust=0.2, even=True),  # many doublings
]


def estimates(one: Round) -> list[float]:
    return [one.ell / one.q[one.a] if k == one.a else 0.0 for k in range(len(one.q))]
