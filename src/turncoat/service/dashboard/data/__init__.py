"""What the dashboard shows, as plain values, read from the store and never through the engine thread.

    windows        an experiment's life in at most 60 windows of time, from buckets
    estimates      means and gains from sums, with intervals
    segments       the path that the learner believes in, by window
    search         which experiments have a word in the key or a tag
    recent         the last 2,000 decisions, what is open, what was refused
    explanation    what the learner says of itself
    tables         shares over time, the table of arms, marks, the audit
Here: the list of experiments and the page of one. No query reads more rows because the log is longer, and what changes
slowly is cached. Where a decision without a reward counts as a default, only decisions whose windows have all ended are
counted: earlier, rewards would be in and defaults not, and every mean too high.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from turncoat.service.clock import Clock, SystemClock
from turncoat.service.dashboard.data import recent, tables
from turncoat.service.dashboard.data.explanation import Explanation, read_explanation
from turncoat.service.dashboard.data.recent import Backlog, Latest
from turncoat.service.dashboard.data.search import find
from turncoat.service.dashboard.data.segments import Segment, segments, with_worth
from turncoat.service.dashboard.data.tables import ArmLine, Change, Shares
from turncoat.service.dashboard.data.windows import RANGES, Windows, read_windows
from turncoat.service.experiments.aggregates import FINE, step_for
from turncoat.service.experiments.damage import read_damage
from turncoat.service.experiments.estimates import Estimate, add, mean_reward
from turncoat.service.experiments.gain import Comparisons, gain_series, gains, read_comparisons
from turncoat.service.experiments.snapshot import Snapshot
from turncoat.service.experiments.snapshot_cache import Unreadable, read_snapshot, read_snapshots
from turncoat.service.gain_messages import Gain, Gains
from turncoat.service.store.interface import Session, Store

T = TypeVar("T")

POINTS, FEW_POINTS = 180, 40  # versions in a chart, and in a sparkline
WIDE = 24  # windows in the charts of rewards
PAGE = 25  # experiments on a page
FEEDBACK = 6.0  # seconds for which the last decisions are cached
LAGGING = 5.0  # seconds of applier lag that raise an alarm
MUCH_LATE = 0.05  # share of the last day's rewards that raises an alarm
MUCH_SILENCE = 0.05  # share of its closed decisions
NEWEST = "WHERE e.id IN :ids ORDER BY e.id DESC"


class Present(NamedTuple):
    """What the list and the page of an experiment both show."""

    now: float
    head: Snapshot
    settled: float  # decisions before this time have all their rewards
    pace: float
    backlog: Backlog
    reward: Estimate | None  # of the learn stream, in the last settled hour
    explanation: Explanation
    path: list[Segment]
    damage: str = ""  # what the applier could not use

    @property
    def is_waiting(self) -> bool:
        """Whether the first full window has not ended: rates and means of a few seconds would mislead."""
        return self.now < -(-self.head.created_at // FINE) * FINE + FINE

    @property
    def last_switch(self) -> Segment | None:
        """The last switch that the learner believes in."""
        return self.path[-1] if len(self.path) > 1 else None


class Line(NamedTuple):
    """An experiment in the list."""

    present: Present
    shares: Shares
    alarms: list[str]


class List(NamedTuple):
    """One page of the list; how many experiments match, and the commonest tags of all with their numbers."""

    lines: list[Line]
    n_found: int
    tags: list[tuple[str, int]]
    unreadable: Sequence[str] = ()  # what is wrong with those that cannot be shown


class Page(NamedTuple):
    """The page of one experiment, from `begin` on. Windows are settled ones."""

    present: Present
    begin: float
    alarms: list[str]
    arms: list[ArmLine]
    shares: Shares
    realised: Shares
    windows: Windows
    wide_windows: Windows  # fewer and longer ones
    means: dict[str, list[Estimate | None]]
    own: list[Estimate | None]
    gains: Gains
    headline: Gain | None  # over control, or else over holdout
    edges: list[float]  # of the windows of `gained`
    gained: list[Estimate | None]
    latest: Latest
    hours: dict[str, list[int]]
    audit: list[Change]


class DashboardData:
    """Reads what pages show, from any thread."""

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._cache: dict[tuple[str, int], tuple[float, Any]] = {}  # until when a value of an experiment is used

    def experiments(self, page: int = 1, search: str = "", tag: str = "", only: Collection[str] | None = None) -> List:
        """One page of the list, the newest first, of those with this text in key or tags, and with this tag.

        `only`: the experiments that there are for this visitor.
        """
        now = self._clock.now()
        unreadable: list[Unreadable] = []
        with self._store.reading() as session:
            found, tags = find(session, search, tag, only)
            ids = found[PAGE * (page - 1) : PAGE * page]
            heads = read_snapshots(session, NEWEST, unreadable, ids=ids) if ids else []
            lines = [self._line(session, head, now) for head in heads]
        return List(lines, len(found), tags, [one.problem.detail for one in unreadable])

    def experiment(self, key: str, within: str = "all") -> Page:
        """The page of one experiment; `within`: a name in RANGES, or all of its life. Raises NotFound."""
        now = self._clock.now()
        with self._store.reading() as session:
            return self._page(session, read_snapshot(session, key), now, within)

    def _cached(self, what: str, head: Snapshot, now: float, seconds: float, read: Callable[[], T]) -> T:
        """A value that is read again after so many seconds, or where the clock was set back."""
        until, value = self._cache.get((what, head.id), (-math.inf, None))
        if not until - seconds <= now < until:
            value = read()
            self._cache[what, head.id] = now + seconds, value
        return cast(T, value)

    def _line(self, session: Session, head: Snapshot, now: float) -> Line:
        present, _ = self._present(session, head, now, patience=10.0)
        return Line(present, tables.read_shares(session, head, FEW_POINTS), list(alarms(present)))

    def _present(self, session: Session, head: Snapshot, now: float, patience: float) -> tuple[Present, Windows]:
        """`patience`: seconds after which the learner is asked again."""
        config, age = head.config, now - head.created_at
        settled = now - config.reward_window_s if config.default_reward is not None else now
        fresh = min(max(step_for(age) / 20.0, 1.0), 60.0)
        windows = self._cached(
            "windows", head, now, fresh, lambda: read_windows(session, head.id, head.created_at, now)
        )
        explanation = self._cached("explanation", head, now, patience, lambda: read_explanation(session, head))
        cells = recent.read_recent(session, head.id, settled, age)
        ours = add(cell.sums for cell in cells if cell.stream == "learn").unweighted
        present = Present(
            now,
            head,
            settled,
            recent.read_pace(session, head.id, config.reward_window_s, age, now),
            recent.read_backlog(session, head.id, now),
            mean_reward(ours, config.reward),
            explanation,
            segments(windows, explanation.switches, explanation.best, explanation.rounds),
            damage.detail if (damage := read_damage(session).get(head.id)) else "",
        )
        return present, windows

    def _page(self, session: Session, head: Snapshot, now: float, within: str) -> Page:
        present, everything = self._present(session, head, now, patience=2.5)
        begin, rewards = head.created_at, head.config.reward
        compared = read_comparisons(session, head, now)
        present = present._replace(path=with_worth(present.path, everything, compared, rewards))
        if now - RANGES.get(within, math.inf) > begin:
            begin = now - RANGES[within]
            fresh = step_for(now - begin) / 20.0
            everything = self._cached(within, head, now, fresh, lambda: read_windows(session, head.id, begin, now))
            compared = read_comparisons(session, head, now, begin)
        windows = everything.until(head.created_at if present.is_waiting else present.settled)
        wide = windows.merged(WIDE)
        arms = tables.read_arms(session, head, everything, windows)
        names = [row.arm for row in head.arms]
        found = gains(compared)
        streams = [one for one in found.gains if one.over != "arm" and one.total is not None]
        headline = streams[0] if streams else None
        latest = self._cached("latest", head, now, FEEDBACK, lambda: recent.read_latest(session, head.id, len(names)))
        hours = self._cached("hours", head, now, FEEDBACK, lambda: recent.read_hours(session, head.id, now))
        return Page(
            present=present,
            begin=begin,
            alarms=list(alarms(present, latest, hours)),
            arms=arms,
            shares=tables.read_shares(session, head, POINTS, begin),
            realised=tables.realised(windows, names),
            windows=windows,
            wide_windows=wide,
            means=tables.window_means(wide, names, rewards),
            own=tables.own_means(wide, rewards),
            gains=found,
            headline=headline,
            edges=edges_of(compared),
            gained=[] if headline is None else gain_series(compared, headline.over),
            latest=latest,
            hours=hours,
            audit=tables.read_changes(session, head.key),
        )


def edges_of(compared: Comparisons) -> list[float]:
    """The edges of the windows of a gain's series."""
    return [*(compared.start + i * compared.step for i in range(compared.n_windows)), compared.until]


