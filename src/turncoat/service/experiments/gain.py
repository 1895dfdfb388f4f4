"""What learning has gained: over control, over holdout and over each arm, from the sums of comparisons.py.

The API and the dashboard show what `gains` returns. Where a decision without a reward counts as a default, decisions
count once all windows of their time have ended: earlier, rewards would be in and defaults not. An arm that is the
control of all strata has no gain of its own: control measures it directly.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

import msgspec

from turncoat.service.clock import as_datetime
from turncoat.service.experiments.aggregates import step_for, width_for
from turncoat.service.experiments.comparisons import LEAST, Stratum
from turncoat.service.experiments.estimates import (
    THIN,
    ComparedSums,
    Estimate,
    Sums,
    add,
    clustering,
    gain_over_arm,
    gain_over_stream,
)
from turncoat.service.experiments.snapshot import Snapshot
from turncoat.service.experiments.snapshot_cache import read_snapshot
from turncoat.service.gain_messages import Gain, Gains, GainStratum, Interval, LeftOut, Reason
from turncoat.service.store.interface import Session

FEWEST = 10  # decisions of either stream in a stratum, and effective ones of an arm
FEWEST_OF_ARM = 500  # decisions in which an arm could be served: few rewards would decide whether it is shown
FEWEST_GROUPS = 16  # of units, if decisions have any
UNIT = "rewards, sum over n decisions"
LEVEL = 0.95
SUMMED = """
    SELECT start / :step, rival, stratum, SUM(n), SUM(r), SUM(iw), SUM(rival_n), SUM(w), SUM(w2),
           SUM(wr), SUM(wr2), SUM(w2r), SUM(w2r2)
    FROM comparison WHERE experiment = :experiment AND width = :width AND start >= :since AND start < :until
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
LEARNED = """
    SELECT COALESCE(SUM(n_rewarded + n_defaulted), 0), COALESCE(SUM(n_expired), 0) FROM bucket
    WHERE experiment = :experiment AND width = :width AND start >= :since AND start < :until AND stream = 'learn'
"""
GROUPED = "SELECT rival, stratum, number, n, r, r2 FROM unit_group WHERE experiment = :experiment"
MEANINGS: dict[Reason, str] = {
    "no_control": "no control was set",
    "no_holdout": "no holdout was set",
    "control_paused": "the control arm was not active",
    "control_not_allowed": "allowed_arms left the control arm out, so they could not have been control",
    "too_few": f"too few to estimate: under one setting fewer than {FEWEST} decisions of either stream, "
    f"or of the rival worth fewer than {THIN:.0f} in all, or from fewer than about {FEWEST_GROUPS} units; "
    f"of an arm fewer than {FEWEST_OF_ARM}, or effectively {FEWEST}",
    "below_1_percent": f"the arm could not be served, or with a chance below {LEAST:.0%}",
    "before_upgrade": "made or closed before an upgrade of the service: what comparing them needs was not kept",
}

Stream = Literal["control", "holdout"]


class Cell(NamedTuple):
    """The sums of one comparison in one window: of the learn stream n and r, and of what had the rival."""

    window: int
    rival: str
    stratum: str
    n: float
    r: float
    iw: float
    had: Sums


class Comparisons(NamedTuple):
    """All comparisons of an experiment. Window i begins at `start + i * step`; the last one ends at `until`."""

    head: Snapshot
    start: float
    step: int
    n_windows: int
    until: float
    cells: list[Cell]
    groups: Mapping[tuple[str, str], dict[int, tuple[float, float, float]]]
    n_learn: int
    n_expired: int

    @property
    def n_unknown(self) -> int:
        """Decisions of the learn stream that an earlier Turncoat closed: nothing was kept to compare them by."""
        return max(self.n_learn - int(sum(cell.n for cell in self.cells if cell.rival == "control")), 0)


def read_gains(session: Session, key: str, now: float) -> Gains:
    """The gains of an experiment."""
    return gains(read_comparisons(session, read_snapshot(session, key), now))


