"""Frames: what a report is drawn from. Long polars frames, one row per number, and a few facts about the race.

    frame        columns (null where a number does not exist)
    games        environment, horizon, n_arms, n_switches (of the planted path), oblivious (or it sees the arms played),
                 description
    traces       environment, learner, seed, t, regret (against L*(n_switches)), pseudo_regret (against planted)
    frontier     environment, learner, seed, S, regret (at the last round, against L*(S))
    growth       environment, learner, seed, horizon, regret: games of several horizons
    shares       environment, learner, seed, t, arm, share (of the rounds up to t)
    planted      environment, seed, start, arm: the planted path from round `start` on, until the next start
    trust        environment, learner, seed, t, base, candidate, probability, rho
    beliefs      environment, learner, seed, start, arm, sure: the arm believed best from round `start` on
    split        environment, learner, seed, t, base, candidate, master_regret, base_regret
    bounds       environment, learner, seed, theorem, candidate, bound, master_bound, base_bound
    times        environment, learner, seed, ns_per_round
    leaderboard  environment, learner, regret, low, high, rank, rank_low, rank_high, ns_per_round; and, if known,
                 setting (of the learner, which is ranked among those that see the same)
    overall      learner: all of them, best first; and, if known, mean_rank

Only `games` and `leaderboard` must be there; a figure whose frame is missing or empty is left out. Further columns are
welcome and ignored. Rounds t are counts of rounds played, so the last one is the horizon.

What stands in front when many race: the best dozen of each group, and in each game its own best dozen.

A figure of fifty lines says nothing. Frames keep everybody; the page has the rest one click away, as long as a browser
can draw it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from turncoat.errors import TableError
from turncoat.learners.entries import BANDIT, TOP_N, by_feedback_group

COLUMNS = {
    "games": "environment horizon n_arms n_switches oblivious description",
    "leaderboard": "environment learner regret low high rank rank_low rank_high ns_per_round",
    "traces": "environment learner seed t regret pseudo_regret",
    "frontier": "environment learner seed S regret",
    "growth": "environment learner seed horizon regret",
    "shares": "environment learner seed t arm share",
    "planted": "environment seed start arm",
    "trust": "environment learner seed t base candidate probability rho",
    "beliefs": "environment learner seed start arm sure",
    "split": "environment learner seed t base candidate master_regret base_regret",
    "bounds": "environment learner seed theorem candidate bound master_bound base_bound",
    "times": "environment learner seed ns_per_round",
    "overall": "learner",
}


@dataclass(frozen=True)
class Frames:
    """The results of a race, ready to be drawn. The module says which columns each frame has."""

    games: pl.DataFrame
    leaderboard: pl.DataFrame
    traces: pl.DataFrame | None = None
    frontier: pl.DataFrame | None = None
    growth: pl.DataFrame | None = None
    shares: pl.DataFrame | None = None
    planted: pl.DataFrame | None = None
    trust: pl.DataFrame | None = None
    beliefs: pl.DataFrame | None = None
    split: pl.DataFrame | None = None
    bounds: pl.DataFrame | None = None
    times: pl.DataFrame | None = None
    overall: pl.DataFrame | None = None
    title: str = "A race of bandits"
    about: Mapping[str, str] = field(default_factory=dict)  # machine, versions, seeds: shown as they are, in this order

    def __post_init__(self) -> None:
        for name, columns in COLUMNS.items():
            frame, wanted = getattr(self, name), columns.split()
            missing = [] if frame is None else [column for column in wanted if column not in frame.columns]
            if missing:
                lacks = ", ".join(missing)
                raise TableError(f"the frame {name!r} lacks the columns {lacks}; it needs {', '.join(wanted)}")
        for name in ("games", "leaderboard"):
            if getattr(self, name).is_empty():
                raise TableError(f"the frame {name!r} is empty; a report needs at least one row in it")

    def has(self, name: str) -> bool:
        """Is there anything in this frame?"""
        frame = getattr(self, name)
        return frame is not None and not frame.is_empty()

    def by_game(
        self, name: str, learners: Collection[str], known: str = "learner"
    ) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
        """Every game with its rows of a frame: of these learners, without null in the column `known`; no empty ones."""
        frame = getattr(self, name).filter(pl.col("learner").is_in(list(learners)) & pl.col(known).is_not_null())
        for game in self.games.iter_rows(named=True):
            here = frame.filter(pl.col("environment") == game["environment"])
            if not here.is_empty():
                yield game, here

    def environments(self) -> list[str]:
        """The environments, in the order of `games`."""
        return list(dict.fromkeys(self.games["environment"].to_list()))

    def learners(self) -> list[str]:
        """The learners, best first: in the order of `overall`, or by their mean rank, group by group."""
        if self.overall is not None:
            return list(self.overall["learner"])
        ranks: dict[str, list[float]] = {}
        for row in self.leaderboard.iter_rows(named=True):
            ranks.setdefault(row["learner"], []).append(float(row["rank"]))
        best = sorted(ranks, key=lambda learner: (sum(ranks[learner]) / len(ranks[learner]), learner))
        return [learner for group in by_feedback_group(best, self.settings()).values() for learner in group]

    def settings(self) -> dict[str, str]:
        """What losses each learner is for, as far as the leaderboard says."""
        if "setting" not in self.leaderboard.columns:
            return {}
        pairs = self.leaderboard.select("learner", "setting").iter_rows()
        return {learner: setting or "" for learner, setting in pairs}


BY_GAME = ("traces", "frontier", "growth")  # frames of lines: each game has its own front
BY_LEARNER = ("leaderboard", "overall", "times", "shares", "trust", "beliefs", "split")  # the same in every game
MOST_LINES = 400  # learners × games that a page still draws all of
YARDSTICK = "uniform"  # drawn in every game that it races in


def top_learners(frames: Frames) -> list[str]:
    """The best dozen of each group."""
    groups = by_feedback_group(frames.learners(), frames.settings()).values()
    return [learner for group in groups for learner in group[:TOP_N]]


def top_by_game(frames: Frames) -> dict[str, list[str]]:
    """In each game its best dozen, the yardstick, and the best of those that see more."""
    chosen = {}
    settings = frames.settings()
    for (environment,), here in frames.leaderboard.sort("regret").group_by("environment", maintain_order=True):
        groups = by_feedback_group(here["learner"], settings)
        best = groups.pop(BANDIT, [])
        beside = [learner for learner in best[TOP_N:] if learner == YARDSTICK]
        chosen[str(environment)] = [*best[:TOP_N], *beside, *(others[0] for others in groups.values())]
    return chosen


def top_frames(frames: Frames) -> Frames:
    """The same race with those in front alone."""
    learners = top_learners(frames)
    pairs = [(environment, learner) for environment, some in top_by_game(frames).items() for learner in some]
    kept = pl.DataFrame(pairs, {"environment": pl.String, "learner": pl.String}, orient="row")
    parts: dict[str, Any] = {}
    for name in filter(frames.has, BY_GAME):
        parts[name] = getattr(frames, name).join(kept, on=kept.columns, how="semi", maintain_order="left")
    for name in filter(frames.has, BY_LEARNER):
        parts[name] = getattr(frames, name).filter(pl.col("learner").is_in(learners))
    return replace(frames, **parts)


def with_everyone(frames: Frames) -> Frames:
    """The same race as far as a page can draw all of it: of a large one, no lines and no maps."""
    if len(frames.learners()) * len(frames.environments()) <= MOST_LINES:
        return frames
    return replace(frames, traces=None, frontier=None, growth=None, shares=None, trust=None, beliefs=None, split=None)


def remarks(frames: Frames) -> Mapping[str, str]:
    """What to say above figures that leave learners out, by the frame that they draw. Maps say it themselves."""
    learners = frames.learners()
    beside = [YARDSTICK] if YARDSTICK in learners else []
    beside += ["the best of those that see more"] if len(by_feedback_group(learners, frames.settings())) > 1 else []
    game = f"in each game its best {TOP_N} of {len(learners)} learners" + "".join(f", and {other}" for other in beside)
    some = f"the best {len(top_learners(frames))} of {len(learners)} learners"
    return {**dict.fromkeys(BY_GAME, game), "leaderboard": some, "times": some}
