"""Laws of the mirror-descent steps, on distributions and losses that hypothesis makes up."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turncoat.learners.adversarial.tsallis_inf import settle
from turncoat.mirror import entropy, log_barrier
from turncoat.mirror.tree import rebuild, tree_size
from turncoat.types import Vector

CLOSE = 1e-12
Step = Callable[[Vector, int, float, Vector, float], None]


class Case(NamedTuple):
    """A distribution on the clipped simplex, one rate a coordinate, and a coordinate to charge."""

    p: Vector
    eta: Vector
    floor: float
    a: int


@st.composite
def cases(draw: st.DrawFn, smallest: int = 1) -> Case:
    H = draw(st.integers(smallest, 14))
    shape = 10.0 ** np.array(draw(st.lists(st.floats(-9.0, 0.0), min_size=H, max_size=H)))
    floor = draw(st.sampled_from([0.0, 1e-9, 1e-3, 0.5, 0.99])) / H
    p = np.maximum(floor, floor + (1.0 - H * floor) * shape / shape.sum())
    eta = 10.0 ** np.array(draw(st.lists(st.floats(-4.0, 1.0), min_size=H, max_size=H)))
    return Case(p, eta, floor, draw(st.integers(0, H - 1)))


LOSSES = st.floats(-6.0, 6.0).map(lambda power: 10.0**power)


def tree_step(p: Vector, a: int, loss: float, eta: Vector, floor: float) -> None:
    tree = np.zeros(tree_size(p.size))
    tree[: p.size] = p
    rebuild(tree, p.size)
    entropy.step_one_hot_tree(tree, p.size, a, eta[a] * loss, floor)
    p[:] = tree[: p.size] / tree[: p.size].sum()


STEPS: dict[str, Step] = {
    "entropy": lambda p, a, loss, eta, floor: entropy.step_one_hot(p, a, eta[a] * loss, floor),
    "entropy on a tree": tree_step,
    "log-barrier": lambda p, a, loss, eta, floor: log_barrier.step_one_hot(p, a, loss, eta, floor),
}
each_step = pytest.mark.parametrize("name", STEPS)


def stepped(name: str, case: Case, loss: float) -> Vector:
    q = case.p.copy()
    STEPS[name](q, case.a, loss, case.eta, case.floor)
    return q


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile before hypothesis looks at its watch."""
    for name in STEPS:
        stepped(name, Case(np.full(3, 1 / 3), np.ones(3), 0.1, 0), 1.0)
    entropy.step_dense(np.full(3, 1 / 3), np.arange(3.0), 0.1)
    entropy.step_dense_floors(np.full(3, 1 / 3), np.arange(3.0), np.full(3, 0.1))
    log_barrier.step_dense(np.full(3, 1 / 3), np.arange(3.0), np.ones(3), 0.1)
    settle(np.arange(3.0))


@pytest.mark.jit_off
@each_step
@given(case=cases(), loss=LOSSES)
def test_a_step_ends_on_the_clipped_simplex(name: str, case: Case, loss: float) -> None:
    q = stepped(name, case, loss)
    assert abs(q.sum() - 1.0) <= 1e-14
    assert np.all(q >= case.floor * (1.0 - 1e-15))
    assert np.all(np.isfinite(q))


@pytest.mark.jit_off
@each_step
@given(case=cases(), loss=LOSSES)
def test_the_charged_coordinate_sinks_and_the_others_rise(name: str, case: Case, loss: float) -> None:
    change = stepped(name, case, loss) / case.p - 1.0
    assert change[case.a] <= CLOSE
    assert np.all(np.delete(change, case.a) >= -CLOSE)


@pytest.mark.jit_off
@each_step
@given(case=cases())
def test_no_loss_no_change(name: str, case: Case) -> None:
    q = stepped(name, case, 0.0)
    if name == "log-barrier":
        np.testing.assert_array_equal(q, case.p)
    else:  # the entropy steps divide by the sum, which may be an ulp off 1
        np.testing.assert_allclose(q, case.p, rtol=1e-14)


@each_step
@given(case=cases(smallest=2), loss=LOSSES, more=st.floats(1.0, 1e3))
def test_a_larger_loss_never_helps(name: str, case: Case, loss: float, more: float) -> None:
    a = case.a
    assert stepped(name, case, more * loss)[a] <= stepped(name, case, loss)[a] * (1.0 + CLOSE)


@each_step
@given(case=cases(), loss=LOSSES, order=st.randoms(use_true_random=False))
def test_the_order_of_coordinates_does_not_matter(name: str, case: Case, loss: float, order: Random) -> None:
    places = list(range(case.p.size))
    order.shuffle(places)
    moved = Case(case.p[places], case.eta[places], case.floor, places.index(case.a))
    np.testing.assert_allclose(stepped(name, moved, loss), stepped(name, case, loss)[places], rtol=CLOSE)


@given(case=cases(), loss=LOSSES)
def test_dense_is_one_hot_on_one_hot_losses(case: Case, loss: float) -> None:
    losses = np.zeros(case.p.size)
    losses[case.a] = loss
    q = case.p.copy()
    log_barrier.step_dense(q, losses, case.eta, case.floor)
    np.testing.assert_allclose(q, stepped("log-barrier", case, loss), rtol=CLOSE)
    assume(case.eta[case.a] * loss < 600.0 or case.floor > 0.0)  # a float can hold no smaller weight
    q = case.p.copy()
    entropy.step_dense(q, case.eta * losses, case.floor)
    np.testing.assert_allclose(q, stepped("entropy", case, loss), rtol=CLOSE)


