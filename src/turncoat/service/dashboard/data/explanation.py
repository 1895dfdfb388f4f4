"""What the learner says of itself, for people: the arm it believes in, whom it trusts, the switches it believes in."""

from __future__ import annotations

from dataclasses import dataclass

from turncoat.service.dashboard.data.gains import Believed
from turncoat.service.experiments.snapshot_cache import read_learner
from turncoat.service.store.interface import Session, StoreDown, StoreError

KINDS = {
    "clipped": ("Slow weights", "learn from everything, a little at a time; hard to fool"),
    "signed": ("Fast weights", "learn from everything, faster; quick to turn"),
    "detector": ("Change detector", "trusts its averages until it sees a change, then starts again"),
    "follower": ("Short memories", "follow the best average of the last 64, 512 or 4,096 rounds, or of all"),
}


@dataclass(frozen=True, slots=True)
class Faith:
    """One kind of those who propose arms: how much it is trusted, and what the most trusted of them says."""

    name: str
    what: str
    trust: float
    arm: str
    why: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What it thinks now. `since`: the round from which on it believes in `best`."""

    version: int
    rounds: int
    best: str | None
    since: int | None
    sure: float | None
    likeliest: str
    chance: float
    n_switches: int
    believed: list[Believed]
    faiths: list[Faith]
    damage: str = ""  # why it cannot be asked


def speechless(damage: str) -> Thought:
    """Of a learner whose state is damaged. What it served and what came of it is there all the same."""
    return Thought(0, 0, None, None, None, "", 0.0, 0, [], [], damage)


def read_thought(session: Session, experiment: int) -> Thought:
    """Wakes a copy of the learner up and asks it: some 2 ms with ten arms."""
    try:
        version, learner = read_learner(session, experiment)
    except StoreDown:
        raise
    except StoreError as problem:
        return speechless(str(problem))
    said = learner.explain()
    faiths: list[Faith] = []
    for kind, trust in said.kinds.items():
        first = max((base for base in said.bases if base.kind == kind), key=lambda base: base.trust)
        name, what = KINDS.get(kind, (kind, ""))
        faiths.append(Faith(name, what, min(trust, 1.0), str(first.arm), first.why))
    return Thought(
        version,
        said.rounds,
        None if said.best is None else str(said.best),
        said.since,
        said.sure,
        str(said.likeliest),
        said.chance,
        said.n_switches,
        [Believed(one.when, str(one.left), str(one.to), one.sure) for one in said.switches],
        faiths,
    )
