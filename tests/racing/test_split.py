"""Where the regret came from: the bases' losses against an oracle, and what the split must leave as it is."""

from __future__ import annotations

import math
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import turncoat as tc
from tests.naive import bounds as naive_bounds
from tests.naive.driver import PATTERNS, Round
from tests.naive.masters import Master
from tests.naive.masters import MasterBase as NaiveMasterBase
from tests.naive.split import base_losses
from tests.oracle.pairs import MASTERS, record
from tests.racing.makers import FollowTheLeader
from tests.racing.test_cells import same
from tests.racing.test_race import TABLE, assert_same, stream
from turncoat.environments import Table, scenario
from turncoat.errors import OptionError, TuningWarning
from turncoat.racing.cell import play_cell
from turncoat.racing.coordinates import CellAt
from turncoat.racing.plan import Plan
from turncoat.racing.reference import Stopped, checkpoints
from turncoat.racing.split import split_losses

T = 600
LEARNERS: dict[str, Any] = {
    "one": tc.MasterBase,
    "two": tc.AdaptiveMasterBase,
    "shared": partial(tc.AdaptiveMasterBase, feedback="shared"),
    "exp3": tc.Exp3,
    "leader": FollowTheLeader,
}
PAPER = ["one", "two", "shared"]


def raced(learners: dict[str, Any] = LEARNERS, **words: Any) -> tc.Result:
    environments = ["flip/3", "adaptive/5", Table(TABLE)]
    return tc.race(learners, **{"environments": environments, "horizon": T, "seeds": 2, "seed": 4, **words})


@pytest.fixture(scope="module")
def split() -> tc.Result:
    return raced(split=True, workers=1)


# -- the numbers --------------------------------------------------------------------------------------------------


def test_the_oracle_on_two_rounds_by_hand() -> None:
    oracle = NaiveMasterBase(2, 1000)
    H = oracle.H
    xi = math.sqrt(oracle.candidates[3]) / (2 ** (1 / 3) * 1000 ** (2 / 3))
    charged = math.exp(-xi * 1.0 * H / 0.5)  # base 3 was drawn with 1/H, arm 0 with 1/2, and it cost 1
    rounds = [Round(0, 3, 1 / H, 0.5, 0.5, 1.0), Round(1, 0, 1 / H, 0.5, 0.5, 0.0)]
    first, second = base_losses(oracle, rounds, [[1.0, 0.5], [1.0, 0.0]])
    assert first == pytest.approx([0.75] * H)
    assert second == pytest.approx([0.75 + (charged / (1 + charged) if h == 3 else 0.5) for h in range(H)])


@pytest.mark.jit_off
@pytest.mark.parametrize("name", MASTERS)
def test_every_base_is_charged_what_the_oracle_says(name: str) -> None:
    """Teacher-forced: the oracle is told the arms that the compiled learner plays by hand from the same seed."""
    for K, pattern, rounds in ((1, "real_valued", 9), (3, "one_then_another", 80), (10, "bernoulli", 40)):
        losses = np.array(list(PATTERNS[pattern](rounds, K, 1)), dtype=np.float64)
        oracle = MASTERS[name].oracle(K, rounds)
        assert isinstance(oracle, Master)
        exact = list(base_losses(oracle, record(MASTERS[name].make(K, rounds, seed=3), losses), losses))
        learner: Any = MASTERS[name].make(K, rounds, seed=3)
        found = split_losses(learner, Table(losses), np.arange(1, rounds + 1))
        assert found == pytest.approx(np.array(exact), rel=1e-12, abs=1e-12)


def test_a_longer_game_of_many_arms() -> None:
    losses = np.array(list(PATTERNS["real_valued"](1500, 65, 1)))
    for name in ("master-base own exact", "adaptive-master-base own exact paper"):
        oracle = MASTERS[name].oracle(65, 1500)
        assert isinstance(oracle, Master)
        exact = list(base_losses(oracle, record(MASTERS[name].make(65, 1500, seed=3), losses), losses))
        learner: Any = MASTERS[name].make(65, 1500, seed=3)
        found = split_losses(learner, Table(losses), checkpoints(1500))
        assert found == pytest.approx(np.array(exact)[checkpoints(1500) - 1], rel=1e-12)
        assert np.ptp(found[-1]) > 10  # the bases do differ


