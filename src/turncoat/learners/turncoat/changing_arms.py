"""Adding and retiring arms, and sets of arms to choose among: the methods of the learner."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from turncoat.decision import Decision
from turncoat.errors import ArmsError
from turncoat.learners.turncoat.arms import gone, grown, retire
from turncoat.learners.turncoat.loss_range import ScaledLearner
from turncoat.types import Ints, Label
from turncoat.validation.numbers import is_whole


class ChangingLearner(ScaledLearner):
    """A learner whose arms may change. Made by its subclasses only."""

    def _settle(self) -> None:
        super()._settle()
        self._gone = gone(self.view())  # kept, because looking into the buffer takes longer than an ask
        self._index_of = {label: index for index, label in enumerate(self._labels)}

    @property
    def living(self) -> list[Label]:
        """The labels of the arms that can be chosen."""
        return [label for index, label in enumerate(self._labels) if index not in self._gone]

    @property
    def retired(self) -> list[Label]:
        """The labels of the arms that were retired."""
        return [label for index, label in enumerate(self._labels) if index in self._gone]

    def _size(self) -> str:
        return super()._size() + (f", {len(self._gone)} retired" if self._gone else "")

    # -- come and go --------------------------------------------------------------------------------------------

    def add_arm(self, label: Label | None = None) -> int:
        """Add an arm and return its index. It is tried soon. Outstanding decisions stay valid.

        `label`: one that no arm has or had, str or int; not needed where arms have numbers only.
        """
        index = self.n_arms
        accepted = f"accepted are labels (str or int) that no arm has or had; these are {reprlib.repr(self._labels)}"
        if label is None and self._labels == list(range(index)):
            label = index
        if not (isinstance(label, str) or is_whole(label)) or label in self._index_of:
            raise ArmsError(f"label is {label!r}; {accepted}")
        label = str(label) if isinstance(label, str) else int(label)  # type: ignore[arg-type]  # as it was checked
        self._buffer = grown(self._buffer)
        self._labels.append(label)
        self._index_of[label] = index
        return index

    def retire_arm(self, arm: Label) -> None:
        """Retire an arm, given by its label: it keeps its index and has probability 0.

        If it is told later, the round counts, also in the mean of all losses, and nothing else is learned from it.
        """
        index = self._living_index("arm", arm)
        if len(self._gone) == self.n_arms - 1:
            raise ArmsError(f"arm is {arm!r}, the last one; accepted are arms that leave another behind")
        retire(self._buffer, index)
        self._gone.add(index)

    def _living_index(self, name: str, label: Any) -> int:
        found = self._index_of.get(label) if isinstance(label, str) or is_whole(label) else None
        if found is None or found in self._gone:
            why = "" if found is None else ", an arm that was retired"
            raise ArmsError(f"{name} is {label!r}{why}; accepted are {reprlib.repr(self.living)}")
        return found

    # -- only some of them --------------------------------------------------------------------------------------

    def _is_sound(self, decision: Decision) -> bool:
        allowed = decision.allowed
        return super()._is_sound(decision) and (allowed is None or self._are_among(decision.index, allowed))

    def _among(self, allowed: Iterable[Label]) -> tuple[int, ...]:
        """The indices of these labels, in order."""
        accepted = f"accepted is a list of one or more of {reprlib.repr(self.living)}, each once"
        listed = _listed(allowed)
        if listed is None:
            raise ArmsError(f"allowed is {allowed!r}; {accepted}")
        among = tuple(sorted(self._living_index("one of allowed", label) for label in listed))
        if not among or any(before == after for before, after in pairwise(among)):
            raise ArmsError(f"allowed is {reprlib.repr(allowed)}; {accepted}")
        return among

    def _parse_among(self, index: int, allowed: Iterable[int]) -> tuple[int, ...]:
        listed = _listed(allowed) or []
        among = tuple(sorted(int(k) for k in listed if is_whole(k)))
        if len(among) < len(listed) or not self._are_among(index, among):
            accepted = f"distinct indices from 0 to {self.n_arms - 1}, {index} among them"
            raise ArmsError(f"allowed is {reprlib.repr(allowed)}; accepted are {accepted}")
        return among

    def _are_among(self, index: int, allowed: Any) -> bool:
        """Can an arm of this index have been chosen from these?"""
        if type(allowed) is not tuple or not all(type(k) is int for k in allowed) or index not in allowed:
            return False
        return allowed[0] >= 0 and allowed[-1] < self.n_arms and all(k < after for k, after in pairwise(allowed))

    def _there(self, allowed: tuple[int, ...]) -> Ints:
        """Those that were not retired since."""
        if self._gone.isdisjoint(allowed):
            return np.array(allowed, dtype=np.int64)
        return np.array([k for k in allowed if k not in self._gone], dtype=np.int64)


def _listed(several: Any) -> list[Any] | None:
    """What a user gave as a list, if it is one. (An array of no dimension says that it is, and is not.)"""
    is_single = isinstance(several, str | bytes | Mapping) or not hasattr(several, "__iter__")
    return None if is_single or getattr(several, "ndim", 1) == 0 else list(several)