def read_comparisons(session: Session, head: Snapshot, now: float, begin: float | None = None) -> Comparisons:
    """The sums of all comparisons, in about 60 windows of its life, or of the time from `begin` on."""
    begin = head.created_at if begin is None else begin
    age = max(now - begin, 0.0)
    width, step = width_for(age), step_for(age)
    waits = head.config.default_reward is not None
    until = int(now - head.config.reward_window_s) // width * width if waits else int(now) + 1
    first = int(begin) // step
    period = {"experiment": head.id, "width": width, "since": first * step, "until": until}
    cells = [cell(int(window) - first, *row) for window, *row in session.rows(SUMMED, step=step, **period)]
    groups: dict[tuple[str, str], dict[int, tuple[float, float, float]]] = defaultdict(dict)
    for rival, stratum, number, n, r, r2 in session.rows(GROUPED, experiment=head.id):
        groups[rival, stratum][number] = float(n), r, r2
    n_learn, n_expired = map(int, session.rows(LEARNED, **period)[0])
    n_windows = max(-(-(until - first * step) // step), 0)
    return Comparisons(head, first * step, step, n_windows, until, cells, groups, n_learn, n_expired)


def cell(window: int, rival: str, stratum: str, *sums: float) -> Cell:
    """The sums of `comparisons.SUMS` as a cell."""
    n, r, iw, rival_n, w, w2, wr, wr2, w2r, w2r2 = map(float, sums)
    return Cell(window, rival, stratum, n, r, iw, Sums(rival_n, wr, wr2, w, w2, wr, wr2, w2r, w2r2))


def gains(read: Comparisons) -> Gains:
    """Over control first, then over holdout if there is one, then over the arms, the best of them first."""
    found = [over_stream(read, "control")]
    if any(cell.rival == "holdout" for cell in read.cells) or read.head.config.holdout_share:
        found.append(over_stream(read, "holdout"))
    measured = None if found[0].total is None else found[0].arm
    arms = [over_arm(read, row.arm) for row in read.head.arms if row.arm != measured]
    arms.sort(key=lambda one: math.inf if one.per_decision is None else one.per_decision.value)
    return Gains(
        key=read.head.key,
        unit=UNIT,
        level=LEVEL,
        until=as_datetime(max(read.until, 0)),
        n_learn=read.n_learn,
        n_expired=read.n_expired,
        gains=found + arms,
    )


def over_stream(read: Comparisons, over: Stream) -> Gain:
    """The gain over control or holdout."""
    every = _by_stratum(read, over)
    settings = {name: msgspec.json.decode(name, type=Stratum) for name in every if name.startswith("[")}
    known = {name: every[name] for name in settings if _is_known(every[name])}
    left = Counter[Reason]({"before_upgrade": read.n_unknown})
    for name, one in every.items():
        if name not in known:
            left["too_few" if name in settings else cast(Reason, name)] += int(one.n)
    if over == "holdout":
        left["no_holdout"] = read.n_learn - read.n_unknown - int(sum(one.n for one in every.values()))
    estimate = None
    strata = list(known.values())
    if strata:
        estimate = gain_over_stream(strata, read.head.config.reward, clustering(strata))
    groups = {number for one in strata for number in one.groups}
    is_few = 0 < len(groups) < FEWEST_GROUPS or evenly(strata) < THIN
    arms = {settings[name].arm for name in known}
    return _gain(
        Gain(
            over=over,
            arm=arms.pop() if len(arms) == 1 and over == "control" else None,
            n=int(sum(one.n for one in strata)),
            n_rival=int(sum(one.rival.n for one in strata)),
            strata=[_shown(settings[name], every[name]) for name in settings],
        ),
        estimate,
        left,
        is_few,
    )


def over_arm(read: Comparisons, arm: str) -> Gain:
    """The gain over always serving one arm, where that was possible."""
    one = _by_stratum(read, "arm").get(arm, ComparedSums(0.0, 0.0, Sums()))
    left = Counter[Reason]({"before_upgrade": read.n_unknown})
    left["below_1_percent"] = read.n_learn - read.n_unknown - int(one.n)
    estimate = gain_over_arm(one, read.head.config.reward)
    is_few = one.n < FEWEST_OF_ARM or one.rival.effective < FEWEST
    return _gain(Gain(over="arm", arm=arm, n=int(one.n), n_rival=int(one.rival.n)), estimate, left, is_few)


def gain_series(read: Comparisons, over: str) -> list[Estimate | None]:
    """The gain over a stream up to the end of each window."""
    factor = clustering([one for one in _by_stratum(read, over).values() if _is_known(one)])
    found: list[Estimate | None] = []
    for window in range(read.n_windows):
        strata = [one for one in _by_stratum(read, over, window).values() if _is_known(one)]
        one = gain_over_stream(strata, read.head.config.reward, factor) if strata else None
        found.append(None if evenly(strata) < THIN else one)
    return found


def _by_stratum(read: Comparisons, rival: str, last: float = math.inf) -> dict[str, ComparedSums]:
    """The sums of each stratum, up to the end of a window."""
    parts: dict[str, list[Cell]] = defaultdict(list)
    for cell in read.cells:
        if cell.rival == rival and cell.window <= last:
            parts[cell.stratum].append(cell)
    return {
        name: ComparedSums(
            n=sum(one.n for one in some),
            r=math.fsum(one.r for one in some),
            rival=add(one.had for one in some),
            iw=math.fsum(one.iw for one in some),
            groups=read.groups.get((rival, name), {}),
        )
        for name, some in sorted(parts.items())
    }


def _is_known(one: ComparedSums) -> bool:
    """Whether it is estimated. That depends on counts alone, not on rewards, so it biases nothing."""
    return one.n >= FEWEST and one.rival.n >= FEWEST


def evenly(strata: Sequence[ComparedSums]) -> float:
    """The decisions of the rival that these are as good as, had they been spread over the strata as learning was."""
    total = sum(one.n for one in strata)
    return total**2 / sum(one.n**2 / one.rival.n for one in strata) if strata else 0.0


def _gain(blank: Gain, estimate: Estimate | None, left: Counter[Reason], is_few: bool) -> Gain:
    """With the estimate, or without it if it rests on too little: then all decisions are left out."""
    if estimate is None or is_few:
        left["too_few"] += blank.n
        blank, estimate = msgspec.structs.replace(blank, n=0), None
    left_out = [LeftOut(n=n, reason=reason, meaning=MEANINGS[reason]) for reason, n in left.most_common() if n > 0]
    if estimate is None:
        return msgspec.structs.replace(blank, left_out=left_out)
    value, low, high, effective = estimate
    return msgspec.structs.replace(
        blank,
        total=Interval(value=value, low=low, high=high),
        per_decision=Interval(value=value / blank.n, low=low / blank.n, high=high / blank.n),
        effective=effective,
        left_out=left_out,
    )


def _shown(settings: Stratum, one: ComparedSums) -> GainStratum:
    return GainStratum(
        control_arm=settings.arm,
        control_share=settings.control_share,
        holdout_share=settings.holdout_share,
        n=int(one.n),
        mean=one.r / one.n if one.n else None,
        n_rival=int(one.rival.n),
        rival_mean=one.rival.r / one.rival.n if one.rival.n else None,
        gain=one.gain if _is_known(one) else None,
    )