def test_an_adversary_that_watches_is_asked_before_it_sees_the_arm() -> None:
    """The losses it would have had for the arms not played are those of the table that the game met."""
    learner, other = (tc.AdaptiveMasterBase(5, T, seed=3) for _ in range(2))
    game: Any = scenario("adaptive/5", T, 5)
    met = game.losses_against(tc.play(tc.AdaptiveMasterBase(5, T, seed=3), game))
    t = checkpoints(T)
    assert split_losses(learner, game.fresh(), t).tobytes() == split_losses(other, Table(met), t).tobytes()


def test_the_two_parts_add_up_to_the_regret(split: tc.Result) -> None:
    both = split.split.join(split.traces, on=["environment", "learner", "seed", "t"])
    assert both.height == split.split.height == split.trust.height
    total = (both["master_regret"] + both["base_regret"]).to_numpy()
    assert np.abs(total - both["regret"].to_numpy()).max() < 1e-9
    assert np.ptp(both["base_regret"].to_numpy()) > 10


def test_whose_regret_is_split(split: tc.Result) -> None:
    at = ["environment", "learner", "seed"]
    assert split.split.columns == [*at, "t", "base", "candidate", "master_regret", "base_regret"]
    assert set(split.split["learner"]) == set(PAPER) == set(split.bounds["learner"])
    columns = [*at, "t", "base", "candidate"]
    assert_frame_equal(split.split.select(columns), split.trust.select(columns))


def test_where_the_comparator_does_not_reach_S_only_the_masters_part_is_known() -> None:
    short = raced({"one": tc.MasterBase}, environments=["flip/3"], seeds=1, split=True, max_switches=2).split
    assert short["base_regret"].null_count() == short.height > 0 and short["master_regret"].null_count() == 0


# -- what it must not change --------------------------------------------------------------------------------------


def test_the_games_are_the_same_to_the_bit(split: tc.Result) -> None:
    plain = raced()
    for name in ("traces", "frontier", "shares", "trust"):
        assert_frame_equal(getattr(plain, name), getattr(split, name), check_exact=True)
    for at, cell in plain.cells.items():
        bare = split.cells[at]._replace(base_loss=cell.base_loss, theorem="", n_arms=0)
        assert same(bare, cell)
        assert split.cells[at].base_loss.size == (cell.trust.size if at.learner in PAPER else 0)
    assert plain.split.is_empty() and plain.bounds.is_empty()
    assert plain.split.columns == split.split.columns and plain.bounds.columns == split.bounds.columns


@pytest.mark.parametrize("name", ["flip/3", "adaptive/5"])
@pytest.mark.parametrize("make", [tc.MasterBase, tc.AdaptiveMasterBase])
def test_the_twin_plays_the_same_game(make: Any, name: str) -> None:
    t = checkpoints(T)
    played, twin = make(5, T, seed=3), make(5, T, seed=3)
    play_cell(played, scenario(name, T, 5), t)
    split_losses(twin, scenario(name, T, 5), t)
    assert played._buffer.tobytes() == twin._buffer.tobytes()  # random words, clock, every distribution


@pytest.mark.jit_off
def test_no_block_size_shows_in_the_split() -> None:
    t = checkpoints(90)
    found = [
        split_losses(tc.AdaptiveMasterBase(5, 90, seed=3), scenario("adaptive/5", 90, 5), t, block=block).tobytes()
        for block in (0, 1, 7, 90)
    ]
    assert len(set(found)) == 1


def test_threads_do_not_show_in_the_split(split: tc.Result) -> None:
    """Other engines: test_engines.py, where every race is split."""
    assert_same(raced(split=True, workers=2), split)


@pytest.mark.jit_off
def test_a_wish_to_stop_is_heard_while_splitting() -> None:
    with pytest.raises(Stopped):
        split_losses(tc.MasterBase(2, 90), Table(np.zeros((90, 2))), checkpoints(90), stopping=lambda: True)


# -- stored -------------------------------------------------------------------------------------------------------


def test_a_folder_without_the_split_has_only_the_masters_played_again(tmp_path: Path, split: tc.Result) -> None:
    def n_played(**words: Any) -> int:
        seen: list[int] = []
        raced(folder=tmp_path, on_progress=lambda now: seen.append(now.done), **words)
        return len(seen)

    n_games = 3 * 2
    assert n_played() == len(LEARNERS) * n_games
    assert n_played(split=True) == len(PAPER) * n_games
    assert_same(tc.Result.load(tmp_path), split)
    assert n_played(split=True) == 0 == n_played()
    assert tc.Result.load(tmp_path).split.is_empty()


