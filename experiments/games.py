"""Named games from a seed, in families: what is tuned on shares no shape with what is reported on, but the adversary.

    games = draw("tune", n=28, horizon=10_000, seed=0)    # shape after shape; arms, gap and the rest are drawn
    environment = games[3].make(rep=2)                    # layout and losses of repetition 2

Unless the shape says otherwise, there are 2 to 100 arms, few more often; gaps are log-uniform from .05 to .8. Tuning is
done on "tune" and "tune-2". A seed of "test" or "test-2" whose results were looked at is spent: report it, and draw
another one from then on.
"""

from __future__ import annotations

import math
import re
import zlib
from typing import NamedTuple

import numpy as np

from experiments.families import FAMILIES, FULL_SWING, Words, log_uniform
from experiments.means import Place
from turncoat.environments import Environment
from turncoat.errors import OptionError, unknown

Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

EDITION = 1  # raise it when any shape changes: results are known by it
PRODUCTION = ("delay", "batch", "open", "stay")  # words that are no words of a shape, but of every game
RETIMED = " · "  # between the name of a game and when its losses are told, where it was drawn otherwise


class Game(NamedTuple):
    """A game that can be made again and again: every repetition has another layout and other losses."""

    name: str
    shape: str
    n_arms: int
    horizon: int
    gap: float
    words: Words
    delay: int = 0  # rounds that a loss is told later
    batch: int = 1  # losses are told at the end of so many rounds
    open: float = 1.0  # how likely an arm is to be allowed
    stay: int = 1  # and for how many rounds it stays so, in mean

    @property
    def label(self) -> str:
        """Its name among games of one family, seed and horizon."""
        number = self.name.partition(" ")[0].rpartition("/")[2]
        return f"{number} {self.name.partition(' ')[2].replace(f'T={self.horizon} ', '')}"

    @property
    def untimed(self) -> str:
        """Its label, without when its losses are told."""
        return re.sub(r" (delay|batch)=\d+", "", self.label.partition(RETIMED)[0])

    @property
    def offset(self) -> float:
        """r0 = ¼√(KT): regret that is too small to be compared."""
        return 0.25 * math.sqrt(self.n_arms * self.horizon)

    def seed(self, rep: int, use: int) -> np.random.SeedSequence:
        """Randomness of a repetition, for one of several uses: 0 losses, 1 layout, 2 learners."""
        name = self.name.partition(RETIMED)[0]
        return np.random.SeedSequence([zlib.crc32(f"{name}|{EDITION}".encode()), rep, use])

    def retimed(self, delay: int, batch: int) -> Game:
        """The same game, layout and losses, with losses told at other times."""
        name = f"{self.name.partition(RETIMED)[0]}{RETIMED}delay={delay} batch={batch}"
        return self._replace(name=name, delay=delay, batch=batch)

    def make(self, rep: int) -> Environment:
        """The environment of a repetition, fresh."""
        chance = np.random.default_rng(self.seed(rep, 1))
        place = Place(self.n_arms, self.horizon, self.gap, chance, self.seed(rep, 0))
        return _SHAPES[self.shape].make(place, **self.words)

    def allowed(self, rep: int) -> Flags | None:
        """Which arms each round allows, at least one; None where all are allowed in every round.

        Each arm is drawn anew in a round with chance 1/stay, and is then allowed with chance `open`.
        """
        if self.open >= 1.0:
            return None
        chance = np.random.default_rng(self.seed(rep, 3))
        shape = self.horizon, self.n_arms
        drawn = chance.random(shape) < 1 / self.stay
        drawn[0] = True
        since = np.maximum.accumulate(np.where(drawn, np.arange(self.horizon)[:, None], 0), axis=0)
        found: Flags = np.take_along_axis(chance.random(shape) < self.open, since, axis=0)
        nothing = np.flatnonzero(~found.any(axis=1))
        found[nothing, chance.integers(0, self.n_arms, nothing.size)] = True
        return found

    def planted(self, rep: int, environment: Environment) -> float | None:
        """The mean loss of the best allowed arm of every round; None where an adversary adapts, and there is none."""
        allowed = self.allowed(rep)
        if allowed is None:
            return planted_loss(environment)
        return float(np.where(allowed, environment.means(), np.inf).min(axis=1).sum())


_SHAPES = {name: shape for family in FAMILIES.values() for name, shape in family.items()}


def draw(family: str, n: int, horizon: int, seed: int = 0) -> list[Game]:
    """The first n games of this seed: shape after shape, and round again with other numbers when all were had."""
    if family not in FAMILIES:
        raise unknown("family", family, FAMILIES)
    if horizon < 100:
        raise OptionError(f"horizon is {horizon}; accepted are at least 100 rounds")
    shapes = list(FAMILIES[family].items())
    games = []
    for i in range(n):
        name, shape = shapes[i % len(shapes)]
        chance = np.random.default_rng([list(FAMILIES).index(family) + 1, seed, i, horizon])
        n_arms = round(math.exp(chance.triangular(*np.log(shape.arms))))
        gap = round(log_uniform(chance, 0.05, 0.8), 3)
        gap = round(min(0.98, 2 * gap), 3) if name in FULL_SWING else gap
        words = shape.words(chance, horizon)
        said = [f"{word}={value}" for word, value in words.items()]
        title = " ".join([f"{family}/{seed}/{i} {name}", f"T={horizon} K={n_arms} gap={gap}", *said])
        own = {word: words.pop(word) for word in PRODUCTION if word in words}
        games.append(Game(title, name, n_arms, horizon, gap, words, **own))
    return games


def planted_loss(environment: Environment) -> float | None:
    """The mean loss of the planted path; None where an adversary adapts, and there is none."""
    if environment.n_switches is None:
        return None
    return float(environment.mean_losses(environment.planted_path()).sum())


def fingerprint(game: Game, rep: int, environment: Environment) -> str:
    """A mark of a game: two versions of the package that agree in it lay out the same game, with the same losses."""
    first = b"" if environment.n_switches is None else environment.losses_block(0, min(64, game.horizon)).tobytes()
    return f"{zlib.crc32(first):08x} {game.planted(rep, environment)}"
