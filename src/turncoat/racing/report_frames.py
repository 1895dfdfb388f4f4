"""The frames of a report, from the result of a race."""

from __future__ import annotations

import polars as pl

from turncoat.racing import Result
from turncoat.racing.frames import frame
from turncoat.report.frames import Frames


def frames_of(result: Result) -> Frames:
    """Everything there is to draw of a race, finished or not."""
    return Frames(
        games=_games(result),
        leaderboard=result.leaderboard(),
        traces=result.traces,
        frontier=result.frontier,
        growth=result.growth,
        shares=_first(result, "shares"),
        planted=_planted(result),
        trust=result.trust,
        beliefs=_first(result, "beliefs"),
        split=result.split,
        bounds=result.bounds,
        times=result.times,
        overall=result.overall(),
        about=result.about,
    )


def _games(result: Result) -> pl.DataFrame:
    """The environments, one row each; switches are those of the first seed."""
    horizon = result.names.horizon
    references = sorted(result.references, key=lambda at: at.seed, reverse=True)  # the first seed comes last, and stays
    switches = {at.environment: result.references[at].n_switches for at in references if at.horizon == horizon}
    rows = [
        (name, horizon, facts.n_arms, switches[name] if switches.get(name, -1) >= 0 else None, *facts[1:])
        for name, facts in result.names.environments.items()
    ]
    columns = {"environment": pl.String, "horizon": pl.Int64, "n_arms": pl.Int64, "n_switches": pl.Int64}
    return pl.DataFrame(rows, {**columns, "oblivious": pl.Boolean, "description": pl.String}, orient="row")


def _first(result: Result, name: str) -> pl.DataFrame:
    """A frame of the first seed, which alone is drawn: that of all would fill the memory in a large race."""
    longest = {at: both for at, both in result.finished().items() if at.horizon == result.names.horizon}
    first = min((at.seed for at in longest), default=0)
    return frame(name, {at: both for at, both in longest.items() if at.seed == first})


def _planted(result: Result) -> pl.DataFrame:
    """The planted paths, one row per segment."""
    rows = [
        (at.environment, at.seed, start, arm)
        for at, reference in result.references.items()
        if at.horizon == result.names.horizon
        for start, arm in zip(reference.starts.tolist(), reference.path.tolist(), strict=True)
    ]
    columns = {"environment": pl.String, "seed": pl.Int64, "start": pl.Int64, "arm": pl.Int64}
    return pl.DataFrame(rows, columns, orient="row")
