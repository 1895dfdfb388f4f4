"""What every environment promises: losses in range, alike in any order and any process, an honest planted path."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.games import OBLIVIOUS, Make, every_scenario, oblivious_scenarios, small_games
from tests.naive import environments as naive
from turncoat._compile.games import loss_of, mean_of, pack, planted_of, see
from turncoat._compile.progress import TEXT
from turncoat.environments import Environment, Table, scenario
from turncoat.environments.environment import write_losses, write_path
from turncoat.errors import OptionError

ROUNDING = 1e-12  # two lines that cross between rounds differ by far more in the rounds themselves


def assert_keeps_its_promises(game: Environment) -> None:
    """Range, shape, block writers and random access agree, and the planted path is the best there is in mean."""
    T, K = game.horizon, game.n_arms
    losses, means = game.losses(), game.means()
    assert losses.shape == means.shape == (T, K)
    assert losses.min() >= 0.0 and losses.max() <= 1.0
    assert means.min() >= 0.0 and means.max() <= 1.0
    order = np.random.default_rng(T).permutation(T * K)[:300]
    for t, arm in zip(order // K, order % K, strict=True):
        assert loss_of(game.game, int(t), int(arm)) == losses[t, arm]
        assert mean_of(game.game, int(t), int(arm)) == means[t, arm]
    start = T // 3
    assert np.array_equal(game.losses_block(start, T), losses[start:])
    assert np.array_equal(game.means_block(start, start + 1), means[start : start + 1])
    if game.n_switches is None:
        assert planted_of(game.game, 0) == -1
    else:
        assert_path_is_best(game, means)


def assert_path_is_best(game: Environment, means: Any) -> None:
    path = game.planted_path()
    assert path.dtype == np.int64 and path.shape == (game.horizon,)
    on_path = means[np.arange(game.horizon), path]
    assert np.all(on_path <= means.min(axis=1) + ROUNDING)
    assert naive.n_switches(path.tolist()) == game.n_switches
    assert [planted_of(game.game, t) for t in range(0, game.horizon, 7)] == path[::7].tolist()
    assert np.array_equal(game.mean_losses(path), on_path)


def contents(game: Environment) -> tuple[str, str]:
    """The fields of a game and a hash of what it does to one sequence of arms: what makes two games the same."""
    played = np.arange(game.horizon) * 7 % 5 % game.n_arms
    table = game.losses() if game.oblivious else game.losses_against(played)  # type: ignore[attr-defined]
    return json.dumps(game.fields(), allow_nan=False), hashlib.sha256(table.tobytes()).hexdigest()


@pytest.mark.jit_off
@oblivious_scenarios
def test_scenarios_keep_their_promises(name: str) -> None:
    assert_keeps_its_promises(scenario(name, 400, seed=5))


@pytest.mark.jit_off
@small_games
def test_families_keep_their_promises_in_the_smallest_games(make: Make, K: int, T: int) -> None:
    for seed in (0, 1, 2):
        game = make(K, T, seed)
        assert (game.n_arms, game.horizon) == (K, T)
        if game.oblivious:
            assert_keeps_its_promises(game)


@oblivious_scenarios
def test_scenarios_keep_their_promises_when_they_are_long(name: str) -> None:
    """A billion rounds, looked at here and there: the planted arm is best, and blocks agree with single losses."""
    game = scenario(name, 10**9, seed=5)
    arms = np.empty(50, dtype=np.int64)
    for start in (0, 123_456_789, 5 * 10**8 - 25, 10**9 - 50):
        means, block = game.means_block(start, start + 50), game.losses_block(start, start + 50)
        write_path(pack(game.game), start, arms)
        assert np.all(means[np.arange(50), arms] <= means.min(axis=1) + ROUNDING)
        assert block[49, 2] == loss_of(game.game, start + 49, 2)
        assert block.min() >= 0.0 and block.max() <= 1.0


@small_games
def test_one_seed_is_one_game(make: Make, K: int, T: int) -> None:
    assert contents(make(K, T, 7)) == contents(make(K, T, 7))
    assert contents(make(K, T, 7))[0] != contents(make(K, T, 8))[0]
    kept = pickle.loads(pickle.dumps(make(K, T, 7)))
    assert contents(kept) == contents(make(K, T, 7))
    sequence = np.random.SeedSequence(4, spawn_key=(2, 0))
    assert contents(make(K, T, sequence)) == contents(make(K, T, np.random.SeedSequence(4, spawn_key=(2, 0))))


@every_scenario
def test_other_seeds_are_other_games(name: str) -> None:
    games = [contents(scenario(name, 300, seed=seed)) for seed in range(5)]
    assert len({fields for fields, _ in games}) == len({losses for _, losses in games}) == 5


IN_ANOTHER_PROCESS = """
import hashlib
from turncoat.environments import scenario
for name in NAMES:
    print(hashlib.sha256(scenario(name, 80, 5).losses_block(11, 80).tobytes()).hexdigest())
