"""Tables and series of an experiment's page: shares over time, arms, means by window, audit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from turncoat.service.dashboard.data.recent import read_open
from turncoat.service.dashboard.data.windows import Windows, by_window
from turncoat.service.experiments.estimates import Estimate, Sums, add, mean_reward
from turncoat.service.experiments.queries import even_step
from turncoat.service.experiments.snapshot import ArmRow, Snapshot
from turncoat.service.messages import RewardRule
from turncoat.service.store.interface import Session

MOST_CHANGES = 50
VERSIONS = (
    "SELECT at, probabilities FROM version WHERE experiment = :experiment AND version IN :versions ORDER BY version"
)
VERSION_AT = """
    SELECT at, version FROM version WHERE experiment = :experiment AND version <= :version ORDER BY version DESC LIMIT 1
"""
CHANGES = """
    SELECT seq, at, actor, action, before, after, hash FROM audit WHERE experiment = :key ORDER BY seq DESC LIMIT :limit
"""
EVENTS = {"add arm": "{arm} added", "change arm": "{arm} {state}", "change": "{state}"}  # by action
ADDED = "SELECT arm, added_at FROM arm WHERE experiment = :experiment"


class ArmLine(NamedTuple):
    """A row of the table of arms."""

    row: ArmRow
    share: float
    added_at: float
    n_open: int
    n: int
    n_rewarded: int
    mean: Estimate | None


class Shares(NamedTuple):
    """Shares over time: one row of shares per time, in the order of `arms`."""

    arms: list[str]
    times: list[float]
    rows: list[list[float]]


class Change(NamedTuple):
    """An entry of the audit, `before` and `after` as JSON."""

    seq: int
    at: float
    actor: str
    action: str
    before: str
    after: str
    hash: str

    @property
    def event(self) -> str:
        """The text of a mark in charts, if the change affects what is served."""
        after = msgspec.json.decode(self.after)
        is_one = isinstance(after, dict) and "state" in after
        return EVENTS.get(self.action, "").format_map(after) if is_one else ""


def read_shares(session: Session, head: Snapshot, points: int, begin: float = 0.0) -> Shares:
    """The shares served from `begin` on, at about `points` versions, spread evenly over them."""
    first = _version_at(session, head, begin) if begin > head.created_at else 1
    step = even_step(head.version - first + 1, points)
    wanted = {first, *range(first - first % step + step, head.version, step), head.version}
    rows = session.rows(VERSIONS, experiment=head.id, versions=sorted(wanted))
    names = [row.arm for row in head.arms]
    served = [msgspec.json.decode(text, type=dict[str, float]) for _, text in rows]
    return Shares(names, [max(at, begin) for at, _ in rows], [[one.get(name, 0.0) for name in names] for one in served])


def _version_at(session: Session, head: Snapshot, moment: float) -> int:
    """The version that was served at a moment, by bisection."""
    low, high = 1, head.version
    while low < high:
        middle = (low + high + 1) // 2
        at = session.rows(VERSION_AT, experiment=head.id, version=middle)[0][0]
        low, high = (middle, high) if at <= moment else (low, middle - 1)
    return int(session.rows(VERSION_AT, experiment=head.id, version=low)[0][1])  # it may have been thinned out


def read_arms(session: Session, head: Snapshot, everything: Windows, settled: Windows) -> list[ArmLine]:
    """The table of arms."""
    waiting = read_open(session, head.id)
    added: dict[str, float] = dict(session.rows(ADDED, experiment=head.id))
    n, rewarded, sums = Counter[str](), Counter[str](), defaultdict[str, list[Sums]](list)
    for cell in everything.cells:
        n[cell.arm] += cell.n
        rewarded[cell.arm] += cell.n_rewarded
    for cell in settled.stream("learn"):
        sums[cell.arm].append(cell.sums)
    return [
        ArmLine(
            row=row,
            share=head.probabilities.get(row.arm, 0.0),
            added_at=added[row.arm],
            n_open=waiting.get(row.arm, 0),
            n=n[row.arm],
            n_rewarded=rewarded[row.arm],
            mean=mean_reward(add(sums[row.arm]), head.config.reward),
        )
        for row in head.arms
    ]


def window_means(windows: Windows, arms: Iterable[str], rewards: RewardRule) -> dict[str, list[Estimate | None]]:
    """The weighted mean of each arm in each window."""
    found: dict[str, list[Estimate | None]] = {arm: [None] * windows.n_windows for arm in arms}
    for cell in windows.stream("learn"):
        found[cell.arm][cell.window] = mean_reward(cell.sums, rewards)
    return found


def own_means(windows: Windows, rewards: RewardRule) -> list[Estimate | None]:
    """The unweighted mean reward of the learn stream in each window."""
    cells = by_window(windows.stream("learn"), windows.n_windows)
    return [mean_reward(add(cell.sums for cell in some).unweighted, rewards) for some in cells]


def realised(windows: Windows, arms: Sequence[str]) -> Shares:
    """Each arm's share of the learn stream's decisions, in each window that has any."""
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
