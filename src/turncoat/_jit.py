"""The one way to compile a function, and the generic rules that compiled loops call.

Every kernel of the package is decorated here and nowhere else, for two reasons.

* numba's disk cache looks only at the file of the *calling* function: change a kernel in another file and the
  old one keeps running. So the cache folder is named by a hash of all the package's sources.
* A folder that cannot be written must mean "no cache", never an import error.

That hash covers this package alone. So kernels written elsewhere, and loops over the games and learners registered for
them, are compiled anew in every process: a user who edits a rule must never be shown the old one.

`view_of`, `ask`, `tell`, `teach`, `write_probabilities` and `probability_of`, `loss_of`, `mean_of`, `planted_of` and
`see` are generic: they dispatch on the NamedTuple that holds a learner's state or an environment's fields. Compiled callers are
specialised per pair of types, and that specialisation is what numba keeps on disk; with the JIT off the same functions
dispatch on `type(...)` themselves. A closure is found on disk again if all it closes over are such NamedTuple classes,
which numba knows by name; one over kernels never is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")  # one libm, so that one seed means one result

import numba
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.extending import intrinsic, overload

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).parent
UNUSED_SECONDS = 30 * 24 * 3600


def source_hash() -> str:
    """A hash of every source file of the package: the name of its kernel cache."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(file.relative_to(PACKAGE)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def cache_home() -> Path:
    """Where compiled kernels are kept: NUMBA_CACHE_DIR if set, else the user's cache folder."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turncoat"


def writable_cache() -> Path | None:
    """This version's cache folder, made if need be; None where nothing can be written."""
    try:
        folder = cache_home() / f"turncoat-{source_hash()}"
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: there is no home at all
        return None
    sweep(folder.parent)
    return folder


def sweep(home: Path) -> None:
    """Remove the caches of other versions that nobody used for long."""
    with suppress(OSError):  # somebody else may be sweeping too
        for folder in home.glob("turncoat-*"):
            if time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


CACHE = writable_cache()


def _is_ours(owner: type) -> bool:
    return owner.__module__.partition(".")[0] == PACKAGE.name


def _is_foreign(kind: Any) -> bool:
    """Is this the type of a NamedTuple from outside the package, or does it hold one? Or is it a class itself?"""
    owner = getattr(kind, "instance_class", None)
    if owner is not None and not _is_ours(owner):
        return True
    if isinstance(kind, numba.types.NamedTupleClass):
        return True  # it may be made at run time, and the next process must be able to read the index
    return isinstance(kind, numba.types.BaseTuple) and any(_is_foreign(part) for part in kind)


