"""Progress of a race: bars and a live leaderboard on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from turncoat._compile.progress import compiling
from turncoat.cli.leaderboard import boards
from turncoat.errors import TurncoatWarning
from turncoat.learners.entries import Maker
from turncoat.racing import Progress as Now
from turncoat.racing import Result, race

BOARD_SECONDS = 0.5  # how often the leaderboard is redrawn
LINE_SECONDS = 5.0  # how often a line is printed where there is no terminal


def watched_race(
    console: Console, learners: Mapping[str, Maker], environments: Any, horizon: Any, **words: Any
) -> tuple[Result, list[str]]:
    """Run `race`, with its progress on the console; return the result and the learners' warnings, each once."""
    watch = _Screen(console) if console.is_terminal else _Lines(console)
    with warnings.catch_warnings(record=True) as noted, watch, compiling.unannounced():
        warnings.simplefilter("always", TurncoatWarning)
        try:
            result = race(learners, environments, horizon, **words, on_compile=watch.compiled, on_progress=watch.raced)
        except KeyboardInterrupt as stop:
            if words.get("folder") is None:
                raise
            raise Stop(f"what was finished is in {words['folder']}: the same command goes on from there") from stop
    return result, sorted({str(note.message) for note in noted})


class Stop(KeyboardInterrupt):
    """Ctrl-C, with a message for the user."""


def pace(now: Now) -> str:
    """`12.3 million rounds/s, 40 s left`."""
    minutes, seconds = divmod(round(now.seconds_left), 60)
    left = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{now.rounds_per_second / 1e6:,.3g} million rounds/s, {left} left"


class _Lines(nullcontext[None]):
    """One line when it begins, when it is compiled, every five seconds, and at the end."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console, self.last = console, time.monotonic()

    def compiled(self, done: int, total: int) -> None:
        if total == 0:
            self._say("all games were played before: nothing to do")
        elif done == 0:
            self._say("compiling what is not on disk yet")
        elif done == total or self._is_due():
            self._say(f"compiled: {done} of {total} loops{'; racing' if done == total else ''}")

    def raced(self, now: Now) -> None:
        if now.done == now.total or self._is_due():
            self._say(f"{now.done:,} of {now.total:,} games, {pace(now)}")

    def _is_due(self) -> bool:
        return time.monotonic() - self.last >= LINE_SECONDS

    def _say(self, line: str) -> None:
        self.last = time.monotonic()
        self.console.print(line)


class _Screen(Live):
    """Bars, and below them the leaderboard of what is finished. All of it is erased when the race is over."""

    def __init__(self, console: Console) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}")
        self.bars = Progress(*columns, console=console)
        self.compiling = self.bars.add_task("compiling", total=None, pace="")
        self.racing = self.bars.add_task("racing", total=None, visible=False, pace="the first games are being played")
        self.board: RenderableType = Text()
        self.drawn = -BOARD_SECONDS
        super().__init__(console=console, refresh_per_second=8, transient=True)

    def get_renderable(self) -> RenderableType:
        return Group(self.bars, self.board)

    def compiled(self, done: int, total: int) -> None:
        self.bars.update(self.compiling, completed=done, total=total)
        self.bars.update(self.racing, visible=done == total)
        if done == 0:
            self.refresh()

    def raced(self, now: Now) -> None:
        self.bars.update(self.compiling, visible=False)
        self.bars.update(self.racing, visible=True, completed=now.done, total=now.total, pace=pace(now))
        if now.done == now.total or time.monotonic() - self.drawn > BOARD_SECONDS:
            self.board = boards(now.result, self.console.width).tables[0]
            self.drawn = time.monotonic()
