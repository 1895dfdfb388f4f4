"""Which codec for a stream whose content keeps changing? A workload made on the spot, replayed, and measured exactly.

24,000 blocks of 128 KiB are sent over a link of 4 MB/s: logs, then snapshots, photos, text, snapshots, sparse files,
4,000 each. Sending a block takes the time to compress it and the time for what is left of it:

    milliseconds = block / codec's speed + compressed / link's speed,      loss = milliseconds / 50, at most 1

Compressed sizes are real; 16 blocks of each kind are compressed with every codec, and the stream draws from them.
Speeds are nominal ones, below, so that the losses are the same on every run; --measured takes the time it took here.
Codecs: the standard library's, and zstd where Python has it (3.14) or the package zstandard is installed.

    python examples/choosing_codecs.py                # 24,000 blocks; writes into out/
    python examples/choosing_codecs.py --quick        # with 4 blocks of each kind, not 16
    python examples/choosing_codecs.py --measured     # the time compressing takes, instead of the nominal one
    python examples/choosing_codecs.py --stdlib       # leave zstd out
"""

from __future__ import annotations

import argparse
import bz2
import json
import lzma
import time
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import turncoat as tc
from turncoat.types import Ints, Matrix

BLOCK = 128 * 1024  # bytes
LINK = 4.0  # MB/s
LIMIT = 50.0  # milliseconds; a block that takes longer counts as 1, and by the nominal speeds none does
PHASES = ("logs", "snapshots", "photos", "text", "snapshots", "sparse")
PHASE = 4_000  # blocks
S = len(PHASES) - 1
SEEDS = 10
DELAY = 100  # blocks under way before the first is acknowledged


# -- the codecs ------------------------------------------------------------------------------------------------------


class Codec(NamedTuple):
    """How to compress, and how fast that is by and large on one core, in MB/s."""

    compress: Callable[[bytes], bytes]
    speed: float


def find_zstd() -> Callable[[bytes], bytes] | None:
    """zstd at level 3, from the standard library or the package zstandard; None where there is neither."""
    with suppress(ImportError):
        return partial(import_module("compression.zstd").compress, level=3)
    with suppress(ImportError):
        compress: Callable[[bytes], bytes] = import_module("zstandard").ZstdCompressor(level=3).compress
        return compress
    return None


def find_codecs(stdlib: bool) -> dict[str, Codec]:
    """The arms."""
    codecs = {
        "store": Codec(bytes, 5000.0),
        "zlib-1": Codec(partial(zlib.compress, level=1), 80.0),
        "zlib-6": Codec(partial(zlib.compress, level=6), 35.0),
        "bz2": Codec(bz2.compress, 12.0),
        "lzma-1": Codec(partial(lzma.compress, preset=1), 12.0),
    }
    zstd = None if stdlib else find_zstd()
    return codecs if zstd is None else {**codecs, "zstd-3": Codec(zstd, 200.0)}


# -- the content -----------------------------------------------------------------------------------------------------


def photos(chance: np.random.Generator) -> bytes:
    """Compressed already: as good as random."""
    return chance.bytes(BLOCK)


def snapshots(chance: np.random.Generator) -> bytes:
    """The same 40 KiB again and again: further apart than zlib looks back."""
    return (chance.bytes(40 * 1024) * 4)[:BLOCK]


