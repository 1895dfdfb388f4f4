"""Traps: small games, without noise if one likes, that catch learners which stop looking.

HiddenSteps     the arm in use stays as it is; unseen, another one becomes better. Again and again, a staircase.

    mean(t, a) = (1 - i/(S + 1))/2 from segment i on, for the arm whose turn i is; 3/4 for arms that had no turn yet

LateArm         one arm costs 1, the most there is, until 2/3 of the game are over, and then nothing.

    mean(t, a) = 1/2 for a first arm, 3/4 for others; 1 for the late arm until round ⌊start · T⌋, 0 from there on

SecondArm       a steady arm, and another that is a little better and a little worse in turns.

    mean(t, a) = 1/2 for the first, 1/2 ± gap for the second, + in even segments and - in odd ones; 1/2 + gap for others

Which arm plays which part is drawn at random. The fourth trap, two arms that alternate, is `Flip(…, gap=1, noise=0)`.
"""

from __future__ import annotations

import numpy as np

from turncoat.environments.segments import Segments, even_edges
from turncoat.errors import OptionError
from turncoat.types import Seed
from turncoat.validation.games import Noise
from turncoat.validation.numbers import parse_number


class HiddenSteps(Segments):
    """`n_switches` times an arm that is not being played becomes better than all others."""

    name = "hidden-steps"
    words = ("n_switches",)

    def __init__(self, n_arms: int, horizon: int, n_switches: int = 1, *, noise: Noise = 0.0, seed: Seed = 0) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = self._parse_switches(n_switches)
        arms = self._chance.permutation(self.n_arms)
        i = np.arange(S + 1)
        turn = i[:, None] - (i[:, None] - np.arange(self.n_arms)) % self.n_arms  # the last one of each arm so far
        means = np.empty((S + 1, self.n_arms))
        means[:, arms] = np.where(turn >= 0, 0.5 * (1.0 - turn / (S + 1)), 0.75)
        best = arms[i % self.n_arms]
        self._plant(even_edges(self.horizon, S + 1), means, best)


class LateArm(Segments):
    """An arm that costs 1 until `start`, as a fraction of the game, and nothing from there on."""

    name = "late-arm"
    words = ("start",)

    def __init__(self, n_arms: int, horizon: int, *, start: float = 2 / 3, noise: Noise = 0.0, seed: Seed = 0) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        self.start = parse_number("start", start, 0.0, 1.0)
        first, late = _two_arms(self)
        means = np.full((2, self.n_arms), 0.75)
        means[:, first] = 0.5
        means[:, late] = 1.0, 0.0
        edges = np.array([0, int(self.start * self.horizon), self.horizon])
        rows = np.flatnonzero(np.diff(edges))  # without a segment of no rounds
        self._plant(np.append(edges[rows], self.horizon), means[rows], np.array([first, late])[rows])


class SecondArm(Segments):
    """An arm that is in turns `gap` worse and `gap` better than a steady one; it changes `n_switches` times."""

    name = "second-arm"
    words = ("n_switches", "gap")

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        n_switches: int = 20,
        *,
        gap: float = 0.2,
        noise: Noise = "bernoulli",
        seed: Seed = 0,
    ) -> None:
        super().__init__(n_arms, horizon, noise, seed)
        S = self._parse_switches(n_switches)
        self.gap = parse_number("gap", gap, 0.0, 0.5)
        first, second = _two_arms(self)
        odd = np.arange(S + 1) % 2
        means = np.full((S + 1, self.n_arms), 0.5 + self.gap)
        means[:, first] = 0.5
        means[:, second] = 0.5 + np.where(odd, -self.gap, self.gap)
        self._plant(even_edges(self.horizon, S + 1), means, np.where(odd, second, first))


def _two_arms(game: Segments) -> tuple[int, int]:
    """Two different arms, drawn at random."""
    if game.n_arms < 2:
        raise OptionError(f"n_arms is {game.n_arms}; accepted are at least 2 arms")
    first, second = game._chance.permutation(game.n_arms)[:2]
    return int(first), int(second)
