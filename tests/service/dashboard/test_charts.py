"""Pictures are right in their numbers, and safe whatever arms are called."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turncoat.service.dashboard.charts import (
    Axis,
    Caption,
    Layer,
    Mark,
    areas,
    banded,
    bars,
    meter,
    reach,
    stacked,
    strip,
    time_axis,
    time_label,
    value_axis,
    whisker,
)
from turncoat.service.dashboard.formats import about, count, figure, plain, share, signed, size, span
from turncoat.service.dashboard.pages.renderer import from_facts, gauge_rows, tiles
from turncoat.service.experiments.estimates import Estimate

EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
NOON = 1_763_208_000.0  # 15 November 2025, 12:00 UTC


class Tags(HTMLParser):
    """The elements in a text, and what in them would run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(f"{tag} {name}" for name, _ in attrs if name.startswith("on") or name == "style")}

    @classmethod
    def of(cls, text: str) -> set[str]:
        tags = cls()
        tags.feed(text)
        return tags.found


def firm(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half, 1_000.0)


def readout(picture: str) -> dict[str, object]:
    found = re.search(r'data-readout="([^"]*)"', picture)
    assert found is not None
    data: dict[str, object] = json.loads(unescape(found.group(1)))
    return data


def test_areas_are_drawn_from_the_top_down_in_steps() -> None:
    drawn = areas([0.0, 0.25, 1.0], [Layer("a", "c0", [0.5, 0.2]), Layer("b", "c1", [0.5, 0.8])])
    assert drawn == (
        '<path class="area c1" d="M0,1000H0V0H1000V1000Z"/><path class="area c0" d="M0,1000H0V500H250V800H1000V1000Z"/>'
    )


def test_shares_that_do_not_change_take_no_room() -> None:
    drawn = areas([i / 100 for i in range(101)], [Layer("a", "c0", [0.5] * 100)])
    assert drawn == '<path class="area c0" d="M0,1000H0V500H1000V1000Z"/>'


def test_a_stacked_picture_says_what_it_shows() -> None:
    layers = [Layer("a", "c0", [0.25, 1.0]), Layer("b", "c1", [0.75, 0.0])]
    marks = [Mark(NOON + 30.0, "switch", "to a"), Mark(NOON - 1.0, "event", "before it began")]
    axis = time_axis(NOON, NOON + 60.0)
    picture = stacked(Caption("Shares", "a now"), axis, [NOON, NOON + 45.0], layers, marks, NOON + 60.0)
    assert "<title>Shares</title><desc>a now</desc>" in picture
    assert 'x1="50.00%"' in picture and "to a" in picture and "before it began" not in picture
    assert readout(picture) == {
        "ends": [NOON, NOON + 60.0],
        "times": [NOON, NOON + 45.0, NOON + 60.0],
        "rows": [["a", "c0", [25.0, 100.0]], ["b", "c1", [75.0, 0.0]]],
        "unit": " %",
    }
    assert stacked(Caption("", ""), axis, [], [], [], NOON) == ""


def test_a_curve_goes_where_its_values_are_and_thin_stretches_are_grey() -> None:
    estimates = [firm(0.5), firm(1.0, 0.0), Estimate(0.0, 0.0, 1.0, 3.0), None, firm(0.0, 0.0)]
    edges = [NOON + 60.0 * i for i in range(6)]
    picture = banded(Caption("Mean", ""), edges, estimates, "c3", y=Axis(0.0, 1.0, (0.0, 1.0)))
    curves = re.findall(r'<path class="line (c3[ \w]*)" d="([^"]*)"', picture)
    assert curves == [("c3", "M100,500L300,0"), ("c3 thin", "M300,0L500,1000"), ("c3", "M900,1000L902,1000")]
    bands = re.findall(r'<path class="band (c3[ \w]*)" d="([^"]*)"', picture)
    assert bands[0] == ("c3", "M100,400L300,0L300,0L100,600Z")
    assert "few decisions" in str(readout(picture)["rows"])
    assert banded(Caption("", ""), [NOON], [], "c0") == ""


def test_thin_estimates_do_not_stretch_the_axis() -> None:
    assert reach([firm(0.2), Estimate(0.5, 0.0, 1.0, 2.0), None]).high < 0.5
    assert reach([Estimate(0.5, 0.0, 1.0, 2.0)]).high == 1.0
    assert reach([]).ticks[0] == 0.0


def test_whiskers_meters_and_bars() -> None:
    axis = Axis(-1.0, 1.0, ())
    picture = whisker(Estimate(0.5, -0.5, 1.0, 100.0), axis, "c2")
    assert 'x1="25.0%" x2="100.0%"' in picture and 'class="c2" cx="75.0%"' in picture and 'class="zero"' in picture
    assert 'class="zero"' not in whisker(firm(0.5), Axis(0.0, 1.0, ())) and whisker(None, axis) == ""
    assert 'width="30.0%"' in meter(0.3) and 'width="100.0%"' in meter(7.0)
    assert bars("n", [0, 1, 1000]).count("<rect") == 2 and 'height="2"' in bars("n", [0, 1, 1000])
    assert bars("n", [0]).count("<rect") == 0


