"""The four piecewise problems of Besson et al. (2022), and two whose results the first author has published.

Run: make figures (or python docs/figures/besson.py). Plays for a minute, writes besson.svg beside itself and prints the
tables of docs/learners/glr-kl-ucb.md.

L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec, "Efficient change-point detection for tackling piecewise-stationary
bandits", JMLR 23 (2022): means and breaks from the authors' benchmark files. L. Besson, PhD thesis, CentraleSupélec
2019, chapter 6: problems 1 and 2 at T = 5000, with the mean regret of 1000 runs. All rewards are 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl

import turncoat as tc
from turncoat.environments import Environment, Piecewise
from turncoat.report.figures.axes import Axis
from turncoat.report.figures.panel import FOCUS, ends_of, in_columns, layered, lines, names
from turncoat.report.styles import styles_of
from turncoat.report.write import pictures
from turncoat.statistics import means

T, EARLY_T = 20_000, 5_000
N_SEEDS, EARLY_SEEDS = 20, 300
SIZE = (300, 240)
FIFTHS = [0.2, 0.4, 0.6, 0.8]  # of the horizon

PROBLEMS: dict[str, tuple[list[float], list[tuple[float, ...]]]] = {  # breaks in parts of T, mean rewards
    "problem 1": (FIFTHS, [(0.9, 0.5, 0.3), (0.9, 0.2, 0.3), (0.1, 0.2, 0.3), (0.1, 0.7, 0.3), (0.1, 0.7, 0.5)]),
    "problem 2": (FIFTHS, [(0.9, 0.5, 0.4), (0.7, 0.4, 0.5), (0.5, 0.3, 0.6), (0.3, 0.2, 0.7), (0.1, 0.1, 0.8)]),
    "problem 3": (
        [at / T for at in (6947, 9400, 10887, 13633, 16254)],
        [
            (0.2769, 0.1817, 0.5667, 0.0130, 0.5938),
            (0.5070, 0.1817, 0.5667, 0.2813, 0.7107),
            (0.5070, 0.1817, 0.5667, 0.1631, 0.3575),
            (0.1681, 0.1817, 0.4112, 0.1631, 0.3575),
            (0.1681, 0.1817, 0.4112, 0.1631, 0.0260),
            (0.4364, 0.4062, 0.4734, 0.5587, 0.0260),
        ],
    ),
    "problem 4": (
        [at / T for at in (7388, 8403, 11866, 15716, 18183)],
        [
            (0.2434, 0.5150, 0.1962, 0.9489, 0.5689),
            (0.3664, 0.5150, 0.1962, 0.8811, 0.8365),
            (0.3030, 0.1635, 0.2920, 0.6540, 0.8365),
            (0.2513, 0.5337, 0.2920, 0.6540, 0.8365),
            (0.2513, 0.5337, 0.2920, 0.5801, 0.8365),
            (0.2513, 0.5337, 0.2920, 0.5801, 0.9979),
        ],
    ),
}
EARLY = {
    "thesis, 1": (FIFTHS, [(0.3, 0.5, 0.9), (0.3, 0.2, 0.9), (0.3, 0.2, 0.1), (0.7, 0.2, 0.1), (0.7, 0.5, 0.1)]),
    "thesis, 2": PROBLEMS["problem 2"],
}
PUBLISHED = {  # mean regret and one standard deviation, problems 1 and 2
    "glr-kl-ucb, local": ("74 ± 31", "113 ± 34"),
    "glr-kl-ucb": ("97 ± 32", "134 ± 33"),
    "kl-ucb": ("270 ± 76", "162 ± 59"),
    "exp3.s, told S": ("352 ± 51", "310 ± 62"),
}

Maker = Callable[..., Any]
LEARNERS: dict[str, Maker] = {  # the authors' tuning, which is not told anything but T
    "glr-kl-ucb": partial(tc.GLRklUCB, threshold="experiments"),
    "glr-kl-ucb, local": partial(tc.GLRklUCB, threshold="experiments", restart="local"),
    "glr-kl-ucb, exploring less": partial(tc.GLRklUCB, threshold="experiments", exploration=0.1),
    "monitored-ucb, kl, told S": tc.told(partial(tc.MonitoredUCB, index="kl")),
    "kl-ucb": tc.KLUCB,
    "clipped-omd, told S": tc.told(tc.ClippedOMD),
    "exp3.s, told S": tc.told(tc.Exp3S),
    "adaptive-master-base, shared": partial(tc.AdaptiveMasterBase, feedback="shared"),
}
U = 4  # breaks; the thesis tells everyone, and scales exploration by 0.05
EARLY_LEARNERS: dict[str, Maker] = {
    "glr-kl-ucb, local": partial(
        tc.GLRklUCB, restart="local", n_switches=U, exploration=0.05, delta=1 / math.sqrt(3 * U * EARLY_T), every=10
    ),
    "glr-kl-ucb": partial(
        tc.GLRklUCB, n_switches=U, exploration=0.05 / math.sqrt(3), delta=1 / math.sqrt(U * EARLY_T), every=10
    ),
    "kl-ucb": tc.KLUCB,
    "exp3.s, told S": partial(tc.Exp3S, n_switches=U - 1),  # its gamma has U where ours has S + 1
}


def problem(horizon: int, seed: np.random.SeedSequence, *, breaks: list[float], rewards: Any) -> Environment:
    """The game with these mean rewards between these breaks."""
    edges = [round(at * horizon) for at in breaks]
    return Piecewise.from_means(horizon, edges, 1.0 - np.array(rewards), seed=seed)


def played(learners: Mapping[str, Maker], problems: Mapping[str, Any], horizon: int, n_seeds: int) -> pl.DataFrame:
    """environment, learner, seed, t, pseudo_regret."""
    games = {name: partial(problem, breaks=breaks, rewards=rewards) for name, (breaks, rewards) in problems.items()}
    return tc.race(dict(learners), games, horizon, seeds=n_seeds, max_switches=0).traces


def table(traces: pl.DataFrame, horizon: int, *, deviations: bool) -> str:
    """Regret at the end in Markdown: with 95 % intervals of the mean, or with standard deviations."""
    last = traces.filter(pl.col("t") == horizon)
    games = last["environment"].unique(maintain_order=True).to_list()
    rows = [["learner", *games], ["---"] + ["--:"] * len(games)]
    for learner in last["learner"].unique(maintain_order=True):
        row = [f"`{learner}`"]
        for i, game in enumerate(games):
            found = last.filter((pl.col("learner") == learner) & (pl.col("environment") == game))["pseudo_regret"]
            mean, _, high = means(found.to_numpy())
            row.append(f"{mean:.0f} ± {found.std() if deviations else high - mean:.0f}")
            if deviations:
                row[-1] += f" ({PUBLISHED[learner][i]})"
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(traces: pl.DataFrame, game: str) -> Any:
    """Mean regret over time in one problem, with 95 % bands over the seeds; dashed lines where means change."""
    styles = styles_of(list(LEARNERS))
    rows = [
        (learner, t, *(float(part) for part in means(seeds["pseudo_regret"].to_numpy())))
        for (learner, t), seeds in traces.filter(pl.col("environment") == game).group_by(
            "learner", "t", maintain_order=True
        )
    ]
    data = pl.DataFrame(rows, ["learner", "t", "mean", "low", "high"], orient="row")
    across = Axis("round", "linear", 0, T)
    up = Axis("regret against the planted path", "linear", min(0.0, *data["low"]), max(data["high"]))
    breaks = alt.Chart(pl.DataFrame({"t": [round(at * T) for at in PROBLEMS[game][0]]}))
    layers = [breaks.mark_rule(style="mark", strokeDash=[3, 3]).encode(x=across.x("t:Q"))]
    layers += lines(data, across, up, styles, "t")[:2]
    layers += names(ends_of(data, "t", list(LEARNERS)), up, SIZE, styles)
    return layered(layers, width=SIZE[0], height=SIZE[1], title=game)


if __name__ == "__main__":
    traces = played(LEARNERS, PROBLEMS, T, N_SEEDS)
    chart = in_columns([draw(traces, game) for game in PROBLEMS], 2, spacing=24)
    Path(__file__).with_suffix(".svg").write_bytes(pictures({**chart, **FOCUS})["svg"])
    print(table(traces, T, deviations=False), end="\n\n")
    print(table(played(EARLY_LEARNERS, EARLY, EARLY_T, EARLY_SEEDS), EARLY_T, deviations=True))
    print("wrote besson.svg")