class _PackageCache(FunctionCache):  # type: ignore[misc]
    """numba's disk cache, but only for what the source hash covers."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types before, if it is on disk."""
        foreign = any(_is_foreign(kind) for kind in getattr(sig, "args", sig))
        return None if foreign else super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for these types."""
        if not any(_is_foreign(kind) for kind in getattr(sig, "args", sig)):
            super().save_overload(sig, data)


def _compile(function: Function, **flags: bool) -> Function:
    closed_over = [cell.cell_contents for cell in function.__closure__ or ()]
    ours = PACKAGE in Path(function.__code__.co_filename).parents
    ours = ours and all(isinstance(thing, type) and _is_ours(thing) for thing in closed_over)
    for owner in closed_over if ours else ():  # an index of its own on disk: two processes may write at once
        function.__qualname__ += f"-{owner.__module__}.{owner.__qualname__}"
    kernel: Any = numba.njit(error_model="numpy", **flags)(function)
    if CACHE is None or not ours or kernel is function:  # it is the function itself when the JIT is off
        return kernel  # type: ignore[no-any-return]
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        kernel._cache = _PackageCache(function)
    finally:
        numba.config.CACHE_DIR = before
    return kernel  # type: ignore[no-any-return]


def jit(function: Function) -> Function:
    """Compile a kernel. It keeps the GIL, so a learner used from two threads by mistake cannot be torn."""
    return _compile(function)


def jit_rule(function: Function) -> Function:
    """Compile a kernel over a NamedTuple of views, into its caller: its hundred words are not passed on."""
    return _compile(function, forceinline=True)


def jit_game(function: Function) -> Function:
    """Compile a loop over a whole game. It releases the GIL."""
    return _compile(function, nogil=True)


_INLINE = {"forceinline": True}


def compiled_as(stub: Callable[..., Any]) -> Callable[[Function], Function]:
    """Say what a generic function does in compiled code: the decorated one is given the types, and returns the body."""
    decorate: Callable[[Function], Function] = overload(stub, jit_options=_INLINE, strict=False)
    return decorate


def borrow(value: Any) -> Any:
    """The same array, or NamedTuple of arrays, but not counted: compiled code then skips all reference counting.

    For the top of a compiled call only, whose caller owns the memory; never return what was borrowed to Python.
    """
    return value


@overload(borrow, jit_options=_INLINE, strict=False)
def _overload_borrow(value: Any) -> Any:
    return lambda value: _uncounted(value)


@intrinsic
def _uncounted(typing: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, value, arguments[0])

    return value(value), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """LLVM for the value with the owner of every array in it set to null."""
    if isinstance(kind, numba.types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, numba.types.BaseTuple):
        for i, part in enumerate(kind):
            inner = _without_owner(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, inner, i)
    return value


_VIEW: dict[type, Callable[..., Any]] = {}
_ASK: dict[type, Callable[..., Any]] = {}
_TELL: dict[type, Callable[..., Any]] = {}
_SEES_ALL: set[type] = set()
_WRITE_PROBABILITIES: dict[type, Callable[..., Any]] = {}
_PROBABILITY_OF: dict[type, Callable[..., Any]] = {}
_LOSS_OF: dict[type, Callable[..., Any]] = {}
_MEAN_OF: dict[type, Callable[..., Any]] = {}
_PLANTED_OF: dict[type, Callable[..., Any]] = {}
_SEE: dict[type, Callable[..., Any]] = {}


def register_learner(
    state: type,
    *,
    view: Callable[..., Any] | None,
    ask: Callable[..., Any],
    tell: Callable[..., Any],
    probability: Callable[..., Any] | None = None,
    probabilities: Callable[..., Any] | None = None,
    sees_all: bool = False,
) -> None:
    """Make these kernels the rule of learners whose state is this NamedTuple.

    `view(buffer)` names the parts of the buffer. `ask(state)` returns what was chosen, `(index, propensity)`, which
    `tell(state, choice, loss)` is given back. The distribution it draws from is told arm by arm, `probability(state,
    arm)`, or at once, `probabilities(state, out)`; a rule that cannot say it gives neither, and asks `(index, None)`.
    One that `sees_all` is told every arm's loss, `tell(state, choice, losses)`, and has a field `losses` for them. A
    learner of learners has no `view` of its own (None): what its buffer holds depends on its bases, see herd.py.
    """
    _ASK[state], _TELL[state] = ask, tell
    if view is not None:
        _VIEW[state] = view
    if sees_all:
        _SEES_ALL.add(state)
    if probability is not None:
        _PROBABILITY_OF[state] = _without_room(probability)
        probabilities = _arm_by_arm(probability)
    if probabilities is not None:
        _WRITE_PROBABILITIES[state] = probabilities


def _arm_by_arm(probability: Callable[..., Any]) -> Callable[..., Any]:
    @jit_rule
    def probabilities(state: Any, out: Any) -> None:
        for arm in range(out.size):
            out[arm] = probability(state, arm)

    return probabilities


def _without_room(probability: Callable[..., Any]) -> Callable[..., Any]:
    @jit_rule
    def probability_of_arm(state: Any, arm: int, room: Any) -> Any:
        return probability(state, arm)

    return probability_of_arm


@jit_rule
def _one_of_all(state: Any, arm: int, room: Any) -> Any:
    write_probabilities(state, room)
    p = room[arm]
    room[:] = 0.0
    return p


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


def is_state(state: Any) -> bool:
    """Has a learner been registered whose state is this NamedTuple?"""
    return state in _VIEW


def shows_probabilities(state: type) -> bool:
    """Can learners whose state is this NamedTuple say what their next ask draws from?"""
    return state in _WRITE_PROBABILITIES


def sees_all(state: type) -> bool:
    """Are learners whose state is this NamedTuple told the losses of all arms?"""
    return state in _SEES_ALL


def is_game(game: Any) -> bool:
    """Has an environment been registered whose fields are such a NamedTuple?"""
    return type(game) in _LOSS_OF


def view_of(state: type, buffer: Any) -> Any:
    """The parts of a learner's buffer by name: the NamedTuple `state`, over this buffer."""
    return _VIEW[state](buffer)


def ask(state: Any) -> Any:
    """One choice: (index, what the tell needs …). Moves the state's random numbers and nothing else."""
    return _ASK[type(state)](state)


