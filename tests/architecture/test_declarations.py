"""What a user may declare: the fields of a State, and the fields of an environment's game. Errors name the field."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import turncoat as tc
from turncoat._compile.games import pack, register_environment
from turncoat._compile.jit import jit_rule
from turncoat._compile.state import State, StateMeta, array, computed
from turncoat.environments import Environment
from turncoat.environments.environment import write_losses
from turncoat.errors import OptionError
from turncoat.types import Matrix


def declared(annotations: dict[str, str], base: Any = State, **body: Any) -> Any:
    return StateMeta("Own", (base,), {"__annotations__": annotations, **body})


BAD: list[tuple[dict[str, str], dict[str, Any], str]] = [
    (
        {"K": "int", "x": "Vector"},
        {"x": array("2K")},
        r"the field 'x' is Vector = .*'2K'.*; accepted are int, bool, float",
    ),
    ({"K": "int", "x": "Vector"}, {"x": array("Q")}, r"the field 'x' .*name 'Q' is not defined.*sizes \(K\)"),
    ({"x": "Vector"}, {"x": array("K")}, r"the field 'x' .*sizes \(none yet\)"),
    ({"K": "int", "x": "Vector"}, {"x": array("5 / K")}, "the field 'x' "),
    (
        {"x": "Vector", "y": "Vector"},
        {"x": array(...), "y": array(...)},
        "the field 'y' .*one array of one axis",
    ),
    ({"x": "NDArray[np.int32]"}, {"x": array(3)}, "int32 has not 64 bits"),
    ({"x": "str"}, {}, "the field 'x' is str"),
    ({"P": "int"}, {"P": computed(abs, "K")}, "'K' is no size"),
    ({"eta": "float"}, {"eta": 0.1}, "the field 'eta' of Own has a value; accepted is none"),
    ({"items": "Vector"}, {"items": array(3)}, "the field 'items' is declared twice, or means something"),
    ({"rng": "Words"}, {"rng": array(4)}, "the field 'rng' is declared twice"),
]


@pytest.mark.jit_off
@pytest.mark.parametrize("annotations, body, message", BAD)
def test_a_bad_declaration_names_the_field(annotations: dict[str, str], body: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        declared(annotations, **body)


@pytest.mark.jit_off
def test_fields_are_declared_in_one_class() -> None:
    first = declared({"K": "int"})
    with pytest.raises(TypeError, match="Own adds fields to Own; accepted are all fields in one class"):
        declared({"x": "Vector"}, base=first, x=array(3))


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "constants, message",
    [
        ({"K": -2}, "K is -2; accepted are whole numbers from 0"),
        ({"K": 2.5}, "K is 2.5; accepted are whole numbers from 0"),
        ({"K": 2**60}, "accepted are whole numbers from 0"),
        ({"K": 3, "x": [1.0, 2.0]}, "x is .*; accepted are 3 numbers within"),
    ],
)
def test_a_bad_constant_is_named(constants: dict[str, Any], message: str) -> None:
    own = declared({"K": "int", "x": "Vector"}, x=array("K"))
    with pytest.raises(ValueError, match=message):
        own.lay_out(**constants)
    with pytest.raises(ValueError, match="y is 'zeros' at 1000005; accepted are 2 numbers within"):
        declared({"x": "Vector", "y": "Vector"}, x=array(2), y=array(2, at="x + 1000000")).lay_out()


@pytest.mark.jit_off
def test_constants_of_whole_numbers_are_kept_as_such() -> None:
    own = declared({"x": "Ints"}, x=array(2))
    buffer, places = own.lay_out(x=[7, -9])
    assert own(buffer).x.tolist() == [7, -9] and places == [5, 6]


class OwnGame(NamedTuple):
    table: Matrix


@jit_rule
def own_loss(game: OwnGame, t: int, arm: int) -> Any:
    if t == 3:
        raise ValueError("this kernel raises")
    return game.table[t, arm] > 0.5  # a bool is a loss too


@jit_rule
def own_see(game: OwnGame, t: int, arm: int) -> None:
    game.table[t, arm] = 1.0


register_environment(OwnGame, loss_of=own_loss)


class Own(Environment):
    """Makes its game anew at each look: the loop alone keeps it."""

    name = "own"
    n_arms, horizon, n_switches = 2, 6, None

    @property
    def game(self) -> Any:
        return OwnGame(np.ones((200_000, 2)))


def test_a_game_lives_as_long_as_the_loop_reads_it() -> None:
    """It was freed while the loop read it, and the process crashed."""
    assert Own().losses_block(0, 3).tolist() == [[1.0, 1.0]] * 3


def test_an_error_in_a_kernel_of_an_environment_is_raised() -> None:
    """C functions swallow errors: the game went on with a loss of 0."""
    for play in (lambda: tc.play(tc.Exp3(2, seed=1), Own()), lambda: Own().losses_block(0, 6)):
        with pytest.raises(RuntimeError, match="a rule of the environment raised an error"):
            play()


def test_what_is_read_only_stays_so() -> None:
    class Watched(NamedTuple):
        table: Matrix

    register_environment(Watched, loss_of=own_loss, see=own_see)
    table = np.ones((6, 2))
    pack(Watched(table))
    table.flags.writeable = False
    with pytest.raises(Exception, match=r"setitem|readonly"):
        pack(Watched(table))


@pytest.mark.parametrize("table", [np.array(0.5), np.ones((2, 2), ">f8"), np.ones((2, 4))[:, ::2], "text", (1.0, 2.0)])
def test_a_field_that_compiled_code_cannot_read_is_named(table: Any) -> None:
    with pytest.raises(OptionError, match=r"the field 'table' of OwnGame is [\s\S]*; accepted are numbers"):
        pack(OwnGame(table))


def test_an_array_that_is_no_game_is_refused() -> None:
    """It was taken for addresses, and the process crashed."""
    with pytest.raises(ValueError, match="does not hold the words of a game"):
        write_losses(np.full(8, 7, dtype=np.uint64), 0, np.empty((2, 2)))
