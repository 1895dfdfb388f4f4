"""Slots, slow and obvious: the vote of the arms that share one, from the whole list of arms that were told."""

from __future__ import annotations

from collections.abc import Sequence


class Slots:
    """Who owns each of `n` slots after these tells, its credit, and which of its tells came since it owns it.

    Arm k belongs to slot (k + spread * (k // n)) mod n. Arm j < n owns slot j at first, without credit.
    """

    def __init__(self, n: int, spread: int, most_credit: int, told: Sequence[int]) -> None:
        self.owner = list(range(n))
        self.credit = [0] * n
        self.since = [0] * n  # the round when the owner got it
        for t, arm in enumerate(told):
            slot = (arm + spread * (arm // n)) % n
            if self.owner[slot] == arm:
                self.credit[slot] = min(self.credit[slot] + 1, most_credit)
            elif self.credit[slot] > 0:
                self.credit[slot] -= 1
            else:
                self.owner[slot], self.credit[slot], self.since[slot] = arm, 1, t

    def plays(self, slot: int, told: Sequence[int]) -> int:
        """How often the owner was told since it owns the slot."""
        return sum(arm == self.owner[slot] for arm in told[self.since[slot] :])
