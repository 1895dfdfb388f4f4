"""Games of the experiments: the same from the same seed, and with the planted path they claim."""

from __future__ import annotations

import hashlib
import math
from itertools import combinations, product

import numpy as np
import pytest

from experiments.families import FAMILIES
from experiments.games import Game, draw, planted_loss
from experiments.means import Means, Place, staying
from experiments.players import Player
from experiments.playing import play_once
from turncoat.environments import Environment
from turncoat.errors import OptionError

T = 600
SPENT = 999  # a seed of the families "test" and "test-2" that nothing is ever reported on
GAMES = [game for family in FAMILIES for game in draw(family, 28, T, 0 if family.startswith("tune") else SPENT)]
PLANTED = [game for game in GAMES if game.shape != "adaptive"]


def name_of(game: Game) -> str:
    return game.name


@pytest.mark.parametrize("game", PLANTED, ids=name_of)
def test_no_path_is_better_in_mean_than_the_planted_one(game: Game) -> None:
    environment = game.make(0)
    means = environment.means()
    assert means.min() >= 0.0 and means.max() <= 1.0
    assert planted_loss(environment) == pytest.approx(means.min(axis=1).sum(), abs=1e-9)
    path = environment.planted_path()
    assert np.count_nonzero(np.diff(path)) == environment.n_switches


@pytest.mark.parametrize("game", PLANTED, ids=name_of)
def test_a_game_is_reproducible_and_its_repetitions_differ(game: Game) -> None:
    first, again, other = game.make(0), game.make(0), game.make(1)
    assert first.fields() == again.fields()
    np.testing.assert_array_equal(first.losses(), again.losses())
    assert np.any(first.losses() != other.losses())


class Follower:
    """Plays the planted path; without a seed, without learning."""

    def __init__(self, path: list[int]) -> None:
        self.left = path[::-1]

    def ask(self) -> int:
        return self.left.pop()

    def tell(self, decision: int, loss: float) -> None:
        pass


@pytest.mark.parametrize(
    "game", [game for game in PLANTED if game.name.startswith("tune") and game.open == 1.0], ids=name_of
)
def test_whoever_plays_the_planted_path_has_no_regret(game: Game) -> None:
    environment = game.make(0)

    def maker(arms: int, horizon: int, seed: object) -> Follower:
        return Follower(environment.planted_path().tolist())

    line = play_once(Player("f", maker, "f", ""), game, 0, environment, planted_loss(environment))
    assert line.regret == pytest.approx(0.0, abs=1e-3)


def test_more_games_are_the_same_ones_and_others() -> None:
    assert draw("tune", 30, T, 3)[:5] == draw("tune", 5, T, 3)
    assert draw("tune", 5, T, 3) != draw("tune", 5, T, 4)


def test_families_share_the_adaptive_adversary_alone() -> None:
    assert {family: len(shapes) for family, shapes in FAMILIES.items()} == dict.fromkeys(FAMILIES, 14)
    for first, second in combinations(FAMILIES, 2):
        shared = {"adaptive"} if (first, second) == ("tune", "test") else set()
        assert FAMILIES[first].keys() & FAMILIES[second].keys() == shared


def test_what_is_tuned_on_and_what_is_reported_on_are_made_by_different_functions() -> None:
    made = {family: {shape.make for shape in shapes.values()} for family, shapes in FAMILIES.items()}
    assert not made["test-2"] & (made["tune"] | made["tune-2"] | made["test"])


def test_the_games_of_earlier_figures_are_the_same() -> None:
    """Names and layouts as in 8d72b1b: results that were reported can be played again."""
    digest = hashlib.sha256()
    for family, seed, horizon in product(("tune", "test"), (0, SPENT), (1000, 10_000)):
        for game in draw(family, 28, horizon, seed):
            digest.update(f"{game.name}{game.make(1).fields()}".encode())
    assert digest.hexdigest()[:16] == "6fe144e03930d8e0"


def test_arms_and_gaps_are_within_what_is_said() -> None:
    drawn = [
        game
        for family in ("tune", "test")
        for seed in range(SPENT, SPENT + 10)
        for game in draw(family, 28, 10_000, seed)
    ]
    assert {2, 3, 4, 5} <= {game.n_arms for game in drawn} and max(game.n_arms for game in drawn) <= 100
    assert min(game.gap for game in drawn) >= 0.05 and max(game.gap for game in drawn) <= 0.98


