"""The frames of a race, in polars and in long format: each cell becomes some rows.

`regret` in the traces is the loss beyond L*(S), S being the planted number of switches, or the comparator's largest
where nothing is planted; null where the comparator does not reach S. `pseudo_regret` is the mean loss beyond that of
the planted path; null where nothing is planted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from turncoat.optional_imports import require
from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import CellAt
from turncoat.racing.reference import Reference
from turncoat.racing.split import BOUNDS, bounds_of
from turncoat.types import Matrix, Vector

if TYPE_CHECKING:
    import polars as pl

Rows = Callable[[Cell, Reference], dict[str, Any]]


def best_of(cell: Cell, reference: Reference) -> Matrix:
    """L*(s) at every checkpoint: of the reference, or of the losses this learner alone met."""
    return reference.best if reference.best.size else cell.best


def comparator_of(cell: Cell, reference: Reference) -> Vector:
    """L*(S) at every checkpoint, S being what was planted, or the comparator's largest if nothing was; or else NaN."""
    best = best_of(cell, reference)
    S = reference.n_switches if reference.n_switches >= 0 else best.shape[1] - 1
    return best[:, S] if best.shape[1] > S else np.full(cell.t.size, np.nan)


def _traces(cell: Cell, reference: Reference) -> dict[str, Any]:
    planted = reference.planted if reference.n_switches >= 0 else np.nan
    regret, pseudo_regret = cell.loss - comparator_of(cell, reference), cell.mean_loss - planted
    return {"t": cell.t, "loss": cell.loss, "regret": regret, "pseudo_regret": pseudo_regret}


def _frontier(cell: Cell, reference: Reference) -> dict[str, Any]:
    best = best_of(cell, reference)[-1]
    return {"S": np.arange(best.size), "regret": cell.loss[-1] - best}


def _shares(cell: Cell, reference: Reference) -> dict[str, Any]:
    return {"t": cell.t.repeat(cell.arms.size), "arm": np.tile(cell.arms, cell.t.size), "share": cell.shares.ravel()}


def _trust(cell: Cell, reference: Reference) -> dict[str, Any]:
    n, H = cell.trust.shape
    return {
        "t": cell.t.repeat(H),
        "base": np.tile(np.arange(H), n),
        "candidate": np.tile(cell.candidates, n),
        "probability": cell.trust.ravel(),
        "rho": cell.rho.ravel() if cell.rho.size else np.full(n * H, np.nan),
    }


def _split(cell: Cell, reference: Reference) -> dict[str, Any]:
    n, H = cell.base_loss.shape
    best = comparator_of(cell, reference)[:n, None]
    return {
        "t": cell.t[:n].repeat(H),
        "base": np.tile(np.arange(H), n),
        "candidate": np.tile(cell.candidates[:H], n),
        "master_regret": (cell.loss[:n, None] - cell.base_loss).ravel(),
        "base_regret": (cell.base_loss - best).ravel(),
    }


def _beliefs(cell: Cell, reference: Reference) -> dict[str, Any]:
    return dict(zip(("start", "arm", "sure"), cell.believed.T, strict=True))


def _times(cell: Cell, reference: Reference) -> dict[str, Any]:
    return {"ns_per_round": cell.seconds / cell.t[-1:] * 1e9}


def _finals(cell: Cell, reference: Reference) -> dict[str, Any]:
    last = {name: values[-1:] for name, values in _traces(cell, reference).items()}
    score = last["pseudo_regret"] if reference.n_switches >= 0 else last["regret"]
    return {**last, "horizon": last["t"], "score": score, **_times(cell, reference)}


FRAMES: dict[str, tuple[str, Rows]] = {
    "traces": ("t loss regret pseudo_regret", _traces),
    "frontier": ("S regret", _frontier),
    "shares": ("t arm share", _shares),
    "trust": ("t base candidate probability rho", _trust),
    "beliefs": ("start arm sure", _beliefs),
    "times": ("ns_per_round", _times),
    "finals": ("horizon loss score regret ns_per_round", _finals),
    "split": ("t base candidate master_regret base_regret", _split),
    "bounds": (" ".join(BOUNDS), bounds_of),
}
WHOLE = {"t", "S", "arm", "base", "start", "horizon", "theorem"}  # columns of whole numbers


def frame(name: str, finished: Mapping[CellAt, tuple[Cell, Reference]]) -> pl.DataFrame:
    """One of the frames, with the rows of these cells."""
    pl = require("polars", "a race's frames")
    columns, rows_of = FRAMES[name]
    parts = [rows_of(cell, reference) for cell, reference in finished.values()]
    sizes = [next(iter(part.values())).size for part in parts]
    kinds = {"environment": pl.String, "learner": pl.String, "seed": pl.Int64}
    places = pl.DataFrame([at[: len(kinds)] for at in finished], kinds, orient="row")
    frame = places[np.repeat(np.arange(len(parts)), sizes)]
    for column in columns.split():
        there: Any = np.concatenate([part[column] for part in parts]) if parts else []
        numbers = pl.Series(column, there, nan_to_null=True)
        frame.insert_column(frame.width, numbers.cast(pl.Int64 if column in WHOLE else pl.Float64))
    return frame  # type: ignore[no-any-return]
