"""Parts of an experiment's page: shares over time, the table of arms, means by window, who changed what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from turncoat.service.dashboard.data.estimates import Estimate, Range, Sums, add, mean_reward
from turncoat.service.dashboard.data.recent import read_open
from turncoat.service.dashboard.data.windows import Windows, by_window
from turncoat.service.experiments.snapshot import Snapshot
from turncoat.service.store.interface import Session

MOST_CHANGES = 50
VERSIONS = (
    "SELECT at, probabilities FROM version WHERE experiment = :experiment AND version IN :versions ORDER BY version"
)
CHANGES = """
    SELECT seq, at, actor, action, before, after, hash FROM audit WHERE experiment = :key ORDER BY seq DESC LIMIT :limit
"""
ADDED = "SELECT arm, added_at FROM arm WHERE experiment = :experiment"


@dataclass(frozen=True, slots=True)
class ArmLine:
    """An arm in the table."""

    arm: str
    place: int
    state: str
    floor: float
    cap: float
    payload: Any
    share: float
    added_at: float
    n_open: int
    n: int
    n_rewarded: int
    mean: Estimate | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that somebody did, to be marked in pictures."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Shares:
    """What was served from each time on: a row of shares a time, in the order of `arms`."""

    arms: list[str]
    times: list[float]
    rows: list[list[float]]


@dataclass(frozen=True, slots=True)
class Change:
    """Who changed what: an entry of the audit, `before` and `after` as JSON."""

    seq: int
    at: float
    actor: str
    action: str
    before: str
    after: str
    hash: str

    @property
    def event(self) -> Event | None:
        """As a mark in a picture, if it is one of what can be served."""
        after = msgspec.json.decode(self.after)
        if not isinstance(after, dict):
            return None
        if self.action == "add arm":
            return Event(self.at, f"{after.get('arm')} added")
        if self.action == "change arm" and "state" in after:
            return Event(self.at, f"{after.get('arm')} {after['state']}")
        if self.action == "change" and "state" in after:
            return Event(self.at, str(after["state"]))
        return None


def read_shares(session: Session, head: Snapshot, points: int) -> Shares:
    """What was served, at so many versions evenly over its life, found by their numbers."""
    step = max(-(-head.version // points), 1)
    wanted = [*range(head.version, 0, -step), 1]
    rows = session.rows(VERSIONS, experiment=head.id, versions=sorted(set(wanted)))
    names = [row.arm for row in head.arms]
    served = [msgspec.json.decode(text, type=dict[str, float]) for _, text in rows]
    return Shares(names, [at for at, _ in rows], [[one.get(name, 0.0) for name in names] for one in served])


def read_arms(session: Session, head: Snapshot, everything: Windows, settled: Windows) -> list[ArmLine]:
    """The table of arms."""
    waiting, rewards = read_open(session, head.id), Range(head.config.reward.min, head.config.reward.max)
    added = {str(arm): float(at) for arm, at in session.rows(ADDED, experiment=head.id)}
    counts: dict[str, tuple[int, int]] = {}
    for cell in everything.cells:
        n, rewarded = counts.get(cell.arm, (0, 0))
        counts[cell.arm] = n + cell.n, rewarded + cell.n_rewarded
    sums: dict[str, list[Sums]] = {}
    for cell in settled.stream("learn"):
        sums.setdefault(cell.arm, []).append(cell.sums)
    return [
        ArmLine(
            arm=row.arm,
            place=row.position,
            state=row.state,
            floor=row.floor,
            cap=row.cap,
            payload=row.payload,
            share=head.probabilities.get(row.arm, 0.0),
            added_at=added[row.arm],
            n_open=waiting.get(row.arm, 0),
            n=counts.get(row.arm, (0, 0))[0],
            n_rewarded=counts.get(row.arm, (0, 0))[1],
            mean=mean_reward(add(sums.get(row.arm, [])), rewards),
        )
        for row in head.arms
    ]


def window_means(windows: Windows, arms: Iterable[str], rewards: Range) -> dict[str, list[Estimate | None]]:
    """The weighted mean of each arm in each window."""
    found: dict[str, list[Estimate | None]] = {arm: [None] * windows.n_windows for arm in arms}
    for cell in windows.stream("learn"):
        found[cell.arm][cell.window] = mean_reward(cell.sums, rewards)
    return found


def own_means(windows: Windows, rewards: Range) -> list[Estimate | None]:
    """What the learn stream brought in each window, whatever it served."""
    cells = by_window(windows.stream("learn"), windows.n_windows)
    return [mean_reward(add(cell.sums for cell in some).unweighted, rewards) for some in cells]


def realised(windows: Windows, arms: Sequence[str]) -> Shares:
    """Which share of the learn stream's decisions each arm had in each window that had any."""
    times: list[float] = []
    rows: list[list[float]] = []
    for window, cells in enumerate(by_window(windows.stream("learn"), windows.n_windows)):
        n = {cell.arm: cell.n for cell in cells}
        if total := sum(n.values()):
            times.append(windows.begins(window))
            rows.append([n.get(arm, 0) / total for arm in arms])
    return Shares(list(arms), times, rows)


def read_changes(session: Session, key: str) -> list[Change]:
    """The last changes, the latest first."""
    return [Change(*row) for row in session.rows(CHANGES, key=key, limit=MOST_CHANGES)]
