"""Races in memory: what is raced against what, on which streams, and what the frames say."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import turncoat as tc
from tests.racing.makers import LEARNERS, Broken, FollowTheLeader
from turncoat import statistics
from turncoat.environments import Environment, Piecewise, Table, scenario
from turncoat.errors import LossError, OptionError, TableError, TuningWarning
from turncoat.racing import Progress
from turncoat.racing.coordinates import CellAt
from turncoat.racing.plan import Plan

T = 600
FRAMES = ("traces", "frontier", "shares", "trust", "split", "bounds")
TABLE = np.random.default_rng(8).random((700, 5)).round(3)


def stream(seed: int, i: int, who: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(i, who))


def assert_same(one: tc.Result, other: tc.Result) -> None:
    """Equal to the bit in everything but times."""
    for name in FRAMES:
        left, right = getattr(one, name), getattr(other, name)
        assert_frame_equal(left, right, check_exact=True)
        assert left.height == right.height


@pytest.fixture(scope="module")
def result() -> tc.Result:
    return tc.race(LEARNERS, ["flip/3", Table(TABLE)], T, seeds=3, seed=4, workers=1)


def test_every_learner_meets_every_environment_for_every_seed(result: tc.Result) -> None:
    cells = result.traces.select("environment", "learner", "seed").unique(maintain_order=True).rows()
    assert cells == [(e, n, i) for e in ("flip/3", "table") for n in LEARNERS for i in range(3)]
    assert result.missing == [] and repr(result) == "<Result: 24 of 24 cells; horizon 600>"


def test_the_streams_are_those_of_the_contract(result: tc.Result) -> None:
    for i in range(3):
        game = scenario("flip/3", T, stream(4, i, 0))
        losses = game.losses()
        for name, learner in (
            ("exp3", tc.Exp3(5, T, seed=stream(4, i, 1))),
            ("exp3.s, told", tc.Exp3S(5, T, n_switches=3, seed=stream(4, i, 1))),
        ):
            played = tc.play(learner, game)
            regrets = tc.switching_regret(losses, played, 8)
            of_cell = (pl.col("environment") == "flip/3") & (pl.col("learner") == name) & (pl.col("seed") == i)
            last = result.traces.filter(of_cell).row(-1, named=True)
            assert result.frontier.filter(of_cell)["regret"].to_list() == pytest.approx(regrets, rel=1e-12)
            assert (last["t"], last["regret"]) == (T, pytest.approx(regrets[3]))
            pseudo = game.mean_losses(played).sum() - game.mean_losses(game.planted_path()).sum()
            assert last["pseudo_regret"] == pytest.approx(pseudo)


def test_a_table_is_played_up_to_the_horizon_and_told_learners_are_told_nothing(result: tc.Result) -> None:
    played = tc.play(tc.Exp3S(5, T, seed=stream(4, 1, 1)), TABLE[:T])
    regrets = tc.switching_regret(TABLE[:T], played, 8)
    of_cell = (pl.col("environment") == "table") & (pl.col("learner") == "exp3.s, told") & (pl.col("seed") == 1)
    assert result.frontier.filter(of_cell)["regret"].to_list() == pytest.approx(regrets)
    last = result.traces.filter(of_cell).row(-1, named=True)
    assert (last["regret"], last["pseudo_regret"]) == (pytest.approx(regrets[8]), None)


def test_adding_a_learner_or_a_seed_changes_nothing_for_the_others(result: tc.Result) -> None:
    alone = tc.race({"exp3": tc.Exp3}, ["flip/3"], T, seeds=2, seed=4, workers=1)
    of_cells = (pl.col("environment") == "flip/3") & (pl.col("learner") == "exp3") & (pl.col("seed") < 2)
    assert_frame_equal(alone.traces, result.traces.filter(of_cells), check_exact=True)


def test_threads_do_not_show(result: tc.Result) -> None:
    for workers in (2, 5):
        again = tc.race(LEARNERS, ["flip/3", Table(TABLE)], T, seeds=3, seed=4, workers=workers)
        assert_same(again, result)


def test_another_seed_is_another_race(result: tc.Result) -> None:
    other = tc.race({"exp3": tc.Exp3}, ["flip/3"], T, seeds=1, seed=5)
    assert other.traces["loss"].to_list() != result.traces["loss"][: other.traces.height].to_list()


def test_frames_have_the_columns_that_reports_count_on(result: tc.Result) -> None:
    at = ["environment", "learner", "seed"]
    assert result.traces.columns == [*at, "t", "loss", "regret", "pseudo_regret"]
    assert result.frontier.columns == [*at, "S", "regret"]
    assert result.shares.columns == [*at, "t", "arm", "share"]
    assert result.trust.columns == [*at, "t", "base", "candidate", "probability", "rho"]
    assert result.times.columns == [*at, "ns_per_round"] and result.times.height == 24
    assert result.times["ns_per_round"].min() > 0  # type: ignore[operator]
    assert set(result.trust["learner"]) == {"master"}
    for frame, value in ((result.shares, "share"), (result.trust, "probability")):
        sums = frame.group_by(*at, "t").agg(pl.col(value).sum())[value]
        assert sums.min() == pytest.approx(1.0) and sums.max() == pytest.approx(1.0)


def test_the_leaderboard(result: tc.Result) -> None:
    board = result.leaderboard()
    assert board["environment"].to_list() == [e for e in ("flip/3", "table") for _ in LEARNERS]
    for _, rows in board.group_by("environment"):
        assert rows["rank"].to_list() == sorted(rows["rank"]) and rows["rank"][0] == 1
        assert rows["regret"].to_list() == sorted(rows["regret"].to_list())
    row = board.filter(environment="flip/3", learner="exp3").row(0, named=True)
    last = result.traces.filter(environment="flip/3", learner="exp3", t=T)["pseudo_regret"].to_numpy()
    half = 4.302652729749462 * last.std(ddof=1) / np.sqrt(3)  # the 97.5 % point of Student's t, 2 degrees of freedom
    assert row["regret"] == pytest.approx(last.mean())
    assert (row["low"], row["high"]) == (
        pytest.approx(last.mean() - half, 1e-3),
        pytest.approx(last.mean() + half, 1e-3),
    )
    single = tc.race({"exp3": tc.Exp3}, "flip/3", T, seeds=1).leaderboard().row(0, named=True)
    assert single["low"] is None and single["high"] is None


def test_an_adversary_that_watches_begins_afresh_in_every_cell() -> None:
    makers = {"exp3": tc.Exp3, "leader": FollowTheLeader}
    first, again = (tc.race(makers, ["adaptive/5"], T, seeds=2, workers=workers) for workers in (1, 2))
    assert_same(first, again)
    played = tc.play(tc.Exp3(5, T, seed=stream(0, 1, 1)), scenario("adaptive/5", T, stream(0, 1, 0)))
    met = scenario("adaptive/5", T, stream(0, 1, 0)).losses_against(played)  # type: ignore[attr-defined]
    last = first.traces.filter(learner="exp3", seed=1).row(-1, named=True)
    assert last["loss"] == met[np.arange(T), played].sum()
    regrets = tc.switching_regret(met, played, 8)  # against sequences on the losses that were met
    assert first.frontier.filter(learner="exp3", seed=1)["regret"].to_list() == regrets.tolist()
    assert (last["regret"], last["pseudo_regret"]) == (regrets[8], None)
    middle = first.traces.filter(learner="exp3", seed=1, t=T // 2)["regret"].item()
    assert middle == tc.switching_regret(met[: T // 2], played[: T // 2], 8)[8]


def test_max_switches_is_how_far_the_frontier_goes() -> None:
    short = tc.race({"exp3": tc.Exp3}, ["flip/3"], T, seeds=1, max_switches=2)
    assert short.frontier["S"].to_list() == [0, 1, 2]
    assert short.traces["regret"].null_count() == short.traces.height  # the planted 3 are beyond it
    assert short.traces["pseudo_regret"].null_count() == 0
    assert tc.race({"exp3": tc.Exp3}, ["flip/3"], 5, seeds=1, max_switches=9).frontier["S"].to_list() == [0, 1, 2, 3, 4]


def test_environments_come_in_many_ways() -> None:
    def game(horizon: int, seed: Any) -> Environment:
        return Piecewise(3, horizon, 2, seed=seed)

    tables = Table(TABLE), Table(1 - TABLE)
    listed = tc.race({"exp3": tc.Exp3}, [*tables, game, "flip/3"], T, seeds=1)
    assert list(listed.names.environments) == ["table", "table #2", "game", "flip/3"]
    named = tc.race({"exp3": tc.Exp3}, {"a": tables[0], "b": tables[1], "c": game, "d": "flip/3"}, T, seeds=1)
    assert list(named.names.environments) == ["a", "b", "c", "d"]
    assert named.traces["loss"].to_list() == listed.traces["loss"].to_list()
    alone = tc.race({"exp3": tc.Exp3}, tables[0], T, seeds=1)
    assert alone.traces["loss"].to_list() == listed.traces.filter(environment="table")["loss"].to_list()


@pytest.mark.parametrize(("horizon", "read"), [(np.array(50), [50]), (np.array([1e3, 20]), [20, 1000]), (1e3, [1000])])
def test_horizons_may_come_from_numpy(horizon: Any, read: list[int]) -> None:
    """An array of no dimensions was a bare TypeError."""
    assert Plan({"uniform": tc.Uniform}, ["flip/3"], horizon, 1, 0, None).horizons == read


def test_several_horizons_are_as_many_games() -> None:
    makers: dict[str, Any] = {"exp3": tc.Exp3, "told": tc.told(tc.Exp3S)}
    several = tc.race(makers, ["flip/3", "adaptive/5"], [T, 2e2, T], seeds=2)  # type: ignore[list-item]
    assert several.names.horizons == [200, T] and several.names.horizon == T
    alone = [tc.race(makers, ["flip/3", "adaptive/5"], horizon, seeds=2) for horizon in (200, T)]
    assert_same(several, alone[1])
    for one in alone:
        assert_frame_equal(several.growth.filter(horizon=one.names.horizon), one.growth, check_exact=True)
    assert several.growth.height == 16
    board = alone[0].leaderboard().filter(environment="flip/3", learner="told")
    mine = several.growth.filter(environment="flip/3", learner="told", horizon=200)
    assert mine["regret"].mean() == pytest.approx(board["regret"].item())


def test_ranks_over_seeds_and_over_environments(result: tc.Result) -> None:
    last = result.traces.filter(t=T).with_columns(score=pl.coalesce("pseudo_regret", "regret"))
    cube = np.array(
        [[last.filter(environment=e, learner=n)["score"].to_list() for n in LEARNERS] for e in ("flip/3", "table")]
    )
    board = result.leaderboard()
    for e, scores in zip(("flip/3", "table"), cube, strict=True):
        found = statistics.ranks(scores)
        mine = {name: board.filter(environment=e, learner=name).row(0, named=True) for name in LEARNERS}
        for column, expected in zip(("rank", "rank_low", "rank_high"), found, strict=True):
            assert [row[column] for row in mine.values()] == expected.tolist()
    overall = result.overall()
    assert overall["mean_rank"].to_list() == sorted(overall["mean_rank"])
    places = (cube[:, :, None] > cube[:, None]).sum(axis=2) + 1.0  # no ties here
    assert all(len(np.unique(game)) == len(LEARNERS) for game in np.moveaxis(cube, 1, 2).reshape(-1, len(LEARNERS)))
    for name, rank in zip(LEARNERS, places.mean(axis=(0, 2)), strict=True):
        assert overall.filter(learner=name)["mean_rank"].item() == pytest.approx(rank)
    single = tc.race({"exp3": tc.Exp3, "uniform": tc.Uniform}, "flip/3", T, seeds=1)
    assert single.overall()["low"].to_list() == [None, None]
    assert single.leaderboard()["rank_high"].to_list() == [2, 2]


def test_an_unfinished_race_has_a_leaderboard_of_what_there_is() -> None:
    boards: list[tuple[pl.DataFrame, pl.DataFrame]] = []
    tc.race(
        {"exp3": tc.Exp3, "uniform": tc.Uniform},
        ["flip/3", "drift/2"],
        T,
        seeds=2,
        workers=1,
        on_progress=lambda now: boards.append((now.result.leaderboard(), now.result.overall())),
    )
    assert [board["seeds"].sum() for board, _ in boards] == list(range(1, 9))
    assert boards[0][1].height == 1 and boards[2][1]["mean_rank"].to_list() == [None, None]
    assert boards[3][1]["mean_rank"].null_count() == 0 and boards[3][1]["low"].null_count() == 2


def test_progress_is_told_after_every_cell() -> None:
    seen: list[tuple[Progress, int]] = []
    tc.race(
        {"exp3": tc.Exp3, "leader": FollowTheLeader},
        ["flip/3"],
        T,
        seeds=3,
        on_progress=lambda now: seen.append((now, len(now.result.cells))),
    )
    assert [(now.done, now.total, now.rounds, n) for now, n in seen] == [(k, 6, k * T, k) for k in range(1, 7)]
    assert all(now.rounds_per_second > 0 for now, _ in seen)
    assert {now.cell for now, _ in seen} == {
        CellAt("flip/3", name, i, T) for name in ("exp3", "leader") for i in range(3)
    }
    assert seen[-1][0].rounds_left == seen[-1][0].seconds_left == 0 < seen[0][0].seconds_left


def test_compiling_is_told_too() -> None:
    seen: list[tuple[int, int]] = []
    tc.race(LEARNERS, ["flip/3"], T, seeds=2, on_compile=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 5) for done in range(6)]  # a reference, and four learners in one kind of game


def test_a_learners_failure_is_told_with_its_place() -> None:
    with pytest.raises(ZeroDivisionError, match="own making") as failed:
        tc.race({"exp3": tc.Exp3, "mine": Broken}, ["flip/3"], T, seeds=2)
    assert "learner='mine'" in failed.value.__notes__[0] and "flip/3" in failed.value.__notes__[0]


def test_what_a_learner_warns_of_is_said_once_a_cell() -> None:
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        tc.race({"a": tc.MasterBase}, {"p": lambda T, seed: Piecewise(9, T, 2, seed=seed)}, 20, seeds=2)
    assert [note.category for note in noted] == [TuningWarning] * 2


def nothing(arms: int, horizon: int, seed: Any) -> None:
    """A maker that makes no learner."""


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"learners": {}}, OptionError, r"learners are \{\}; accepted is a dict"),
    ({"learners": [tc.Exp3]}, OptionError, "learners are .*accepted is a dict"),
    ({"learners": {"exp3": "exp3"}}, OptionError, "'exp3': 'exp3'; accepted"),
    ({"learners": {3: tc.Exp3}}, OptionError, "among the learners is 3"),
    ({"learners": {"none": nothing}}, OptionError, "the maker of 'none' made None; accepted is a learner"),
    ({"environments": []}, OptionError, r"environments are \[\]; accepted"),
    ({"environments": None}, OptionError, "environments are None; accepted"),
    ({"environments": ["flip/4"]}, OptionError, "no scenario 'flip/4'; near it are 'flip/3"),
    ({"environments": ["flip/3", "flip/3"]}, OptionError, "'flip/3' is given twice"),
    ({"environments": [3]}, OptionError, "is 3; accepted are scenario ids"),
    ({"environments": {"f": lambda T, seed: 3}}, OptionError, "the maker of 'f' made 3; accepted is an environment"),
    ({"environments": Table(TABLE[:500])}, TableError, "'table' has 500 rounds and the race 600; accepted"),
    ({"environments": Piecewise(3, 700, 2)}, OptionError, "planted path of 700 rounds and the race has 600"),
    ({"horizon": 0}, OptionError, "horizon is 0"),
    ({"horizon": 1.5}, OptionError, "horizon is 1.5"),
    ({"seeds": 0}, OptionError, "seeds is 0"),
    ({"seed": -1}, OptionError, "seed is -1"),
    ({"seed": None}, OptionError, "seed is None"),
    ({"max_switches": -1}, OptionError, "max_switches is -1"),
    ({"workers": 0}, OptionError, "workers is 0"),
    ({"engine": "slurm"}, OptionError, "engine is 'slurm'; accepted are 'threads', 'processes' and 'dask://host:port'"),
    ({"engine": "dask://"}, OptionError, "engine is 'dask://'"),
    ({"engine": "dask://somewhere"}, OptionError, "accepted are .* and 'dask://host:port'"),  # was a ValueError
    ({"engine": "dask://somewhere:else"}, OptionError, "accepted are .* and 'dask://host:port'"),
    ({"engine": "dask://[::1:8786"}, OptionError, "accepted are .* and 'dask://host:port'"),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("words", "error", "named"), BAD, ids=lambda value: str(value)[:40])
def test_bad_words_are_named(words: dict[str, Any], error: type[Exception], named: str) -> None:
    with pytest.raises(error, match=named):
        tc.race(**{"learners": {"uniform": tc.Uniform}, "environments": ["flip/3"], "horizon": T, "seeds": 1, **words})


def test_a_loss_outside_the_range_stops_the_race() -> None:
    game = Table(TABLE.copy())
    game.game.losses[20] = 2.0
    with pytest.raises(LossError, match=r"round 20, arm \d of Table is 2.0"):
        tc.race({"exp3": tc.Exp3}, game, T, seeds=1)
