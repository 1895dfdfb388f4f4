"""Microseconds of one ask and one tell from Python, per learner, beside other EXP3s."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import turncoat as tc
from benchmarks.peers import PEERS, Player
from benchmarks.play import GAP, MAKERS, TURNCOAT, make
from benchmarks.results import Result, Table, Target, best_of, seconds

ARMS = {10: 3.0, 1_000: 5.0}  # K: how many times faster than pymab
TARGET_LEARNERS = ["Exp3", "AdaptiveMasterBase, own", "AdaptiveMasterBase, shared"]
MICROSECONDS = 3.0  # what ask + tell of Turncoat may take at K = 10
GAME = "the loop and the game alone"
PYMAB = "pymab EXP3"
HORIZON = 100_000  # what the learners are tuned for
GAMMA = 0.1  # the peers' exploration
BLOCK = 1_000  # rounds a timing: short, to find quiet moments of the machine


def player_of(learner: tc.Learner, means: Sequence[float]) -> Player:
    """Ask and tell, one round a coin."""

    def play(coins: Sequence[float]) -> None:
        ask, tell = learner.ask, learner.tell
        for coin in coins:
            decision = ask()
            tell(decision, 1.0 if coin < means[decision.index] else 0.0)

    return play


def nobody(means: Sequence[float]) -> Player:
    """The empty loop, without a learner: arm 0 is played and nothing is learned."""

    def play(coins: Sequence[float]) -> None:
        for coin in coins:
            _ = 0.0 if coin < means[0] else 1.0

    return play


def contestants(K: int) -> tuple[dict[str, Player], dict[str, str]]:
    """All players over K arms, compiled, and the errors of those that cannot play."""
    means = [0.5 * (1.0 - GAP)] + [0.5 * (1.0 + GAP)] * (K - 1)
    players = {GAME: nobody(means), **{name: player_of(make(name, K, HORIZON), means) for name in MAKERS}}
    broken: dict[str, str] = {}
    for name, maker in PEERS.items():
        try:
            players[name] = maker(means, GAMMA)
            players[name]([0.0, 1.0])
        except Exception as problem:  # whatever it is: it is said, and the rest goes on
            players.pop(name, None)
            broken[name] = f"{name} failed: {type(problem).__name__}: {problem}"
    return players, broken


def measure(K: int, n_blocks: int) -> tuple[dict[str, float], dict[str, str]]:
    """Microseconds per round of every contestant; each plays on through all blocks."""
    players, broken = contestants(K)
    coins = np.random.default_rng(0).random(BLOCK).tolist()
    for player in players.values():
        player(coins[: BLOCK // 10])  # compile, and fill the caches

    def timing(player: Player) -> Callable[[], float]:
        return lambda: seconds(lambda: player(coins))

    best = best_of(n_blocks, {name: timing(player) for name, player in players.items()})
    return {name: took / BLOCK * 1e6 for name, took in best.items()}, broken


def run(quick: bool) -> Result:
    """One row a contestant, the targets against pymab, and Turncoat's own."""
    n_blocks = 3 if quick else 50
    found: dict[int, dict[str, float]] = {}
    broken: dict[str, str] = {}
    for K in ARMS:
        found[K], problems = measure(K, n_blocks)
        broken |= problems
    names = [GAME, *MAKERS, *PEERS]
    rows = [[name, *(found[K].get(name, "failed") for K in ARMS)] for name in names]
    how = f"best of {n_blocks} blocks of {BLOCK:,} rounds, fewer for the slow; 0/1 losses, gap {GAP}; loop included"
    table = Table(
        "ask + tell from Python: µs per round",
        "; ".join([how, *broken.values()]),
        ["contestant", *(f"K={K:,}" for K in ARMS)],
        rows,
    )
    targets = [
        Target(
            f"{name}: times faster than pymab, K={K:,}", found[K].get(PYMAB, math.nan) / found[K][name], limit, False
        )
        for K, limit in ARMS.items()
        for name in TARGET_LEARNERS
    ]
    targets.append(Target(f"{TURNCOAT}: ask + tell, K=10", found[10][TURNCOAT], MICROSECONDS, True, "µs"))
    return Result([table], targets)
