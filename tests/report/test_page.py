"""The page and the files beside it."""

from __future__ import annotations

import errno
import json
import os
import re
import struct
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert

from tests.report.sample import crowd, some_games
from turncoat.errors import RaceError
from turncoat.report import Frames, report
from turncoat.report.figures.catalogue import FIGURES
from turncoat.report.page import bundle
from turncoat.report.styles import LIGHT
from turncoat.report.write import canonical_pdf

pytestmark = pytest.mark.slow  # all pictures of a report are drawn
ADDRESSES = ("src", "href", "action", "data", "poster", "srcset", "background", "manifest", "formaction", "ping")


class Reader(HTMLParser):
    """Collects a page's elements, its visible words and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        where = {"script": self.scripts, "style": self.styles}.get(self._inside, self.words)
        where.append(data)


def read(page: Path) -> Reader:
    reader = Reader()
    reader.feed(page.read_text())
    reader.close()
    return reader


@pytest.fixture(scope="module")
def frames(frames: Frames) -> Frames:
    """Two games: two panels in a figure show what four would."""
    return some_games(frames, "flip/3", "drift/2")


@pytest.fixture(scope="module")
def folder(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report, pictures and all."""
    return report(frames, tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def page(folder: Path) -> Reader:
    return read(folder / "report.html")


def test_every_figure_is_there_in_three_formats(folder: Path) -> None:
    names = {figure.name for figure in FIGURES}
    assert {file.name for file in (folder / "figures").iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("pdf", "svg", "png")
    }
    for name in names:
        svg = ET.fromstring((folder / "figures" / f"{name}.svg").read_text())
        width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
        png = (folder / "figures" / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")
        assert struct.unpack(">II", png[16:24]) == pytest.approx((2 * width, 2 * height), abs=2)
        pdf = (folder / "figures" / f"{name}.pdf").read_bytes()
        assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
        assert 300 < width < 1400 and height > 100


def test_figures_carry_the_names_of_learners_and_environments(frames: Frames, folder: Path) -> None:
    for name in ("leaderboard", "frontier", "regret", "pseudo-regret", "growth", "arms"):
        text = (folder / "figures" / f"{name}.svg").read_text()
        for word in (*frames.learners(), *frames.environments()):
            assert word in text, f"{name}.svg lacks {word}"


def test_the_page_asks_for_nothing(page: Reader) -> None:
    for tag, attributes in page.elements:
        for attribute in ADDRESSES:
            assert (attributes.get(attribute) or "data:").startswith(("data:", "#")), f"<{tag} {attribute}>"
    assert not re.search(r"@import|url\(", "".join(page.styles))
    policy = next(a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none';")
    assert not re.search(r"https?:|\*", policy)  # so the browser refuses every request, whatever the scripts try


def test_the_data_of_the_figures_is_in_the_page(page: Reader) -> None:
    data = json.loads(page.scripts[1])
    assert list(data["figures"]) == [figure.name for figure in FIGURES]
    assert data["light"] == LIGHT and data["dark"]["background"] != LIGHT["background"]
    for figure in data["figures"].values():
        assert figure["all"] is None
        assert figure["front"]["datasets"] and "url" not in json.dumps(figure["front"]["datasets"])


def test_the_page_says_what_was_raced_and_how_to_read_it(frames: Frames, page: Reader) -> None:
    words = " ".join(" ".join(page.words).split())
    assert "6 learners in 2 environments, 2,000 rounds each, over 3 seeds" in words
    for figure in FIGURES:
        assert figure.title in words and figure.reading in words
    for text in (frames.title, *frames.learners(), *frames.environments(), *frames.about, *frames.about.values()):
        assert text in words
    best = frames.leaderboard.filter((pl.col("rank") == 1) & (pl.col("environment") == "drift/2"))
    assert f"{best['regret'][0]:,.0f} ±" in words


def test_the_same_frames_give_the_same_bytes(frames: Frames, folder: Path, tmp_path: Path) -> None:
    two = frames.leaderboard.filter(pl.col("learner").is_in(["master-base", "exp3"]))
    one = replace(some_games(frames, "flip/3"), leaderboard=two, overall=None)  # few marks, in every figure
    first, again = (report(one, tmp_path / name).parent for name in ("first", "again"))
    made = sorted(file.relative_to(again) for file in again.rglob("*") if file.is_file())
    assert made == sorted(file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    assert [name for name in made if (first / name).read_bytes() != (again / name).read_bytes()] == []


def test_lines_of_a_panel_share_a_clip(folder: Path) -> None:
    """Each had its own, and every one took 30 ms of a PNG."""
    svg = ET.fromstring((folder / "figures" / "regret.svg").read_text())
    clipped = [one for one in svg.iter() if "clip-path" in one.attrib]
    lines = [[one for one in group.iter() if one.get("class", "").startswith("mark-line")] for group in clipped]
    assert {len(some) for some in lines} == {6}


def test_the_script_is_made_by_a_second_process_where_that_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda *words: "made here")
    assert "vegaEmbed" in bundle.__wrapped__()
    with monkeypatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: 1)
        assert bundle.__wrapped__() == "made here"
    for executable in ("", "/not/there", "false"):
        monkeypatch.setattr(sys, "executable", executable)
        assert bundle.__wrapped__() == "made here"


def test_pdf_objects_are_where_the_file_says(folder: Path) -> None:
    """They are put in order after the renderer: the table of offsets and all references must still be right."""
    for file in (folder / "figures").glob("*.pdf"):
        pdf = file.read_bytes()
        start = int(re.findall(rb"startxref\n(\d+)", pdf)[-1])
        offsets = [int(entry) for entry in re.findall(rb"(\d{10}) 00000 n\r\n", pdf[start:])]
        assert (
            pdf[start:].startswith(b"xref\n0 %d\n" % (len(offsets) + 1)) and f"/Size {len(offsets) + 1}".encode() in pdf
        )
        for number, offset in enumerate(offsets, 1):
            assert pdf[offset:].startswith(b"%d 0 obj" % number)
            words = pdf[offset : pdf.index(b"endobj", offset)].split(b"\nstream")[0]
            assert all(1 <= int(met) <= len(offsets) for met in re.findall(rb"(\d+) 0 R", words))
        fonts = set(re.findall(rb"/BaseFont /[A-Z]{6}\+(\S+)", pdf))
        assert b"LiberationSans" in fonts  # the font is in the file, not looked for where it is opened


def test_a_pdf_of_another_make_is_left_alone() -> None:
    assert canonical_pdf(b"%PDF-1.7 something else") == b"%PDF-1.7 something else"


def few(frames: Frames, **more: Any) -> Frames:
    """A quick report: one environment, two frames."""
    one = frames.games.filter(pl.col("environment") == "flip/3")
    return Frames(one, frames.leaderboard.filter(pl.col("environment") == "flip/3"), times=frames.times, **more)


@pytest.mark.usefixtures("page_alone")
def test_of_thirty_learners_twelve_are_in_front_and_all_are_there(frames: Frames, tmp_path: Path) -> None:
    many = few(crowd(frames, 30))
    page = read(report(many, tmp_path))
    chips = [attributes for tag, attributes in page.elements if "data-learner" in attributes]
    assert [chip["data-learner"] for chip in chips] == many.learners()
    assert [chip.get("class") for chip in chips] == [None] * 12 + ["rest"] * 18
    assert "show all 30 learners" in " ".join(page.words)
    figure = json.loads(page.scripts[1])["figures"]["time"]
    drawn = {kind: {row["learner"] for data in figure[kind]["datasets"].values() for row in data} for kind in figure}
    assert drawn == {"front": set(many.learners()[:12]), "all": set(many.learners())}


def test_names_cannot_break_the_page(frames: Frames, tmp_path: Path) -> None:
    nasty = "</script><script>alert(1)</script><!-- \"x\" & 'y'"
    rename = pl.col("learner").replace("exp3", nasty)
    plain = few(frames)
    assert plain.times is not None
    frames = replace(
        plain, leaderboard=plain.leaderboard.with_columns(rename), times=plain.times.with_columns(rename), title=nasty
    )
    page = read(report(frames, tmp_path))
    assert len(page.scripts) == 3
    datasets = json.loads(page.scripts[1])["figures"]["time"]["front"]["datasets"]
    assert nasty in {row["learner"] for data in datasets.values() for row in data}
    assert nasty in [attributes.get("data-learner") for _, attributes in page.elements]


def test_one_seed_one_learner_and_no_planted_path_are_fine(frames: Frames, tmp_path: Path) -> None:
    """No interval, no dash to tell apart, no S: the page says less, and nothing breaks."""
    alone = {
        name: frame.filter((pl.col("learner") == "exp3") & (pl.col("seed") == 0))
        for name in ("traces", "frontier", "growth", "shares", "times")
        if (frame := getattr(frames, name)) is not None
    }
    board = frames.leaderboard.filter(pl.col("learner") == "exp3").with_columns(
        rank=1, rank_low=1, rank_high=1, low=pl.lit(None, dtype=pl.Float64), high=pl.lit(None, dtype=pl.Float64)
    )
    games = frames.games.with_columns(n_switches=pl.lit(None, dtype=pl.Int64))
    page = read(report(Frames(games, board, **alone), tmp_path))
    words = " ".join(page.words)
    assert (
        "1 learner in 2 environments" in words and "over 1 seed" in words and "±" not in words.split("Leaderboard")[0]
    )
    assert (tmp_path / "figures" / "frontier.png").exists()


def test_a_report_can_be_written_again_and_leaves_no_halves(frames: Frames, tmp_path: Path) -> None:
    first = report(few(frames), tmp_path / "new" / "folder").read_bytes()
    assert report(few(frames), tmp_path / "new" / "folder").read_bytes() == first
    assert not [file for file in tmp_path.rglob("*") if file.suffix == ".tmp"]


def test_a_full_disk_is_told_in_plain_words_and_leaves_no_halves(
    frames: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a traceback, and the half that had found room stayed there."""
    before = report(few(frames), tmp_path).read_bytes()
    files = sorted(tmp_path.rglob("*"))
    real = os.fsync
    n_written = 0

    def fsync(descriptor: int) -> None:
        nonlocal n_written
        n_written += 1
        if n_written == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(RaceError, match=r"the report cannot be written to '.*': No space left on device; the results"):
        report(replace(few(frames), title="another"), tmp_path)
    assert sorted(tmp_path.rglob("*")) == files and (tmp_path / "report.html").read_bytes() == before
    monkeypatch.undo()
    (tmp_path / "file").write_text("")
    with pytest.raises(RaceError, match="Not a directory"):
        report(few(frames), tmp_path / "file")


def test_a_figure_of_an_earlier_race_does_not_stay(frames: Frames, tmp_path: Path) -> None:
    """A race of one horizon has no growth: that of the race before would pass for its own."""
    (tmp_path / "figures").mkdir()
    for name in ("growth.svg", "growth.png", "growth.pdf", "mine.png"):
        (tmp_path / "figures" / name).write_text("of another race")
    report(few(frames), tmp_path)
    assert not list((tmp_path / "figures").glob("growth.*")) and (tmp_path / "figures" / "mine.png").exists()