@pytest.mark.jit_off
@given(
    case=cases(),
    shift=st.sampled_from([-4.0, 0.5, 64.0]),
    ells=st.lists(st.integers(-40, 40), min_size=14, max_size=14),
)
def test_a_common_shift_of_dense_losses_changes_nothing(case: Case, shift: float, ells: list[int]) -> None:
    losses = np.array(ells[: case.p.size]) / 8.0  # sums with the shift are exact
    plain, shifted = case.p.copy(), case.p.copy()
    log_barrier.step_dense(plain, losses, case.eta, case.floor)
    log_barrier.step_dense(shifted, losses + shift, case.eta, case.floor)
    np.testing.assert_allclose(shifted, plain, rtol=CLOSE)
    assert abs(plain.sum() - 1.0) <= 1e-14
    assert np.all(plain >= case.floor)
    plain, shifted = case.p.copy(), case.p.copy()
    entropy.step_dense(plain, losses, case.floor)
    entropy.step_dense(shifted, losses + shift, case.floor)
    np.testing.assert_allclose(shifted, plain, rtol=CLOSE)


@pytest.mark.jit_off
@given(
    case=cases(),
    shapes=st.lists(st.floats(-9.0, 0.0), min_size=14, max_size=14),
    order=st.randoms(use_true_random=False),
)
def test_a_floor_for_each_coordinate(case: Case, shapes: list[float], order: Random) -> None:
    """Charges of 1e300 land on the floors; a shift and the order change nothing; a second step of 0 is none."""
    H = case.p.size
    floors = 10.0 ** np.array(shapes[:H])
    floors *= 0.99 / max(floors.sum(), 1.0)
    losses = np.array([(i - 3.0) * (1e300 if case.eta[i] > 1.0 else 0.25) for i in range(H)])
    q, shifted = case.p.copy(), case.p.copy()
    entropy.step_dense_floors(q, losses, floors)
    assert abs(q.sum() - 1.0) <= 1e-14
    assert np.all(q >= floors)
    entropy.step_dense_floors(shifted, losses + 64.0, floors)
    np.testing.assert_allclose(shifted, q, rtol=CLOSE)
    places = list(range(H))
    order.shuffle(places)
    moved = case.p[places]
    entropy.step_dense_floors(moved, losses[places], floors[places])
    np.testing.assert_allclose(moved, q[places], rtol=CLOSE)
    again = q.copy()
    entropy.step_dense_floors(again, np.zeros(H), floors)
    np.testing.assert_allclose(again, q, rtol=CLOSE)


@given(case=cases(), ell=st.floats(-1e3, 1e3))
def test_equal_losses_change_nothing(case: Case, ell: float) -> None:
    q = case.p.copy()
    log_barrier.step_dense(q, np.full(q.size, ell), case.eta, case.floor)
    np.testing.assert_array_equal(q, case.p)


@given(case=cases(), first=LOSSES, second=LOSSES)
def test_without_a_floor_two_steps_are_one(case: Case, first: float, second: float) -> None:
    """Without a floor steps add up. The stop between them rounds p, and growth of up to 1e7 magnifies that."""
    assume(case.p.min() > 1e-7 and max(first, second) < 1e3)
    free = case._replace(floor=0.0)
    once = stepped("log-barrier", free, first + second)
    twice = stepped("log-barrier", free._replace(p=stepped("log-barrier", free, first)), second)
    np.testing.assert_allclose(twice, once, rtol=1e-8)


@given(estimates=st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20), eta=st.floats(1e-4, 10.0))
def test_tsallis_weights_are_a_distribution_that_prefers_less_loss(estimates: list[float], eta: float) -> None:
    w = 0.5 * eta * (np.array(estimates) - min(estimates))
    settle(w)
    assert abs(w.sum() - 1.0) <= 1e-14
    assert np.all(w > 0.0)
    assert np.all(np.diff(w[np.argsort(estimates, kind="stable")]) <= 0.0)


@pytest.mark.parametrize("K", [2, 10, 65, 1000])
def test_the_tree_stays_with_the_loop(K: int) -> None:
    """5,000 steps with the same arms and charges: loop and tree drift apart by rounding only (5e-14 was seen)."""
    rng = np.random.default_rng(K)
    floor = 1e-3 / K
    p = np.full(K, 1.0 / K)
    tree = np.zeros(tree_size(K))
    tree[:K] = p
    rebuild(tree, K)
    n_floored = 0
    for _ in range(5_000):
        a = int(rng.integers(K)) if rng.random() < 0.5 else int(rng.integers(min(K, 3)))
        x = float(rng.exponential(2.0))
        entropy.step_one_hot(p, a, x, floor)
        entropy.step_one_hot_tree(tree, K, a, x, floor)
        n_floored += bool(p[a] <= floor)
    np.testing.assert_allclose(tree[:K] / tree[:K].sum(), p, rtol=2e-13)
    assert n_floored >= 100
