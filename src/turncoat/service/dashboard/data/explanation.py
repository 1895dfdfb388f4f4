"""The learner's explanation of itself: the arm and the switches that it believes in, and the bases that it trusts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from turncoat.service.errors import Damaged
from turncoat.service.experiments.snapshot import Snapshot
from turncoat.service.experiments.snapshot_cache import read_learner
from turncoat.service.store.interface import Session

if TYPE_CHECKING:
    from turncoat.learners.turncoat.explain import Switch

KINDS = {
    "clipped": ("Slow weights", "learn from everything, a little at a time; hard to fool"),
    "signed": ("Fast weights", "learn from everything, faster; quick to turn"),
    "detector": ("Change detector", "trusts its averages until it sees a change, then starts again"),
    "follower": ("Short memories", "follow the best average of the last 64, 512 or 4,096 rounds, or of all"),
}


class BaseKind(NamedTuple):
    """One kind of base: its trust, and the proposal of its most trusted base."""

    name: str
    what: str
    trust: float
    arm: str
    why: str


class Explanation(NamedTuple):
    """The learner's explanation, as far as pages show it. `since`: the round from which it believes `best` to be best.

    The defaults are those of a learner whose state is damaged: its decisions and rewards can still be shown.
    """

    rounds: int = 0
    best: str | None = None
    since: int | None = None
    sure: float | None = None
    likeliest: str = ""
    chance: float = 0.0
    n_switches: int = 0
    switches: Sequence[Switch] = ()
    kinds: Sequence[BaseKind] = ()
    damage: str = ""  # why there is no explanation


def read_explanation(session: Session, head: Snapshot) -> Explanation:
    """Restore a copy of the learner and ask it: about 2 ms with ten arms."""
    try:
        _, learner = read_learner(session, head)
    except Damaged as problem:
        return Explanation(damage=str(problem))
    said = learner.explain()
    kinds: list[BaseKind] = []
    for kind, trust in said.kinds.items():
        first = max((base for base in said.bases if base.kind == kind), key=lambda base: base.trust)
        name, what = KINDS.get(kind, (kind, ""))
        kinds.append(BaseKind(name, what, min(trust, 1.0), str(first.arm), first.why))
    copied = {name: getattr(said, name) for name in Explanation._fields if name not in ("kinds", "damage")}
    return Explanation(**copied, kinds=kinds)
