"""What Turncoat remembers: one flat buffer, and names for its parts."""

from __future__ import annotations

from typing import NamedTuple

from turncoat._compile.jit import jit, jit_rule
from turncoat.learners.base.buffer import HEAD, clock_of, rng_of
from turncoat.learners.turncoat.constants import N_BASES, N_CLIPPED, N_DETECTORS, N_FOLLOWERS, N_LEADERS, N_MIRRORS
from turncoat.types import Ints, Matrix, Vector, Words

CORNERS = 35  # of a detector's chain (glr.py): 64 candidate changes an arm
PAGES = 64  # of the diary
BELIEFS = 64  # the last ones are kept


class TurncoatState(NamedTuple):
    """K arms were ever there, n_living still are; P is the least power of two from K on.

    Trees have their root in row 1, the children of row i in rows 2i and 2i + 1, and arm k in row P + k.
    """

    rng: Words
    clock: Ints
    K: int
    P: int
    n_living: Vector  # (1,)
    guess: Vector  # (1,) N
    eta: Vector  # (1,) the master's rate
    rates: Vector  # (N_MIRRORS,)
    floors: Vector  # (N_BASES,)
    p: Vector  # (N_BASES,) how much each base is trusted
    chance: Vector  # (N_BASES,) room for the probability of an arm under each base
    covered: Vector  # (N_BASES,) room
    x: Vector  # (N_BASES,) room
    rest: Vector  # (N_MIRRORS,) room
    seen: Vector  # (2,) what the baselines are made of
    living: Vector  # (K,) the arms that are there, in the first n_living places
    place: Vector  # (K,) where an arm stands in `living`; -1 for a retired one
    offset: Vector  # (N_MIRRORS,) what every arm's weight has more, for signed bases
    weights: Matrix  # (2P, N_MIRRORS) sum trees of the mirror-descent bases
    crowns: Matrix  # (2P, N_LEADERS) trees of the largest index
    leaders: Vector  # (N_LEADERS,) the arm of the largest index
    counts: Matrix  # (N_DETECTORS, K) since the arm's last restart
    sums: Matrix  # (N_DETECTORS, K) of rewards
    starts: Matrix  # (N_DETECTORS, K) the clock at the last restart
    recalled: Matrix  # (N_DETECTORS, K) what is kept of the arm from before it, in samples
    recalled_sums: Matrix  # (N_DETECTORS, K)
    sizes: Vector  # (N_DETECTORS, K, 2) of the chains
    at: Vector  # (N_DETECTORS, K, 2, CORNERS)
    split_sums: Vector  # (N_DETECTORS, K, 2, CORNERS)
    n_restarts: Vector  # (N_DETECTORS,)
    fading: Matrix  # (N_FOLLOWERS, 3) how much too large its numbers are; its samples; their rewards
    samples: Matrix  # (N_FOLLOWERS, K)
    rewards: Matrix  # (N_FOLLOWERS, K)
    spent: Vector  # (2 + 2 N_CLIPPED,) the certificate's sums (certificate.py), and tells it does not cover
    page: Vector  # (3,) of the diary: the one being written, rounds on it, rounds that fit on it
    plays: Matrix  # (PAGES, K) rounds of each arm on each page
    trust: Matrix  # (PAGES, N_BASES) p at the end of each page
    vote: Vector  # (3,) the arm with the most votes, how many more than all others, the last round without doubt
    beliefs: Matrix  # (BELIEFS, 4) since when, which arm, its q summed up, tells; a ring, row n_beliefs - 1 the present
    n_beliefs: Vector  # (2,) there ever were; kept


@jit
def least_power(K: int) -> int:
    """The least power of two from K on."""
    P = 1
    while P < K:
        P *= 2
    return P


def buffer_size(K: int) -> int:
    """How many words follow K in the buffer."""
    P = least_power(K)
    arms = 2 + N_DETECTORS * (5 + 2 + 4 * CORNERS) + 2 * N_FOLLOWERS + PAGES
    trees = 2 * P * (N_MIRRORS + N_LEADERS)
    bases = 5 * N_BASES + 3 * N_MIRRORS + N_LEADERS + N_DETECTORS + 3 * N_FOLLOWERS + PAGES * N_BASES
    return 3 + bases + 2 + arms * K + trees + 2 + 2 * N_CLIPPED + 3 + 3 + 4 * BELIEFS + 2


@jit_rule
def view(buffer: Vector) -> TurncoatState:
    """Name the parts of the buffer."""
    K = int(buffer[HEAD])
    P = least_power(K)
    H, M, D, F, L = N_BASES, N_MIRRORS, N_DETECTORS, N_FOLLOWERS, N_LEADERS
    a = HEAD + 4  # vectors over bases
    b = a + 5 * H + 3 * M + 2  # arms
    c = b + 2 * K + 2 * P * (M + L) + L  # detectors
    d = c + D * K * (7 + 4 * CORNERS) + D  # followers
    e = d + F * (3 + 2 * K)  # the certificate, and the diary
    f = e + 2 + 2 * N_CLIPPED + 3
    g = f + PAGES * (K + H)
    chains = c + 7 * D * K
    return TurncoatState(
        rng_of(buffer),
        clock_of(buffer),
        K,
        P,
        buffer[HEAD + 1 : HEAD + 2],
        buffer[HEAD + 2 : HEAD + 3],
        buffer[HEAD + 3 : HEAD + 4],
        buffer[a : a + M],
        buffer[a + M : a + M + H],
        buffer[a + M + H : a + M + 2 * H],
        buffer[a + M + 2 * H : a + M + 3 * H],
        buffer[a + M + 3 * H : a + M + 4 * H],
        buffer[a + M + 4 * H : a + M + 5 * H],
        buffer[a + M + 5 * H : a + 2 * M + 5 * H],
        buffer[b - M - 2 : b - M],
        buffer[b : b + K],
        buffer[b + K : b + 2 * K],
        buffer[b - M : b],
        buffer[b + 2 * K : b + 2 * K + 2 * P * M].reshape((2 * P, M)),
        buffer[b + 2 * K + 2 * P * M : c - L].reshape((2 * P, L)),
        buffer[c - L : c],
        buffer[c : c + D * K].reshape((D, K)),
        buffer[c + D * K : c + 2 * D * K].reshape((D, K)),
        buffer[c + 2 * D * K : c + 3 * D * K].reshape((D, K)),
        buffer[c + 3 * D * K : c + 4 * D * K].reshape((D, K)),
        buffer[c + 4 * D * K : c + 5 * D * K].reshape((D, K)),
        buffer[c + 5 * D * K : chains].reshape((D, K, 2)),
        buffer[chains : chains + 2 * D * K * CORNERS].reshape((D, K, 2, CORNERS)),
        buffer[chains + 2 * D * K * CORNERS : chains + 4 * D * K * CORNERS].reshape((D, K, 2, CORNERS)),
        buffer[d - D : d],
        buffer[d : d + 3 * F].reshape((F, 3)),
        buffer[d + 3 * F : d + 3 * F + F * K].reshape((F, K)),
        buffer[d + 3 * F + F * K : e].reshape((F, K)),
        buffer[e : e + 2 + 2 * N_CLIPPED],
        buffer[f - 3 : f],
        buffer[f : f + PAGES * K].reshape((PAGES, K)),
        buffer[f + PAGES * K : g].reshape((PAGES, H)),
        buffer[g : g + 3],
        buffer[g + 3 : g + 3 + 4 * BELIEFS].reshape((BELIEFS, 4)),
        buffer[g + 3 + 4 * BELIEFS : g + 5 + 4 * BELIEFS],
    )
