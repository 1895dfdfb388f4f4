"""Games of the experiments: the same from the same seed, and with the planted path they claim."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.games import FAMILIES, Game, draw, planted_loss
from experiments.means import Means, Place, staying
from experiments.players import Player
from experiments.playing import play_once
from turncoat.environments import Environment
from turncoat.errors import OptionError

T = 600
SPENT = 999  # a seed of "test" that nothing is ever reported on
GAMES = [*draw("tune", 28, T, 0), *draw("test", 28, T, SPENT)]
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


@pytest.mark.parametrize("game", [game for game in PLANTED if game.name.startswith("tune")], ids=name_of)
def test_whoever_plays_the_planted_path_has_no_regret(game: Game) -> None:
    environment = game.make(0)

    def maker(arms: int, horizon: int, seed: object) -> Follower:
        return Follower(environment.planted_path().tolist())

    line = play_once(Player("f", maker, "f", ""), game, 0, environment, planted_loss(environment))
    assert line.regret == pytest.approx(0.0, abs=1e-3)


def test_more_games_are_the_same_ones_and_others() -> None:
    assert draw("tune", 30, T, 3)[:5] == draw("tune", 5, T, 3)
    assert draw("tune", 5, T, 3) != draw("tune", 5, T, 4)


def test_the_families_share_the_adaptive_adversary_alone() -> None:
    assert {family: len(shapes) for family, shapes in FAMILIES.items()} == {"tune": 14, "test": 14}
    assert FAMILIES["tune"].keys() & FAMILIES["test"].keys() == {"adaptive"}


def test_arms_and_gaps_are_within_what_is_said() -> None:
    drawn = [
        game for family in FAMILIES for seed in range(SPENT, SPENT + 10) for game in draw(family, 28, 10_000, seed)
    ]
    assert {2, 3, 4, 5} <= {game.n_arms for game in drawn} and max(game.n_arms for game in drawn) <= 100
    assert min(game.gap for game in drawn) >= 0.05 and max(game.gap for game in drawn) <= 0.98


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
