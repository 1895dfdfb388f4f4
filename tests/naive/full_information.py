"""Slow, obvious learners with full information. `probabilities()` is what round t is drawn from; `tell` is one update.

Hedge: Freund & Schapire, J. Comput. Syst. Sci. 55 (1997). Fixed share: Herbster & Warmuth, Mach. Learn. 32 (1998).
SAOL: Daniely, Gonen & Shalev-Shwartz, ICML 2015. CBCE: Jun, Orabona, Wright & Willett, AISTATS 2017.

SAOL and CBCE keep a learner for every interval {i 2^k, …, (i + 1) 2^k - 1}, i ≥ 1, that holds round t = 1, 2, …: made
when it begins, dropped when it ends, kept in a dict by its first and its last round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.naive.solve import REAL, Reals, Sums, falling_softmax, floats, reals

WON_NOTHING = 1e-12  # a coin that has won no more has won nothing: what is exactly 0 on paper is so here


class SeesAll:
    """What they share: K, T, the number t of the round to come, and how they are read."""

    def __init__(self, K: int, T: int | None) -> None:
        self.K, self.T, self.t = K, T, 1

    def distribution(self) -> Reals:
        raise NotImplementedError

    def update(self, losses: Reals) -> None:
        raise NotImplementedError

    def probabilities(self) -> list[float]:
        return floats(self.distribution())

    def tell(self, losses: Sequence[float]) -> None:
        self.update(reals(losses))
        self.t += 1


class Hedge(SeesAll):
    """p prop. exp(-eta L): eta = sqrt(8 ln K/T), or 2 sqrt(ln K/t) in round t."""

    def __init__(self, K: int, T: int | None = None) -> None:
        super().__init__(K, T)
        self.sums = Sums(K)

    def distribution(self) -> Reals:
        log = np.log(REAL(self.K))
        eta = 2 * np.sqrt(log / self.t) if self.T is None else np.sqrt(8 * log / self.T)
        return falling_softmax(eta * self.sums.above_least())

    def update(self, losses: Reals) -> None:
        for arm, loss in enumerate(losses):
            self.sums.add(arm, loss)


class FixedShare(SeesAll):
    """v prop. w exp(-eta loss), w = (1 - s) v + s/(K - 1) (1 - v), with s = S/(T - 1), at most (K - 1)/K.

    eta = sqrt(8 C/T), where exp(-C) = (1/K) (s/(K - 1))^S (1 - s)^(T - 1 - S) is the prior of a path with S switches.
    """

    def __init__(self, K: int, T: int, n_switches: int | None = None) -> None:
        super().__init__(K, T)
        S = min(1, T - 1) if n_switches is None else n_switches
        self.w = np.full(K, 1 / REAL(K))
        self.s = min(REAL(S) / (T - 1), REAL(K - 1) / K) if S else REAL(0)
        stays = (T - 1 - S) * np.log(1 - self.s)
        moves = S * np.log(self.s / (K - 1)) if S and K > 1 else REAL(0)
        self.eta = np.sqrt(8 * (np.log(REAL(K)) - moves - stays) / T)

    def distribution(self) -> Reals:
        return self.w

    def update(self, losses: Reals) -> None:
        if self.K > 1:
            v = self.w * np.exp(-self.eta * losses)
            v /= v.sum()
            self.w = (1 - self.s) * v + self.s / (self.K - 1) * (1 - v)


Interval = tuple[int, int]


def covering(t: int, T: int | None) -> list[Interval]:
    """The intervals that hold round t, none longer than T."""
    found = []
    length = 1
    while length <= t and (T is None or length <= T):
        i = t // length
        found.append((i * length, (i + 1) * length - 1))
        length *= 2
    return found


class SAOL(SeesAll):
    """p = sum w_I p_I/sum w_I; w_I *= 1 + eta_I <p - p_I, loss>, from eta_I = min(1/2, |I|^(-1/2)); Hedge on each I."""

    def __init__(self, K: int, T: int | None = None) -> None:
        super().__init__(K, T)
        self.copies: dict[Interval, Hedge] = {}
        self.w: dict[Interval, REAL] = {}
        self.turn()

    def turn(self) -> None:
        """Drop the intervals that are over, and make those that begin."""
        live = covering(self.t, self.T)
        for one in live:
            self.copies.setdefault(one, Hedge(self.K, one[1] - one[0] + 1))
            self.w.setdefault(one, rate_of(one))
        self.copies = {one: self.copies[one] for one in live}
        self.w = {one: self.w[one] for one in live}

    def distribution(self) -> Reals:
        total = sum(self.w.values(), REAL(0))
        parts = [self.w[one] / total * copy.distribution() for one, copy in self.copies.items()]
        return np.sum(parts, axis=0)  # type: ignore[no-any-return]

    def update(self, losses: Reals) -> None:
        p = self.distribution()
        for one, copy in self.copies.items():
            self.w[one] *= 1 + rate_of(one) * ((p - copy.distribution()) * losses).sum()
            copy.update(losses)

    def tell(self, losses: Sequence[float]) -> None:
        super().tell(losses)
        self.turn()


def rate_of(interval: Interval) -> REAL:
    return min(REAL(1) / 2, 1 / np.sqrt(REAL(interval[1] - interval[0] + 1)))


class Coin:
    """A bettor of Krichevsky and Trofimov: w = z/(n + 1) (1 + wz), after n rounds of its life."""

    lived = 1  # what is added to n; SAOCP's public code has 0

    def __init__(self) -> None:
        self.n, self.z, self.wz = 0, REAL(0), REAL(0)

    def bet(self) -> REAL:
        if abs(self.z) <= WON_NOTHING:
            return REAL(0)
        return self.z / (self.n + self.lived) * (1 + self.wz)

    def gain(self, g: REAL) -> None:
        w = self.bet()
        g = g if w > 0 else max(g, REAL(0))
        self.z += g
        self.wz += g * w
        self.n += 1


def share_out(coins: list[Coin], prior: Reals) -> Reals:
    """p prop. prior times positive bets; the prior itself if there are none."""
    bets = prior * np.maximum(reals([coin.bet() for coin in coins]), 0)
    shares: Reals = bets / bets.sum() if bets.sum() > 0 else prior / prior.sum()
    return shares


class CBCE(SeesAll):
    """A coin an arm in every interval, and one an interval with prior 1/(q² (1 + floor(log2 q))), q its first round."""

    coin: type[Coin] = Coin

    def __init__(self, K: int, T: int | None = None) -> None:
        super().__init__(K, T)
        self.arms: dict[Interval, list[Coin]] = {}
        self.coins: dict[Interval, Coin] = {}
        self.turn()

    def turn(self) -> None:
        """Drop the intervals that are over, and make those that begin."""
        live = covering(self.t, self.T)
        for one in live:
            self.arms.setdefault(one, [self.coin() for _ in range(self.K)])
            self.coins.setdefault(one, self.coin())
        self.arms = {one: self.arms[one] for one in live}
        self.coins = {one: self.coins[one] for one in live}

    def trust(self) -> Reals:
        prior = [1 / (REAL(q) ** 2 * (1 + int(np.floor(np.log2(q))))) for q, _ in self.coins]
        return share_out(list(self.coins.values()), reals(prior))

    def copies(self) -> list[Reals]:
        uniform = np.full(self.K, 1 / REAL(self.K))
        return [share_out(coins, uniform) for coins in self.arms.values()]

    def distribution(self) -> Reals:
        p: Reals = np.sum([trust * copy for trust, copy in zip(self.trust(), self.copies(), strict=True)], axis=0)
        return p

    def update(self, losses: Reals) -> None:
        losses = losses - losses.min()  # gains are differences
        trust, copies = self.trust(), self.copies()
        costs = [(copy * losses).sum() / copy.sum() for copy in copies]
        mixed = (trust * reals(costs)).sum() / trust.sum()
        for coins, cost in zip(self.arms.values(), costs, strict=True):
            for coin, loss in zip(coins, losses, strict=True):
                coin.gain(cost - loss)
        for coin, cost in zip(self.coins.values(), costs, strict=True):
            coin.gain(mixed - cost)

    def tell(self, losses: Sequence[float]) -> None:
        super().tell(losses)
        self.turn()
