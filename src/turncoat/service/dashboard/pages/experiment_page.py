"""An experiment's page, drawn: pictures, colours and words for its template. Of many arms, only the busiest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from markupsafe import Markup

from turncoat.service.dashboard.charts import Caption, Layer, Mark, banded, colour, reach, stacked
from turncoat.service.dashboard.data.estimates import THIN, Estimate
from turncoat.service.dashboard.data.gains import Gain, Segment
from turncoat.service.dashboard.data.read import Page
from turncoat.service.dashboard.data.recent import MOST_OPEN
from turncoat.service.dashboard.data.tables import Shares
from turncoat.service.dashboard.formats import moment, share, span
from turncoat.service.dashboard.glyphs import bars, whisker
from turncoat.service.dashboard.scales import time_axis, value_axis

FULL_REACH = 0.95  # of an arm that could be served in fewer decisions this is said
MOST_LAYERS, MOST_PANELS, MOST_ROWS = 12, 12, 50
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


def portrait(page: Page) -> dict[str, Any]:
    """Everything the template needs beside the page itself."""
    head = page.present.head
    colours = colours_of(page.shares)
    busiest = sorted(page.arms, key=lambda line: (-line.n, line.place))
    shown = {line.arm for line in busiest[:MOST_PANELS]}
    n_open = sum(line.n_open for line in page.arms)
    n_closed = sum(line.n for line in page.arms)
    rows = [line for line in page.arms if len(page.arms) <= MOST_ROWS or line in busiest[:MOST_ROWS]]
    return {
        "config": head.config,
        "colours": _Colours(colours),
        "pictures": pictures(page, shown, colours),
        "legend": legend(page, colours),
        "headline": headline(page),
        "gains": gain_rows(page, shown, colours),
        "switches": switch_rows(page),
        "arms": arm_rows(page, rows, colours),
        "hours": hour_rows(page),
        "ratio": page.latest.ratio,
        "is_new": not page.latest.n and not n_closed and not n_open,
        "fine": page.windows.step < 60.0,
        "thin": THIN,
        "not_yet": not_yet(page),
        "unsettled": unsettled(page),
        "best_since": page.present.path[-1].at if page.present.path else None,
        "n_left_out": len(page.arms) - len(shown),
        "n_rows_left_out": len(page.arms) - len(rows),
        "n_open": n_open,
        "capped": n_open >= MOST_OPEN,
        "n_closed": n_closed,
        "rewarded": sum(line.n_rewarded for line in page.arms) / n_closed if n_closed else None,
    }


class _Colours(dict[str, str]):
    """Of arms by name; one that is not there has none."""

    def __missing__(self, arm: str) -> str:
        return ""


def colours_of(shares: Shares) -> dict[str, str]:
    """The colour of each arm, by its place. Of many, those that were served most have one, and the others share one."""
    if len(shares.arms) <= MOST_LAYERS:
        return {arm: colour(place) for place, arm in enumerate(shares.arms)}
    served = [sum(column) for column in zip(*shares.rows, strict=True)] or [0.0] * len(shares.arms)
    most = sorted(range(len(shares.arms)), key=lambda place: -served[place])[: MOST_LAYERS - 1]
    own = {place: colour(i) for i, place in enumerate(sorted(most))}
    return {arm: own.get(place, "cx") for place, arm in enumerate(shares.arms)}


def layers(shares: Shares, colours: Mapping[str, str]) -> list[Layer]:
    """A layer an arm; of many arms all those without a colour of their own are one."""
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
    """Names and shares now, in the order of the picture from the top."""
    found = [
        {"name": line.arm, "colour": colours[line.arm], "share": line.share}
        for line in page.arms
        if colours[line.arm] != "cx" and (line.share or line.state != "retired")
    ]
    rest = sum(line.share for line in page.arms if colours[line.arm] == "cx")
    return found + ([{"name": "all others", "colour": "cx", "share": rest}] if "cx" in colours.values() else [])


def marks(page: Page) -> list[Mark]:
    """Switches and what people did."""
    switches = [
        Mark(one.at, "switch", f"{moment(one.at)}: believes that {one.arm} is best, no longer {one.left}")
        for one in page.present.path
        if one.left is not None
    ]
    return switches + [Mark(event.at, "event", f"{moment(event.at)}: {event.text}") for event in page.events]


def pictures(page: Page, shown: set[str], colours: Mapping[str, str]) -> dict[str, Any]:
    """All of them."""
    head, now, signs = page.present.head, page.present.now, marks(page)
    served = ", ".join(f"{arm} {share(p)}" for arm, p in list(head.probabilities.items())[:MOST_LAYERS])
    about = f"Now: {served or 'nothing'}. {len(page.present.path[1:])} switches are marked."
    edges = [page.windows.begins(i) for i in range(page.windows.n_windows + 1)]
    axis = time_axis(min([*page.shares.times[:1], *page.realised.times[:1]], default=now), now)
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
        "gain": gain_picture(page, edges),
    }


def panels(page: Page, shown: set[str], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """A picture an arm, all on one scale."""
    edges = [page.wide_windows.begins(i) for i in range(page.wide_windows.n_windows + 1)]
    with_data = {arm: means for arm, means in page.means.items() if arm in shown and any(means)}
    axis = reach([one for means in with_data.values() for one in means] + page.own)
    found: list[dict[str, Any]] = []
    for arm, means in with_data.items():
        last = next((one for one in reversed(means) if one is not None), None)
        about = f"In the last window {last.value:.3g}, 95 % interval {last.low:.3g} to {last.high:.3g}." if last else ""
        caption = Caption(f"Mean reward of {arm} over time", about)
        picture = banded(caption, edges, means, colours[arm], others=page.own, y=axis)
        found.append({"name": arm, "colour": colours[arm], "last": last, "picture": picture})
    return found


def gain_picture(page: Page, edges: list[float]) -> Markup:
    """The headline's gain as it grew."""
    if headline(page) is None or len(page.gained) < 2 or not any(page.gained):
        return Markup("")
    last = page.gained[-1]
    about = "" if last is None else f"At the end {last.value:.3g}, 95 % interval {last.low:.3g} to {last.high:.3g}."
    caption = Caption("Gain over time", about)
    return banded(caption, edges, page.gained, "accent", height=160)