def test_hostile_words_stay_words() -> None:
    layers, marks = [Layer(EVIL, "c0", [1.0])], [Mark(NOON, "switch", EVIL)]
    axis = time_axis(NOON, NOON + 60.0)
    for picture in (
        stacked(Caption(EVIL, EVIL), axis, [NOON], layers, marks, NOON + 60.0),
        banded(Caption(EVIL, EVIL), [NOON, NOON + 60.0], [firm(0.5)], "c0"),
        strip(EVIL, [NOON], layers, NOON + 1.0),
        bars(EVIL, [1]),
    ):
        assert not Tags.of(picture) - {"div", "span", "svg", "title", "desc", "g", "line", "path", "rect", "text"}
        assert "&lt;script&gt;" in picture
    assert Tags.of(EVIL) == {"script", "img", "img onerror"}


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6), st.integers(3, 8))
@example(0.0, 5e-324, 3)  # half of it is nothing, which has no logarithm
def test_an_axis_has_round_evenly_spaced_ticks_around_its_values(low: float, width: float, most: int) -> None:
    axis = value_axis(low, low + width, most)
    tiny = 1e-6 * (axis.high - axis.low)
    assert axis.low <= low + tiny and low + width <= axis.high + tiny
    assert 2 <= len(axis.ticks) <= most and (axis.low, axis.high) == (axis.ticks[0], axis.ticks[-1])
    steps = [b - a for a, b in zip(axis.ticks, axis.ticks[1:], strict=False)]
    assert max(steps) == pytest.approx(min(steps))
    digits = steps[0] / 10.0 ** math.floor(math.log10(steps[0]) + 1e-9)
    assert any(digits == pytest.approx(good, rel=1e-6) for good in (1.0, 2.0, 2.5, 5.0, 10.0))


@given(st.floats(0.0, 2e9), st.floats(0.0, 1e9))
@example(0.0, 300_000.0)  # three days and a half: two ticks were of one day
def test_times_are_few_round_and_inside(start: float, length: float) -> None:
    axis = time_axis(start, start + length)
    assert len(axis.ticks) <= 31 if length > 2e8 else len(axis.ticks) <= 9
    assert all(axis.low < tick < axis.high for tick in axis.ticks)
    labels = [time_label(tick, axis) for tick in axis.ticks]
    if 10.0 < length <= 86_400.0 or 3 * 86_400.0 < length < 300 * 86_400.0:  # else midnight has its date
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    "shown, expected",
    [
        ([figure(x) for x in (0.0, 0.12345, 12.345, 12_345.6, -0.5, None, math.nan)],
         ["0", "0.123", "12.3", "12,300", "−0.500", "–", "–"]),
        ([figure(x) for x in (0.9996, 99.96, 999.6)], ["1.00", "100", "1,000"]),
        ([signed(x) for x in (1.0, -1.0, 0.0)], ["+1.00", "−1.00", "0"]),
        ([plain(x) for x in (1.0, 0.25, -2.5, 1e6)], ["1", "0.25", "−2.5", "1,000,000"]),
        ([share(x) for x in (0.0, 0.0005, 0.007, 0.62, 0.995, 0.9999, 1.0, None)],
         ["0 %", "< 0.1 %", "0.7 %", "62 %", "99.5 %", "100 %", "100 %", "–"]),
        ([span(x) for x in (0.0, 0.0013, 0.05, 1.0, 59.0, 60.0, 5_400.0, 86_400.0 * 40)],
         ["0 s", "1.3 ms", "50 ms", "1 s", "59 s", "1 min", "1.5 h", "40 d"]),
        ([size(x) for x in (0, 12_345, 5e9)], ["0 B", "12.3 kB", "5.00 GB"]),
        ([count(x) for x in (1_234.4, None)], ["1,234", "–"]),
        ([about(NOON + 61), about(NOON + 61, fine=False), about(None)],
         ["15 Nov 12:01:01", "15 Nov 12:01", "–"]),
    ],
)  # fmt: skip
def test_numbers_read_well(shown: list[str], expected: list[str]) -> None:
    assert [one.replace("\N{NO-BREAK SPACE}", " ") for one in shown] == expected


def test_gauges_are_shown_as_their_names_say() -> None:
    gauges = {
        "lag_seconds": 7.0,
        "lag_rewards": 1_200,
        "last_backup_at": None,
        "cache_share": 0.25,
        "ready": True,
        "kind": "SQLite",
    }
    assert [(one["name"], one["value"], one["tone"]) for one in tiles(gauges)] == [
        ("Applier lag", "7\N{NO-BREAK SPACE}s", "bad"),
        ("Rewards waiting", "1,200", ""),
        ("Last backup", "never", ""),
    ]
    facts = {"backup": "1763208000.5 turncoat.bak", "verified": "1763208000.0 BAD", "other": "x"}
    notes = {one["name"]: (one["value"], one["note"]) for one in tiles(from_facts(facts))}
    assert notes["Last backup"] == ("15 Nov 12:00:00", "turncoat.bak")
    assert notes["Last replay check"] == ("15 Nov 12:00:00", "BAD")
    assert tiles(from_facts({"verified": "mad"}))[1]["value"] == "never" and gauge_rows(from_facts(facts)) == []
    rest = [("cache share", "25\N{NO-BREAK SPACE}%"), ("ready", "True"), ("kind", "SQLite")]
    assert gauge_rows(gauges) == rest
