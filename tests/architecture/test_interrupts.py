"""Ctrl-C during looks at learners, calls of kernels and whole games: each is heard, and none crashes the process.

numba makes arrays and NamedTuples for Python by running Python code; a Ctrl-C noticed there crashed the process. So
compiled code returns numbers and tuples of numbers only. At 8d72b1b, without the patch of numba's boxing that stood
there, LOOK died at the third interrupt at the latest. `make test` makes a tenth of the interrupts of `make test-all`,
and fewer learners: a thousand looks for each.

Python itself drops an exception that is raised in the callback of a weak reference or in a finaliser, and says so on
stderr. So each wait for an interrupt ends after a second; an interrupt that was lost in any other way fails the test.
"""

from __future__ import annotations

import pytest

from tests.architecture.test_start_up import run
from tests.cases import some

pytestmark = pytest.mark.slow

LOOK = """
import random, signal, sys, time, turncoat

dropped = []
sys.unraisablehook = lambda error: dropped.append(1)

learner = {maker}
signal.signal(signal.SIGALRM, signal.default_int_handler)

def look():
    learner.probabilities(), learner.view().clock, learner.state()
    learner.tell(learner.ask(), loss=0.5)

look()
heard, lost, pause = 0, 0, random.Random(1)
while heard < {n}:
    try:
        signal.setitimer(signal.ITIMER_REAL, pause.uniform(1e-6, 2e-4))
        end = time.monotonic() + 1
        while time.monotonic() < end:
            look()
    except KeyboardInterrupt:
        heard += 1
    else:
        lost += 1
print(heard, lost <= len(dropped))
"""

PLAY = """
import random, signal, sys, time, numpy, turncoat

dropped = []
sys.unraisablehook = lambda error: dropped.append(1)

losses = numpy.random.default_rng(1).random((3000, 5))
game = turncoat.environments.Flip(5, 3000, 3)
learner = {maker}
turncoat.play(learner, losses), turncoat.play(learner, game), game.losses_block(0, 9)
signal.signal(signal.SIGALRM, signal.default_int_handler)
heard, lost, pause = 0, 0, random.Random(1)
while heard < {n}:
    try:
        signal.setitimer(signal.ITIMER_REAL, pause.uniform(1e-6, 1e-3))
        end = time.monotonic() + 1
        while time.monotonic() < end:
            turncoat.play(learner, losses), turncoat.play(learner, game), game.losses_block(0, 9)
    except KeyboardInterrupt:
        heard += 1
    else:
        lost += 1
print(heard, lost <= len(dropped))
"""

RACE = """
import random, signal, sys, tempfile, time, turncoat, warnings

dropped = []
sys.unraisablehook = lambda error: dropped.append(1)

warnings.simplefilter("ignore", ResourceWarning)  # Python's own: a folder that was being listed is closed later

def race(folder):
    turncoat.race({"exp3": turncoat.Exp3, "turncoat": turncoat.Turncoat}, ["flip/3"], 300, seeds=2, folder=folder)

with tempfile.TemporaryDirectory() as folder:
    race(folder)
signal.signal(signal.SIGALRM, signal.default_int_handler)
heard, lost, pause = 0, 0, random.Random(1)
while heard < {n}:
    with tempfile.TemporaryDirectory() as folder:
        try:
            signal.setitimer(signal.ITIMER_REAL, pause.uniform(1e-6, 0.02))
            end = time.monotonic() + 1
            while time.monotonic() < end:
                race(folder)
        except KeyboardInterrupt:
            heard += 1
        else:
            lost += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
print(heard, lost <= len(dropped))
"""

MAKERS = ["turncoat.Turncoat(5)", "turncoat.MasterBase(5, 10**9)", "turncoat.Exp3(5)"]


def tenth(n: int) -> pytest.MarkDecorator:
    """A tenth of so many interrupts for `make test`, all of them for `make test-all`."""
    return pytest.mark.parametrize("n", [n // 10, pytest.param(n, marks=pytest.mark.exhaustive)])


@tenth(10_000)
@pytest.mark.parametrize("maker", some(MAKERS, 2))
def test_ctrl_c_while_a_learner_is_looked_at(maker: str, n: int) -> None:
    assert run(LOOK.format(maker=maker, n=n)) == [f"{n} True"]


@tenth(3_000)
@pytest.mark.parametrize("maker", some(MAKERS, 1))
def test_ctrl_c_in_the_middle_of_games(maker: str, n: int) -> None:
    assert run(PLAY.format(maker=maker, n=n)) == [f"{n} True"]


@tenth(1_000)
def test_ctrl_c_in_the_middle_of_races(n: int) -> None:
    """While games are played, compared, saved, and read back."""
    assert run(RACE.replace("{n}", f"{n}")) == [f"{n} True"]