def test_the_key_of_a_cell_says_whether_it_was_split() -> None:
    plain, with_split = (Plan(LEARNERS, ["flip/3"], T, 1, 0, None, split) for split in (False, True))
    for name in LEARNERS:
        keys = {}
        for plan in (plain, with_split):
            at = CellAt("flip/3", name, 0, T)
            environment = plan.environment(at.reference)
            keys[plan] = plan.cell_key(at, plan.learner(at, environment), environment)
        assert (keys[plain] != keys[with_split]) == (name in PAPER)


def test_a_plain_key_holds_nothing_of_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[str]] = []

    def key_of(parts: dict[str, Any]) -> str:
        seen.append(set(parts))
        return "key"

    monkeypatch.setattr(import_module("turncoat.racing.plan"), "key_of", key_of)
    plan = Plan(LEARNERS, ["flip/3"], T, 1, 0, None)
    at = CellAt("flip/3", "one", 0, T)
    environment = plan.environment(at.reference)
    plan.cell_key(at, plan.learner(at, environment), environment)
    words = {"learner", "environment", "horizon", "max_switches", "i", "seed", "source"}
    assert seen == [words]


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"horizon": 10**6 + 1}, "horizon is 1000001 and split is True; accepted are up to 1000000 rounds with split"),
        ({"split": 1}, "split is 1; accepted are True and False"),
    ],
)
def test_what_cannot_be_split_is_named(words: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        tc.race(**{"learners": {"uniform": tc.Uniform}, "environments": ["flip/3"], "split": True, **words})


# -- the bounds ---------------------------------------------------------------------------------------------------


def row_of(result: tc.Result, learner: str, environment: str = "flip/3", seed: int = 1) -> dict[str, Any]:
    return result.bounds.filter(environment=environment, learner=learner, seed=seed).row(0, named=True)


def test_theorem_1_is_the_oracles(split: tc.Result) -> None:
    row, terms = row_of(split, "one"), naive_bounds.theorem_1(T, 5, 3)
    assert {name: row[name.replace(" ", "_")] for name in terms} == pytest.approx(terms, rel=1e-12)
    master = sum(terms[name] for name in ("clipping the master", "starting the master", "master variance"))
    assert row["master_bound"] == pytest.approx(master, rel=1e-12)
    assert row["master_bound"] + row["base_bound"] == pytest.approx(row["bound"], rel=1e-12)
    assert (row["theorem"], row["S"], row["rho"], row["rising_master_rates"]) == (1, 3, None, None)


@pytest.mark.parametrize("rate", ["paper", "theorem"])
def test_theorem_2_is_the_oracles_with_the_rho_of_the_game(rate: Any) -> None:
    horizon = 20_000  # long enough for rho to rise
    result = tc.race({"two": partial(tc.AdaptiveMasterBase, rate=rate)}, ["flip/3"], horizon, seeds=3, split=True)
    rows = [row_of(result, "two", seed=i) for i in range(3)]
    for i, row in enumerate(rows):
        learner = tc.AdaptiveMasterBase(5, horizon, seed=stream(0, i, 1), rate=rate)
        tc.play(learner, scenario("flip/3", horizon, stream(0, i, 0)))
        assert row["rho"] == learner.rho[row["base"]]
        assert row["candidate"] == learner.candidates[row["base"]]
        terms = naive_bounds.Two(horizon, 5, rate).terms(3, row["rho"])
        assert {name: row[name.replace(" ", "_")] for name in terms} == pytest.approx(terms, rel=1e-9)
        assert row["bound"] == pytest.approx(sum(terms.values()))
        base = sum(terms[name] for name in ("clipping the bases", "switches", "falling base rate", "base variance"))
        assert row["base_bound"] == pytest.approx(base) and row["theorem"] == 2
    assert max(row["rho"] for row in rows) > 2 * len(learner.candidates)


def test_no_theorem_no_bound(split: tc.Result) -> None:
    assert split.bounds.height == len(PAPER) * 3 * 2
    known = split.bounds.filter(pl.col("bound").is_not_null()).select("environment", "learner").unique().rows()
    assert set(known) == {("flip/3", "one"), ("flip/3", "two")}  # others: shared, nothing planted, or not oblivious
    others: dict[str, Any] = {
        "mixing": partial(tc.MasterBase, projection="mixing"),
        "range": partial(tc.MasterBase, loss_range=(0, 2)),
        "longer": lambda arms, horizon, seed: tc.AdaptiveMasterBase(arms, 2 * horizon, seed=seed),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TuningWarning)
        without = raced(others, environments=["flip/3"], seeds=1, split=True)
    assert without.bounds["bound"].to_list() == [None] * 3
    assert without.split["base_regret"].null_count() == 0
