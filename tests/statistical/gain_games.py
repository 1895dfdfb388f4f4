"""Games in which all that can change about an experiment changes, and the true gains are known.

A game draws streams, arms and propensities with the service's functions and Turncoat, and closes decisions with its
sums; only HTTP and the store are left out. The truth is what the decisions that a gain counts brought, minus what the
same decisions would have brought with the rival: every decision draws the rewards of all arms. `python -m
tests.statistical` plays them and prints a table.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from turncoat.service import messages
from turncoat.service.experiments import aggregates
from turncoat.service.experiments.comparisons import (
    Compared,
    comparison_rows,
    control_json,
    group_rows,
)
from turncoat.service.experiments.draw import stream_of
from turncoat.service.experiments.gain import Comparisons, cell, gains
from turncoat.service.experiments.learn import observe
from turncoat.service.experiments.randomness import place_of, unit_hash
from turncoat.service.experiments.snapshot import ArmRow, Config, Learner, Snapshot, served_by, to_json
from turncoat.service.experiments.snapshot_cache import new_learner
from turncoat.service.messages import Control, RewardRule

BATCH = 25  # decisions drawn from one version
SECOND = 1_800_000_000.0
ARMS = ("a", "b", "c")


def control(share: float, arm: str = "a") -> Control:
    return Control(arm=arm, share=share)


@dataclass(frozen=True)
class Phase:
    """Settings that hold for n decisions. `arms`: state, floor, cap of those that are not active, 0.02 and 1."""

    n: int
    control: Control | None = field(default_factory=lambda: control(0.15))
    holdout: float = 0.0
    default: float | None = None
    arms: dict[str, tuple[str, float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Game:
    """What changes, and the world: the mean reward of each arm at a share of the game, given the arms allowed."""

    phases: Sequence[Phase]
    mean: Callable[[float, str, bool], float]
    allowed: Sequence[str] | None = None  # named by half of all requests, by chance
    delay: int = 0  # decisions until a reward comes; the mean of those of a geometric distribution
    missing: float = 0.0
    per_unit: int = 0  # decisions of one unit, which have a level in common
    between: bool = False  # rewards between 0 and 1 instead of 0 or 1


def steady(at: float, arm: str, named: bool) -> float:
    return {"a": 0.3, "b": 0.45, "c": 0.2}.get(arm, 0.4)


def equal_drift(at: float, arm: str, named: bool) -> float:
    """All arms alike, from 0.2 to 0.8."""
    return 0.2 + 0.6 * at


def turning(at: float, arm: str, named: bool) -> float:
    """The best arm becomes the worst, while all of them rise."""
    return {"a": 0.3, "b": 0.5 - 0.4 * at, "c": 0.15 + 0.4 * at}.get(arm, 0.4) + 0.2 * at


def sure_when_often(at: float, arm: str, named: bool) -> float:
    """The rewards of b vary while it is served little, and hardly once it is the best."""
    return {"a": 0.75, "b": 0.5 if at < 0.4 else 0.98, "c": 0.5 if at < 0.6 else 0.02}.get(arm, 0.4)


def by_request(at: float, arm: str, named: bool) -> float:
    """Requests that name their arms pay more, whatever they get."""
    return 0.8 if named else 0.3


PAUSED = ("paused", 0.0, 1.0)
GAMES: dict[str, Game] = {
    "nothing changes": Game([Phase(1500)], steady),
    "rewards between 0 and 1": Game([Phase(1500)], turning, between=True),
    "drift": Game([Phase(1500)], turning),
    "rewards vary where an arm is rare": Game([Phase(1500)], sure_when_often),
    "game (a): allowed sets without control": Game([Phase(1500)], by_request, allowed=("b", "c")),
    "game (b): share 0.5 to 0.05, all arms rise": Game(
        [Phase(700, control(0.5)), Phase(1500, control(0.05))], equal_drift
    ),
    "game (c): control paused, all arms rise": Game(
        [Phase(500), Phase(500, arms={"a": PAUSED}), Phase(500)], equal_drift
    ),
    "shares, holdout with drift": Game(
        [Phase(500, control(s), h) for s, h in ((0.1, 0.2), (0.4, 0.1), (0.2, 0.3), (0.1, 0.2))], turning
    ),
    "allowed sets, pay by request, drift": Game([Phase(1500, holdout=0.15)], by_request, allowed=("a", "c")),
    "another control arm": Game([Phase(700), Phase(900, control(0.2, "c"))], turning),
    "floors": Game([Phase(500), Phase(500, arms={"c": ("active", 0.3, 1.0)}), Phase(500)], turning),
    "caps": Game([Phase(500), Phase(500, arms={"b": ("active", 0.0, 0.2)}), Phase(500)], turning),
    "arms added and retired": Game(
        [
            Phase(500, arms={"d": ("pending", 0.0, 1.0)}),
            Phase(500, arms={"d": ("active", 0.1, 1.0)}),
            Phase(500, arms={"d": ("active", 0.1, 1.0), "c": ("retired", 0.0, 1.0)}),
        ],
        turning,
    ),
    "an arm paused and back": Game([Phase(500), Phase(500, arms={"b": PAUSED}), Phase(500)], turning),
    "delay over changes of the share": Game(
        [Phase(500, control(0.4)), Phase(500, control(0.1)), Phase(500, control(0.3))], turning, delay=150
    ),
    "default rewards come and go": Game([Phase(500), Phase(500, default=0.0), Phase(500)], turning, missing=0.3),
    "units of ten decisions": Game([Phase(3000, control(0.25))], turning, per_unit=10),
    "units, shares change": Game([Phase(1500, control(0.2)), Phase(1500, control(0.4))], turning, per_unit=10),
    "everything at once": Game(
        [
            Phase(600, control(0.3), 0.1, arms={"d": ("pending", 0.0, 1.0)}),
            Phase(500, control(0.1), 0.1, 0.0, arms={"d": ("active", 0.05, 1.0), "b": PAUSED}),
            Phase(500, control(0.2), 0.2, 0.0, arms={"d": ("active", 0.1, 0.5), "c": ("retired", 0.0, 1.0)}),
        ],
        by_request,
        allowed=("b", "c", "d"),
        delay=60,
        missing=0.1,
    ),
}


class Decision(NamedTuple):
    """A decision, and what every arm would have brought in its place, "holdout" being one drawn evenly.

    `rivals`: for which rivals it can be compared, by the rules of the game: control and holdout with the settings that
    they were drawn with, and the arms that had a chance of a hundredth.
    """

    due: int
    row: Compared
    m: int
    would: dict[str, float]
    is_missing: bool
    rivals: dict[str, tuple[str | None, float, float]]


def snapshot_of(game: Game, phase: Phase, learner: Learner, version: int) -> Snapshot:
    names = sorted({*ARMS, *(arm for one in game.phases for arm in one.arms)})
    rows: list[Any] = [
        ArmRow(arm, i, *phase.arms.get(arm, ("active", 0.02, 1.0)), None, True)  # type: ignore[arg-type]
        for i, arm in enumerate(names)
    ]
    config = Config(RewardRule(), 100.0, phase.default, phase.control, phase.holdout)
    head = 1, "x", SECOND, config, "running", 0, version, 1, "salt"
    blank = Snapshot(*head, tuple(rows), {}, version, "", 1, 1, None)
    return replace(blank, probabilities=served_by(learner, blank.active(), 1))


class Play:
    """One run of a game."""

    def __init__(self, game: Game, seed: int) -> None:
        self._game, self._rng, self._salt = game, np.random.default_rng(seed), f"{seed:032x}"
        first = game.phases[0].arms
        self._learner = new_learner([arm for arm in ARMS if first.get(arm, ("active",))[0] != "pending"], seed)
        self._open: list[Decision] = []
        self._closed: list[Decision] = []
        self._n_expired = 0
        self._levels: dict[int, float] = {}  # of units
        self._n = sum(one.n for one in game.phases)
        t = version = 0
        for phase in game.phases:
            self._move(phase)
            for _ in range(0, phase.n, BATCH):
                version += 1
                self._head = snapshot_of(game, phase, self._learner, version)
                for _ in range(BATCH):
                    self._open.append(self._decide(t))
                    t += 1
                self._close(t, phase.default)
        self._close(10**9, phase.default)

    def _move(self, phase: Phase) -> None:
        for arm, (state, *_) in phase.arms.items():
            if state == "active" and arm not in self._learner.arms:
                self._learner.add_arm(arm)
            elif state == "retired" and arm in self._learner.living:
                self._learner.retire_arm(arm)

    def _decide(self, t: int) -> Decision:
        game, head = self._game, self._head
        u = self._rng.random(8 + len(head.arms)).tolist()
        named = list(game.allowed) if game.allowed is not None and u[0] < 0.5 else None
        unit, level = None, 0.0
        if game.per_unit:
            number = int(u[1] * self._n / game.per_unit)
            unit, level = (
                unit_hash(self._salt, str(number)),
                self._levels.setdefault(number, math.copysign(0.25, u[2] - 0.5)),
            )
        stream, allowed = stream_of(head, messages.Ask(allowed_arms=named), u[3] if unit is None else place_of(unit))
        drawn = head.distribution(stream, allowed, lambda: self._learner)
        arm = drawn.draw(u[4])
        would = self._would(t / self._n, named is not None, level, u[8:])
        there = [row.arm for row in head.active() if named is None or row.arm in named]
        would["holdout"] = would[there[int(u[6] * len(there))]] if stream != "holdout" else would[arm]
        text = drawn.stored or to_json(head.probabilities)
        row = Compared(
            SECOND + t, arm, stream, 0.0, drawn.probabilities[arm], drawn.allowed, unit, control_json(head), text
        )
        due = t + (int(self._rng.exponential(game.delay)) if game.delay else 0)
        return Decision(due, row, head.m, would, u[5] < game.missing, self._rivals(there, drawn.probabilities))

    def _rivals(self, there: list[str], p: dict[str, float]) -> dict[str, tuple[str | None, float, float]]:
        config = self._head.config
        is_possible = config.control is not None and config.control.arm in there
        arm, share = (config.control.arm, config.control.share) if config.control and is_possible else (None, 0.0)
        found: dict[str, tuple[str | None, float, float]] = {
            f"always {one}": (one, 0.0, 0.0) for one in p if p[one] >= 0.01
        }
        if is_possible:
            found["control"] = arm, share, config.holdout_share
        if config.holdout_share:
            found["holdout"] = arm, share, config.holdout_share
        return found

    def _would(self, at: float, named: bool, level: float, u: list[float]) -> dict[str, float]:
        game = self._game
        means = [min(max(game.mean(at, row.arm, named) + level, 0.0), 1.0) for row in self._head.arms]
        if game.between:
            rewards = [self._rng.beta(4.0 * mean, 4.0 - 4.0 * mean) for mean in means]
        else:
            rewards = [float(one < mean) for one, mean in zip(u, means, strict=True)]
        return {row.arm: reward for row, reward in zip(self._head.arms, rewards, strict=True)}

    def _close(self, t: int, default: float | None) -> None:
        ended = [one for one in self._open if one.due <= t]
        self._open = [one for one in self._open if one.due > t]
        index_of = {label: index for index, label in enumerate(self._learner.arms)}
        told = []
        for one in ended:
            row, would = one.row, one.would
            if one.is_missing and default is None:
                self._n_expired += row.stream == "learn"
                continue
            if one.is_missing and default is not None:
                would = dict.fromkeys(would, default)
            row = row._replace(reward=would[row.arm])
            self._closed.append(one._replace(row=row, would=would))
            if row.stream == "learn":
                told.append((row.arm, row.propensity, row.allowed, one.m, row.reward))
        observe(self._learner, RewardRule(), index_of, told)

    def read(self) -> Comparisons:
        """The sums as they would be read from the store."""
        closed = [one.row for one in self._closed]
        rows = [row for row in comparison_rows(1, closed) if row[1] == aggregates.COARSE]
        cells = [cell(0, *row[3:]) for row in rows]
        groups: dict[tuple[str, str], dict[int, tuple[float, float, float]]] = defaultdict(dict)
        for _, rival, stratum, number, n, r, r2 in group_rows(1, closed):
            groups[rival, stratum][number] = float(n), r, r2
        n_learn = sum(row.stream == "learn" for row in closed)
        return Comparisons(self._head, SECOND, 10_800, 1, SECOND + 10_800, cells, groups, n_learn, self._n_expired)

    def scores(self) -> dict[str, tuple[float, bool, float]]:
        """Of each gain that is estimated: how far it is from the truth, whether its interval holds it, its width."""
        found = {}
        for one in gains(self.read()).gains:
            if one.total is None:
                continue
            name = one.over if one.over != "arm" else f"always {one.arm}"
            known = {(s.control_arm, s.control_share, s.holdout_share) for s in one.strata if s.gain is not None}
            known |= {(one.arm, 0.0, 0.0)} if one.over == "arm" else set()
            compared = [
                (done.row.reward, done.would["holdout" if name == "holdout" else done.rivals[name][0] or ""])
                for done in self._closed
                if done.row.stream == "learn" and done.rivals.get(name) in known
            ]
            assert len(compared) == one.n
            truth = sum(ours - theirs for ours, theirs in compared)
            held = one.total.low <= truth <= one.total.high
            found[name] = one.total.value - truth, held, one.total.high - one.total.low
        return found


class Coverage(NamedTuple):
    """Of one gain in one game."""

    runs: int
    held: int
    bias: float  # in standard errors of its mean
    error: float  # the same as a share of the interval's half width


def coverage(game: Game, runs: int, seed: int = 0) -> dict[str, Coverage]:
    """All gains of a game, over so many runs."""
    scores: dict[str, list[tuple[float, bool, float]]] = defaultdict(list)
    for run in range(runs):
        for name, score in Play(game, seed * 1_000_003 + run).scores().items():
            scores[name].append(score)
    found = {}
    for name, some in sorted(scores.items()):
        errors, held, widths = (np.array(column) for column in zip(*some, strict=True))
        spread = errors.std(ddof=1) / math.sqrt(len(some)) if len(some) > 1 else math.inf
        relative = 2.0 * errors.mean() / widths.mean()
        found[name] = Coverage(len(some), int(held.sum()), float(errors.mean() / spread), float(relative))
    return found
