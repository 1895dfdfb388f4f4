"""A sum tree with eight-wide nodes: draw an arm, sum the others, change one weight, each in O(log K).

The leaves are the K unnormalised weights, padded with zeros to whole nodes of eight; above them stands a level with
one entry for each node, its sum, and so on up to a single node. Levels lie one after another in one array, leaves
first. For K ≤ 8 the tree is one node, and every operation is a plain loop.

Sums are recomputed from their eight children, never corrected by a difference, so nothing drifts; "all but one" is
added up from the siblings along the path, never taken as total minus one, so nothing cancels.

Why eight: a node is one cache line. Measured per round (draw, sum, change) against widths 2, 4, 16 and 32, and against
a plain loop, eight was within noise of the best from K = 2 to K = 16 and won or tied above.
"""

from __future__ import annotations

from turncoat._compile.jit import jit
from turncoat.types import Vector

_WIDE = 8
_LOG = 3


@jit
def _level_size(K: int, level: int) -> int:
    """How many entries a level holds, padding included; level 0 holds the leaves."""
    shift = _LOG * (level + 1)
    return ((K + (1 << shift) - 1) >> shift) << _LOG


@jit
def tree_size(K: int) -> int:
    """The length of the array that holds a tree over K arms."""
    level = 0
    size = _level_size(K, 0)
    while _level_size(K, level) > _WIDE:
        level += 1
        size += _level_size(K, level)
    return size


@jit
def _node_sum(tree: Vector, start: int) -> float:
    left = (tree[start] + tree[start + 1]) + (tree[start + 2] + tree[start + 3])
    right = (tree[start + 4] + tree[start + 5]) + (tree[start + 6] + tree[start + 7])
    return float(left + right)


@jit
def rebuild(tree: Vector, K: int) -> None:
    """Recompute every sum from the leaves."""
    below = 0
    level = 0
    size = _level_size(K, 0)
    while size > _WIDE:
        above = below + size
        for node in range(size >> _LOG):
            tree[above + node] = _node_sum(tree, below + (node << _LOG))
        level += 1
        below = above
        size = _level_size(K, level)


@jit
def fill(tree: Vector, K: int, value: float) -> None:
    """Give every arm the same weight."""
    for arm in range(K):
        tree[arm] = value
    rebuild(tree, K)


@jit
def total(tree: Vector, K: int) -> float:
    """The sum of all weights."""
    top = 0
    level = 0
    size = _level_size(K, 0)
    while size > _WIDE:
        top += size
        level += 1
        size = _level_size(K, level)
    return _node_sum(tree, top)


@jit
def others(tree: Vector, K: int, arm: int) -> float:
    """The sum of all weights but one, added up from the siblings on the way to the top."""
    rest = 0.0
    start = 0
    level = 0
    entry = arm
    size = _level_size(K, 0)
    while True:
        own = start + entry
        kept = tree[own]
        tree[own] = 0.0
        rest += _node_sum(tree, start + (entry >> _LOG << _LOG))
        tree[own] = kept
        if size == _WIDE:
            return rest
        start += size
        entry >>= _LOG
        level += 1
        size = _level_size(K, level)


@jit
def set_leaf(tree: Vector, K: int, arm: int, weight: float) -> None:
    """Change one weight and the sums above it."""
    tree[arm] = weight
    start = 0
    level = 0
    entry = arm
    size = _level_size(K, 0)
    while size > _WIDE:
        node_sum = _node_sum(tree, start + (entry >> _LOG << _LOG))
        start += size
        entry >>= _LOG
        tree[start + entry] = node_sum
        level += 1
        size = _level_size(K, level)


@jit
def find(tree: Vector, K: int, height: float) -> int:
    """The arm whose slice of the cumulative weights holds `height`, in [0, total).

    Rounding can push the height past the end of a node; the last entry with weight is taken then, so that an arm of
    weight zero is never drawn.
    """
    level = 0
    start = 0
    while _level_size(K, level) > _WIDE:
        start += _level_size(K, level)
        level += 1
    entry = 0
    while True:
        first = start + (entry << _LOG)
        child = 0
        while child < _WIDE - 1 and height >= tree[first + child]:
            height -= tree[first + child]
            child += 1
        while child > 0 and tree[first + child] == 0.0:
            child -= 1
        entry = (entry << _LOG) + child
        if level == 0:
            return entry
        level -= 1
        start -= _level_size(K, level)
