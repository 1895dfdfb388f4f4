"""examples/own_learner.py: its race says what its results say, and its two learners are one."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.examples.scripts import opened, printed, tables
from turncoat.random import seed_words, uniform

T, N_SEEDS = 2_000, 3
STUDENT = 4.302652729749462  # the 97.5 % point with 2 degrees of freedom

pytestmark = pytest.mark.timeout(300)  # an example may have to compile all it needs, on a busy machine


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return opened("own_learner.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own_learner")


@pytest.fixture(scope="module")
def run(folder: Path) -> tuple[str, tc.Result]:
    text = printed("own_learner.py", "--quick", "--folder", "race", folder=folder)
    return text, tc.Result.load(folder / "race")


def regrets(result: tc.Result, game: str, learner: str) -> Any:
    return result.traces.filter(environment=game, learner=learner, t=T).sort("seed")["pseudo_regret"].to_numpy()


def test_the_leaderboard_is_that_of_the_race(run: tuple[str, tc.Result], example: ModuleType) -> None:
    text, result = run
    (board,) = tables(text)
    assert [row["environment"] for row in board] == [game for game in example.GAMES for _ in example.LEARNERS]
    for game in example.GAMES:
        rows = [row for row in board if row["environment"] == game]
        assert {row["learner"] for row in rows} == set(example.LEARNERS)
        means = [float(row["regret"]) for row in rows]
        assert means == sorted(means) and [row["rank"] for row in rows] == ["1", "2", "3", "4"]
        for row in rows:
            of_seeds = regrets(result, game, row["learner"])
            half = STUDENT * of_seeds.std(ddof=1) / np.sqrt(N_SEEDS)
            expected = [of_seeds.mean(), of_seeds.mean() - half, of_seeds.mean() + half]
            assert [float(row[part]) for part in ("regret", "low", "high")] == pytest.approx(expected, abs=0.06)


def test_the_paired_differences_are_those_of_the_race(run: tuple[str, tc.Result], example: ModuleType) -> None:
    text, result = run
    for game in example.GAMES:
        apart = regrets(result, game, "yours") - regrets(result, game, example.OURS)
        half = STUDENT * apart.std(ddof=1) / np.sqrt(N_SEEDS)
        (line,) = [line for line in text.splitlines() if line.startswith(f"{game}: yours minus")]
        words = line.rpartition(": ")[2].replace(",", "").split()  # value, "from", low, "to", high
        expected = [apart.mean(), apart.mean() - half, apart.mean() + half]
        assert [float(word) for word in words[::2]] == pytest.approx(expected, abs=0.06)


def test_the_compiled_learner_is_faster(run: tuple[str, tc.Result]) -> None:
    times = run[1].times
    slow, fast = (times.filter(learner=name)["ns_per_round"].to_numpy().min() for name in ("yours", "yours, compiled"))
    assert slow > 3 * fast  # some 40 to 100 times, but machines have bad moments


class Words:
    """A numpy Generator's random(), from the numbers that compiled learners draw."""

    def __init__(self, seed: int) -> None:
        self.words = seed_words(seed)

    def random(self) -> float:
        return float(uniform(self.words))


@pytest.mark.jit_off
@pytest.mark.parametrize("game", ["flip/3", "real/10"])
def test_with_the_same_random_numbers_both_play_the_same_arms(example: ModuleType, game: str) -> None:
    """The plain one is the oracle of the compiled one, and its asks and tells are those of the fast loop."""
    losses = tc.environments.scenario(game, T, seed=5).losses()
    K = losses.shape[1]
    played = tc.play(example.CompiledGreedy(K, T, seed=3), losses)
    plain, compiled = example.Greedy(K), example.CompiledGreedy(K, T, seed=3)
    plain.chance = Words(3)
    for t in range(T):
        arm, decision = plain.ask(), compiled.ask()
        assert arm == decision.index == played[t]
        plain.tell(arm, losses[t, arm])
        compiled.tell(decision, loss=float(losses[t, arm]))
    assert len(set(played.tolist())) == K


@pytest.mark.jit_off
def test_the_compiled_one_can_what_ours_can(example: ModuleType) -> None:
    learner = example.CompiledGreedy(["red", "green", "blue"], seed=1)
    for loss in (0.9, 0.5, 0.1, 0.7):
        served = learner.probabilities()
        decision = learner.ask()
        assert decision.propensity == pytest.approx(served[decision.index])
        learner.tell(decision, loss=loss)
    assert learner.probabilities().sum() == pytest.approx(1.0)
    assert sorted(learner.probabilities()) == pytest.approx([0.1 / 3, 0.1 / 3, 0.9 + 0.1 / 3])
    again = pickle.loads(pickle.dumps(learner))
    assert json.dumps(learner.state(), allow_nan=False) == json.dumps(again.state())
    assert [learner.ask().arm for _ in range(50)] == [again.ask().arm for _ in range(50)]


def test_a_second_run_plays_nothing_again(run: tuple[str, tc.Result], folder: Path) -> None:
    """With a folder it goes on where it was: the same leaderboard, times included, which no second race would have."""
    assert printed("own_learner.py", "--quick", "--folder", "race", folder=folder) == run[0]
