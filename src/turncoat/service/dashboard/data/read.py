"""The list of experiments and the page of one.

What changes slowly is kept for a while. Where a decision without a reward counts as a default, only time whose windows
have all ended is counted: before, the good ones would be in and the others not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from turncoat.service.clock import Clock, SystemClock
from turncoat.service.dashboard.data.estimates import Estimate, Range, add, mean_reward
from turncoat.service.dashboard.data.explanation import Thought, read_thought
from turncoat.service.dashboard.data.gains import Gain, Segment, gain_series, gains, segments
from turncoat.service.dashboard.data.recent import (
    Backlog,
    Latest,
    read_backlog,
    read_hours,
    read_latest,
    read_pace,
    read_recent,
)
from turncoat.service.dashboard.data.tables import (
    ArmLine,
    Change,
    Event,
    Shares,
    own_means,
    read_arms,
    read_changes,
    read_shares,
    realised,
    window_means,
)
from turncoat.service.dashboard.data.windows import Windows, read_windows
from turncoat.service.experiments.snapshot import Snapshot
from turncoat.service.experiments.snapshot_cache import read_present, read_snapshots
from turncoat.service.store.interface import Session, Store

POINTS, FEW_POINTS = 180, 40  # versions in a picture, and in a small one
WIDE = 24  # windows in the pictures of rewards
PAGE = 25  # experiments on a page
FEEDBACK = 6.0  # seconds for which the last decisions are not looked at again
LAGGING = 5.0  # seconds that a reward may wait before that is an alarm
MUCH_LATE = 0.05  # of the rewards of the last day
MUCH_SILENCE = 0.05  # of its decisions that ended
NEWEST = "ORDER BY e.id DESC LIMIT :limit OFFSET :skipped"


@dataclass(frozen=True, slots=True)
class Present:
    """What both the list and the page of an experiment show of it."""

    now: float
    head: Snapshot
    settled: float  # decisions made before then have all their rewards
    pace: float
    backlog: Backlog
    reward: Estimate | None  # of the learn stream, in the last settled hour
    control: Estimate | None
    thought: Thought
    path: list[Segment]

    @property
    def rewards(self) -> Range:
        """What rewards can be."""
        return Range(self.head.config.reward.min, self.head.config.reward.max)

    @property
    def last_switch(self) -> Segment | None:
        """The last switch that it believes in."""
        return self.path[-1] if len(self.path) > 1 else None


@dataclass(frozen=True, slots=True)
class Line:
    """An experiment in the list."""

    present: Present
    shares: Shares
    alarms: list[str]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything about one experiment. Windows are the settled ones."""

    present: Present
    alarms: list[str]
    arms: list[ArmLine]
    shares: Shares
    realised: Shares
    events: list[Event]
    windows: Windows
    wide_windows: Windows  # the same, fewer and longer
    means: dict[str, list[Estimate | None]]
    own: list[Estimate | None]
    gains: list[Gain]
    gained: list[Estimate | None]
    latest: Latest
    hours: dict[str, list[int]]
    audit: list[Change]


@dataclass
class _Kept:
    """What is not read again at once."""

    until: float
    windows: Windows
    thought: Thought | None = None
    thought_until: float = float("-inf")
    feedback: tuple[Latest, dict[str, list[int]]] | None = None
    feedback_until: float = float("-inf")