def alarms(
    present: Present, latest: Latest | None = None, hours: Mapping[str, list[int]] | None = None
) -> Iterator[str]:
    """Alarms: conditions that need attention."""
    if damage := present.explanation.damage or present.damage:
        yield f"It does not learn: {damage}."
    if present.backlog.lag > LAGGING:
        yield f"The oldest reward has waited {present.backlog.lag:.0f} s to be learned from."
    if present.head.state == "running" and not present.head.active():
        yield "No arm is active, so nothing can be decided."
    if latest is not None and not latest.ratio.is_fine:
        yield "Arms are not served as often as their probabilities say: see the sample-ratio check."
    if hours is None:
        return
    for kind, what in (("conflict", "contradict an earlier one"), ("out_of_range", "were out of range")):
        if n := sum(hours[kind][-2:]):
            yield f"{n} rewards of the last two hours {what}, and were not learned from."
    total = {kind: sum(counts) for kind, counts in hours.items()}
    told = total["rewarded"] + total["late"]
    if total["late"] > MUCH_LATE * told:
        yield f"{total['late'] / told:.0%} of the last day's rewards came after their window had ended."
    ended = total["expired"] + total["rewarded"] + total["defaulted"]
    if total["expired"] > MUCH_SILENCE * ended:
        yield (
            f"{total['expired'] / ended:.0%} of the last day's decisions ended without a reward, and taught nothing: "
            "if silence means that an arm did badly, set a default reward."
        )
