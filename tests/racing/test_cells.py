"""What a cell says is what playing and NumPy say; a reference is the table's comparator. No block size shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.cases import JIT_OFF, some
from turncoat.environments import Adaptive, Environment, Table, scenario
from turncoat.errors import DecisionTypeError, LossError, OptionError
from turncoat.racing.cell import MOST_SHARES, Cell, play_cell
from turncoat.racing.reference import MOST_SEGMENTS, Stopped, checkpoints, compute_reference, default_switches

T = 3000


class EveryThird:
    """A user's learner in plain Python: arms in turn, and it remembers what it was told."""

    def __init__(self, arms: int, horizon: int | None = None, *, seed: Any = None) -> None:
        self.n_arms, self.told = arms, [0.0] * 0

    def ask(self) -> int:
        return len(self.told) // 3 % self.n_arms

    def tell(self, decision: int, loss: float) -> None:
        self.told.append(loss)


class ByHand:
    """One of our learners behind a user's class: it answers with a Decision, and plays in the slow lane."""

    def __init__(self, arms: int, horizon: int | None = None, *, seed: Any = None) -> None:
        self.inner = tc.Exp3(arms, horizon, seed=seed)

    def ask(self) -> tc.Decision:
        return self.inner.ask()

    def tell(self, decision: tc.Decision, loss: float) -> None:
        self.inner.tell(decision, loss=loss)


def same(one: Any, other: Any) -> bool:
    """Are all parts of two records equal to the bit, seconds apart?"""
    pairs = zip(one._replace(**apart(one)), other._replace(**apart(other)), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() and np.shape(a) == np.shape(b) for a, b in pairs)


def apart(record: Any) -> dict[str, float]:
    return {"seconds": 0.0} if isinstance(record, Cell) else {}


