"""Laws of play: cut anywhere, scaled, by hand or compiled, it is the same game."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import turncoat as tc
from tests.cases import EVERY_CASE, JIT_OFF, examples
from tests.contract.makers import DEAR, EVERYONE, SEEING_ALL, contents, tell_row
from turncoat.types import Matrix

PLAYERS = [(name, make) for name, make in EVERYONE if name not in DEAR or JIT_OFF or EVERY_CASE]
makers = st.sampled_from([make for _, make in PLAYERS])
bandits = st.sampled_from([make for name, make in PLAYERS if (name, make) not in SEEING_ALL])
seeds = st.integers(0, 2**64)


def tables(low: float = 0.0, high: float = 1.0) -> st.SearchStrategy[Matrix]:
    """Small tables of losses, the ends of the range among them."""
    values = st.one_of(st.sampled_from([low, high, (low + high) / 2]), st.floats(low, high))
    shapes = st.tuples(st.integers(1, 40), st.integers(1, 12))
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))


def fresh(make: Any, losses: Matrix, seed: int, **words: Any) -> tc.Learner:
    return make(losses.shape[1], 10**5, seed=seed, **words)  # type: ignore[no-any-return]


@pytest.mark.jit_off
@examples(75, 150)
@given(makers, tables(), seeds, st.data())
def test_a_play_can_be_cut_anywhere(make: Any, losses: Matrix, seed: int, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(1, max(1, len(losses) - 1)), max_size=3, unique=True)))
    whole, pieces = fresh(make, losses, seed), fresh(make, losses, seed)
    arms = tc.play(whole, losses)
    parts = [part for part in np.split(losses, cuts) if len(part)]
    assert np.array_equal(arms, np.concatenate([tc.play(pieces, part) for part in parts]))
    assert contents(pieces) == contents(whole)


@pytest.mark.jit_off
@examples(75, 150)
@given(makers, tables(-8.0, 24.0), seeds)
def test_by_hand_and_compiled_are_the_same_in_any_range(make: Any, losses: Matrix, seed: int) -> None:
    played, handled = (fresh(make, losses, seed, loss_range=(-8.0, 24.0)) for _ in range(2))
    arms = tc.play(played, losses)
    for t, row in enumerate(losses):
        decision = handled.ask()
        assert decision.index == arms[t]
        tell_row(handled, decision, row)
    assert played.state()["buffer"] == handled.state()["buffer"]


@examples(50, 100)
@given(bandits, tables(), seeds)
def test_what_is_never_read_does_not_matter(make: Any, losses: Matrix, seed: int) -> None:
    learner, other = fresh(make, losses, seed), fresh(make, losses, seed)
    arms = tc.play(learner, losses)
    hidden = np.full_like(losses, np.nan)
    rounds = np.arange(len(losses))
    hidden[rounds, arms] = losses[rounds, arms]
    assert np.array_equal(tc.play(other, hidden), arms)
    assert contents(other) == contents(learner)


@examples(50, 100)
@given(makers, tables(), seeds, st.data())
def test_one_bad_loss_undoes_everything(make: Any, losses: Matrix, seed: int, data: st.DataObject) -> None:
    learner, other = fresh(make, losses, seed), fresh(make, losses, seed)
    arms = tc.play(other, losses)
    t = data.draw(st.integers(0, len(losses) - 1))
    spoilt = losses.copy()
    spoilt[t, arms[t]] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, -1e-12, 1.0 + 1e-12]))
    before = learner.state()
    with pytest.raises(tc.TurncoatError, match=f"row {t}, column {arms[t]} is"):
        tc.play(learner, spoilt)
    assert learner.state() == before
    assert np.array_equal(tc.play(learner, losses), arms)
