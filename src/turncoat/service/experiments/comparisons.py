"""Comparisons: which closed decisions may be compared with which, and the sums that are kept of them.

Chance alone must have decided which of two decisions learned and which had the rival. So compared are
    control, holdout    decisions for which the learn stream and the rival could both be drawn, within a stratum: drawn
                        with the same control arm, control share and holdout share. There the chances are constant, so
                        it does not matter when the decisions were made or which other arms they allowed.
    arm                 decisions of the learn stream in which the arm had the probability LEAST or more, after floors
                        and caps and among the arms allowed, with those of them that served it, of weight 1 / propensity
A decision belongs to the settings of the version it was drawn from, whatever they are when it closes. One that could
not have been control is counted under the reason. Expired decisions have no reward and are in no sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from turncoat.service.experiments.aggregates import WIDTHS
from turncoat.service.experiments.snapshot import Snapshot, to_json
from turncoat.service.store.interface import Row, Session

LEAST = 0.01  # the probability from which on an arm is compared: weights are at most 100
GROUPS = 64  # of units
KEYS = ("experiment", "width", "start", "rival", "stratum")
SUMS = ("n", "r", "iw", "rival_n", "w", "w2", "wr", "wr2", "w2r", "w2r2")
GROUP_KEYS, GROUP_SUMS = ("experiment", "rival", "stratum", "number"), ("n", "r", "r2")

Key = tuple[int, str, str]  # start, rival, stratum


class Version(NamedTuple):
    """What is known of the version that a decision was drawn from."""

    m: int
    control: str | None  # as `control_json` wrote it; None: written by an earlier Turncoat
    probabilities: str  # JSON


class ControlSettings(msgspec.Struct, frozen=True, array_like=True):
    """The settings that streams are drawn with. `arm`: of control; None: there is none. `state`: that arm's."""

    arm: str | None
    share: float
    holdout: float
    state: str


class Stratum(msgspec.Struct, frozen=True, array_like=True):
    """What the stream of a decision was drawn with."""

    arm: str | None
    control_share: float
    holdout_share: float


class Compared(NamedTuple):
    """The fields of a closed decision with a reward that comparisons need. `probabilities`: those it was drawn with."""

    decided_at: float
    arm: str
    stream: str
    reward: float
    propensity: float
    allowed: str | None
    unit: str | None
    control: str | None
    probabilities: str


def control_json(snapshot: Snapshot) -> str:
    """The control's settings in this snapshot, to be stored with its version."""
    control, holdout = snapshot.config.control, snapshot.config.holdout_share
    if control is None or control.share == 0.0:
        return to_json(ControlSettings(None, 0.0, holdout, ""))
    row = snapshot.find(control.arm)
    return to_json(ControlSettings(control.arm, control.share, holdout, "" if row is None else row.state))


@lru_cache(maxsize=1024)
def strata(control: str | None, stream: str, allowed: str | None) -> tuple[tuple[str, str], ...]:
    """The (rival, stratum) pairs that a decision of this stream counts in."""
    if control is None:
        return (("control", "before_upgrade"),) if stream == "learn" else ()
    said = msgspec.json.decode(control, type=ControlSettings)
    is_allowed = stream == "control" or allowed is None or said.arm in msgspec.json.decode(allowed)
    reason = "no_control" if said.arm is None else "control_paused" if said.state != "active" else ""
    reason = reason or ("" if is_allowed else "control_not_allowed")
    both = Stratum(None, 0.0, said.holdout) if reason else Stratum(said.arm, said.share, said.holdout)
    found = {"control": reason or to_json(both)} | ({"holdout": to_json(both)} if said.holdout > 0.0 else {})
    return tuple(found.items()) if stream == "learn" else ((stream, found[stream]),)


@lru_cache(maxsize=1024)
def served_often(probabilities: str) -> dict[str, float]:
    """The probabilities of those arms that have LEAST or more."""
    shares = msgspec.json.decode(probabilities, type=dict[str, float])
    return {arm: share for arm, share in shares.items() if share >= LEAST}


def comparison_rows(experiment: int, compared: Iterable[Compared]) -> list[Row]:
    """The sums to add to each comparison, sorted by key."""
    finest = min(WIDTHS)
    sums: dict[Key, list[float]] = {}
    drawn: dict[tuple[int, str], list[float]] = {}  # n and r by the probabilities that they were drawn with
    for one in compared:
        start, r = int(one.decided_at // finest) * finest, one.reward
        learned = one.stream == "learn"
        for rival, stratum in strata(one.control, one.stream, one.allowed):
            _add(sums, (start, rival, stratum), _learned(1.0, r, 0.0) if learned else _had(r, 1.0))
        if learned:
            held = drawn.setdefault((start, one.probabilities), [0.0, 0.0])
            held[0] += 1.0
            held[1] += r
            if one.arm in served_often(one.probabilities):
                _add(sums, (start, "arm", one.arm), _had(r, 1.0 / one.propensity))
    for (start, probabilities), (n, total) in drawn.items():
        for arm, share in served_often(probabilities).items():
            _add(sums, (start, "arm", arm), _learned(n, total, n / share))
    rows: list[Row] = []
    for width in WIDTHS:
        wide: dict[Key, list[float]] = {}
        for (start, rival, stratum), held in sums.items():
            _add(wide, (start // width * width, rival, stratum), held)
        for key, (n, r, iw, rival_n, *rest) in sorted(wide.items()):
            rows.append((experiment, width, *key, int(n), r, iw, int(rival_n), *rest))
    return rows


def group_rows(experiment: int, compared: Iterable[Compared]) -> list[Row]:
    """The sums to add to each group of units, sorted by key."""
    sums: dict[tuple[str, str, int], list[float]] = {}
    for one in compared:
        if one.unit is not None and one.stream != "learn":
            for rival, stratum in strata(one.control, one.stream, one.allowed):
                number = int(one.unit[-4:], 16) % GROUPS  # other digits than those that choose the stream
                held = sums.setdefault((rival, stratum, number), [0.0, 0.0, 0.0])
                held[:] = held[0] + 1.0, held[1] + one.reward, held[2] + one.reward**2
    return [(experiment, *key, int(n), r, r2) for key, (n, r, r2) in sorted(sums.items())]


def add_comparisons(session: Session, experiment: int, compared: Sequence[Compared]) -> None:
    """Add closed decisions to the stored sums."""
    tables = ("comparison", KEYS, SUMS, comparison_rows), ("unit_group", GROUP_KEYS, GROUP_SUMS, group_rows)
    for table, keys, sums, rows_of in tables:
        if rows := rows_of(experiment, compared):
            session.add_up(table, keys, sums, rows)


def _learned(n: float, r: float, iw: float) -> Sequence[float]:
    return n, r, iw, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


def _had(r: float, w: float) -> Sequence[float]:
    return 0.0, 0.0, 0.0, 1.0, w, w * w, w * r, w * r * r, w * w * r, w * w * r * r


def _add(sums: dict[Key, list[float]], key: Key, more: Sequence[float]) -> None:
    held = sums.get(key)
    sums[key] = list(more) if held is None else [a + b for a, b in zip(held, more, strict=True)]
