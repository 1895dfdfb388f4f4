"""Playing: the compiled loop is asking and telling by hand, to the bit."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from typing import Any

import numba
import numpy as np
import pytest

import turncoat as tc
from tests.contract.makers import (
    EVERYONE,
    LINEAR,
    MAKERS,
    SEEING_ALL,
    Maker,
    case,
    contents,
    each,
    everyone,
    tell,
    tell_row,
)
from turncoat.errors import LossError, OptionError, TableError
from turncoat.types import Matrix

N_ROUNDS = 40 if numba.config.DISABLE_JIT else 120  # without the JIT a round may take a millisecond


def by_hand(learner: tc.Learner, losses: Matrix) -> list[int]:
    """The arms of asking and telling, row by row."""
    arms = []
    for row in losses:
        decision = learner.ask()
        tell_row(learner, decision, row)
        arms.append(decision.index)
    return arms


def random_losses(n_rounds: int, K: int, low: float = 0.0, high: float = 1.0) -> Matrix:
    """Losses of all kinds: any number, and the ends of the range."""
    chance = np.random.default_rng(n_rounds + K)
    losses = chance.uniform(low, high, (n_rounds, K))
    losses[chance.random((n_rounds, K)) < 0.2] = low
    losses[chance.random((n_rounds, K)) < 0.2] = high
    return losses


SIZES = [  # a round of a linear learner costs K³: with seventy arms it would take minutes with the JIT off
    case(EVERYONE, name, make, K, label=f"{name}-{K}", kinds=K > 2)
    for name, make in EVERYONE
    for K in (1, 2, 9, 70)
    if K < 70 or (name, make) not in LINEAR
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("make", "K"), SIZES)
def test_play_is_asking_and_telling(make: Maker, K: int) -> None:
    losses = random_losses(N_ROUNDS, K)
    played, handled = make(K, 10**6, seed=3), make(K, 10**6, seed=3)
    arms = tc.play(played, losses)
    assert arms.dtype == np.int64 and arms.tolist() == by_hand(handled, losses)
    assert contents(played) == contents(handled)
    assert played.n_told == N_ROUNDS


@pytest.mark.jit_off
@everyone
def test_plays_go_on_from_where_the_learner_stands(make: Maker) -> None:
    """In its loss_range, several in a row, with rounds by hand between them; outstanding decisions stay."""
    losses = random_losses(120, 3, -3.0, 2.0)
    played, handled = (make(3, 10**6, seed=3, loss_range=(-3, 2)) for _ in range(2))
    waiting = played.ask(), handled.ask()
    arms = [*tc.play(played, losses[:50]), *by_hand(played, losses[50:60]), *tc.play(played, losses[60:])]
    assert arms == by_hand(handled, losses)
    assert contents(played) == contents(handled)
    assert played.n_outstanding == 1
    tell(played, waiting[0], loss=-1.0)
    tell(handled, waiting[1], loss=-1.0)
    assert contents(played) == contents(handled)


# Whatever is no loss, at once; and one each in the last round of the first block, in the next one, and at the end.
BAD = [(0, math.nan), (0, math.inf), (0, -1e-9), (0, 1.5), (255, -1e-9), (256, math.nan), (299, 1.5)]


@pytest.mark.jit_off
@everyone
def test_a_bad_loss_that_is_read_undoes_the_play(make: Maker) -> None:
    losses = random_losses(300, 3)
    learner = make(3, 10**6, seed=3)
    waiting = learner.ask()
    before = learner.state()
    arms = tc.play(tc.restore(before), losses)
    for t, value in BAD:
        spoilt = losses.copy()
        spoilt[t, arms[t]] = value
        with pytest.raises(LossError, match=f"row {t}, column {arms[t]} is {value!r}; accepted .* 0.0 to 1.0"):
            tc.play(learner, spoilt)
        assert learner.state() == before
    tell(learner, waiting, loss=0.5)


@pytest.mark.jit_off
@each([(name, make) for name, make in MAKERS if (name, make) not in SEEING_ALL])
def test_a_bad_loss_that_is_never_read_is_let_pass_by_play_and_refused_by_table(make: Maker) -> None:
    losses = random_losses(100, 3)
    arms = tc.play(make(3, 1000, seed=3), losses)
    spoilt = np.full_like(losses, math.nan)
    spoilt[np.arange(100), arms] = losses[np.arange(100), arms]
    assert np.array_equal(tc.play(make(3, 1000, seed=3), spoilt), arms)
    first = 1 if arms[0] == 0 else 0
    with pytest.raises(TableError, match=f"row 0, column {first} is .*nan.*; accepted are losses from 0 to 1"):
        tc.environments.Table(spoilt)


@pytest.mark.jit_off
@each(SEEING_ALL)
def test_full_information_reads_the_losses_of_all_arms(make: Maker) -> None:
    """So a bad one is named and undoes the play, whichever arm was played."""
    losses = random_losses(300, 3)
    learner = make(3, 10**6, seed=3)
    before = learner.state()
    for t in (0, 299):
        for arm in range(3):
            spoilt = losses.copy()
            spoilt[t, arm] = math.nan
            with pytest.raises(TableError, match=f"row {t}, column {arm} is nan; accepted are numbers from 0.0 to 1.0"):
                tc.play(learner, spoilt)
            assert learner.state() == before


NO_TABLES: list[tuple[Any, str]] = [
    ([0.1, 0.2], r"shape \(2,\)"),
    (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
    (np.zeros((0, 2)), r"shape \(0, 2\)"),
    (np.zeros((4, 0)), r"shape \(4, 0\)"),
    (0.5, r"losses are 0\.5"),
    (None, "losses are None"),
    ("losses", "losses are 'losses'"),
    ([[0.1, 0.2], [0.3]], r"row 1 .* \[0\.3\]"),
    ([["0.1", "0.2"]], r"row 0, column 0 is '0\.1'"),
    ([[0.1, None]], "row 0, column 1 is None"),
    ([[0.1, 0.2j]], r"row 0, column 1 is 0\.2j"),
]


@pytest.mark.jit_off
@pytest.mark.parametrize(("losses", "named"), NO_TABLES)
def test_what_is_no_table_is_refused(losses: Any, named: str) -> None:
    learner = tc.Exp3(2, seed=1)
    before = learner.state()
    with pytest.raises(TableError, match=named):
        tc.play(learner, losses)
    with pytest.raises(TableError, match=named):
        tc.environments.Table(losses)
    assert learner.state() == before


@pytest.mark.jit_off
def test_the_number_of_arms_must_agree() -> None:
    learner = tc.Exp3(2, seed=1)
    before = learner.state()
    for game in (np.zeros((5, 3)), tc.environments.Table(np.zeros((5, 3))), tc.environments.Piecewise(3, 5, 0)):
        with pytest.raises(TableError, match="the losses have 3 arms and the learner 2"):
            tc.play(learner, game)
    assert learner.state() == before


@pytest.mark.parametrize("thing", [None, 3, tc.Exp3, "exp3"])
def test_only_learners_play(thing: Any) -> None:
    with pytest.raises(OptionError, match="is not a learner"):
        tc.play(thing, np.zeros((5, 2)))


def test_every_kind_of_table_is_the_same_game() -> None:
    losses = random_losses(64, 3).round()
    frozen = losses.copy()
    frozen.flags.writeable = False
    tables: list[Any] = [
        *(losses.tolist(), np.asfortranarray(losses), frozen, np.repeat(losses, 2, axis=0)[::2], losses.astype(">f8")),
        *(losses.astype(kind) for kind in (np.float32, np.int8, np.uint64, bool)),
        tc.environments.Table(losses),
    ]
    arms = tc.play(tc.Exp3(3, seed=5), losses)
    for table in tables:
        assert np.array_equal(tc.play(tc.Exp3(3, seed=5), table), arms)


# -- Ctrl-C -------------------------------------------------------------------------------------------------------

LONG_PLAY = """
import sys
from types import SimpleNamespace
import turncoat as tc

