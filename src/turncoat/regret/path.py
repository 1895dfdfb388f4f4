"""A sequence of arms that attains L*(S), found in one pass and in little memory.

The dynamic programme of `comparator.py` with back pointers. For each end (k, s) the switches
that led there form a chain of nodes, newest first:

    node = (round of the switch, arm switched from, node before it, or -1)                                     (5)

In a round, all arms that take m(s - 1) in equation (3) switch from the same arm, so they share one new node. Most
nodes soon lead to no end any more. Garbage collection: when the pool of nodes is full, those that do are kept, in
order, and if they fill more than half of it the pool doubles. So a sweep costs O(1) per node made since the last one.

Memory: an end at s has at most s nodes behind it, so at most K·S·(S + 1)/2 nodes are live, whatever T is, and chains
that share their past make it far fewer: about 1,200 at K = 10, S = 50, T = 100,000, where a table of all choices has
5e7 entries. That is for S far below T: when S is a good part of T, live nodes grow like S² (2 GB at T = 16,000,
S = 8,000). The pool never has more than four times as many places as there were live nodes, or its first size.

Ties: a sequence stays where it is unless a switch is strictly better. Cost: K·(S + 1) cells per round. Where all
sequences are allowed, S >= T - 1, the first arm of least loss of each round is one.

Regret: what the played arms lost beyond a comparator. Losses and arms in, numbers out.

Totals are added up round by round, as the comparator's are. So the regret of a best sequence is exactly 0, and that of
any sequence with at most s switches is never below 0 at s, not even by a rounding error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turncoat._compile.jit import jit_game
from turncoat.regret.comparator import best_switching_losses
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.tables import as_arms, as_switches, as_table, blocks

ROUND, ARM, PARENT = 0, 1, 2  # the columns of a node
FIRST_NODES = 1024


class Trails(NamedTuple):
    """Where the dynamic programme stands, and the newest node of each end. Row s, column k."""

    f: Matrix  # (S + 1, K)
    m: Vector  # (S + 1,) the least of each row of f …
    best: Ints  # (S + 1,) … and its arm
    heads: Ints  # (S + 1, K)


@jit_game
def advance_trails(trails: Trails, nodes: Ints, n_nodes: int, t: int, block: Matrix) -> tuple[int, int]:
    """Go through a block that starts at round t, until a round might fill the pool: (rounds done, nodes in use)."""
    f, m, best, heads = trails
    n_levels, K = f.shape
    for i in range(block.shape[0]):
        if n_nodes + n_levels > nodes.shape[0]:
            return i, n_nodes
        for s in range(n_levels - 1, -1, -1):  # downwards: row s - 1 is still that of the round before
            entry = m[s - 1] if s > 0 else np.inf
            node = -1
            m[s] = np.inf
            for k in range(K):
                total = f[s, k]
                if entry < total:
                    if node < 0:
                        node = n_nodes
                        n_nodes += 1
                        nodes[node, ROUND] = t + i  # (5)
                        nodes[node, ARM] = best[s - 1]
                        nodes[node, PARENT] = heads[s - 1, best[s - 1]]
                    heads[s, k] = node
                    total = entry
                total += block[i, k]  # (3)
                f[s, k] = total
                if total < m[s]:
                    m[s] = total  # (2)
                    best[s] = k
    return block.shape[0], n_nodes


@jit_game
def sweep(heads: Ints, nodes: Ints, n_nodes: int, place: Ints) -> int:
    """Keep the nodes that lead to a head, in order, and give their number. `place` is scratch, as long as the pool."""
    place[:n_nodes] = -1
    for head in heads.flat:
        if head >= 0:
            place[head] = 0
    for node in range(n_nodes - 1, -1, -1):  # a node is younger than the one before it
        if place[node] >= 0 and nodes[node, PARENT] >= 0:
            place[nodes[node, PARENT]] = 0
    n_live = 0
    for node in range(n_nodes):
        if place[node] >= 0:
            parent = nodes[node, PARENT]
            nodes[n_live, ROUND] = nodes[node, ROUND]
            nodes[n_live, ARM] = nodes[node, ARM]
            nodes[n_live, PARENT] = place[parent] if parent >= 0 else -1
            place[node] = n_live
            n_live += 1
    for s in range(heads.shape[0]):
        for k in range(heads.shape[1]):
            if heads[s, k] >= 0:
                heads[s, k] = place[heads[s, k]]
    return n_live


class PathComparator:
    """The best sequences of arms so far, with the way back: `advance` it block by block, then ask for the `path`."""

    def __init__(self, n_arms: int, n_switches: int, first_nodes: int = FIRST_NODES) -> None:
        shape = (n_switches + 1, n_arms)
        self.trails = Trails(
            f=np.zeros(shape),  # (1)
            m=np.zeros(n_switches + 1),
            best=np.zeros(n_switches + 1, dtype=np.int64),
            heads=np.full(shape, -1, dtype=np.int64),
        )
        self.nodes = np.empty((max(first_nodes, 8 * shape[0]), 3), dtype=np.int64)
        self.n_nodes = 0
        self.n_rounds = 0
        self.n_sweeps = 0

    def advance(self, block: Matrix) -> None:
        """Go on by the rounds of a block: an (n, K) C-ordered float64 array of finite losses."""
        while True:
            done, self.n_nodes = advance_trails(self.trails, self.nodes, self.n_nodes, self.n_rounds, block)
            self.n_rounds += done
            block = block[done:]
            if not block.shape[0]:
                return
            self.make_room()

    def make_room(self) -> None:
        """Drop the nodes that lead nowhere; double the pool if more than half of it is still in use."""
        capacity = len(self.nodes)
        self.n_nodes = sweep(self.trails.heads, self.nodes, self.n_nodes, np.empty(capacity, dtype=np.int64))
        self.n_sweeps += 1
        if 2 * self.n_nodes > capacity:
            grown = np.empty((2 * capacity, 3), dtype=np.int64)
            grown[: self.n_nodes] = self.nodes[: self.n_nodes]
            self.nodes = grown

    def path(self) -> Ints:
        """The arms, one per round so far, that lose the least with at most n_switches switches."""
        arms = np.empty(self.n_rounds, dtype=np.int64)
        arm, node, end = self.trails.best[-1], self.trails.heads[-1, self.trails.best[-1]], self.n_rounds
        while node >= 0:
            start, before, node_before = self.nodes[node]
            arms[start:end] = arm
            arm, node, end = before, node_before, start
        arms[:end] = arm
        return arms


def best_switching_path(losses: ArrayLike, n_switches: int) -> Ints:
    """The arms, one per round, of a sequence that attains L*(n_switches) with at most that many switches.

    `losses` is a (T, K) table of finite numbers. Where several sequences attain it, one of them is given.
    """
    n_switches = as_switches("n_switches", n_switches)
    table = as_table(losses)
    T, K = table.shape
    if n_switches >= T - 1:  # every sequence is allowed
        return np.concatenate([block.argmin(axis=1).astype(np.int64) for _, block in blocks(table, 0)])
    comparator = PathComparator(K, n_switches)
    for _, block in blocks(table, n_switches):
        comparator.advance(block)
    return comparator.path()


@jit_game
def add_losses(total: float, block: Matrix, arms: Ints) -> float:
    """The total, and on top of it the loss of one arm in each row of a block."""
    if arms.size != block.shape[0] or (arms.size > 0 and (arms.min() < 0 or arms.max() >= block.shape[1])):
        raise IndexError("the arms do not fit the block")
    for i in range(block.shape[0]):
        total += block[i, arms[i]]
    return total


def _total(table: NDArray[Any], name: str, arms: ArrayLike) -> float:
    sequence = as_arms(name, arms, *table.shape)
    total = 0.0
    for start, block in blocks(table, 0):
        total = add_losses(total, block, sequence[start : start + len(block)])
    return float(total)


def switching_regret(losses: ArrayLike, played: ArrayLike, max_switches: int) -> Vector:
    """The loss of the played arms minus L*(s), for s = 0, …, max_switches.

    `losses` is a (T, K) table of finite numbers, `played` the T arms chosen, counted from 0.
    """
    as_switches("max_switches", max_switches)
    table = as_table(losses)
    return _total(table, "played", played) - best_switching_losses(table, max_switches)


def path_regret(losses: ArrayLike, played: ArrayLike, path: ArrayLike) -> float:
    """The loss of the played arms minus that of a given sequence of arms, such as the one an environment planted."""
    table = as_table(losses)
    return _total(table, "played", played) - _total(table, "path", path)
