"""A sequence of arms that attains L*(S), found in one pass and in little memory.

The dynamic programme of `comparator.py`, which also remembers how it got where it is. For each end (k, s) the switches
that led there form a chain of nodes, newest first:

    node = (round of the switch, arm switched from, node before it, or -1)                                     (5)

In a round, all arms that take m(s - 1) in equation (3) switch from the same arm, so they share one new node. Most
nodes soon lead to no end any more: when the pool of nodes is full, those that do are kept, in order, and if they fill
more than half of it the pool doubles. So a sweep is paid for by the nodes made since the last one.

Memory: an end at s has at most s nodes behind it, so at most K·S·(S + 1)/2 nodes are live, whatever T is, and chains
that share their past make it far fewer: about 1,200 at K = 10, S = 50, T = 100,000, where a table of all choices has
5e7 entries. That is for S far below T: when S is a good part of T, live nodes grow like S² (2 GB at T = 16,000,
S = 8,000). The pool never has more than four times as many places as there were live nodes, or its first size.

Ties: a sequence stays where it is unless a switch is strictly better. Cost: K·(S + 1) cells a round. Where all
sequences are allowed, S >= T - 1, there is nothing to find: the first least arm of each round is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from turncoat._compile.jit import jit_game
from turncoat.tables import as_table
from turncoat.types import Ints, Matrix, Vector
from turncoat.validation.tables import as_switches, blocks

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
        """The arms, one a round so far, that lose the least with at most n_switches switches."""
        arms = np.empty(self.n_rounds, dtype=np.int64)
        arm, node, end = self.trails.best[-1], self.trails.heads[-1, self.trails.best[-1]], self.n_rounds
        while node >= 0:
            start, before, node_before = self.nodes[node]
            arms[start:end] = arm
            arm, node, end = before, node_before, start
        arms[:end] = arm
        return arms


def best_switching_path(losses: ArrayLike, n_switches: int) -> Ints:
    """The arms, one a round, of a sequence that attains L*(n_switches) with at most that many switches.

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
