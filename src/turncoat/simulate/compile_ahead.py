"""compile: all that learners and environments will run is compiled ahead, and kept on disk for later processes.

For a container's build, or before the first request. Learners and environments compile apart from one another: a game
between any two of those that were named compiles nothing more.
"""

from __future__ import annotations

import reprlib
import time
import warnings
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import numpy as np

from turncoat._compile.games import pack
from turncoat._compile.progress import compiling, log
from turncoat.environments.ball import BallSwitching
from turncoat.environments.environment import Environment, write_losses, write_means, write_path, write_path_means
from turncoat.environments.scenarios import SCENARIOS, scenario
from turncoat.environments.table import TableGame
from turncoat.errors import OptionError, unknown
from turncoat.learners import LEARNERS, Learner, SwitchingLinear
from turncoat.learners.compile_methods import compile_methods, middle_loss
from turncoat.learners.entries import ENTRIES, make_learner
from turncoat.simulate.loop import play, play_points
from turncoat.simulate.rounds import blank_notes, close_round

ROUNDS = 1000  # what a learner or an environment that is made here is made for
N_ARMS = 3
DEFAULT_LEARNERS = ("turncoat",)
EVERY_ENVIRONMENT = "environments"  # those with names, in one: most have the same kind of game


def compile(  # noqa: A001  tc.compile: the builtin is not used in this package
    *learners: Any,
    environments: Iterable[Any] | None = None,
    on_compile: Callable[[str, float], Any] = lambda name, seconds: None,
) -> None:
    """Compile ahead all that these learners can be asked, and games in these environments; later processes find it.

    `learners` are names, as in `race` and `turncoat list`, classes, learners (which stay as they are), or makers,
    called as maker(arms, horizon, seed=…); without any, `Turncoat`. `environments` are scenario ids or environments;
    without the word, all that have names. After each, `on_compile` is called with its name and the seconds it took:
    next to none for what is on disk.
    """
    tasks: list[tuple[str, Callable[[Any], None], list[Any]]] = [
        (_name_of(one), _compile_learner, [_learner_of(one)]) for one in learners or DEFAULT_LEARNERS
    ]
    if environments is None:
        tasks.append((EVERY_ENVIRONMENT, _compile_environment, [_environment_of(one) for one in SCENARIOS]))
    else:
        tasks += [(_name_of(one), _compile_environment, [_environment_of(one)]) for one in environments]
    with compiling.unannounced():
        for name, compile_one, things in tasks:
            began = time.perf_counter()
            for thing in things:
                compile_one(thing)
            seconds = time.perf_counter() - began
            log.info("compiled %s in %.1f s", name, seconds)
            on_compile(name, seconds)


def _name_of(one: Any) -> str:
    return one if isinstance(one, str) else str(getattr(one, "name", None) or reprlib.repr(one))


def _learner_of(one: Any) -> Learner:
    """The learner of a name, class or maker."""
    if isinstance(one, Learner):
        return one
    if isinstance(one, str):
        known = {**LEARNERS, **ENTRIES}
        if one not in known:
            raise unknown("learner", one, known)
        one = known[one]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = make_learner(one, N_ARMS, ROUNDS, 0, 1) if callable(one) else None
    if not isinstance(made, Learner):
        raise OptionError(
            f"{reprlib.repr(one)} is or makes no learner that is compiled; accepted are names of `turncoat list`, "
            "learners, and what makes them from (arms, horizon, seed=…)"
        )
    return made


def _environment_of(one: Any) -> Any:
    if isinstance(one, str):
        return scenario(one, ROUNDS)
    if not isinstance(one, Environment | BallSwitching):
        raise OptionError(f"{reprlib.repr(one)} is no environment; accepted are environments and scenario ids")
    return one


def _compile_learner(learner: Learner) -> None:
    compile_methods(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(learner, SwitchingLinear):
            play_points(copy(learner), BallSwitching(learner.dimension, 1, 0, size=0.0, noise=0.0))
        else:
            table = np.full((1, learner.n_arms), middle_loss(learner))
            play(copy(learner), table)
            play(copy(learner), table, delay=1)
            game = TableGame(table)
            close_round(pack(game, means=False), tuple(blank_notes(0, 0)), 0, 0, 0.0)


def _compile_environment(environment: Environment | BallSwitching) -> None:
    """Compile the game, for loops, and what looks at it."""
    if isinstance(environment, BallSwitching):
        BallSwitching(environment.dimension, 1, 0).losses()
        return
    game, block = environment.game, np.empty((0, environment.n_arms))
    words = pack(game)
    rounds = np.empty(0, dtype=np.int64)
    for write in (write_losses, write_means):
        write(words, 0, block)
    write_path(words, 0, rounds)
    write_path_means(words, rounds, np.empty(0))
    if not environment.oblivious:
        environment.fresh().losses_against(rounds)  # type: ignore[attr-defined]
