"""The generic rules of environments: what an arm costs in a round.

`loss_of`, `mean_of`, `planted_of` and `see` take the NamedTuple that holds an environment's fields, for which
`register_environment` has made kernels known; or, in compiled loops, the words that `pack` made of it (callbacks.py):
then the kernel is called by address, and the loop is compiled once for all environments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from turncoat._compile.callbacks import (
    FAILED,
    FLOAT_OF_ARM,
    INT_OF_ROUND,
    MAGIC,
    MARK,
    N_FIRST,
    NOTHING_OF_ARM,
    PLANTED,
    call_loss,
    call_mean,
    call_planted,
    call_see,
    callback,
    spec_of,
    unpack,
    words_of,
)
from turncoat._compile.jit import compiled_as, dispatch, jit_rule, without_refcount
from turncoat.errors import OptionError

_LOSS_OF: dict[type, Callable[..., Any]] = {}
_MEAN_OF: dict[type, Callable[..., Any]] = {}
_PLANTED_OF: dict[type, Callable[..., Any]] = {}
_SEE: dict[type, Callable[..., Any]] = {}


def register_environment(
    game: type,
    *,
    loss_of: Callable[..., Any],
    mean_of: Callable[..., Any] | None = None,
    planted_of: Callable[..., Any] | None = None,
    see: Callable[..., Any] | None = None,
) -> None:
    """Make these kernels the rule of environments whose fields are this NamedTuple.

    Without `mean_of` losses are their own means, without `planted_of` nothing is planted, and without `see` the
    adversary is oblivious.
    """
    _LOSS_OF[game] = loss_of
    _MEAN_OF[game] = mean_of or loss_of
    _PLANTED_OF[game] = planted_of or _nothing_planted
    _SEE[game] = see or _nothing_seen


def is_game(game: Any) -> bool:
    """Has an environment been registered whose fields are such a NamedTuple?"""
    return type(game) in _LOSS_OF


def loss_of(game: Any, t: int, arm: int) -> Any:
    """The loss of an arm in round t, counted from 0: a pure function for an oblivious adversary."""
    return _LOSS_OF[type(game)](game, t, arm)


def mean_of(game: Any, t: int, arm: int) -> Any:
    """The mean loss of an arm in round t: what its loss would be without the noise."""
    return _MEAN_OF[type(game)](game, t, arm)


def planted_of(game: Any, t: int) -> Any:
    """The best arm in mean of round t, on the path the environment planted; -1 where nothing is planted."""
    return _PLANTED_OF[type(game)](game, t)


def see(game: Any, t: int, arm: int) -> Any:
    """Show an adaptive adversary the arm played in round t. An oblivious one does not look, and it costs nothing."""
    return _SEE[type(game)](game, t, arm)


@jit_rule
def _nothing_planted(game: Any, t: int) -> int:
    return -1


@jit_rule
def _nothing_seen(game: Any, t: int, arm: int) -> None:
    pass


# -- games in compiled loops --------------------------------------------------------------------------------------


def pack(game: Any, means: bool = True) -> Any:
    """A game as compiled loops take it: its words. With the JIT off, the game itself.

    The words hold addresses of the game's arrays: keep the game while they are used. Without `means` neither mean
    losses nor the planted path can be asked for: there is less to compile.
    """
    if numba.config.DISABLE_JIT:
        return game
    Game: Any = type(game)
    if Game not in _LOSS_OF:
        raise OptionError(f"{Game.__name__} is not registered; accepted is what register_environment made known")
    spec, rule = spec_of(game), (_LOSS_OF[Game], _MEAN_OF[Game], _PLANTED_OF[Game], _SEE[Game])
    loss, seen = _played(Game, spec, rule)
    mean, planted = _planned(Game, spec, rule) if means else (0, 0)
    return words_of(game, (loss, mean or loss, planted, seen))


@cache
def _played(Game: Any, spec: str, rule: tuple[Callable[..., Any], ...]) -> tuple[int, int]:
    """The callbacks `loss` and `see` of games with fields of these types. `rule`: a game registered anew has others."""

    def loss(words: Any, t: int, arm: int) -> float:
        value: float = 1.0 * loss_of(unpack(Game, spec, words), t, arm)  # a bool is a loss too
        return value

    def seen(words: Any, t: int, arm: int) -> None:
        see(unpack(Game, spec, words), t, arm)

    loss_rule, _, _, see_rule = rule
    at_loss = callback(loss, FLOAT_OF_ARM, loss_rule)
    return at_loss, callback(seen, NOTHING_OF_ARM, see_rule) if see_rule is not _nothing_seen else 0


@cache
def _planned(Game: Any, spec: str, rule: tuple[Callable[..., Any], ...]) -> tuple[int, int]:
    """The callbacks `mean` and `planted`; 0 where losses are their own means, and where nothing is planted."""

    def mean(words: Any, t: int, arm: int) -> float:
        value: float = 1.0 * mean_of(unpack(Game, spec, words), t, arm)  # a bool is a loss too
        return value

    def planted(words: Any, t: int) -> int:
        return int(planted_of(unpack(Game, spec, words), t))

    loss_rule, mean_rule, planted_rule, _ = rule
    scatters, plants = mean_rule is not loss_rule, planted_rule is not _nothing_planted
    at_mean = callback(mean, FLOAT_OF_ARM, mean_rule) if scatters else 0
    return at_mean, callback(planted, INT_OF_ROUND, planted_rule) if plants else 0


def open_game(game: Any) -> Any:
    """The packed game a compiled loop was given, checked, and without reference counting. For the top of a loop."""
    return game


@compiled_as(open_game)
def _overload_open_game(game: Any) -> Any:
    return lambda game: _checked(without_refcount(game))


@jit_rule
def _checked(words: Any) -> Any:
    if words.size < N_FIRST or words[MARK] != np.uint64(MAGIC):
        raise ValueError("this array does not hold the words of a game; accepted is what pack returned")
    return words


@jit_rule
def _fail() -> None:
    raise RuntimeError("a rule of the environment raised an error; NUMBA_DISABLE_JIT=1 shows which")


@jit_rule
def _packed_loss(words: Any, t: int, arm: int) -> Any:
    value = call_loss(words, t, arm)
    if value != value and words[FAILED]:
        _fail()
    return value


@jit_rule
def _packed_mean(words: Any, t: int, arm: int) -> Any:
    value = call_mean(words, t, arm)
    if value != value and words[FAILED]:
        _fail()
    return value


@jit_rule
def _packed_planted(words: Any, t: int) -> Any:
    arm = call_planted(words, t, 0) if words[PLANTED] else -1
    if words[FAILED]:
        _fail()
    return arm


@jit_rule
def _packed_see(words: Any, t: int, arm: int) -> Any:
    call_see(words, t, arm)
    if words[FAILED]:
        _fail()


def _either(packed: Any, known: dict[type, Any]) -> Callable[[Any], Any]:
    words = numba.types.Array(numba.types.uint64, 1, "C")
    return lambda game: packed if game == words else known[game.instance_class]


dispatch(loss_of, _either(_packed_loss, _LOSS_OF))
dispatch(mean_of, _either(_packed_mean, _MEAN_OF))
dispatch(planted_of, _either(_packed_planted, _PLANTED_OF))
dispatch(see, _either(_packed_see, _SEE))