game = tc.environments.Piecewise(3, 10**9, 10, seed=1)
make = lambda: tc.AdaptiveMasterBase(3, 10**9, feedback="shared", seed=2)
first = lambda n: SimpleNamespace(game=game.game, n_arms=3, horizon=n)
learner = make()
waiting = learner.ask()
tc.play(make(), first(1000))
print("playing", flush=True)
try:
    tc.play(learner, first(10**8))
except KeyboardInterrupt:
    print("interrupted", flush=True)
again = make()
again.ask()
tc.play(again, first(learner.n_told))
same = learner.state()["buffer"] == again.state()["buffer"]
learner.tell(waiting, loss=0.5)
print(learner.n_told, same, flush=True)
"""


def test_an_interrupt_leaves_the_learner_after_a_finished_block() -> None:
    """Some 50 s of play, interrupted early: it stops at once, and stands where a shorter play would have ended."""
    with subprocess.Popen([sys.executable, "-c", LONG_PLAY], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "playing\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert child.stdout.readline() == "interrupted\n"
        waited = time.monotonic() - sent
        n_told, same = child.stdout.readline().split()
        assert child.wait(timeout=60) == 0
    assert waited < 2.0  # blocks take a twentieth of a second; the rest is for a busy machine
    assert 1000 < int(n_told) < 10**8
    assert same == "True"


def test_a_keyboard_interrupt_is_no_reason_to_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same within one process: interrupted when the second block would begin, after the first was finished."""
    import importlib

    module = importlib.import_module("turncoat.simulate.loop")  # the module, not the function of the same name
    advance, n_blocks = module.advance, 0

    def interrupted(*words: Any) -> int:
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks > 1:
            raise KeyboardInterrupt
        return int(advance(*words))

    monkeypatch.setattr(module, "advance", interrupted)
    losses = random_losses(1000, 3)
    learner, other = tc.Exp3(3, seed=1), tc.Exp3(3, seed=1)
    with pytest.raises(KeyboardInterrupt):
        tc.play(learner, losses)
    monkeypatch.undo()
    assert 0 < learner.n_told < 1000
    tc.play(other, losses[: learner.n_told])
    assert contents(learner) == contents(other)


def test_masked_tables_environments_and_strangers_are_named() -> None:
    learner = tc.Exp3(2, seed=1)
    masked = np.ma.masked_array(np.full((4, 2), 0.5), mask=np.arange(8).reshape(4, 2) == 5)
    with pytest.raises(TableError, match="row 2, column 1 is masked"):
        tc.play(learner, masked)
    with pytest.raises(TableError, match="row 2, column 1 is masked"):
        tc.best_switching_losses(masked, 1)
    with pytest.raises(TableError, match=r"an environment: pass what its losses\(\) returns"):
        tc.best_switching_losses(tc.environments.Table([[0.5, 0.5]]), 1)  # type: ignore[arg-type]
    with pytest.raises(TableError, match=r"500 arms and the learner 2; accepted is the same \(is the table transposed"):
        tc.play(learner, np.zeros((2, 500)))

    class Stranger:
        game, horizon, n_arms = 7, 10, 2

    with pytest.raises(OptionError, match="has a game of type int, which is not registered"):
        tc.play(learner, Stranger())  # type: ignore[arg-type]
