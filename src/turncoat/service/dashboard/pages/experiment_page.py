"""The page of an experiment: charts, colours and texts for its template. Of many arms, only the busiest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from turncoat.service.dashboard import charts
from turncoat.service.dashboard.charts import Caption, Layer, Mark, banded, bars, reach, stacked, whisker
from turncoat.service.dashboard.data import Page
from turncoat.service.dashboard.data.recent import MOST_OPEN
from turncoat.service.dashboard.data.segments import Segment
from turncoat.service.dashboard.data.tables import Shares
from turncoat.service.dashboard.formats import count, moment, share
from turncoat.service.experiments.estimates import THIN, Estimate
from turncoat.service.experiments.snapshot import to_json
from turncoat.service.gain_messages import Gain, Interval, LeftOut

MOST_LAYERS, MOST_PANELS, MOST_ROWS = 12, 12, 50  # there are twelve colours
KINDS = {
    "rewarded": ("rewarded", "decisions whose reward came in time"),
    "defaulted": ("defaulted", "no reward in time: the default counts"),
    "expired": ("expired", "no reward in time, and no default"),
    "late": ("late", "rewards after the window's end: not learned"),
    "duplicate": ("duplicate", "rewards told again"),
    "conflict": ("conflict", "rewards that contradict an earlier one"),
    "out_of_range": ("out of range", "sums or means outside the range"),
    "orphan": ("orphan", "rewards whose decision never came"),
}
BAD = {"late", "conflict", "out_of_range", "orphan"}


def experiment_values(page: Page) -> dict[str, Any]:
    """The values that the template needs besides the page's data."""
    colours = colours_of(page.shares)
    busiest = sorted(page.arms, key=lambda line: -line.n)
    shown = {line.row.arm for line in busiest[:MOST_PANELS]}
    n_open = sum(line.n_open for line in page.arms)
    n_closed = sum(line.n for line in page.arms)
    rows = [line for line in page.arms if len(page.arms) <= MOST_ROWS or line in busiest[:MOST_ROWS]]
    return {
        "config": page.present.head.config,
        "colours": defaultdict(str, colours),
        "pictures": pictures(page, shown, colours),
        "legend": legend(page, colours),
        "headline": headline(page),
        "gains": gain_rows(page, shown, colours),
        "switches": switches(page)[:MOST_ROWS],
        "arms": arm_rows(page, rows, colours),
        "hours": hour_rows(page),
        "ratio": page.latest.ratio,
        "is_new": not page.latest.n and not n_closed and not n_open,
        "fine": page.windows.step < 60.0,
        "thin": THIN,
        "best_since": page.present.path[-1].at if page.present.path else None,
        "n_left_out": len(page.arms) - len(shown),
        "n_rows_left_out": len(page.arms) - len(rows),
        "n_open": n_open,
        "capped": n_open >= MOST_OPEN,
        "n_closed": n_closed,
        "rewarded": sum(line.n_rewarded for line in page.arms) / n_closed if n_closed else None,
    }


def colours_of(shares: Shares) -> dict[str, str]:
    """The colour of each arm, by its place. Of many arms, the most served have their own, and the others share one."""
    if len(shares.arms) <= MOST_LAYERS:
        return {arm: f"c{place}" for place, arm in enumerate(shares.arms)}
    served = [sum(column) for column in zip(*shares.rows, strict=True)] or [0.0] * len(shares.arms)
    most = sorted(range(len(shares.arms)), key=lambda place: -served[place])[: MOST_LAYERS - 1]
    own = {place: f"c{i}" for i, place in enumerate(sorted(most))}
    return {arm: own.get(place, "cx") for place, arm in enumerate(shares.arms)}


def layers(shares: Shares, colours: Mapping[str, str]) -> list[Layer]:
    """One layer per arm; the arms without a colour of their own form one layer."""
    others = [0.0] * len(shares.times)
    found: list[Layer] = []
    for place, arm in enumerate(shares.arms):
        column = [row[place] for row in shares.rows]
        if colours[arm] == "cx":
            others = [one + more for one, more in zip(others, column, strict=True)]
        else:
            found.append(Layer(arm, colours[arm], column))
    return found if "cx" not in colours.values() else [*found, Layer("all others", "cx", others)]


