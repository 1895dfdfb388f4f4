"""Laws of the comparator and of regret, on games that hypothesis makes up."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.naive.comparator import count_switches
from turncoat.regret import best_switching_losses, best_switching_path, path_regret, switching_regret
from turncoat.types import Matrix


def tables(losses: st.SearchStrategy[float], n_arms: int | None = None) -> st.SearchStrategy[Matrix]:
    shapes = st.tuples(st.integers(1, 14), st.just(n_arms) if n_arms else st.integers(1, 6))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=losses))


WHOLE = st.integers(-3, 5).map(float)  # sums are exact, so the laws hold to the last bit
REAL = st.floats(-10.0, 10.0)
GAMES = tables(WHOLE) | tables(REAL)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile before hypothesis looks at its watch."""
    best_switching_path(np.zeros((3, 2)), 1)
    switching_regret(np.zeros((3, 2)), [0, 0, 0], 1)


@pytest.mark.jit_off
@given(GAMES)
def test_without_switches_it_is_the_best_fixed_arm(losses: Matrix) -> None:
    totals = np.add.accumulate(losses, axis=0)[-1]  # round by round, as the comparator adds
    assert best_switching_losses(losses, 0).tolist() == [totals.min()]


@given(GAMES)
def test_with_all_switches_it_is_the_least_loss_of_each_round(losses: Matrix) -> None:
    T = len(losses)
    assert best_switching_losses(losses, T - 1)[T - 1] == np.add.accumulate(losses.min(axis=1))[-1]


@given(GAMES)
def test_never_rises_with_the_number_of_switches(losses: Matrix) -> None:
    assert (np.diff(best_switching_losses(losses, len(losses) + 2)) <= 0.0).all()


@given(GAMES, st.integers(0, 20), st.integers(0, 20))
def test_asking_for_more_changes_no_earlier_answer(losses: Matrix, few: int, more: int) -> None:
    assert best_switching_losses(losses, few + more)[: few + 1].tolist() == best_switching_losses(losses, few).tolist()


@given(tables(WHOLE), st.lists(st.integers(-5, 5), min_size=14, max_size=14), st.integers(0, 8))
def test_shift_and_scale(losses: Matrix, shifts: list[int], scale: int) -> None:
    T = len(losses)
    shift = np.array(shifts[:T], dtype=np.float64)
    moved = best_switching_losses(scale * losses + shift[:, None], T)
    assert moved.tolist() == (scale * best_switching_losses(losses, T) + shift.sum()).tolist()


@given(GAMES, st.data())
def test_a_duplicated_arm_changes_nothing(losses: Matrix, data: st.DataObject) -> None:
    arm = data.draw(st.integers(0, losses.shape[1] - 1))
    place = data.draw(st.integers(0, losses.shape[1]))
    doubled = np.insert(losses, place, losses[:, arm], axis=1)
    assert best_switching_losses(doubled, 9).tolist() == best_switching_losses(losses, 9).tolist()


@given(GAMES, st.randoms(use_true_random=False))
def test_the_order_of_arms_changes_nothing(losses: Matrix, random: Random) -> None:
    order = list(range(losses.shape[1]))
    random.shuffle(order)
    assert best_switching_losses(losses[:, order], 9).tolist() == best_switching_losses(losses, 9).tolist()


@given(tables(WHOLE))
def test_time_runs_both_ways(losses: Matrix) -> None:
    assert best_switching_losses(losses[::-1], 9).tolist() == best_switching_losses(losses, 9).tolist()


@given(tables(WHOLE, n_arms=3), tables(WHOLE, n_arms=3))
def test_concatenation(first: Matrix, second: Matrix) -> None:
    """Cut at the seam, a sequence with s switches has a + b of them inside, and s is a + b, or one more at the seam."""
    S = 10
    a, b = best_switching_losses(first, S), best_switching_losses(second, S)
    whole = best_switching_losses(np.concatenate([first, second]), S)
    seamless = np.array([min(a[r] + b[s - r] for r in range(s + 1)) for s in range(S + 1)])
    assert (whole >= seamless).all()
    assert (whole[1:] <= seamless[:-1]).all()


@given(GAMES, st.integers(0, 14))
def test_a_round_without_losses_changes_nothing(losses: Matrix, place: int) -> None:
    longer = np.insert(losses, min(place, len(losses)), 0.0, axis=0)
    assert best_switching_losses(longer, 9).tolist() == best_switching_losses(losses, 9).tolist()


@pytest.mark.jit_off
@given(GAMES, st.integers(0, 16))
def test_path_attains_the_value_and_keeps_to_its_switches(losses: Matrix, n_switches: int) -> None:
    path = best_switching_path(losses, n_switches)
    assert count_switches(path.tolist()) <= n_switches
    assert switching_regret(losses, path, n_switches)[n_switches] == 0.0


@given(GAMES, st.data())
def test_regret_is_never_negative_against_as_many_switches(losses: Matrix, data: st.DataObject) -> None:
    T, K = losses.shape
    played = data.draw(st.lists(st.integers(0, K - 1), min_size=T, max_size=T))
    regret = switching_regret(losses, played, T)
    assert (regret[count_switches(played) :] >= 0.0).all()
    for n_switches in (0, 1, T):
        assert path_regret(losses, played, best_switching_path(losses, n_switches)) == regret[n_switches]


@given(GAMES, st.data())
def test_path_regret_changes_sign_with_its_sides(losses: Matrix, data: st.DataObject) -> None:
    T, K = losses.shape
    sequences = st.lists(st.integers(0, K - 1), min_size=T, max_size=T)
    played, path = data.draw(sequences), data.draw(sequences)
    assert path_regret(losses, played, path) == -path_regret(losses, path, played)
    assert path_regret(losses, played, played) == 0.0
