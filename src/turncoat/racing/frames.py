"""The frames of a race, in polars and in long format: each cell becomes some rows.

`regret` in the traces is the loss beyond L*(S), S being the planted number of switches, or the comparator's largest
where nothing is planted; null where the comparator does not reach S. `pseudo_regret` is the mean loss beyond that of
the planted path; null where nothing is planted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from turncoat.optional_imports import needed
from turncoat.racing.cell import Cell
from turncoat.racing.coordinates import CellAt
from turncoat.racing.reference import Ground
from turncoat.racing.theory import BOUNDS, bounds_of
from turncoat.types import Matrix, Vector

if TYPE_CHECKING:
    import polars as pl

Rows = Callable[[Cell, Ground], dict[str, Any]]

_AT = {"environment": "String", "learner": "String", "seed": "Int64"}
_TRACES = {"t": "Int64", "loss": "Float64", "regret": "Float64", "pseudo_regret": "Float64"}
_FRONTIER = {"S": "Int64", "regret": "Float64"}
_SHARES = {"t": "Int64", "arm": "Int64", "share": "Float64"}
_TRUST = {"t": "Int64", "base": "Int64", "candidate": "Float64", "probability": "Float64", "rho": "Float64"}
_BELIEFS = {"start": "Int64", "arm": "Int64", "sure": "Float64"}
_TIMES = {"ns_per_round": "Float64"}
_FINALS = {"horizon": "Int64", "loss": "Float64", "score": "Float64", "regret": "Float64", "ns_per_round": "Float64"}
_SPLIT = {"t": "Int64", "base": "Int64", "candidate": "Float64", "master_regret": "Float64", "base_regret": "Float64"}


def best_of(cell: Cell, ground: Ground) -> Matrix:
    """L*(s) at every checkpoint: of the ground, or of the losses this learner alone met."""
    return ground.best if ground.best.size else cell.best


def comparator_of(cell: Cell, ground: Ground) -> Vector | None:
    """L*(S) at every checkpoint, S being what was planted, or the comparator's largest if nothing was."""
    best = best_of(cell, ground)
    S = ground.n_switches if ground.n_switches >= 0 else best.shape[1] - 1
    return best[:, S] if best.shape[1] > S else None


def regret_of(cell: Cell, ground: Ground) -> Vector | None:
    """Loss beyond L*(S) at every checkpoint."""
    best = comparator_of(cell, ground)
    return None if best is None else cell.loss - best


def pseudo_regret_of(cell: Cell, ground: Ground) -> Vector | None:
    """Mean loss beyond that of the planted path at every checkpoint."""
    return cell.mean_loss - ground.planted if ground.n_switches >= 0 else None


def _traces(cell: Cell, ground: Ground) -> dict[str, Any]:
    regret, pseudo_regret = regret_of(cell, ground), pseudo_regret_of(cell, ground)
    return {"t": cell.t, "loss": cell.loss, "regret": regret, "pseudo_regret": pseudo_regret}


def _frontier(cell: Cell, ground: Ground) -> dict[str, Any]:
    best = best_of(cell, ground)[-1]
    return {"S": np.arange(best.size), "regret": cell.loss[-1] - best}


def _shares(cell: Cell, ground: Ground) -> dict[str, Any]:
    return {"t": cell.t.repeat(cell.arms.size), "arm": np.tile(cell.arms, cell.t.size), "share": cell.shares.ravel()}


def _trust(cell: Cell, ground: Ground) -> dict[str, Any]:
    n, H = cell.trust.shape
    return {
        "t": cell.t.repeat(H),
        "base": np.tile(np.arange(H), n),
        "candidate": np.tile(cell.candidates, n),
        "probability": cell.trust.ravel(),
        "rho": cell.rho.ravel() if cell.rho.size else None,
    }


def _split(cell: Cell, ground: Ground) -> dict[str, Any]:
    n, H = cell.base_loss.shape
    best = comparator_of(cell, ground)
    return {
        "t": cell.t[:n].repeat(H),
        "base": np.tile(np.arange(H), n),
        "candidate": np.tile(cell.candidates[:H], n),
        "master_regret": (cell.loss[:n, None] - cell.base_loss).ravel(),
        "base_regret": None if best is None else (cell.base_loss - best[:n, None]).ravel(),
    }


def _beliefs(cell: Cell, ground: Ground) -> dict[str, Any]:
    return dict(zip(_BELIEFS, cell.believed.T, strict=True))


def _times(cell: Cell, ground: Ground) -> dict[str, Any]:
    return {"ns_per_round": cell.seconds / cell.t[-1:] * 1e9}


def _finals(cell: Cell, ground: Ground) -> dict[str, Any]:
    regret, pseudo_regret = regret_of(cell, ground), pseudo_regret_of(cell, ground)
    score = regret if pseudo_regret is None else pseudo_regret
    return {
        "horizon": cell.t[-1:],
        "loss": cell.loss[-1:],
        "score": None if score is None else score[-1:],
        "regret": None if regret is None else regret[-1:],
        **_times(cell, ground),
    }


FRAMES: dict[str, tuple[dict[str, str], Rows]] = {
    "traces": (_TRACES, _traces),
    "frontier": (_FRONTIER, _frontier),
    "shares": (_SHARES, _shares),
    "trust": (_TRUST, _trust),
    "beliefs": (_BELIEFS, _beliefs),
    "times": (_TIMES, _times),
    "finals": (_FINALS, _finals),
    "split": (_SPLIT, _split),
    "bounds": (BOUNDS, bounds_of),
}


def frame(name: str, finished: Mapping[CellAt, tuple[Cell, Ground]]) -> pl.DataFrame:
    """One of the frames, with the rows of these cells."""
    pl = needed("polars", "a race's frames")
    columns, rows_of = FRAMES[name]
    parts = [rows_of(cell, ground) for cell, ground in finished.values()]
    sizes = [next(iter(part.values())).size for part in parts]
    kinds = {column: getattr(pl, kind) for column, kind in _AT.items()}
    places = pl.DataFrame([at[: len(kinds)] for at in finished], kinds, orient="row")
    frame = places[np.repeat(np.arange(len(parts)), sizes)]
    for column, kind in columns.items():
        there = [
            np.full(n, np.nan) if part[column] is None else part[column] for part, n in zip(parts, sizes, strict=True)
        ]
        numbers = pl.Series(column, np.concatenate(there) if there else [], nan_to_null=True)
        frame.insert_column(frame.width, numbers.cast(getattr(pl, kind)))
    return frame  # type: ignore[no-any-return]