def legend(page: Page, colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """Names and current shares, in the chart's order from the top."""
    found = [
        {"name": line.row.arm, "colour": colours[line.row.arm], "share": line.share}
        for line in page.arms
        if colours[line.row.arm] != "cx" and (line.share or line.row.state != "retired")
    ]
    rest = sum(line.share for line in page.arms if colours[line.row.arm] == "cx")
    return found + ([{"name": "all others", "colour": "cx", "share": rest}] if "cx" in colours.values() else [])


def switches(page: Page) -> list[Segment]:
    """The switches that it believes in, in the time shown, the latest first."""
    return [one for one in reversed(page.present.path) if one.left is not None and one.at >= page.begin]


def marks(page: Page) -> list[Mark]:
    """Marks of switches and of manual changes."""
    believed = [
        Mark(one.at, "switch", f"{moment(one.at)}: believes that {one.arm} is best, no longer {one.left}")
        for one in reversed(switches(page))
    ]
    changes = [one for one in reversed(page.audit) if one.event and one.at >= page.begin]
    return believed + [Mark(one.at, "event", f"{moment(one.at)}: {one.event}") for one in changes]


def pictures(page: Page, shown: set[str], colours: Mapping[str, str]) -> dict[str, Any]:
    """All charts of the page."""
    head, now, signs = page.present.head, page.present.now, marks(page)
    served = ", ".join(f"{arm} {share(p)}" for arm, p in list(head.probabilities.items())[:MOST_LAYERS])
    about = f"Now: {served or 'nothing'}. {len(switches(page))} switches are marked."
    edges = [page.windows.begins(i) for i in range(page.windows.n_windows + 1)]
    axis = charts.time_axis(min([*page.shares.times[:1], *page.realised.times[:1]], default=now), now)
    served_layers = page.shares.times, layers(page.shares, colours)
    return {
        "shares": stacked(Caption("Probabilities served over time", about), axis, *served_layers, signs, now),
        "realised": stacked(
            Caption("Share of decisions that each arm had, over time", "Should look like the probabilities served."),
            axis,
            page.realised.times,
            layers(page.realised, colours),
            (),
            edges[-1],
        ),
        "panels": panels(page, shown, colours),
        "gain": gain_picture(page),
    }


def panels(page: Page, shown: set[str], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """One chart per arm, all on one scale."""
    edges = [page.wide_windows.begins(i) for i in range(page.wide_windows.n_windows + 1)]
    with_data = {arm: means for arm, means in page.means.items() if arm in shown and any(means)}
    axis = reach([one for means in with_data.values() for one in means] + page.own)
    found: list[dict[str, Any]] = []
    for arm, means in with_data.items():
        last = next((one for one in reversed(means) if one is not None), None)
        caption = Caption(f"Mean reward of {arm} over time", _about("In the last window", last))
        picture = banded(caption, edges, means, colours[arm], others=page.own, y=axis)
        found.append({"name": arm, "colour": colours[arm], "last": last, "picture": picture})
    return found


def gain_picture(page: Page) -> Markup:
    """The headline's gain over time."""
    if page.headline is None or len(page.gained) < 2 or not any(page.gained):
        return Markup("")
    caption = Caption("Gain over time", _about("At the end", page.gained[-1]))
    return banded(caption, page.edges, page.gained, "accent", height=160)


def _about(when: str, one: Estimate | None) -> str:
    """The description of a curve: its last value."""
    return "" if one is None else f"{when} {one.value:.3g}, 95 % interval {one.low:.3g} to {one.high:.3g}."


def headline(page: Page) -> dict[str, Any] | None:
    """The gain that people will quote: over control, or else over holdout."""
    one = page.headline
    if one is None or one.total is None:
        return None
    return {"gain": one, "label": one.over, "tone": tone(one.total)}


def tone(one: Interval) -> str:
    """The CSS class of a gain: significant and positive, significant and negative, or neither."""
    return "good" if one.low > 0.0 else "bad" if one.high < 0.0 else ""


def gain_rows(page: Page, shown: set[str], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """The table of gains: those that are estimated, thin ones last; then why the others are not."""
    listed = [one for one in page.gains.gains if one.over != "arm" or one.arm in shown]
    listed.sort(key=lambda one: (one.total is None, one.effective < THIN))
    known = {id(one): one.per_decision for one in listed if one.per_decision is not None}
    ends = [end for one in known.values() for end in (one.low, one.high)]
    axis = charts.value_axis(min([0.0, *ends]), max([0.0, *ends]))
    return [
        {
            "gain": one,
            "colour": colours.get(one.arm or "", ""),
            "is_thin": one.effective < THIN,
            "left_out": sum(left.n for left in one.left_out),
            "why": left_out(one.left_out),
            "picture": whisker(_estimate(known.get(id(one)), one), axis, colours.get(one.arm or "", "")),
        }
        for one in listed
    ]


def _estimate(one: Interval | None, gain: Gain) -> Estimate | None:
    return None if one is None else Estimate(one.value, one.low, one.high, gain.effective)


def left_out(several: list[LeftOut]) -> str:
    """How many decisions a gain says nothing about, and why."""
    return "; ".join(f"{count(one.n)}: {one.meaning}" for one in several)


def arm_rows(page: Page, rows: list[Any], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """The table of arms."""
    axis = reach([line.mean for line in rows])
    return [
        {
            "line": line,
            "colour": colours[line.row.arm],
            "payload": "" if line.row.payload is None else to_json(line.row.payload),
            "picture": whisker(line.mean, axis, colours[line.row.arm]),
        }
        for line in rows
    ]


def hour_rows(page: Page) -> list[dict[str, Any]]:
    """The table of feedback: kinds without any event are left out, except rewards."""
    found: list[dict[str, Any]] = []
    for kind, counts in page.hours.items():
        name, what = KINDS[kind]
        if sum(counts) or kind == "rewarded":
            picture = bars(f"{name}, by the hour: {', '.join(map(str, counts))}", counts, "bad" if kind in BAD else "")
            found.append({"name": name, "what": what, "total": sum(counts), "picture": picture})
    return found
