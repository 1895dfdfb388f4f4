"""`loss_range="adaptive"`: losses on an unknown scale. What was seen is mapped exactly; weights are kept."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import OTHERS, Maker, each
from tests.contract.test_changing_arms import again, same, started
from turncoat.errors import DecisionError, LossError, LossTypeError, OptionError, StateError, TableError
from turncoat.learners.parts.glr import chain_damage
from turncoat.learners.turncoat import Turncoat
from turncoat.learners.turncoat.loss_range import stretch, widened

MAPPED = ("counts", "sums", "at", "sizes", "samples", "rewards", "fading", "n_restarts")
PRESENT = "accepted are numbers from -1e.100 to 1e.100"


def adaptive(arms: Any = 3, seed: int = 1) -> Turncoat:
    return Turncoat(arms, seed=seed, loss_range="adaptive")


@pytest.mark.jit_off
@each(OTHERS)
def test_others_want_to_be_told_the_range(make: Maker) -> None:
    with pytest.raises(OptionError, match="loss_range is 'adaptive'; accepted is a pair"):
        make(3, 100, seed=1, loss_range="adaptive")


@pytest.mark.jit_off
def test_the_range_is_an_error_by_default_that_names_the_option() -> None:
    learner = Turncoat(3, seed=1)
    decision = learner.ask()
    before = learner.state()
    for words in ({"loss": 1.5}, {"reward": -0.5}, {"loss": math.nan}):
        with pytest.raises(LossError, match=r"from 0.0 to 1.0 \(see loss_range\); or loss_range='adaptive'"):
            learner.tell(decision, **words)
    with pytest.raises(OptionError, match=r"loss_range is 'wide'; accepted is a pair .* or 'adaptive'"):
        Turncoat(3, loss_range="wide")  # type: ignore[arg-type]
    assert learner.state() == before


@pytest.mark.jit_off
def test_a_range_widens_to_what_it_must_hold_and_by_an_eighth_at_least() -> None:
    assert widened(math.inf, -math.inf, 3.0) == (3.0, 3.0)
    assert widened(3.0, 3.0, 4.0) == (3.0, 4.0) and widened(3.0, 3.0, -1.0) == (-1.0, 3.0)
    assert widened(3.0, 4.0, 4.1) == (3.0, 4.125) and widened(3.0, 4.0, 2.9) == (2.875, 4.0)
    assert widened(3.0, 4.0, 40.0) == (3.0, 40.0) and widened(3.0, 4.0, -40.0) == (-40.0, 4.0)
    learner = adaptive()
    assert learner.loss_range == (math.inf, -math.inf)
    shown = []
    for loss in (7, 7.0, Fraction(8), 7.5, 8.1, 11.0, np.float32(6.9)):
        learner.tell(learner.ask(), loss=loss)  # type: ignore[arg-type]
        shown.append(learner.loss_range)
    assert shown == [(7, 7), (7, 7), (7, 8), (7, 8), (7, 8.125), (7, 11), (6.5, 11)]


@pytest.mark.jit_off
def test_what_was_seen_is_mapped_exactly() -> None:
    """Told the same rounds, one that knew the range from the start has the same sums, chains and means of all arms."""
    rng = np.random.default_rng(6)
    learner = adaptive()
    rounds = []
    for t in range(60):
        decision = learner.ask()
        loss = float(rng.normal(1000.0, 3.0)) + (200.0 if t == 30 else 0.0)
        learner.tell(decision, loss)
        rounds.append((decision, loss))
    knew = Turncoat(3, seed=1, loss_range=learner.loss_range)
    for decision, loss in rounds:
        knew.observe(decision.index, loss, decision.propensity)
    assert learner.view().n_restarts.sum() == knew.view().n_restarts.sum() == 0.0
    for name in MAPPED:
        np.testing.assert_allclose(getattr(learner.view(), name), getattr(knew.view(), name), rtol=1e-10, err_msg=name)
    state, other = learner.view(), knew.view()
    for side in range(2):
        for arm in range(3):
            n = int(state.sizes[0, arm, side])
            corners, truth = state.split_sums[0, arm, side, :n], other.split_sums[0, arm, side, :n]
            np.testing.assert_allclose(corners, truth, rtol=1e-10)
    low, high = learner.loss_range
    mean = (np.mean([loss for _, loss in rounds]) - low) / (high - low)
    assert abs(state.seen[0] / 61 - mean) <= 1 / 61  # it begins with one loss in the middle of the range then


@pytest.mark.jit_off
def test_how_noisy_an_arm_is_is_learned_anew_after_widening() -> None:
    """The sums of r(1 - r) cannot be mapped. Those of the last arm alone were cleared: the others mixed two scales."""
    learner = adaptive()
    for t in range(60):
        learner.observe(t % 3, float(t % 7), 0.5)
    assert learner.view().noise.all()
    learner.observe(0, 100.0, 0.5)
    noise = learner.view().noise[0]
    assert not noise[1:].any() and (noise[0] > 0.0).any()  # of the loss that widened the range


@pytest.mark.jit_off
def test_sums_that_widening_rounds_can_be_saved() -> None:
    """Of millions of rewards a sum is rounded by more than 1e-9 of its last step: it was taken for damage."""
    refused = []
    for i in range(40):
        learner, n, total = adaptive(), 8e6 + i, 3e6 + i / 7.0
        state = learner.view()
        state.counts[0, 0], state.sums[0, 0], state.sizes[0, 0, 0] = n, total + 1.0, 3
        state.at[0, 0, 0, 1:3], state.split_sums[0, 0, 0, 1:3] = (n - 1.0, n), (total, total + 1.0)
        for _ in range(40):  # by an eighth: the highest reward stays the highest
            stretch(learner._buffer, 1.0 / 9.0, 8.0 / 9.0, 0.0)
        corners, sums = state.at[0, 0, 0], state.split_sums[0, 0, 0]
        refused.append(chain_damage(corners, sums, 3.0, n, float(state.sums[0, 0])))
    assert refused == [""] * 40


@pytest.mark.jit_off
def test_rewards_are_negative_losses() -> None:
    one, other = adaptive(), adaptive()
    for t in range(40):
        one.tell(one.ask(), loss=float(-3 * t % 7))
        other.tell(other.ask(), reward=float(3 * t % 7 - 7 * (t % 7 > 0)))
    assert one.loss_range[0] <= 0.0 and one.loss_range[1] >= 6.0
    assert other.loss_range == one.loss_range and np.array_equal(one.probabilities(), other.probabilities())


@pytest.mark.jit_off
def test_a_shift_and_a_scale_change_nothing() -> None:
    """Powers of two, so that nothing is rounded: the same arms, and the range shifted and scaled."""
    rng = np.random.default_rng(9)
    table = rng.integers(0, 64, (200, 4)) / 16.0
    one, other = adaptive(4), adaptive(4)
    assert np.array_equal(tc.play(one, table), tc.play(other, 32.0 * table - 1024.0))
    assert other.loss_range == tuple(32.0 * bound - 1024.0 for bound in one.loss_range)
    assert np.array_equal(one.probabilities(), other.probabilities())


@pytest.mark.jit_off
@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e99])
def test_playing_is_asking_and_telling(scale: float) -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(size=(300, 3)) * scale
    table[:5] = scale  # a range of a single number at first
    by_hand, played = adaptive(), adaptive()
    arms = []
    for row in table:
        decision = by_hand.ask()
        by_hand.tell(decision, float(row[decision.index]))
        arms.append(decision.index)
    assert tc.play(played, table).tolist() == arms
    assert played.loss_range == by_hand.loss_range
    assert np.array_equal(played.probabilities(), by_hand.probabilities())
    assert np.isfinite(played.probabilities()).all() and played.probabilities().sum() == pytest.approx(1.0)


@pytest.mark.jit_off
def test_a_race_is_the_same_game() -> None:
    from turncoat.environments import Table
    from turncoat.simulate.loop import advance
    from turncoat.simulate.rounds import blank_notes, game_of

    table = np.random.default_rng(3).random((200, 3))
    played, raced = adaptive(), adaptive()
    arms = tc.play(played, table)
    notes = blank_notes(200, 3)
    assert advance(raced, raced.parts, game_of(Table(table)), notes, 0, 200) == 200
    assert np.array_equal(notes.played, arms) and notes.counts.tolist() == np.bincount(arms, minlength=3).tolist()
    assert notes.sums[0] == pytest.approx(table[np.arange(200), arms].sum(), rel=1e-12)
    assert notes.sums[1] == pytest.approx(notes.sums[0], rel=1e-12)


BAD: list[tuple[Any, type[Exception], str]] = [
    (math.nan, LossError, f"loss is nan; {PRESENT}"),
    (math.inf, LossError, f"loss is inf; {PRESENT}"),
    (2e100, LossError, f"loss is 2e.100; {PRESENT}"),
    (10**400, LossError, f"loss is 10*; {PRESENT}"),
    ("7", LossTypeError, "loss is '7'"),
    (True, LossTypeError, "loss is True"),
    (None, LossTypeError, "give either loss= or reward="),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("loss", "error", "said"), BAD)
@pytest.mark.parametrize("n_rounds", [0, 20])
def test_bad_losses_change_nothing(loss: Any, error: type[Exception], said: str, n_rounds: int) -> None:
    learner = started(3, n_rounds, loss_range="adaptive")
    decision = learner.ask()
    before, shown = learner.state(), learner.loss_range
    with pytest.raises(error, match=said):
        learner.tell(decision, loss)
    with pytest.raises(error, match=said):
        learner.observe(0, loss, 0.5)
    for altered in ({"index": 7}, {"propensity": 2.0}, {"base": 1}, {"allowed": (9,)}):
        with pytest.raises(DecisionError, match="altered"):
            learner.tell(decision._replace(**altered), 1e9)
    assert (learner.state(), learner.loss_range) == (before, shown)


@pytest.mark.jit_off
def test_a_bad_table_leaves_the_range_as_it_was() -> None:
    learner = started(3, 20, loss_range="adaptive")
    table = np.full((10, 3), 50.0)
    table[7] = math.nan
    before, shown = learner.state(), learner.loss_range
    with pytest.raises(TableError, match=f"row 7, column .* is nan; {PRESENT}"):
        tc.play(learner, table)
    assert (learner.state()["buffer"], learner.loss_range) == (before["buffer"], shown)


@pytest.mark.jit_off
@pytest.mark.parametrize("n_rounds", [0, 1, 40])
def test_the_range_is_saved(n_rounds: int) -> None:
    learner = started(3, n_rounds, loss_range="adaptive")
    saved = json.loads(json.dumps(learner.state(), allow_nan=False))
    copied = Turncoat._from_state(saved)
    assert same(copied, learner) and same(again(learner), learner) and copied.loss_range == learner.loss_range
    table = np.random.default_rng(7).normal(size=(60, 3))
    assert np.array_equal(tc.play(copied, table), tc.play(learner, table)) and same(copied, learner)
    for wrong in ([1.0], [2.0, 1.0], [0.0, math.inf], "adaptive", [None, 1.0], *([None] if n_rounds else [])):
        with pytest.raises(StateError, match="seen_range is"):
            Turncoat._from_state({**saved, "seen_range": wrong})


@pytest.mark.jit_off
def test_arms_may_come_and_go_meanwhile() -> None:
    rng = np.random.default_rng(12)
    learner = adaptive(["red", "green"])
    learner.tell(learner.ask(), 5.0)
    waiting = learner.ask(allowed=["red"])
    learner.add_arm("blue")
    learner.retire_arm("red")
    learner.tell(waiting, 900.0)  # of an arm that is gone: it widens the range, and counts
    for t in range(100):
        decision = learner.ask(allowed=["blue"] if t % 7 == 0 else ["green", "blue"])
        learner.tell(decision, float(rng.normal() * 2.0 ** (t / 10)))
    p = learner.probabilities()
    assert p[0] == 0.0 and p.sum() == pytest.approx(1.0) and learner.n_told == 102


@pytest.mark.jit_off
def test_no_guarantee_is_claimed() -> None:
    with pytest.raises(OptionError, match="loss_range is 'adaptive', which has no guarantee"):
        adaptive().certificate(0)