"""


@pytest.mark.parametrize("jit_disabled", ["0", "1"])
def test_losses_are_the_same_in_another_process_compiled_or_not(jit_disabled: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_ANOTHER_PROCESS.replace("NAMES", repr(OBLIVIOUS))],
        env=os.environ | {"NUMBA_DISABLE_JIT": jit_disabled},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    here = [hashlib.sha256(scenario(name, 80, 5).losses()[11:].tobytes()).hexdigest() for name in OBLIVIOUS]
    assert (done.stdout.split(), done.stderr.replace(f"{TEXT}\n", "")) == (here, "")


@pytest.mark.jit_off
def test_fields_tell_games_apart() -> None:
    """Every word of every constructor shows in the fields, and no two of these games share them."""
    from turncoat import environments as envs

    games: list[Environment] = [
        *(
            envs.Stationary(K, T, gap=gap, noise=noise)
            for K in (2, 3)
            for T in (9, 10)
            for gap in (0.1, 0.2)
            for noise in ("bernoulli", 0.1)
        ),
        *(envs.Piecewise(3, 9, S, gap=gap, resampled=r) for S in (1, 2) for gap in (0.1, 0.2) for r in (False, True)),
        *(envs.Piecewise.from_means(9, [at], means) for at in (3, 4) for means in ([[0, 1], [1, 0]], [[0, 1], [0, 1]])),
        *(envs.Flip(3, 9, S, n_best=n, gap=gap) for S in (1, 2) for n in (2, 3) for gap in (0.1, 0.2)),
        *(envs.LevelJumps(3, 9, n, n_switches=S, gap=gap) for n in (1, 2) for S in (0, 1) for gap in (0.1, 0.2)),
        *(envs.StochasticallyConstrained(3, 9, gap=gap, growth=growth) for gap in (0.1, 0.2) for growth in (1.6, 2)),
        *(envs.Drift(3, 9, n_periods=n, amplitude=size) for n in (1, 2) for size in (0.1, 0.2)),
        *(envs.RandomWalk(3, 9, n_steps=n, step=size) for n in (1, 2) for size in (0.1, 0.2)),
        *(envs.Burst(3, 9, S, fraction=part, gap=gap) for S in (1, 2) for part in (0.1, 0.2) for gap in (0.1, 0.2)),
        *(envs.HiddenSteps(3, 9, S, noise=noise) for S in (1, 2) for noise in (0.0, 0.1)),
        *(envs.LateArm(3, 9, start=start) for start in (0.3, 0.5)),
        *(envs.SecondArm(3, 9, S, gap=gap) for S in (1, 2) for gap in (0.1, 0.2)),
        *(envs.LowerBound(3, 9, S) for S in (1, 2)),
        *(envs.Corrupted(3, 9, C, n_bursts=n, gap=gap) for C in (1, 2) for n in (1, 2) for gap in (0.1, 0.2)),
        *(
            envs.Adaptive(3, 9, low=low, high=high, noise=noise)
            for low in (0.1, 0.2)
            for high in (0.5, 0.6)
            for noise in ("bernoulli", 0.0)
        ),
        *(
            envs.LinearSwitching(3, 9, S, dimension=d, amplitude=size)
            for S in (1, 2)
            for d in (3, 4)
            for size in (0.1, 0.2)
        ),
        *(envs.LinearDrift(3, 9, n_periods=n, dimension=d) for n in (1, 2) for d in (3, 4)),
        *(Table(table) for table in ([[0.0, 1.0]], [[0.0], [1.0]], [[1.0, 0.0]])),
    ]
    assert len({json.dumps(game.fields(), allow_nan=False, sort_keys=True) for game in games}) == len(games)


@pytest.mark.jit_off
@every_scenario
def test_playing_is_asking_telling_and_showing(name: str) -> None:
    game = scenario(name, 150, seed=3)
    played, handled = tc.Exp3(game.n_arms, 150, seed=9), tc.Exp3(game.n_arms, 150, seed=9)
    arms = tc.play(played, game)
    other = game.fresh()
    for t in range(150):
        decision = handled.ask()
        assert decision.index == arms[t]
        handled.tell(decision, loss=loss_of(other.game, t, decision.index))
        see(other.game, t, decision.index)


@pytest.mark.jit_off
def test_blocks_and_tables_that_cannot_be_are_refused() -> None:
    game = scenario("piecewise/10", 10**9)
    with pytest.raises(OptionError, match="1000000000 rounds and 10 arms is too large; accepted are at most 100000000"):
        game.losses()
    with pytest.raises(OptionError, match="too large"):
        game.means()
    with pytest.raises(OptionError, match="planted path has 1000000000 rounds; accepted are at most 100000000"):
        game.planted_path()
    for start, stop in [(0, 10**9 + 1), (-1, 3), (4, 3), (0, 2.0), (True, 3)]:
        with pytest.raises(OptionError, match="accepted are whole numbers"):
            game.losses_block(start, stop)  # type: ignore[arg-type]
    assert game.losses_block(7, 7).shape == (0, 10)
    for arms in ([10], [-1], [0.5], [[0]], "x", [[0], 1]):
        with pytest.raises(OptionError, match="accepted are at most 1000000000 whole numbers from 0 to 9"):
            game.mean_losses(arms)  # type: ignore[arg-type]
    assert game.mean_losses([]).shape == (0,)
    with pytest.raises(OptionError, match="no planted path"):
        Table([[0.5, 0.5]]).planted_path()


def test_streaming_writes_into_what_it_is_given() -> None:
    game = scenario("drift/20", 5000, seed=2)
    block = np.empty((999, game.n_arms))
    parts = []
    for start in range(0, 5000, 999):
        part = block[: min(999, 5000 - start)]
        write_losses(pack(game.game), start, part)
        parts.append(part.copy())
    assert np.array_equal(np.concatenate(parts), game.losses())