class Views:
    """Reads what pages show. Any thread may ask."""

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._kept: dict[int, _Kept] = {}

    def experiments(self, page: int = 1) -> tuple[list[Line], bool]:
        """So many of them, the newest first, and whether there are more."""
        now = self._clock.now()
        with self._store.reading() as session:
            heads = read_snapshots(session, NEWEST, limit=PAGE + 1, skipped=PAGE * (page - 1))
            found = [self._line(session, head, now) for head in heads[:PAGE]]
        return found, len(heads) > PAGE

    def experiment(self, key: str) -> Page:
        """All about one. Raises NotFound."""
        now = self._clock.now()
        with self._store.reading() as session:
            return self._page(session, read_present(session, key), now)

    def _line(self, session: Session, head: Snapshot, now: float) -> Line:
        present, _ = self._present(session, head, now, patience=10.0)
        return Line(present, read_shares(session, head, FEW_POINTS), alarms(present))

    def _present(self, session: Session, head: Snapshot, now: float, patience: float) -> tuple[Present, Windows]:
        age = now - head.created_at
        settled = now - head.config.reward_window_s if head.config.default_reward is not None else now
        rewards = Range(head.config.reward.min, head.config.reward.max)
        kept = self._keep(session, head, now, patience)
        assert kept.thought is not None
        thought = kept.thought
        cells = read_recent(session, head.id, settled, age)
        control = head.config.control.arm if head.config.control is not None else None
        ours = add(cell.sums for cell in cells if cell.stream == "learn").unweighted
        theirs = add(cell.sums for cell in cells if cell.stream == "control" and cell.arm == control)
        present = Present(
            now,
            head,
            settled,
            read_pace(session, head.id, head.config.reward_window_s, age, now),
            read_backlog(session, head.id, now),
            mean_reward(ours, rewards),
            mean_reward(theirs, rewards),
            thought,
            segments(kept.windows, thought.believed, thought.best, thought.rounds, rewards),
        )
        return present, kept.windows

    def _keep(self, session: Session, head: Snapshot, now: float, patience: float) -> _Kept:
        """Windows are read again when they can look different; the learner is asked again after `patience` seconds."""
        kept = self._kept.get(head.id)
        if kept is None or not kept.until - 60.0 <= now < kept.until:  # the clock may be set back
            windows = read_windows(session, head.id, head.created_at, now)
            until = now + min(max(windows.step / 20.0, 1.0), 60.0)
            kept = _Kept(until, windows) if kept is None else replace(kept, until=until, windows=windows)
            self._kept[head.id] = kept
        if kept.thought is None or not kept.thought_until - patience <= now < kept.thought_until:
            kept.thought, kept.thought_until = read_thought(session, head.id), now + patience
        return kept

    def _feedback(self, session: Session, head: Snapshot, now: float) -> tuple[Latest, dict[str, list[int]]]:
        """Read again after some seconds."""
        kept = self._kept[head.id]
        if kept.feedback is None or not kept.feedback_until - FEEDBACK <= now < kept.feedback_until:
            kept.feedback = read_latest(session, head.id, len(head.arms)), read_hours(session, head.id, now)
            kept.feedback_until = now + FEEDBACK
        return kept.feedback

    def _page(self, session: Session, head: Snapshot, now: float) -> Page:
        present, everything = self._present(session, head, now, patience=2.5)
        windows, rewards = everything.until(present.settled), present.rewards
        wide = windows.merged(WIDE)
        arms = read_arms(session, head, everything, windows)
        control = head.config.control.arm if head.config.control is not None else None
        added = {line.arm: line.added_at for line in arms if line.n}
        found = gains(windows, control, added, present.path, rewards)
        rival = next((one.name for one in found if one.over == "arm" and not one.gain.is_thin), None)
        latest, hours = self._feedback(session, head, now)
        changes = read_changes(session, head.key)
        return Page(
            present=present,
            alarms=alarms(present, latest, hours),
            arms=arms,
            shares=read_shares(session, head, POINTS),
            realised=realised(windows, [line.arm for line in arms]),
            events=[change.event for change in reversed(changes) if change.event is not None],
            windows=windows,
            wide_windows=wide,
            means=window_means(wide, [line.arm for line in arms], rewards),
            own=own_means(wide, rewards),
            gains=found,
            gained=gain_series(windows, control, rival, rewards),
            latest=latest,
            hours=hours,
            audit=changes,
        )


def alarms(present: Present, latest: Latest | None = None, hours: dict[str, list[int]] | None = None) -> list[str]:
    """What somebody should look into."""
    found: list[str] = []
    if present.thought.damage:
        found.append(f"It can neither learn nor be asked: {present.thought.damage}.")
    if present.backlog.lag > LAGGING:
        found.append(f"The oldest reward has waited {present.backlog.lag:.0f} s to be learned from.")
    if present.head.state == "running" and not present.head.active():
        found.append("No arm is active, so nothing can be decided.")
    if latest is not None and not latest.ratio.is_fine:
        found.append("Arms are not served as often as their probabilities say: see the sample-ratio check.")
    if hours is not None:
        lately = {kind: sum(counts[-2:]) for kind, counts in hours.items()}
        for kind, what in (("conflict", "contradict an earlier one"), ("out_of_range", "were out of range")):
            if lately[kind]:
                found.append(f"{lately[kind]} rewards of the last two hours {what}, and were not learned from.")
        told = sum(sum(hours[kind]) for kind in ("rewarded", "late"))
        if sum(hours["late"]) > MUCH_LATE * max(told, 1):
            found.append(
                f"{sum(hours['late']) / told:.0%} of the last day's rewards came after their window had ended."
            )
        silent = sum(hours["expired"])
        ended = silent + sum(sum(hours[kind]) for kind in ("rewarded", "defaulted"))
        if silent > MUCH_SILENCE * ended:
            found.append(
                f"{silent / ended:.0%} of the last day's decisions ended without a reward, and taught nothing: "
                "if silence means that an arm did badly, set a default reward."
            )
    return found
