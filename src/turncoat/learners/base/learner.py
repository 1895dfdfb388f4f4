"""Learner, the base class: ask, tell, observe, forget, probabilities, and saved states.

A learner's state is one flat buffer of float64: saving or copying a learner is copying one array. The class of the
state declares the buffer's fields (_compile/state.py); kernels are called on the buffer (buffer.py).

A learner's file has that class, its kernels `ask`, `tell` and `probability`, given to `register_learner`, and the
learner's class, which names the state's as its `state_type` and lays out the buffer with `start`.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np

from turncoat._compile.dispatch import is_state, sees_all, shows_probabilities, view_of
from turncoat._compile.state import CLOCK, N_WORDS
from turncoat._version import __version__
from turncoat.decision import Decision
from turncoat.errors import (
    DecisionError,
    DecisionTypeError,
    HorizonWarning,
    ObserveError,
    OptionError,
    PropensityError,
    StateError,
)
from turncoat.learners.base.batches import BatchMethods
from turncoat.learners.base.buffer import Served, buffer_kernels
from turncoat.learners.base.declarations import Facts, Stability, Variant, is_ours, options_of
from turncoat.learners.base.optional_methods import OptionalMethods
from turncoat.learners.base.rule_version import STATE_FORMAT, Versioned
from turncoat.learners.base.saved_state import Checks, check_fields, outstanding_ids, packed, problem, unpacked
from turncoat.random import seed_words
from turncoat.types import Label, Seed, Vector
from turncoat.validation.games import parse_arms, parse_horizon, parse_propensity, parse_range, unit_loss
from turncoat.validation.numbers import is_whole

_MOST_BASES = 2**31  # far above any; what compiled code is handed must fit its integers
_SUM_TOLERANCE = 1e-6  # far above any rounding of probabilities, far below any real damage

KNOWN: dict[str, type[Learner]] = {}  # learners by name: ours, or the last that was defined in this process

_new_decision: Callable[..., Decision] = tuple.__new__  # half the cost of calling Decision(...)


class Learner(BatchMethods, OptionalMethods, Versioned):
    """A rule that picks an arm and learns from its loss. Made by its subclasses only."""

    facts: ClassVar[Facts]
    options: ClassVar[tuple[str, ...]] = ()  # the constructor's own keywords, each an Option or a property of the class
    can_race: ClassVar[bool] = True
    variants: ClassVar[tuple[Variant, ...]] = ()  # other entries in races
    state_type: Any  # its State, registered with its rule
    signed: tuple[str, ...] = ()  # fields of the state that may be negative; all must be finite
    uses_horizon: ClassVar[bool] = True  # or there is nothing to warn of once it is behind
    uses_propensity: ClassVar[bool] = True  # to learn; or `observe` can do without
    sees_all: ClassVar[bool] = False  # it is told the losses of all arms, not only that of the arm it chose
    stability: Stability = "none"  # of the class; a mode of it may have another
    plans_ahead: ClassVar[bool] = False  # as many pulls as decisions that it waits for; see optional_methods.py

    _ask: Callable[..., Served]
    _tell: Callable[..., int]
    _probabilities: Callable[..., None]
    _has_bases: ClassVar[bool] = False  # a master's tell needs the base and its probabilities too
    _says_propensity: ClassVar[bool]
    _is_plain: ClassVar[bool]  # no base, but a propensity
    _kernels_of = staticmethod(buffer_kernels)

    def __init_subclass__(cls) -> None:
        if "options" not in vars(cls):
            cls.options = options_of(cls) or cls.options
        if "name" in vars(cls) and not (cls.name in KNOWN and is_ours(KNOWN[cls.name])):
            KNOWN[cls.name] = cls
        if "state_type" not in vars(cls):
            return
        if not is_state(cls.state_type):
            raise OptionError(f"state_type is {cls.state_type!r}; accepted is a State given to register_learner")
        if sees_all(cls.state_type) != cls.sees_all:
            owner = "a FullInformationLearner" if sees_all(cls.state_type) else "any other learner"
            raise OptionError(f"{cls.__name__} has the state of {owner}: sees_all of register_learner says whose it is")
        kernels = cls._kernels_of(cls.state_type)
        cls._ask, cls._tell = staticmethod(kernels.ask), staticmethod(kernels.tell)
        cls._probabilities = staticmethod(kernels.probabilities)
        cls._ask_many, cls._tell_many = map(staticmethod, kernels[3:])
        cls._says_propensity = shows_probabilities(cls.state_type)
        cls._is_plain = cls._says_propensity and not cls._has_bases

    def __init__(
        self,
        arms: int | Sequence[Label],
        horizon: int | None,
        seed: Seed,
        loss_range: Sequence[float],
        needed_by: str | None,
    ) -> None:
        # Checks what all learners share (needed_by: the name of what needs a horizon). A subclass then calls `start`.
        self._labels = parse_arms(arms)
        self._horizon = parse_horizon(horizon, needed_by=needed_by)
        self._low, self._high = parse_range(loss_range)
        self._unit = (self._low, self._high) == (0.0, 1.0)
        self._words = seed_words(seed)
        self._token = secrets.token_hex(8)
        self._next_id = 0
        self._outstanding: set[int] = set()

    def start(self, rest: int = 0, **constants: Any) -> Any:
        """Lay out the buffer: zeros, but for the random words and these constants, by the names of their fields.

        For constructors: it begins anew. Returns the state, of which the rest is still to be set. `rest`: the length of
        the field that takes the rest of the buffer.
        """
        buffer, places = self.state_type.lay_out(rest, **constants)
        self._buffer: Vector = buffer
        self._buffer[:N_WORDS].view(np.uint64)[:] = self._words
        self._constants: Any = places
        self._settle()
        return self.view()

    def _settle(self) -> None:
        """Fix what follows from the buffer: when to warn that the horizon is behind."""
        horizon = self.horizon if self.uses_horizon and self.horizon is not None else math.inf
        self._warn_after = horizon if self.n_told <= horizon else math.inf

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def arms(self) -> list[Label]:
        """The labels of the arms; their indices where only a count was given."""
        return list(self._labels)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self._labels)

    @property
    def horizon(self) -> int | None:
        """T, the number of rounds it is tuned for; None where it needs none."""
        return self._horizon

    @property
    def loss_range(self) -> tuple[float, float]:
        """The smallest and largest loss that can be told."""
        return self._low, self._high

    @property
    def n_told(self) -> int:
        """How many losses it has learned from: the rule's clock."""
        return int(self._buffer[CLOCK : CLOCK + 1].view(np.int64)[0])

    @property
    def n_outstanding(self) -> int:
        """How many decisions wait to be told."""
        return len(self._outstanding)

    @property
    def n_asked(self) -> int:
        """How many decisions it has made: the id of the next one."""
        return self._next_id

    @property
    def parts(self) -> Any:
        """What compiled loops are given of it: its buffer, and what else its state has beside it."""
        return self._buffer

    def view(self) -> Any:
        """The state, whose fields are named, live views on the buffer: for looking at."""
        return view_of(self.state_type, self.parts)

    def probabilities(self, *, allowed: Iterable[Label] | None = None, m: int | None = None) -> Vector:
        """The distribution over arms that the next `ask` draws from, given the same words."""
        if allowed is not None or m is not None or self._waiting:
            return self._probabilities_planned(allowed, m)
        if not self._says_propensity:
            name = type(self).__name__
            raise PropensityError(f"{name} has no probabilities to show: its rule has no closed form for them")
        served = np.empty(self.n_arms)
        self._probabilities(self._buffer, served)
        return served

    def __repr__(self) -> str:
        words = [self._size()]
        if self.horizon is not None:
            words.append(f"horizon {self.horizon}")
        words += [f"{word}={getattr(self, word)!r}" for word in self.options]
        words.append(f"{self.n_told} told, {self.n_outstanding} outstanding")
        return f"<{type(self).__name__}: {'; '.join(words)}>"

    def _size(self) -> str:
        return f"{self.n_arms} arms" if self.n_arms > 1 else "1 arm"

    # -- ask and tell -------------------------------------------------------------------------------------------

    def ask(self, *, allowed: Iterable[Label] | None = None, m: int | None = None) -> Decision:
        """Choose an arm, of those `allowed` if there are any. Tell what it cost later, in any order, or forget it.

        `m`: for Turncoat alone, how many pulls it plans ahead; by default as many as it waits for (docs/production.md).
        """
        if allowed is not None or m is not None or self._waiting:
            return self._ask_planned(allowed, m)
        index, q, base, p_h, p_arm = self._ask(self._buffer)
        number = self._next_id
        self._next_id = number + 1
        self._outstanding.add(number)
        if self._reach > 1:
            self._note_ask()
        return _new_decision(Decision, (self._labels[index], index, q, base, p_h, p_arm, self._token, number, None, 1))

    def tell(self, decision: Decision, loss: float | None = None, *, reward: float | None = None) -> None:
        """Learn what a decision cost: a loss, or a reward, inside `loss_range`. Each decision can be told once."""
        if decision.__class__ is not Decision:
            raise self._refusal(decision)
        _, index, q, base, p_h, p_arm, token, number, allowed, m = decision
        try:
            known = number in self._outstanding and token == self._token
        except TypeError:  # an id that cannot even be looked up
            known = False
        if not known:
            raise self._refusal(decision)
        if not self._unit or loss.__class__ is not float or reward is not None or not 0.0 <= loss <= 1.0:
            loss = self._unit_loss(loss, reward, decision)
        clock = -1
        if index.__class__ is int and -1 < index < len(self._labels):
            if allowed is not None or m != 1:
                clock = self._tell_planned(index, loss, q, allowed, m)
            elif self._is_plain:
                clock = self._tell(self._buffer, index, loss, q) if isinstance(q, float) and base is None else -1
            elif not self._has_bases:
                clock = self._tell(self._buffer, index, loss, 1.0) if q is None and base is None else -1
            elif isinstance(q, float) and isinstance(base, int) and isinstance(p_h, float) and isinstance(p_arm, float):
                base = base if -1 < base < _MOST_BASES else _MOST_BASES  # which no learner has
                clock = self._tell(self._buffer, index, loss, q, base, p_h, p_arm)
        if clock < 0:
            raise self._altered(decision)
        self._outstanding.discard(number)
        if clock > self._warn_after or self.plans_ahead:
            self._note_tell(number, clock)

    def observe(
        self,
        index: int,
        loss: float | None = None,
        propensity: float | None = None,
        *,
        reward: float | None = None,
        allowed: Iterable[int] | None = None,
        m: int | None = None,
    ) -> None:
        """Learn from a round decided elsewhere: arm index, its loss, and the probability it was served with.

        Rules that do not divide by `propensity` can do without. `allowed`: the indices it was chosen from, if not all.
        `m`: for Turncoat alone, how many pulls were planned ahead when it was chosen; 1 if not given.
        """
        if not is_whole(index) or not 0 <= index < self.n_arms:
            raise OptionError(f"index is {index!r}; accepted are whole numbers from 0 to {self.n_arms - 1}")
        served = parse_propensity(propensity, needed=self.uses_propensity)
        among = None if allowed is None else self._parse_among(int(index), allowed)
        planned = 1 if m is None else self._parse_m(m)
        unit = self._unit_loss(loss, reward)
        if among is None and planned == 1:
            clock = self._observe(int(index), unit, served)
        else:
            clock = self._tell_planned(int(index), unit, served, among, planned)
        if clock > self._warn_after:
            self._warn_past_horizon()

    def _note_tell(self, number: int, clock: int) -> None:
        """Decision `number` was told, and is outstanding no more."""
        if clock > self._warn_after:
            self._warn_past_horizon(stacklevel=4)

    def _observe(self, index: int, loss: float, propensity: float) -> int:
        return self._tell(self._buffer, index, loss, propensity)

    def _unit_loss(self, loss: Any, reward: Any, decision: Decision | None = None) -> float:
        return unit_loss(loss, reward, self._low, self._high)

    @property
    def accepts(self) -> tuple[float, float]:
        """The smallest and largest loss that can be told at all."""
        return self.loss_range

    def told_at_once(self) -> tuple[float, float]:
        """The losses that compiled loops may tell by themselves."""
        return self.loss_range

    def take_in(self, index: int, loss: float) -> bool:
        """For compiled loops: tell a loss outside the range, of the arm just asked for. False: it is an error."""
        return False

    def forget(self, decision: Decision) -> None:
        """Drop a decision that will never be told."""
        if not self._is_outstanding(decision):
            raise self._refusal(decision)
        self._outstanding.discard(decision.id)
        if self.plans_ahead:
            self._note_forget(decision.id)

    def _is_outstanding(self, decision: Decision) -> bool:
        return (
            type(decision) is Decision
            and decision.learner == self._token
            and is_whole(decision.id)
            and decision.id in self._outstanding
        )

    def _refusal(self, decision: Any) -> DecisionError | DecisionTypeError:
        """Why this decision cannot be told or forgotten."""
        if type(decision) is not Decision:
            return DecisionTypeError(
                f"{decision!r} ({type(decision).__name__}) is not a Decision: accepted is what ask returned"
            )
        if decision.learner != self._token:
            return DecisionError(f"{decision!r} was made by another learner")
        if not is_whole(decision.id) or not 0 <= decision.id < self._next_id:
            return DecisionError(f"{decision!r} is unknown: this learner has made {self._next_id} decisions so far")
        return DecisionError(f"{decision!r} was told or forgotten already")

    @contextmanager
    def whole_game(self) -> Iterator[None]:
        """Around a compiled loop that works on `view()`: an error puts the state back as it was before."""
        before, next_id, outstanding = self._buffer.copy(), self._next_id, self._outstanding.copy()
        try:
            yield
        except Exception:
            self._buffer[:] = before
            self._next_id, self._outstanding = next_id, outstanding
            raise
        if self.n_told > self._warn_after:
            self._warn_past_horizon(stacklevel=5)

    def _warn_past_horizon(self, stacklevel: int = 3) -> None:
        self._warn_after = math.inf
        text = f"{type(self).__name__} is past its horizon of {self.horizon} rounds and goes on with its last rates"
        warnings.warn(text, HorizonWarning, stacklevel=stacklevel)

    def _altered(self, decision: Decision) -> DecisionError:
        return DecisionError(f"{decision!r} has been altered: it is not what this learner decided")

    def _no_observe(self, why: str) -> ObserveError:
        return ObserveError(f"{type(self).__name__} cannot observe rounds decided elsewhere: {why}")

    # -- saving -------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it as a dict that JSON can hold: `tc.restore` goes on from there identically."""
        return {
            "format": STATE_FORMAT,
            "turncoat": __version__,
            "learner": self.name,
            **({"rule": self.rule_version} if self.rule_version > 1 else {}),
            "arms": self.arms,
            "horizon": self.horizon,
            "loss_range": [self._low, self._high],
            "options": {word: getattr(self, word) for word in self.options},
            "token": self._token,
            "next_id": self._next_id,
            "outstanding": packed(np.array(sorted(self._outstanding), dtype="<i8")),
            "buffer": packed(self._buffer.astype("<f8", copy=False)),
        }

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        """The learner of a state of this rule. The constructor checks the words; the buffer replaces its start."""
        check_fields(state, cls.options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the constructor warns of was said when the learner was made
            learner = cls(state["arms"], state["horizon"], seed=0, loss_range=state["loss_range"], **state["options"])
        buffer = unpacked(state["buffer"], "<f8").astype(np.float64)
        fresh = learner._buffer[learner._constants]
        if buffer.size != learner._buffer.size or not np.allclose(buffer[learner._constants], fresh, rtol=1e-9, atol=0):
            raise StateError(f"the state's buffer does not fit {cls.__name__} over {learner.n_arms} arms")
        learner._buffer = buffer
        if wrong := problem(learner.view(), learner.n_arms, learner.signed) or learner._damage():
            raise StateError(f"the state's buffer is damaged: {wrong}")
        learner._token = state["token"]
        learner._next_id = int(state["next_id"])
        learner._outstanding = outstanding_ids(state)
        learner._settle()
        return learner

    def _damage(self) -> str:
        """What no learner of this kind can have written into its buffer; empty if there is nothing."""
        return next((text for wrong, text in self._checks() if wrong), "")

    def _checks(self) -> Checks:
        """(is this wrong?, the text that says so), in an order in which later checks may rely on earlier ones."""
        if self._says_propensity:
            yield not abs(self.probabilities().sum() - 1.0) <= _SUM_TOLERANCE, "its probabilities do not sum to 1"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[dict[str, Any]]]:
        return type(self)._from_state, (self.state(),)