def headline(page: Page) -> dict[str, Any] | None:
    """The gain that people will quote: over control, or else over the best fixed arm."""
    one = next((gain for gain in page.gains if gain.over in ("control", "arm")), None)
    if one is None or one.gain.is_thin:
        return None
    is_control = one.over == "control"
    return {
        "gain": one,
        "label": "control" if is_control else "the best fixed arm",
        "phrase": "control" if is_control else f"always {one.name}",
        "tone": tone(one.gain),
    }


def tone(one: Estimate) -> str:
    """Whether a gain is sure, and which way."""
    return "" if not one.is_sure else "good" if one.value > 0.0 else "bad"


def gain_rows(page: Page, shown: set[str], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """The table of gains."""
    listed = [one for one in page.gains if one.over != "arm" or one.name in shown]
    ends = [end for one in listed for end in (one.gain.low, one.gain.high)]
    axis = value_axis(min([0.0, *ends]), max([0.0, *ends]))
    return [
        {
            "gain": one,
            "colour": colours.get(one.name, ""),
            "note": gain_note(one, page),
            "percent": "" if one.share is None else f"{100.0 * one.share:+.0f} %".replace("-", "−"),
            "picture": whisker(one.gain, axis, colours.get(one.name, "")),
        }
        for one in listed
    ]


def gain_note(one: Gain, page: Page) -> str:
    """What to know about a figure before quoting it."""
    if one.over == "path":
        return "from the same decisions that it learned the switches from, so the path looks better than it was"
    notes = []
    if one.since > page.windows.start:
        notes.append(f"since {moment(one.since)}")
    if one.gain.is_thin:
        notes.append("few decisions")
    elif one.reach < FULL_REACH:
        notes.append(f"could be served in at most {share(one.reach)} of the decisions, and is judged by those")
    return "; ".join(notes)


def switch_rows(page: Page) -> list[Segment]:
    """The latest first."""
    return [one for one in reversed(page.present.path) if one.left is not None][:MOST_ROWS]


def arm_rows(page: Page, rows: list[Any], colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """The table of arms."""
    axis = reach([line.mean for line in rows])
    return [
        {
            "line": line,
            "colour": colours[line.arm],
            "payload": "" if line.payload is None else _brief(msgspec.json.encode(line.payload).decode()),
            "picture": whisker(line.mean, axis, colours[line.arm]),
        }
        for line in rows
    ]


def _brief(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def hour_rows(page: Page) -> list[dict[str, Any]]:
    """The table of feedback: what never happened is left out, except rewards."""
    found: list[dict[str, Any]] = []
    for kind, counts in page.hours.items():
        name, what = KINDS[kind]
        if sum(counts) or kind == "rewarded":
            picture = bars(f"{name}, by the hour: {', '.join(map(str, counts))}", counts, "bad" if kind in BAD else "")
            found.append({"name": name, "what": what, "total": sum(counts), "picture": picture})
    return found


def not_yet(page: Page) -> str:
    """Why there is nothing to see."""
    config = page.present.head.config
    if config.default_reward is None:
        return "Nothing yet: this fills in with the first rewards."
    return f"Nothing yet: a decision counts when its window of {span(config.reward_window_s)} has ended."


def unsettled(page: Page) -> str:
    """Why pictures of rewards end before now."""
    config = page.present.head.config
    if config.default_reward is None:
        return ""
    return f"The last {span(config.reward_window_s)} are left out until their windows have ended."