@pytest.mark.jit_off
@pytest.mark.parametrize("horizon", [1, 2, 3, 99, 100, 101, 12_345, 10**9, 2**53])
def test_checkpoints_rise_to_the_horizon(horizon: int) -> None:
    t = checkpoints(horizon)
    assert t.dtype == np.int64 and t[0] == 1 and t[-1] == horizon
    assert np.all(np.diff(t) > 0)
    assert len(t) == horizon if horizon < 100 else 100 <= len(t) <= 200
    if horizon >= 100:
        assert {horizon * i // 100 for i in range(1, 101)} <= set(t.tolist())


def assert_is_play(cell: Cell, played: Any, game: Environment) -> None:
    """The oracle: NumPy over the whole table, with the arms that `play` played."""
    rows = np.arange(game.horizon)
    losses, means = game.losses()[rows, played], game.means()[rows, played]
    assert cell.t.tolist() == checkpoints(game.horizon).tolist()
    assert np.allclose(cell.loss, np.cumsum(losses)[cell.t - 1], rtol=1e-13, atol=0)
    assert np.allclose(cell.mean_loss, np.cumsum(means)[cell.t - 1], rtol=1e-13, atol=0)
    for row in (0, len(cell.t) // 2, -1):
        counts = np.bincount(played[: cell.t[row]], minlength=game.n_arms)
        assert np.array_equal(cell.shares[row], counts[cell.arms] / cell.t[row])


@pytest.mark.jit_off
@pytest.mark.parametrize("make", [tc.Exp3, partial(tc.AdaptiveMasterBase, feedback="shared"), tc.MasterBase])
def test_a_cell_is_play_added_up(make: Callable[..., tc.Learner]) -> None:
    game = scenario("real/10", 700, 5)
    learner, other = make(10, 700, seed=3), make(10, 700, seed=3)
    cell = play_cell(learner, game, checkpoints(700))
    assert_is_play(cell, tc.play(other, game), game)
    assert learner.view().rng.tolist() == other.view().rng.tolist()  # random words and all
    assert learner.n_told == 700 and cell.arms.tolist() == list(range(10)) and cell.seconds > 0


def test_trust_and_thresholds_are_the_masters() -> None:
    game, t = scenario("flip/3", T, 5), checkpoints(T)
    cell = play_cell(tc.AdaptiveMasterBase(5, T, seed=3), game, t)
    row = len(t) // 2
    stopped = tc.AdaptiveMasterBase(5, T, seed=3)
    tc.play(stopped, game.losses()[: t[row]])
    assert np.array_equal(cell.trust[row], stopped.master_probabilities)
    assert np.array_equal(cell.rho[row], stopped.rho)
    assert np.array_equal(cell.candidates, stopped.candidates)
    algorithm_1, exp3 = (play_cell(make(5, T, seed=3), game, t) for make in (tc.MasterBase, tc.Exp3))
    assert algorithm_1.trust.shape == (len(t), len(algorithm_1.candidates)) and algorithm_1.rho.size == 0
    assert exp3.trust.size == exp3.candidates.size == exp3.rho.size == 0


@pytest.mark.jit_off
@pytest.mark.parametrize("make", [tc.Exp3, ByHand])
@pytest.mark.parametrize("name", ["real/10", "adaptive/5"])
def test_no_block_size_shows(make: Callable[..., Any], name: str) -> None:
    n_arms = scenario(name, 400).n_arms
    cells = [
        play_cell(make(n_arms, 400, seed=3), scenario(name, 400, 5), checkpoints(400), block=block, max_switches=4)
        for block in (0, 1, 7, 400)
    ]
    assert all(same(cell, cells[0]) for cell in cells)


@pytest.mark.parametrize("name", ["flip/3", "adaptive/5"])
def test_the_slow_lane_is_the_same_game(name: str) -> None:
    game, t = scenario(name, T, 5), checkpoints(T)
    fast = play_cell(tc.Exp3(5, T, seed=3), game.fresh(), t, max_switches=4)
    slow = play_cell(ByHand(5, T, seed=3), game.fresh(), t, max_switches=4)
    assert same(fast, slow)
    assert fast.best.shape == (len(t), 5 if name == "adaptive/5" else 0)


@pytest.mark.jit_off
def test_a_learner_in_plain_python() -> None:
    game = scenario("flip/3", 90, 5)
    learner = EveryThird(5)
    cell = play_cell(learner, game, checkpoints(90))
    assert_is_play(cell, np.arange(90) // 3 % 5, game)
    assert learner.told == game.losses()[np.arange(90), np.arange(90) // 3 % 5].tolist()


@pytest.mark.jit_off
@pytest.mark.parametrize("answer", [5, -1, 1.0, True, None, "red", np.float64(2)])
def test_answers_that_are_no_arm_are_named(answer: Any) -> None:
    learner = EveryThird(5)
    learner.ask = lambda: answer  # type: ignore[method-assign]
    with pytest.raises(DecisionTypeError, match=r"EveryThird answered ask with .* in round 0; accepted .* 0 to 4"):
        play_cell(learner, scenario("flip/3", 90), checkpoints(90))


@pytest.mark.jit_off
def test_a_learner_for_another_number_of_arms_is_refused() -> None:
    with pytest.raises(OptionError, match=r"3 arms.* was made for a game with 5 arms"):
        play_cell(tc.Exp3(3, 90), scenario("flip/3", 90), checkpoints(90))


@pytest.mark.jit_off
def test_of_many_arms_those_played_most_keep_their_shares() -> None:
    game = Table(np.zeros((300, 100)))
    cell = play_cell(tc.Uniform(100, seed=1), game, checkpoints(300))
    counts = np.bincount(tc.play(tc.Uniform(100, seed=1), game), minlength=100)
    assert cell.shares.shape == (len(cell.t), MOST_SHARES)
    assert sorted(counts[cell.arms]) == sorted(counts)[-MOST_SHARES:]
    assert np.array_equal(cell.shares[-1], counts[cell.arms] / 300)


@pytest.mark.jit_off
@pytest.mark.parametrize("make", [tc.Uniform, EveryThird])
def test_a_wish_to_stop_is_heard(make: Callable[..., Any]) -> None:
    asked = []

    def stopping() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(Stopped):
        play_cell(make(5, 900), scenario("flip/3", 900), checkpoints(900), stopping)
    with pytest.raises(Stopped):
        compute_reference(scenario("flip/3", 900), checkpoints(900), 3, lambda: True)


# -- references ------------------------------------------------------------------------------------------------------


@pytest.mark.jit_off
@pytest.mark.parametrize("block", some([7, 0, 1], 1, when=JIT_OFF))
@pytest.mark.parametrize("name", ["real/10", "piecewise/3", "drift/2"])
def test_the_streaming_comparator_is_the_tables(name: str, block: int) -> None:
    game = scenario(name, 80, 5)
    reference = compute_reference(game, checkpoints(80), 12, block=block)
    losses = game.losses()
    for row, t in enumerate(reference.t.tolist()):
        assert np.array_equal(reference.best[row], tc.best_switching_losses(losses[:t], 12))
    path = game.planted_path()
    assert np.allclose(reference.planted, np.cumsum(game.mean_losses(path))[reference.t - 1], rtol=1e-13, atol=0)
    assert reference.n_switches == game.n_switches == len(reference.starts) - 1
    edges = [*reference.starts.tolist(), 80]
    assert np.array_equal(np.repeat(reference.path, np.diff(edges)), path)
    assert same(reference, compute_reference(game, checkpoints(80), 12))


@pytest.mark.jit_off
def test_the_best_path_has_no_regret() -> None:
    losses = np.random.default_rng(3).random((200, 4))
    path = tc.best_switching_path(losses, 5)

    class Oracle(EveryThird):
        def ask(self) -> int:
            return int(path[len(self.told)])

    cell = play_cell(Oracle(4), Table(losses), checkpoints(200))
    assert cell.loss[-1] == compute_reference(Table(losses), checkpoints(200), 5).best[-1, 5]  # to the bit


@pytest.mark.jit_off
def test_a_table_has_no_planted_path_and_an_adaptive_adversary_no_common_comparator() -> None:
    reference = compute_reference(Table(np.zeros((50, 2))), checkpoints(50), 3)
    assert (reference.n_switches, reference.planted.size, reference.starts.size) == (-1, 0, 0)
    assert compute_reference(scenario("adaptive/5", 50), checkpoints(50), 3).best.shape == (50, 0)


def test_a_path_of_very_many_segments_is_not_kept() -> None:
    game = scenario("flip/1000", T, 1)
    reference = compute_reference(game, checkpoints(T), 3)
    assert game.n_switches == MOST_SEGMENTS and (reference.n_switches, reference.starts.size) == (MOST_SEGMENTS, 0)
    assert np.isclose(reference.planted[-1], 0.35 * T, rtol=1e-12)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("n_switches", "horizon", "wanted"),
    [(None, 1000, 8), (0, 1000, 8), (3, 1000, 8), (10, 1000, 20), (100, 1000, 64), (100, 30, 29), (0, 1, 0)],
)
def test_how_far_the_comparator_goes_unasked(n_switches: int | None, horizon: int, wanted: int) -> None:
    assert default_switches(n_switches, horizon) == wanted


class Always(EveryThird):
    """Arm 1."""

    def ask(self) -> int:
        return 1


@pytest.mark.jit_off
def test_a_loss_outside_the_range_is_named() -> None:
    game, t = Table(np.zeros((50, 2))), checkpoints(50)
    game.game.losses[20, 1] = 1.5
    named = "round 20, arm 1 of Table is 1.5; accepted are numbers from 0.0 to 1.0"
    with pytest.raises(LossError, match=named):
        compute_reference(game, t, 1)
    with pytest.raises(LossError, match=named):
        play_cell(Always(2), game, t)
    game.game.losses[20, 0] = np.nan
    with pytest.raises(LossError, match=r"round 20, arm [01] of Table is (nan|1.5); accepted"):
        play_cell(tc.Uniform(2, seed=1), game, t)


class Below(Adaptive):
    """Arm 1 costs 0.7, and the arms that are not played have negative losses."""

    def _start(self) -> None:
        super()._start()
        self.game = self.game._replace(low=-1.5)
        self.game.counts[1], self.game.most[0] = 1, 1


@pytest.mark.jit_off
def test_an_adversarys_loss_outside_the_range_is_named_though_nobody_met_it() -> None:
    """The losses of the arms not played went unseen into the comparator: below 0, they made regret out of nothing."""
    with pytest.raises(LossError, match=r"round 0, arm 0 of Below is -\d.*; accepted are numbers from 0.0 to 1.0"):
        play_cell(Always(3), Below(3, 50, noise=0.0), checkpoints(50))
