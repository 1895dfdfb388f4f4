"""What stands in front when many race: the best dozen of each league, and in each game its own best dozen.

A figure of fifty lines says nothing. Frames keep everybody; the page has the rest one click away, as long as a browser
can draw it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from turncoat.racing import BANDIT, FRONT, in_leagues
from turncoat.report.frames import Frames

BY_GAME = ("traces", "frontier", "growth")  # frames of lines: each game has its own front
BY_LEARNER = ("leaderboard", "overall", "times", "shares", "trust", "beliefs", "split")  # the same in every game
MOST_LINES = 400  # learners × games that a page still draws all of
YARDSTICK = "uniform"  # drawn in every game that it races in


def front(frames: Frames) -> list[str]:
    """The best dozen of each league."""
    leagues = in_leagues(frames.learners(), frames.settings()).values()
    return [learner for league in leagues for learner in league[:FRONT]]


def fronts(frames: Frames) -> dict[str, list[str]]:
    """In each game its best dozen, the yardstick, and the best of those that see more."""
    chosen = {}
    settings = frames.settings()
    for (environment,), here in frames.leaderboard.sort("regret").group_by("environment", maintain_order=True):
        leagues = in_leagues(here["learner"], settings)
        best = leagues.pop(BANDIT, [])
        beside = [learner for learner in best[FRONT:] if learner == YARDSTICK]
        chosen[str(environment)] = [*best[:FRONT], *beside, *(others[0] for others in leagues.values())]
    return chosen


def in_front(frames: Frames) -> Frames:
    """The same race with those in front alone."""
    learners = front(frames)
    pairs = [(environment, learner) for environment, some in fronts(frames).items() for learner in some]
    kept = pl.DataFrame(pairs, {"environment": pl.String, "learner": pl.String}, orient="row")
    parts: dict[str, pl.DataFrame] = {}
    for name in (*BY_GAME, *BY_LEARNER):
        frame = getattr(frames, name)
        if frame is not None and name in BY_GAME:
            parts[name] = frame.join(kept, on=["environment", "learner"], how="semi", maintain_order="left")
        elif frame is not None:
            parts[name] = frame.filter(pl.col("learner").is_in(learners))
    return replace(frames, **parts)  # type: ignore[arg-type]


def with_everyone(frames: Frames) -> Frames:
    """The same race as far as a page can draw all of it: of a large one, no lines and no maps."""
    if len(frames.learners()) * len(frames.environments()) <= MOST_LINES:
        return frames
    return replace(frames, traces=None, frontier=None, growth=None, shares=None, trust=None, beliefs=None, split=None)


def remarks(frames: Frames) -> Mapping[str, str]:
    """What to say above figures that leave learners out, by the frame that they draw. Maps say it themselves."""
    learners = frames.learners()
    beside = [YARDSTICK] if YARDSTICK in learners else []
    beside += ["the best of those that see more"] if len(in_leagues(learners, frames.settings())) > 1 else []
    game = f"in each game its best {FRONT} of {len(learners)} learners" + "".join(f", and {other}" for other in beside)
    some = f"the best {len(front(frames))} of {len(learners)} learners"
    return {**dict.fromkeys(BY_GAME, game), "leaderboard": some, "times": some}
