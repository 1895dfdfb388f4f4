"""What environments refuse: the value is named, and what would be accepted."""

from __future__ import annotations

import math
from typing import Any

import pytest

from turncoat import environments as envs
from turncoat.errors import OptionError, TableError

REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
    (envs.Stationary, (0, 10), {}, "n_arms is 0; accepted are whole numbers from 1"),
    (envs.Stationary, (2.0, 10), {}, "n_arms is 2.0"),
    (envs.Stationary, (True, 10), {}, "n_arms is True"),
    (envs.Stationary, (2, 0), {}, "horizon is 0; accepted are whole numbers from 1"),
    (envs.Stationary, (2, 2**53 + 1), {}, "horizon is 9007199254740993"),
    (envs.Stationary, (2, 10), {"gap": 1.1}, "gap is 1.1; accepted are finite numbers from 0 to 1"),
    (envs.Stationary, (2, 10), {"gap": math.nan}, "gap is nan"),
    (envs.Stationary, (2, 10), {"gap": "wide"}, "gap is 'wide'"),
    (envs.Stationary, (2, 10), {"noise": 0.6}, "noise is 0.6; accepted are 'bernoulli'"),
    (envs.Stationary, (2, 10), {"noise": True}, "noise is True"),
    (envs.Stationary, (2, 10), {"noise": None}, "noise is None"),
    (envs.Stationary, (2, 10), {"seed": -1}, "seed is -1; accepted are"),
    (envs.Piecewise, (2, 10, 10), {}, "n_switches is 10; accepted are whole numbers from 0 to horizon - 1 = 9"),
    (envs.Piecewise, (1, 10, 1), {}, r"n_switches is 1; .* \(0 with a single arm\)"),
    (envs.Piecewise, (2, 10, -1), {}, "n_switches is -1"),
    (envs.Piecewise, (2, 10, True), {}, "n_switches is True"),
    (envs.Piecewise, (2, 10**9, 10**8), {}, "100000001 segments of 2 arms .* at most 100000000"),
    (envs.Flip, (3, 10, 2), {"n_best": 4}, "n_best is 4; accepted are whole numbers from 2 to 3"),
    (envs.Flip, (3, 10, 2), {"n_best": 1}, "n_best is 1"),
    (envs.LevelJumps, (3, 10, 10), {}, "n_jumps is 10; accepted are whole numbers from 0 to 9"),
    (envs.StochasticallyConstrained, (3, 10), {"growth": 1}, "growth is 1; accepted are finite numbers from 1.1 to 1e"),
    (envs.StochasticallyConstrained, (3, 10), {"gap": 1.5}, "gap is 1.5"),
    (envs.Burst, (3, 10, 2), {"fraction": 1.5}, "fraction is 1.5"),
    (envs.Drift, (3, 10), {"n_periods": -1}, "n_periods is -1"),
    (envs.Drift, (3, 10), {"n_periods": math.inf}, "n_periods is inf"),
    (envs.Drift, (3, 10), {"amplitude": 0.6}, "amplitude is 0.6; accepted are finite numbers from 0 to 0.5"),
    (envs.Drift, (3, 10**9), {"n_periods": 1e8}, "segments of 3 arms are too many"),
    (envs.RandomWalk, (3, 10), {"n_steps": 11}, "n_steps is 11; accepted are whole numbers from 1 to 10"),
    (envs.RandomWalk, (3, 10), {"n_steps": 5, "step": -0.1}, "step is -0.1"),
    (envs.LateArm, (1, 10), {}, "n_arms is 1; accepted are at least 2 arms"),
    (envs.LateArm, (2, 10), {"start": 2}, "start is 2"),
    (envs.SecondArm, (1, 10, 0), {}, "n_arms is 1; accepted are at least 2 arms"),
    (envs.SecondArm, (2, 10, 1), {"gap": 0.6}, "gap is 0.6; accepted are finite numbers from 0 to 0.5"),
    (envs.Corrupted, (2, 10, 11), {}, "budget is 11; accepted are whole numbers from 0 to 10"),
    (envs.Corrupted, (2, 10, 1), {"n_bursts": 0}, "n_bursts is 0"),
    (envs.LinearSwitching, (2, 10, 1), {"dimension": 2}, "dimension is 2; accepted are whole numbers from 3 to 256"),
    (envs.LinearSwitching, (2, 10, 1), {"amplitude": 1.1}, "amplitude is 1.1; accepted are finite numbers from 0 to 1"),
    (envs.LinearSwitching, (2, 10, 10), {}, "n_switches is 10; accepted are whole numbers from 0 to"),
    (envs.LinearDrift, (2, 10), {"n_periods": -1}, "n_periods is -1"),
    (envs.LinearDrift, (2, 10), {"dimension": 2.0}, "dimension is 2.0"),
    (envs.Piecewise.from_means, (10, [5], [[0.1, 0.2]]), {}, r"breaks are \[5\], with 1 rows of means"),
    (envs.Piecewise.from_means, (10, [5, 5], [[0.1]] * 3), {}, r"breaks are \[5, 5\]"),
    (envs.Piecewise.from_means, (10, [10], [[0.1]] * 2), {}, r"breaks\[0\] is 10; accepted .* from 1 to 9"),
]  # fmt: skip


@pytest.mark.jit_off
@pytest.mark.parametrize(("make", "given", "words", "said"), REFUSED)
def test_refused(make: Any, given: tuple[Any, ...], words: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        make(*given, **words)


@pytest.mark.jit_off
def test_means_outside_the_range_are_refused() -> None:
    for wrong in (1.1, -0.1, math.nan):
        with pytest.raises(TableError, match=f"row 1, column 0 is {wrong}; accepted are means from 0 to 1"):
            envs.Piecewise.from_means(10, [5], [[0.1, 0.2], [wrong, 0.3]])
    with pytest.raises(TableError, match="row 1 of the losses is not as long as row 0"):
        envs.Piecewise.from_means(10, [5], [[0.1, 0.2], [0.3]])