def sparse(chance: np.random.Generator) -> bytes:
    """Zeros, and a byte in 200 that is none."""
    content = np.zeros(BLOCK, dtype=np.uint8)
    content[chance.integers(BLOCK, size=BLOCK // 200)] = chance.integers(1, 256, size=BLOCK // 200)
    return content.tobytes()


def text(chance: np.random.Generator) -> bytes:
    """Words as frequent as those of a language (Zipf), if without its sense."""
    letters = np.random.default_rng(0)  # one language for all blocks
    words = [bytes(letters.integers(97, 123, size=n, dtype=np.uint8)) for n in letters.integers(1, 10, size=2_000)]
    share = 1.0 / np.arange(1, len(words) + 1)
    return b" ".join(words[i] for i in chance.choice(len(words), BLOCK // 2, p=share / share.sum()))[:BLOCK]


def logs(chance: np.random.Generator) -> bytes:
    """What a server writes: a line of JSON for every request."""
    n = BLOCK // 60
    times, users = chance.integers(1, 50, size=n).cumsum().tolist(), chance.integers(10_000, size=n).tolist()
    took = chance.exponential(20.0, size=n).round(2).tolist()
    requests = zip(times, users, took, strict=True)
    lines = [json.dumps({"time": t, "level": "info", "user": user, "took": ms}) for t, user, ms in requests]
    return "\n".join(lines).encode()[:BLOCK]


CONTENT = {maker.__name__: maker for maker in (logs, snapshots, photos, text, sparse)}


# -- what each codec makes of it -------------------------------------------------------------------------------------


class Costs(NamedTuple):
    """One row a block, one column a codec."""

    milliseconds: Matrix
    sizes: Ints  # bytes


def price(kind: str, codecs: Mapping[str, Codec], n: int, measured: bool) -> Costs:
    """n blocks of a kind, each compressed with every codec."""
    chance = np.random.default_rng([7, list(CONTENT).index(kind)])
    milliseconds, sizes = np.empty((n, len(codecs))), np.empty((n, len(codecs)), dtype=np.int64)
    for row in range(n):
        block = CONTENT[kind](chance)
        for column, (compress, speed) in enumerate(codecs.values()):
            began = time.perf_counter()
            size = len(compress(block))
            took = (time.perf_counter() - began) * 1e3 if measured else len(block) / (speed * 1e3)
            milliseconds[row, column], sizes[row, column] = took + size / (LINK * 1e3), size
    return Costs(milliseconds, sizes)


def make_stream(pool: Mapping[str, Costs]) -> Costs:
    """The whole stream: in every phase blocks of one kind, drawn from the pool."""
    chance = np.random.default_rng(8)
    drawn = [(pool[kind], chance.integers(len(pool[kind].sizes), size=PHASE)) for kind in PHASES]
    return Costs(*(np.concatenate([costs[part][rows] for costs, rows in drawn]) for part in (0, 1)))


# -- what learners make of it ----------------------------------------------------------------------------------------

LEARNERS: dict[str, Callable[..., tc.Learner]] = {"turncoat": tc.Turncoat, "exp3.s": tc.Exp3S, "exp3": tc.Exp3}


def total(table: Matrix | Ints, arms: Ints) -> float:
    """The sum along a sequence of arms."""
    return float(table[np.arange(len(arms)), arms].sum())


def race(table: tc.environments.Table) -> pl.DataFrame:
    """Milliseconds a block, and regret against the best path: learners and fixed codecs, best first, and that path."""
    board = tc.race(LEARNERS, table, table.horizon, seeds=SEEDS, max_switches=S).leaderboard()
    learners = board.select("learner", "loss", "regret", "low", "high")
    best = tc.best_switching_losses(table.losses(), S)
    fixed = sorted(zip(table.losses().sum(axis=0).tolist(), table.arms, strict=True))
    rows = [(f"always {codec}", loss) for loss, codec in fixed]
    rows[0] = (f"{rows[0][0]}, the best fixed codec", rows[0][1])
    rows.append((f"the best path, {S} switches", float(best[S])))
    yardsticks = pl.DataFrame(rows, ["learner", "loss"], orient="row").with_columns(regret=pl.col("loss") - best[S])
    both = pl.concat([learners, yardsticks], how="diagonal")
    return both.select("learner", pl.exclude("learner") * LIMIT / table.horizon).rename({"loss": "ms a block"})


def phases(table: tc.environments.Table, played: Ints) -> pl.DataFrame:
    """For every phase the codec of the best path, and how often each was used."""
    path = tc.best_switching_path(table.losses(), S)
    rows = []
    for i, kind in enumerate(PHASES):
        rounds = slice(i * PHASE, (i + 1) * PHASE)
        best = table.arms[int(np.bincount(path[rounds]).argmax())]
        rows.append([kind, best, *np.bincount(played[rounds], minlength=table.n_arms) / PHASE])
    return pl.DataFrame(rows, ["phase", "best", *map(str, table.arms)], orient="row")


def send_with_late_news(codecs: list[str], losses: Matrix) -> float:
    """The loop of a program that sends. News of a block come when DELAY more are under way. Returns the total loss."""
    learner = tc.Turncoat(codecs, seed=1)
    under_way: deque[tuple[tc.Decision, float]] = deque()
    lost = 0.0
    for block in losses:
        decision = learner.ask()
        loss = float(block[decision.index])  # a real one compresses with decision.arm, sends, and stops the time
        under_way.append((decision, loss))
        if len(under_way) > DELAY:
            learner.tell(*under_way.popleft())
        lost += loss
    return lost


def versus_fixed(taken: float, losses: Matrix, arms: list[str]) -> str:
    """How a total loss compares with that of the best fixed codec."""
    totals = losses.sum(axis=0)
    more = taken / totals.min() - 1
    return f"{abs(more):.1%} {'less' if more < 0 else 'more'} time than always {arms[int(totals.argmin())]}"


# -- all of it -------------------------------------------------------------------------------------------------------


def show(frame: pl.DataFrame) -> None:
    """Print a frame."""
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_width_chars=120,
        tbl_rows=-1,
        tbl_cols=-1,
        fmt_str_lengths=40,
        float_precision=2,
    ):
        print(frame, end="\n\n")


def replay(table: tc.environments.Table, sizes: Ints) -> Ints:
    """Let learners meet the stream, and show what came of it. Returns the arms that one of them chose."""
    losses, arms, T = table.losses(), [str(arm) for arm in table.arms], table.horizon
    print(f"{T:,} blocks, mean over {SEEDS} seeds; milliseconds a block, and those beyond the best path:")
    show(race(table))
    played = tc.play(tc.Turncoat(arms, seed=1), table)
    regret = tc.switching_regret(losses, played, S) * LIMIT / 1e3
    print(f"one run of turncoat: {versus_fixed(total(losses, played), losses, arms)}")
    print(f"seconds beyond the best path with 0 … {S} switches:", *(f"{r:.1f}" for r in regret))
    fixed = np.full(T, losses.sum(axis=0).argmin())
    lines = {"this run": played, "the best fixed codec": fixed, "the best path": tc.best_switching_path(losses, S)}
    sums = [(name, total(losses, line) * LIMIT / 1e3, total(sizes, line) / 1e6) for name, line in lines.items()]
    show(pl.DataFrame(sums, ["who", "seconds", "MB sent"], orient="row"))
    print("how often it used which codec:")
    show(phases(table, played))
    late = send_with_late_news(arms, losses)
    print(f"told {DELAY} blocks late: {versus_fixed(late, losses, arms)}")
    short = np.ascontiguousarray(losses[::8])
    hasty = total(short, tc.play(tc.Turncoat(arms, seed=1), short))
    print(f"with every eighth block only, {len(short):,}: {versus_fixed(hasty, short, arms)}")
    return played


def main() -> None:
    """Make the table, write it down, replay it."""
    words = argparse.ArgumentParser(description="Choose a codec for a stream of changing content.")
    words.add_argument("--quick", action="store_true", help="4 blocks of each kind, not 16")
    words.add_argument("--measured", action="store_true", help="measured times, not nominal ones")
    words.add_argument("--stdlib", action="store_true", help="leave zstd out, even if it is there")
    words.add_argument("--folder", type=Path, default=Path("out"), help="where files are written")
    chosen = words.parse_args()
    codecs = find_codecs(chosen.stdlib)
    print(f"codecs: {', '.join(codecs)}{'' if 'zstd-3' in codecs else ' (no zstd)'}; milliseconds for a block:")
    pool = {kind: price(kind, codecs, 4 if chosen.quick else 16, chosen.measured) for kind in CONTENT}
    means = [[kind, *costs.milliseconds.mean(axis=0)] for kind, costs in pool.items()]
    show(pl.DataFrame(means, ["content", *codecs], orient="row"))
    stream = make_stream(pool)
    losses = pl.DataFrame(np.minimum(stream.milliseconds / LIMIT, 1.0).round(6), list(codecs))
    chosen.folder.mkdir(parents=True, exist_ok=True)
    losses.write_csv(chosen.folder / "codecs.csv")
    losses.write_parquet(chosen.folder / "codecs.parquet")
    played = replay(tc.environments.Table.from_parquet(chosen.folder / "codecs.parquet"), stream.sizes)
    chosen_codecs = pl.Series("codec", [list(codecs)[arm] for arm in played])
    losses.with_columns(chosen_codecs).write_csv(chosen.folder / "choices.csv")
    print(f"wrote codecs.csv, codecs.parquet and choices.csv into {chosen.folder}, for turncoat replay and regret")


if __name__ == "__main__":
    main()