def tell(state: Any, choice: Any, loss: float) -> Any:
    """One update with the loss, in [0, 1], of an earlier choice."""
    return _TELL[type(state)](state, choice, loss)


def teach(state: Any, game: Any, t: int, choice: Any, loss: float, low: float, high: float) -> Any:
    """Tell what round t revealed. Returns -1, or the arm whose loss is outside the range: then nothing was told."""
    kernel = _teach_all if type(state) in _SEES_ALL else _teach_one
    return kernel(state, game, t, choice, loss, low, high)


def write_probabilities(state: Any, out: Any) -> Any:
    """The distribution over arms that the next ask draws from."""
    return _WRITE_PROBABILITIES[type(state)](state, out)


def probability_of(state: Any, arm: int, room: Any) -> Any:
    """What `write_probabilities` says of one arm. `room`: K zeros, for rules that can only say all at once."""
    kernel: Callable[..., Any] = _PROBABILITY_OF.get(type(state), _one_of_all)
    return kernel(state, arm, room)


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
def _teach_one(state: Any, game: Any, t: int, choice: Any, loss: float, low: float, high: float) -> int:
    if not low <= loss <= high:
        return int(choice[0])
    tell(state, choice, (loss - low) / (high - low))
    return -1


@jit_rule
def _teach_all(state: Any, game: Any, t: int, choice: Any, loss: float, low: float, high: float) -> int:
    for arm in range(state.losses.size):
        one = loss_of(game, t, arm)
        if not low <= one <= high:
            return arm
        state.losses[arm] = (one - low) / (high - low)
    tell(state, choice, state.losses)
    return -1


@jit_rule
def _nothing_planted(game: Any, t: int) -> int:
    return -1


@jit_rule
def _nothing_seen(game: Any, t: int, arm: int) -> None:
    pass


@overload(view_of, jit_options=_INLINE, strict=False)
def _overload_view_of(state: Any, buffer: Any) -> Any:
    kernel = _VIEW[state.instance_class]
    return lambda state, buffer: kernel(buffer)


@overload(ask, jit_options=_INLINE, strict=False)
def _overload_ask(state: Any) -> Any:
    kernel = _ASK[state.instance_class]
    return lambda state: kernel(state)


@overload(tell, jit_options=_INLINE, strict=False)
def _overload_tell(state: Any, choice: Any, loss: Any) -> Any:
    kernel = _TELL[state.instance_class]
    return lambda state, choice, loss: kernel(state, choice, loss)


@overload(teach, jit_options=_INLINE, strict=False)
def _overload_teach(state: Any, game: Any, t: Any, choice: Any, loss: Any, low: Any, high: Any) -> Any:
    kernel = _teach_all if state.instance_class in _SEES_ALL else _teach_one
    return lambda state, game, t, choice, loss, low, high: kernel(state, game, t, choice, loss, low, high)


@overload(write_probabilities, jit_options=_INLINE, strict=False)
def _overload_write_probabilities(state: Any, out: Any) -> Any:
    kernel = _WRITE_PROBABILITIES[state.instance_class]
    return lambda state, out: kernel(state, out)


@overload(probability_of, jit_options=_INLINE, strict=False)
def _overload_probability_of(state: Any, arm: Any, room: Any) -> Any:
    kernel: Callable[..., Any] = _PROBABILITY_OF.get(state.instance_class, _one_of_all)
    return lambda state, arm, room: kernel(state, arm, room)


@overload(loss_of, jit_options=_INLINE, strict=False)
def _overload_loss_of(game: Any, t: Any, arm: Any) -> Any:
    kernel = _LOSS_OF[game.instance_class]
    return lambda game, t, arm: kernel(game, t, arm)


@overload(mean_of, jit_options=_INLINE, strict=False)
def _overload_mean_of(game: Any, t: Any, arm: Any) -> Any:
    kernel = _MEAN_OF[game.instance_class]
    return lambda game, t, arm: kernel(game, t, arm)


@overload(planted_of, jit_options=_INLINE, strict=False)
def _overload_planted_of(game: Any, t: Any) -> Any:
    kernel = _PLANTED_OF[game.instance_class]
    return lambda game, t: kernel(game, t)


@overload(see, jit_options=_INLINE, strict=False)
def _overload_see(game: Any, t: Any, arm: Any) -> Any:
    kernel = _SEE[game.instance_class]
    return lambda game, t, arm: kernel(game, t, arm)
