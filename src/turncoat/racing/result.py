"""Result: the outcome of a race, as polars frames in long format, and its leaderboards.

traces    environment, learner, seed, t, loss, regret, pseudo_regret
frontier  environment, learner, seed, S, regret            after the last round, for all S of the comparator
shares    environment, learner, seed, t, arm, share
trust     environment, learner, seed, t, base, candidate, probability, rho
beliefs   environment, learner, seed, start, arm, sure     the arm believed best from round start on, until the next
times     environment, learner, seed, ns_per_round
growth    environment, learner, seed, horizon, regret      after the last round of games of every horizon
and of races with split=True, for the paper's masters alone,
split     environment, learner, seed, t, base, candidate, master_regret, base_regret
bounds    environment, learner, seed, theorem, S, base, candidate, rho, bound, master_bound, base_bound, and its terms

All but the growth are of the longest horizon.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import CellAt, Names, ReferenceAt
from turncoat.racing.frames import frame
from turncoat.racing.leaderboard import leaderboard, overall
from turncoat.racing.reference import Reference
from turncoat.racing.storage import Store, read_manifest

if TYPE_CHECKING:
    import polars as pl


class Result:
    """The finished cells of a race and the references they stand on. `Result.load` opens a saved race."""

    def __init__(
        self,
        names: Names,
        cells: Mapping[CellAt, Cell],
        references: Mapping[ReferenceAt, Reference],
        about: Mapping[str, str],
    ) -> None:
        self.names = names
        self.cells = cells
        self.references = references
        self.about = about  # versions, machine, seed

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The race that was saved in a folder, finished or not. What is damaged is left out: see `missing`."""
        path = Path(folder)
        names, about, keys = read_manifest(path)
        store = Store(path)
        for at, key in keys.items():
            store.find(at, key)
        return cls(names, store.cells, store.references, about)

    @property
    def missing(self) -> list[CellAt]:
        """The cells that are not there, or whose reference is not."""
        return [at for at in self.names.cells() if not self._is_finished(at)]

    def finished(self) -> dict[CellAt, tuple[Cell, Reference]]:
        """Every finished cell with its reference: environment by environment, learner by learner, seed by seed."""
        return {
            at: (self.cells[at], self.references[at.reference]) for at in self.names.cells() if self._is_finished(at)
        }

    def _longest(self) -> dict[CellAt, tuple[Cell, Reference]]:
        return {at: both for at, both in self.finished().items() if at.horizon == self.names.horizon}

    def _is_finished(self, at: CellAt) -> bool:
        return at in self.cells and at.reference in self.references

    @property
    def traces(self) -> pl.DataFrame:
        """Loss and regret at every checkpoint."""
        return frame("traces", self._longest())

    @property
    def frontier(self) -> pl.DataFrame:
        """Regret after the last round against the best sequences with S switches, for every S."""
        return frame("frontier", self._longest())

    @property
    def shares(self) -> pl.DataFrame:
        """How often each arm was played up to every checkpoint, as a fraction."""
        return frame("shares", self._longest())

    @property
    def trust(self) -> pl.DataFrame:
        """How much masters trust each base at every checkpoint."""
        return frame("trust", self._longest())

    @property
    def beliefs(self) -> pl.DataFrame:
        """The arms that learners which explain themselves believed best, from when on, and how sure they were."""
        return frame("beliefs", self._longest())

    @property
    def times(self) -> pl.DataFrame:
        """Nanoseconds per round."""
        return frame("times", self._longest())

    @property
    def growth(self) -> pl.DataFrame:
        """Regret after the last round, as on the leaderboard, for games of every horizon."""
        columns = ["environment", "learner", "seed", "horizon", "score"]
        return frame("finals", self.finished()).select(columns).rename({"score": "regret"})

    @property
    def split(self) -> pl.DataFrame:
        """Where a master's regret came from: its own against each base, and that base's against the comparator."""
        return frame("split", self._longest())

    @property
    def bounds(self) -> pl.DataFrame:
        """What the paper's theorems say of each split game after it was played, term by term; null where nothing."""
        return frame("bounds", self._longest())

    def leaderboard(self) -> pl.DataFrame:
        """For each environment, best first: mean regret and rank with 95 % intervals over seeds, time per round.

        Learners are ranked among those that see the same: bandits first, then those of full information.
        """
        return leaderboard(frame("finals", self._longest()), self.names.settings)

    def overall(self) -> pl.DataFrame:
        """Over all environments, best first: the mean rank in a single game with a 95 % interval, time per round.

        Ranked as in `leaderboard`, among those that see the same.
        """
        return overall(frame("finals", self._longest()), self.names.settings)

    def report(self, folder: str | Path) -> Path:
        """Write report.html and every figure as PDF, SVG and PNG into a folder; returns the path of the page."""
        from turncoat.racing.report_frames import frames_of
        from turncoat.report import report

        return report(frames_of(self), folder)

    def __repr__(self) -> str:
        n_missing, n = len(self.missing), len(list(self.names.cells()))
        return f"<Result: {n - n_missing} of {n} cells; horizon {self.names.horizon}>"
