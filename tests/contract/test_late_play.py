"""Playing with late losses: the compiled loop is asking, and telling later, by hand, to the bit."""

from __future__ import annotations

import math
import signal
from typing import Any

import numba
import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import EVERYONE, Maker, contents, each, tell_row
from tests.contract.test_playing import N_ROUNDS, random_losses
from turncoat.environments import scenario
from turncoat.errors import OptionError, TableError
from turncoat.types import Matrix

TIMINGS = [(5, 1), (3, 10), (1000, 1)]
MOST_DIFFERENT = (
    *("exp3-loss", "band-anytime", "discounted-thompson", "restarted-exp3", "fixed-share", "dlinucb", "turncoat"),
)
SOME = [(name, make) for name, make in EVERYONE if name in MOST_DIFFERENT]  # every kind of choice, state and tell


def by_hand(learner: tc.Learner, losses: Matrix, delay: int, batch: int) -> list[int]:
    """The arms of asking, and of telling the loss of round t at the end of the batch that round t + delay is in."""
    decisions: list[Any] = []
    n_told = 0
    for t in range(len(losses)):
        decisions.append(learner.ask())
        if t == len(losses) - 1:
            known = t + 1
        elif (t + 1) % batch == 0:
            known = t + 1 - delay
        else:
            known = 0
        for s in range(n_told, known):
            tell_row(learner, decisions[s], losses[s])
        n_told = max(n_told, known)
    return [decision.index for decision in decisions]


@pytest.mark.jit_off
@each(EVERYONE if numba.config.DISABLE_JIT else SOME, kinds=False)  # compiled, all learners would take minutes
def test_late_play_is_asking_and_telling_later(make: Maker) -> None:
    delay, batch = 0, 7
    losses = random_losses(N_ROUNDS, 3, -3.0, 2.0)
    played, handled = (make(3, 10**6, seed=3, loss_range=(-3, 2)) for _ in range(2))
    arms = tc.play(played, losses, delay=delay, batch=batch)
    assert arms.tolist() == by_hand(handled, losses, delay, batch)
    assert contents(played) == contents(handled)
    assert played.n_told + getattr(played, "n_dropped", 0) == N_ROUNDS and played.n_outstanding == 0


@pytest.mark.jit_off
@pytest.mark.parametrize(("delay", "batch"), TIMINGS)
@each(SOME)
def test_late_play_with_any_delay_and_batch(make: Maker, delay: int, batch: int) -> None:
    losses = random_losses(N_ROUNDS, 3)
    played, handled = make(3, 10**6, seed=3), make(3, 10**6, seed=3)
    arms = tc.play(played, losses, delay=delay, batch=batch)
    assert arms.tolist() == by_hand(handled, losses, delay, batch)
    assert contents(played) == contents(handled)


@pytest.mark.jit_off
def test_turncoat_plans_in_plays_as_by_hand() -> None:
    """With decisions outstanding from before, some of them beyond the reach, in play after play."""
    losses = random_losses(900, 4)
    played, handled = tc.Turncoat(4, seed=5), tc.Turncoat(4, seed=5)
    waiting = []
    for learner in (played, handled):
        first = [learner.ask() for _ in range(20)]
        for decision in first[10:]:
            learner.tell(decision, loss=0.25)
        waiting.append(first[:10])
    at = 0
    for rounds, delay, batch in ((50, 0, 1), (300, 40, 1), (200, 3, 50), (50, 0, 1), (300, 0, 100)):
        now = losses[at : at + rounds]
        assert tc.play(played, now, delay=delay, batch=batch).tolist() == by_hand(handled, now, delay, batch)
        assert contents(played) == contents(handled)
        assert played.n_waiting == handled.n_waiting
        at += rounds
    for learner, decisions in zip((played, handled), waiting, strict=True):
        learner.tell(decisions[3], loss=1.0)
    assert contents(played) == contents(handled)
    assert played.probabilities().tolist() == handled.probabilities().tolist()


@pytest.mark.jit_off
def test_an_adaptive_range_plays_late_losses_by_hand() -> None:
    losses = 5.0 * random_losses(200, 3) - 1.0
    played, handled = (tc.Turncoat(3, seed=5, loss_range="adaptive") for _ in range(2))
    assert tc.play(played, losses, delay=7, batch=4).tolist() == by_hand(handled, losses, 7, 4)
    assert contents(played) == contents(handled)


@pytest.mark.jit_off
@each(SOME)
def test_a_bad_loss_undoes_the_late_play(make: Maker) -> None:
    losses = random_losses(300, 3)
    learner = make(3, 10**6, seed=3)
    learner.ask()
    before = learner.state()
    arms = tc.play(tc.restore(before), losses, delay=20, batch=3)
    for t in (0, 255, 256, 299):
        spoilt = losses.copy()
        spoilt[t, arms[t]] = math.nan
        with pytest.raises(TableError, match=f"row {t}, column .* is nan"):
            tc.play(learner, spoilt, delay=20, batch=3)
        assert learner.state() == before
    assert np.array_equal(tc.play(learner, losses, delay=20, batch=3), arms)


@pytest.mark.jit_off
def test_an_adversary_sees_at_once_what_the_learner_is_told_late() -> None:
    played, handled = (tc.Exp3(5, 500, seed=1) for _ in range(2))
    environment = scenario("adaptive/5", 500, 3)
    arms = tc.play(played, environment, delay=9, batch=2)
    losses = environment.fresh().losses_against(arms)  # type: ignore[attr-defined]
    assert arms.tolist() == by_hand(handled, losses, 9, 2)


def test_bad_timings_are_named() -> None:
    learner, losses = tc.Exp3(2, seed=1), np.full((4, 2), 0.5)
    for words, text in (({"delay": -1}, "delay is -1"), ({"batch": 0}, "batch is 0"), ({"batch": 1.5}, "batch is 1.5")):
        with pytest.raises(OptionError, match=f"{text}; accepted are whole numbers"):
            tc.play(learner, losses, **words)
    assert learner.n_told == 0


def test_an_interrupt_forgets_what_was_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses that wait when the play is stopped are never told: their decisions are not outstanding."""
    import importlib

    module = importlib.import_module("turncoat.simulate.loop")
    advance, n_blocks = module.advance_late, 0

    def interrupted(*words: Any) -> int:
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks > 1:
            signal.raise_signal(signal.SIGINT)
        return int(advance(*words))

    monkeypatch.setattr(module, "advance_late", interrupted)
    learner = tc.Turncoat(3, seed=1)
    with pytest.raises(KeyboardInterrupt):
        tc.play(learner, random_losses(1000, 3), delay=100)
    assert learner.n_asked == learner.n_told + 100 and learner.n_outstanding == 0
