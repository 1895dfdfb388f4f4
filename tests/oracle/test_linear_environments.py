"""Linear games: means are linear in the features, and the parameter moves as it should."""

from __future__ import annotations

import numpy as np
import pytest

from turncoat.environments import LinearDrift, LinearSwitching


@pytest.mark.jit_off
@pytest.mark.parametrize("seed", range(4))
def test_linear_games_are_linear_in_their_features(seed: int) -> None:
    """Means are 1 - <x, theta>, theta from the parameters: constant in a segment, on a straight line in a drift."""
    switching = LinearSwitching(7, 90, 5, dimension=4, amplitude=0.6, seed=seed)
    drifting = LinearDrift(7, 90, n_periods=0.6, dimension=4, amplitude=1.0, seed=seed)
    for game in (switching, drifting):
        edges, theta = game.game.edges, game.parameters
        assert np.linalg.norm(game.features, axis=1) == pytest.approx(np.ones(7), rel=1e-14)
        assert np.linalg.norm(theta, axis=1) == pytest.approx(np.full(len(theta), ((1 + game.amplitude**2) / 2) ** 0.5))
        for t in range(90):
            i = int(np.searchsorted(edges, t, side="right")) - 1
            part = (t - edges[i]) / (edges[i + 1] - edges[i]) if game is drifting else 0.0
            now = theta[i] + part * (theta[min(i + 1, len(theta) - 1)] - theta[i])
            assert game.means_block(t, t + 1)[0] == pytest.approx(1.0 - game.features @ now, abs=1e-14)
    assert len(switching.parameters) == 6
    path = switching.planted_path()
    for i, t in enumerate(
        switching.game.edges[:-1]
    ):  # theta points at the best arm: its mean is the least there can be
        assert switching.means()[t, path[t]] == pytest.approx(0.5 - 0.3, abs=1e-14), i


@pytest.mark.jit_off
def test_a_drift_turns_round_in_a_plane() -> None:
    game = LinearDrift(3, 6400, n_periods=2.0, dimension=5, amplitude=1.0, seed=1)
    v = game.parameters[:, 1:] * np.sqrt(2.0)
    assert np.linalg.matrix_rank(v, tol=1e-9) == 2
    assert v[0] == pytest.approx(v[64], abs=1e-12) and v[0] == pytest.approx(-v[32], abs=1e-12)
