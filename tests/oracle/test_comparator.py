"""The comparator against every sequence of arms there is, and against a slow recursion where there are too many."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.naive import comparator as naive
from turncoat.errors import OptionError, TableError
from turncoat.regret import (
    Comparator,
    PathComparator,
    best_switching_losses,
    best_switching_path,
    path_regret,
    switching_regret,
)
from turncoat.types import Ints, Matrix
from turncoat.validation import tables

KINDS = ["0/1", "whole", "real"]
NOT_CONVEX = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
# Staying costs 3, 4 or 6; the arms 0 0 2 2 cost 1, and 0 0 2 1 nothing; a third switch has nothing to gain.
BY_HAND = [[0.0, 2.0, 3.0], [0.0, 1.0, 2.0], [1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]


def random_losses(rng: np.random.Generator, T: int, K: int, kind: str) -> Matrix:
    if kind == "0/1":
        return (rng.random((T, K)) < 0.5).astype(np.float64)
    return rng.integers(-4, 9, (T, K)).astype(np.float64) if kind == "whole" else rng.normal(size=(T, K))


def drifting_losses(rng: np.random.Generator, T: int, K: int) -> Matrix:
    """Arms that take turns, with noise: the best sequences switch now and then."""
    turn = (np.arange(T)[:, None] * 12 // T + np.arange(K)) % K
    return rng.random((T, K)) + 0.6 * (turn > 0)


def assert_attains(losses: Matrix, n_switches: int, path: Ints, least: float) -> None:
    assert path.dtype == np.int64
    assert path.shape == (len(losses),)
    assert naive.count_switches(path.tolist()) <= n_switches
    assert naive.total_loss(losses.tolist(), path.tolist()) == least


@pytest.mark.jit_off
@pytest.mark.parametrize("oracle", [naive.brute_force, naive.recursion])
def test_oracles_on_games_worked_by_hand(oracle: Any) -> None:
    assert naive.count_switches([2, 2, 0, 1, 1, 2]) == 3
    assert naive.count_switches([0]) == 0
    assert naive.total_loss(BY_HAND, [0, 0, 2, 1]) == 0.0
    assert naive.total_loss(BY_HAND, [1, 0, 1, 0]) == 5.0
    assert oracle(NOT_CONVEX, 2) == [1.0, 1.0, 0.0]
    assert oracle(BY_HAND, 3) == [3.0, 1.0, 0.0, 0.0]
    assert oracle([[5.0, 3.0]], 2) == [3.0, 3.0, 3.0]
    assert oracle([[5.0], [-2.0], [1.0]], 2) == [4.0, 4.0, 4.0]


@pytest.mark.jit_off
def test_best_loss_is_not_convex_in_the_number_of_switches() -> None:
    assert best_switching_losses(NOT_CONVEX, 2).tolist() == [1.0, 1.0, 0.0]
    assert best_switching_path(NOT_CONVEX, 2).tolist() == [1, 0, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("T", "K"), [(T, K) for K in range(1, 6) for T in range(1, 9) if K**T <= 1100])
def test_equals_brute_force(T: int, K: int, kind: str) -> None:
    rng = np.random.default_rng([T, K, KINDS.index(kind)])
    for _ in range(12):
        losses = random_losses(rng, T, K, kind)
        least = naive.brute_force(losses.tolist(), T + 1)
        assert naive.recursion(losses.tolist(), T + 1) == least
        assert best_switching_losses(losses, T + 1).tolist() == least  # to the last bit, real losses too
        for n_switches in range(T + 2):
            assert_attains(losses, n_switches, best_switching_path(losses, n_switches), least[n_switches])


@pytest.mark.jit_off
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_recursion_on_middling_games(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for T, K, S in [(40, 4, 7), (25, 6, 24), (60, 2, 10), (30, 1, 3)]:
        losses = random_losses(rng, T, K, kind)
        least = naive.recursion(losses.tolist(), S)
        assert best_switching_losses(losses, S).tolist() == least
        assert_attains(losses, S, best_switching_path(losses, S), least[S])


@pytest.mark.parametrize(
    ("T", "S", "sweeps", "growth"),
    [
        pytest.param(400, 11, 4, 2, marks=pytest.mark.jit_off),
        (20_000, 0, 0, 1),
        (20_000, 1, 100, 1),
        (20_000, 11, 100, 2),
        (20_000, 50, 100, 4),
    ],
)
def test_path_attains_the_value_through_many_sweeps_and_growth(T: int, S: int, sweeps: int, growth: int) -> None:
    losses = drifting_losses(np.random.default_rng(S), T, 6)
    comparator = PathComparator(6, S, first_nodes=1)
    first_size = len(comparator.nodes)
    for stop in range(T // 20, T + 1, T // 20):
        comparator.advance(losses[stop - T // 20 : stop])
        assert_attains(losses[:stop], S, comparator.path(), best_switching_losses(losses[:stop], S)[S])
    assert comparator.n_sweeps >= sweeps
    assert len(comparator.nodes) >= growth * first_size


@pytest.mark.parametrize(("T", "K", "S"), [(30_000, 10, 30), (3_000, 100, 10), (60_000, 2, 5)])
def test_path_needs_far_less_memory_than_a_table_of_choices(T: int, K: int, S: int) -> None:
    losses = np.random.default_rng(T).random((T, K))
    comparator = PathComparator(K, S)
    first_size = len(comparator.nodes)
    most_live = 0
    for start in range(0, T, 100):
        comparator.advance(losses[start : start + 100])
        comparator.make_room()
        most_live = max(most_live, comparator.n_nodes)
        assert comparator.n_nodes <= K * S * (S + 1) // 2
    assert len(comparator.nodes) <= max(first_size, 4 * most_live)
    assert 100 * len(comparator.nodes) < T * S * K


@pytest.mark.jit_off
def test_sweep_keeps_chains_and_forgets_the_rest() -> None:
    losses = np.random.default_rng(8).random((60, 3))
    comparator = PathComparator(3, 6)
    comparator.advance(losses)
    before, n_before = comparator.path(), comparator.n_nodes
    comparator.make_room()
    assert 0 < comparator.n_nodes < n_before
    assert comparator.path().tolist() == before.tolist()
    live = comparator.n_nodes
    comparator.make_room()
    assert comparator.n_nodes == live
    chained = set()
    for node in comparator.trails.heads.ravel().tolist():
        while node >= 0:
            chained.add(node)
            node = comparator.nodes[node, 2]
    assert chained == set(range(live))


@pytest.mark.jit_off
def test_nothing_switches_without_gain() -> None:
    comparator = PathComparator(3, 4)
    comparator.advance(np.ones((20, 3)))
    assert comparator.n_nodes == 0
    comparator.advance(np.tile([1.0, 1.0, 0.0], (20, 1)))  # arm 2 can be had from the start
    assert comparator.path().tolist() == [2] * 40


@pytest.mark.jit_off
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    losses = rng.random((83, 3))
    least, path = best_switching_losses(losses, 9), best_switching_path(losses, 9)
    played = rng.integers(0, 3, 83)
    regret, against = switching_regret(losses, played, 9), path_regret(losses, played, path)
    for values, cells in [(1, 10**9), (6, 10**9), (21, 10**9), (10**9, 1), (10**9, 100)]:
        monkeypatch.setattr(tables, "BLOCK_VALUES", values)
        monkeypatch.setattr(tables, "BLOCK_CELLS", cells)
        assert len(list(tables.blocks(losses, 9))) > 1
        assert best_switching_losses(losses, 9).tolist() == least.tolist()
        assert best_switching_path(losses, 9).tolist() == path.tolist()
        assert switching_regret(losses, played, 9).tolist() == regret.tolist()
        assert path_regret(losses, played, path) == against


@pytest.mark.jit_off
def test_comparator_can_be_asked_after_any_block() -> None:
    losses = np.random.default_rng(6).random((40, 4))
    comparator, trails = Comparator(4, 5), PathComparator(4, 5)
    for start, stop in [(0, 1), (1, 1), (1, 3), (3, 4), (4, 15), (15, 40)]:
        comparator.advance(losses[start:stop])
        trails.advance(losses[start:stop])
        least = best_switching_losses(losses[:stop], 5)
        assert comparator.losses().tolist() == least.tolist()
        assert_attains(losses[:stop], 5, trails.path(), least[5])


def test_whole_numbers_are_exact() -> None:
    rng = np.random.default_rng(11)
    losses = rng.integers(0, 2**35, (20_000, 3))  # sums pass 2**48, so a float32 anywhere would show
    assert best_switching_losses(losses, 0)[0] == losses.sum(axis=0).min()
    assert best_switching_losses(losses[:300], 299)[299] == losses[:300].min(axis=1).sum()
    ones = np.ones((100_000, 2), dtype=bool)
    assert best_switching_losses(ones, 3).tolist() == [100_000.0] * 4


@pytest.mark.jit_off
@pytest.mark.parametrize("extra", [0, 1, 1000])
def test_more_switches_than_rounds_repeat_the_last(extra: int) -> None:
    losses = [[3.0, 1.0], [0.0, 2.0]]
    assert best_switching_losses(losses, 1 + extra).tolist() == [3.0] + [1.0] * (1 + extra)
    assert best_switching_path(losses, 1 + extra).tolist() == [1, 0]
    assert best_switching_losses([[7.0, 8.0]], extra).tolist() == [7.0] * (1 + extra)
    assert best_switching_path([[7.0, 6.0]], extra).tolist() == [1]


def test_many_more_switches_than_rounds_cost_nothing() -> None:
    losses = np.random.default_rng(1).random((50, 1000))
    least = best_switching_losses(losses, 10**7)  # K·max_switches would be 80 GB
    assert least.shape == (10**7 + 1,)
    assert (least[49:] == least[49]).all()
    assert best_switching_path(losses, 10**12).tolist() == losses.argmin(axis=1).tolist()


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.tolist(),
        lambda x: tuple(map(tuple, x.tolist())),
        lambda x: x.astype(bool),
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.uint64),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.longdouble),
        lambda x: x.astype(">f8"),
        lambda x: x.astype(object),
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.repeat(x, 2, axis=1)[:, ::-2][:, ::-1],
        lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),  # read-only
    ],
)
def test_any_table_of_numbers_will_do(convert: Any) -> None:
    losses = random_losses(np.random.default_rng(2), 12, 3, "0/1")
    given = convert(losses)
    assert best_switching_losses(given, 4).tolist() == naive.recursion(losses.tolist(), 4)
    assert best_switching_path(given, 4).tolist() == best_switching_path(losses, 4).tolist()
    assert switching_regret(given, [0] * 12, 4).tolist() == switching_regret(losses, [0] * 12, 4).tolist()
    assert path_regret(given, [0] * 12, [1] * 12) == losses[:, 0].sum() - losses[:, 1].sum()


@pytest.mark.jit_off
def test_odd_but_real_numbers_pass() -> None:
    large: list[list[float]] = [[True, 0.5], [2, 2**64]]
    assert best_switching_losses([[2**70, 2**71]], 0).tolist() == [2.0**70]
    assert best_switching_losses(large, 1).tolist() == [3.0, 2.5]


def test_a_table_of_another_type_is_never_copied_whole() -> None:
    losses = np.ones((1_000_000, 4), dtype=np.int8)  # 32 MB as float64
    tracemalloc.start()
    try:
        best_switching_losses(losses, 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4e6


def test_the_table_is_left_as_it_was() -> None:
    losses = np.random.default_rng(3).random((500, 4))
    before = losses.tobytes()
    path = best_switching_path(losses, 5)
    switching_regret(losses, path, 5)
    assert losses.tobytes() == before


@pytest.mark.jit_off
def test_regret_worked_by_hand() -> None:
    regret = switching_regret(BY_HAND, [1, 1, 1, 1], 4)
    assert regret.dtype == np.float64
    assert regret.tolist() == [1.0, 3.0, 4.0, 4.0, 4.0]
    assert switching_regret(BY_HAND, np.array([0, 0, 2, 1], dtype=np.uint8), 1).tolist() == [-3.0, -1.0]
    assert path_regret(BY_HAND, [1, 0, 1, 0], [2, 2, 2, 2]) == -1.0
    assert path_regret(BY_HAND, [1, 0, 1, 0], np.array([0, 0, 2, 1], dtype=object)) == 5.0
    assert type(path_regret(BY_HAND, [1, 0, 1, 0], [0, 0, 2, 1])) is float


TABLES_REFUSED: list[tuple[Any, str]] = [
    ([[0.0, 1.0], [1.0, float("nan")]], "row 1, column 1 is nan"),
    ([[0.0, 1.0], [float("inf"), 1.0]], "row 1, column 0 is inf"),
    (np.array([[0, 1], [1, -np.inf]], dtype=np.float32), "row 1, column 1 is -inf"),
    ([[1e308], [1e308]], "row 0, column 0 is 1e\\+308"),
    ([[0, 10**400]], "row 0, column 1 is too large"),
    ([0.0, 1.0], r"shape \(2,\)"),
    (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
    ([], r"shape \(0,\)"),
    ([[], []], r"shape \(2, 0\)"),
    (np.zeros((0, 3)), r"shape \(0, 3\)"),
    (0.5, "losses are 0.5"),
    (None, "losses are None"),
    ("0 1", "losses are '0 1'"),
    ([[0.0, "1"]], "row 0, column 1 is '1'"),
    ([["a", "b"]], "row 0, column 0 is 'a'"),
    ([[0.0], [None]], "row 1, column 0 is None"),
    ([[0.0, 1j]], "row 0, column 1 is 1j"),
    ([[1.0, 2.0], [3.0]], r"row 1 of the losses is not as long as row 0: \[3.0\]"),
    ([[1.0, 2.0], 3.0], "row 1 of the losses is not as long as row 0: 3.0"),
    ([np.zeros((2, 2)), np.zeros((2, 3))], "do not fit together"),
    (np.zeros((2, 2), dtype="M8[ns]"), "datetime64"),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("losses", "named"), TABLES_REFUSED)
def test_bad_tables_are_named(losses: Any, named: str) -> None:
    arms = [0] * (len(losses) if isinstance(losses, list | np.ndarray) else 1)
    calls: list[Callable[[], Any]] = [
        lambda: best_switching_losses(losses, 1),
        lambda: best_switching_path(losses, 0),
        lambda: best_switching_path(losses, 9),
        lambda: switching_regret(losses, arms, 1),
        lambda: path_regret(losses, arms, arms),
    ]
    for call in calls:
        with pytest.raises(TableError, match=f"{named}.*; accepted") as refused:
            call()
        assert isinstance(refused.value, ValueError)


def test_a_bad_loss_far_down_is_named_by_its_row() -> None:
    losses = np.zeros((70_000, 3))
    losses[69_123, 2] = np.nan
    with pytest.raises(TableError, match="row 69123, column 2 is nan"):
        best_switching_path(losses, 2)


@pytest.mark.jit_off
@pytest.mark.parametrize("value", [-1, np.int64(-3), 1.0, 1.5, True, np.True_, "1", None, float("nan"), [1]])
def test_bad_numbers_of_switches_are_named(value: Any) -> None:
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: best_switching_losses(BY_HAND, value), "max_switches is "),
        (lambda: best_switching_path(BY_HAND, value), "n_switches is "),
        (lambda: switching_regret(BY_HAND, [0] * 4, value), "max_switches is "),
    ]
    for call, name in calls:
        with pytest.raises(OptionError) as raised:
            call()
        assert str(raised.value) == f"{name}{value!r}; accepted is a whole number of at least 0"


@pytest.mark.jit_off
def test_an_answer_that_fits_in_no_memory_is_refused() -> None:
    with pytest.raises(OptionError, match=f"max_switches is {10**30}; accepted is one whose losses fit in memory"):
        best_switching_losses(BY_HAND, 10**30)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("arms", "named"),
    [
        ([0, 1, 2], r" has the shape \(3,\)"),
        ([0] * 5, r" has the shape \(5,\)"),
        ([], r" has the shape \(0,\)"),
        ([[0, 1, 2, 0]], r" has the shape \(1, 4\)"),
        (None, r" has the shape \(\)"),
        ([0, 1, [2], 0], " is ragged"),
        ([0, 1, 3, 0], r"\[2\] is 3"),
        ([0, -1, 1, 0], r"\[1\] is -1"),
        ([0, 1, 2, 2**70], rf"\[3\] is {2**70}"),
        (np.array([0, 0, 2**63, 0], dtype=np.uint64), rf"\[2\] is {2**63}"),
        ([0.0, 1.0, 2.0, 0.0], r"\[0\] is 0.0"),
        ([0, 1, 0.5, 0], r"\[2\] is 0.5"),
        ([True, False, True, False], r"\[0\] is True"),
        (["0", "1", "2", "0"], r"\[0\] is '0'"),
        ([0, None, 0, 0], r"\[1\] is None"),
    ],
)
def test_bad_arms_are_named(arms: Any, named: str) -> None:
    accepted = r".*; accepted are 4 whole numbers in 0\.\.2"
    with pytest.raises(OptionError, match="played" + named + accepted):
        switching_regret(BY_HAND, arms, 2)
    with pytest.raises(OptionError, match="path" + named + accepted):
        path_regret(BY_HAND, [0] * 4, arms)