def test_what_production_adds_is_drawn_within_what_is_said() -> None:
    drawn = [
        game for seed in range(SPENT, SPENT + 10) for f in ("tune-2", "test-2") for game in draw(f, 28, 100_000, seed)
    ]
    assert 800 < max(game.n_arms for game in drawn) <= 1000
    for game in drawn:
        kind = game.shape.partition("-")[0]
        assert (10 <= game.delay <= 1000) if kind == "late" else game.delay == 0
        assert (10 <= game.batch <= 5000) if kind in ("ab", "batched") else game.batch == 1
        assert (0.3 <= game.open <= 0.9) if kind in ("open", "sessions") else game.open == 1.0
        assert f" delay={game.delay}" in game.name or not game.delay
        assert not {"delay", "batch", "open", "stay"} & game.words.keys()


@pytest.mark.parametrize("shape", ["open-levels", "sessions-swaps"])
def test_a_round_allows_some_arms_for_as_long_as_is_said(shape: str) -> None:
    """5 σ of the share, whose draws last `stay` rounds in mean: false alarms below 1e-5; wrong by .15, it is caught."""
    game = next(game for game in GAMES if game.shape == shape)._replace(horizon=20_000, n_arms=12)
    allowed = game.allowed(0)
    assert allowed is not None and allowed.shape == (20_000, 12) and allowed.any(axis=1).all()
    error = math.sqrt(game.open * (1 - game.open) * 2 * game.stay / allowed.size)
    assert allowed.mean() == pytest.approx(game.open, abs=5 * error + 0.014)  # of 12 arms at .3 all are away in 1.4 %
    assert np.any(allowed != game.allowed(1)) and np.array_equal(allowed, game._replace(gap=0.5).allowed(0))  # type: ignore[arg-type]


def test_the_planted_loss_is_that_of_the_best_allowed_arms() -> None:
    game = next(game for game in GAMES if game.shape == "sessions-heat")
    environment, allowed = game.make(0), game.allowed(0)
    assert allowed is not None
    means = environment.means()
    slow = sum(min(means[t, arm] for arm in range(game.n_arms) if allowed[t, arm]) for t in range(T))
    assert game.planted(0, environment) == pytest.approx(slow)


def test_other_times_of_telling_leave_the_game_as_it_is() -> None:
    game = GAMES[0]
    later = game.retimed(100, 1).retimed(0, 50)
    assert later.name == f"{game.name} · delay=0 batch=50" and (later.delay, later.batch) == (0, 50)
    np.testing.assert_array_equal(later.make(1).losses(), game.make(1).losses())


def test_an_adversary_has_no_planted_path() -> None:
    adversary = next(game for game in GAMES if game.shape == "adaptive").make(0)
    assert adversary.n_switches is None
    assert planted_loss(adversary) is None


def test_the_path_stays_where_arms_are_equally_good() -> None:
    means = np.array([[0.3, 0.1], [0.1, 0.1], [0.1, 0.2]])
    assert staying(means).tolist() == [1, 1, 0]


def test_means_between_edges_are_steps_or_straight_lines() -> None:
    place = Place(2, 4, 0.1, np.random.default_rng(0), np.random.SeedSequence(0))
    rows = np.array([[0.0, 1.0], [0.5, 0.5]])
    step: Environment = Means(place, np.array([0, 2, 4]), rows)
    line = Means(place, np.array([0, 4]), rows, drifting=True)
    assert step.means()[:, 0].tolist() == [0.0, 0.0, 0.5, 0.5]
    assert line.means()[:, 0].tolist() == [0.0, 0.125, 0.25, 0.375]


def test_offset_is_a_quarter_of_the_root_of_arms_times_rounds() -> None:
    assert draw("tune", 1, 10_000, 0)[0]._replace(n_arms=4).offset == 50.0


@pytest.mark.parametrize(("family", "horizon"), [("tunes", T), ("tune", 99)])
def test_what_cannot_be_drawn_is_refused(family: str, horizon: int) -> None:
    with pytest.raises(OptionError):
        draw(family, 1, horizon)
