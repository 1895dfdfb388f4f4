"""Scenarios are frozen: what a name stands for never changes, or results under it would no longer compare.

Each hash is of a scenario's fields and of its losses, to 6 digits, over 300 rounds and 3 seeds (an adaptive one against
a fixed sequence of arms). A new game gets a new name and a new line here; a line that changes is a mistake.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from turncoat.environments import SCENARIOS, Adaptive, scenario

T = 300

FROZEN = {
    "stationary/0": "eb31c85a7018",
    "flip/3": "acd5fbcf8948",
    "flip/10": "3f93068940b8",
    "flip/1000": "85d1028a097a",
    "piecewise/3": "356354edf61c",
    "piecewise/10": "fced1f5cdb39",
    "piecewise/100": "f442de0ac7f5",
    "piecewise/crossover": "356354edf61c",
    "piecewise/root": "8a83f2e7bfda",
    "close/10": "dabd8904e0f1",
    "real/10": "610f370bce66",
    "resampled/20": "054d687c5c16",
    "levels/50": "c1ee1083a889",
    "levels/500": "01d4ad889295",
    "switching-levels/4": "5482678c67d7",
    "drift/2": "3c425144d7c3",
    "drift/20": "81fa82653871",
    "drift/200": "ddc97f9a6ad6",
    "walk/400": "8cd90f1537fa",
    "burst/100": "ef5701664b0b",
    "trap/hidden": "a52419734f9a",
    "trap/staircase": "1b3daced998b",
    "trap/alternations": "a486577eaab6",
    "trap/late": "ca6c569e3b16",
    "trap/second-20": "bab04e8c823d",
    "trap/second-100": "34b8ac12b9f8",
    "lower-bound/3": "21d759e71f88",
    "lower-bound/crossover": "21d759e71f88",
    "corrupted/1": "27443db83292",
    "corrupted/20": "7f075310e24a",
    "adaptive/5": "fbec16cbb94b",
    "adaptive/20": "6f43c9ac13bc",
    "linear/8": "fddd762a8acd",
    "linear-drift/2": "e1d46c8e9cf0",
}


def digest(name: str) -> str:
    """The hash of a scenario."""
    said = hashlib.sha256()
    for seed in range(3):
        game = scenario(name, T, seed)
        table = game.losses_against(np.arange(T) % 3) if isinstance(game, Adaptive) else game.losses()
        said.update(json.dumps(game.fields(), sort_keys=True).encode())
        said.update(np.rint(table * 1e6).astype("<i8").tobytes())
    return said.hexdigest()[:12]


def test_every_scenario_is_as_it_was() -> None:
    assert {name: digest(name) for name in SCENARIOS} == FROZEN
