"""Explanations of a Turncoat: the trust in each base and why, the arm believed best, the switches believed to happen.

All of it is read off the state when it is asked for. How beliefs are formed: observers/history.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turncoat.learners.turncoat.constants import (
    N_CLIPPED,
    N_DETECTORS,
    N_FOLLOWERS,
    N_MIRRORS,
    N_SIGNED,
    NAMES,
    WINDOWS,
)
from turncoat.learners.turncoat.explanation_text import page_of
from turncoat.learners.turncoat.state import BELIEFS, PAGES, TurncoatState
from turncoat.types import Label, Matrix

if TYPE_CHECKING:
    from turncoat.learners.turncoat.learner import Turncoat

KINDS = ("clipped",) * N_CLIPPED + ("signed",) * N_SIGNED + ("detector",) * N_DETECTORS + ("follower",) * N_FOLLOWERS


class Base(NamedTuple):
    """A base, and how much the master trusts it."""

    name: str
    kind: str  # clipped, signed, detector or follower
    trust: float  # the probability with which the master draws it
    arm: Label  # that it proposes with the largest probability
    chance: float  # that probability
    why: str  # what the proposal rests on


class Switch(NamedTuple):
    """A switch that is believed to have happened: another arm became best."""

    when: int  # the round from which on there were doubts about the arm left
    left: Label
    to: Label
    sure: float  # the mean probability that `to` was served with, for as long as it was believed best


class Page(NamedTuple):
    """The rounds first … last - 1 of its history."""

    first: int
    last: int
    shares: tuple[
        float, ...
    ]  # of each arm, in the order of `arms`; of more than 1,024, of those with a slot (slots.py)
    trust: tuple[float, ...]  # in each base, at the end


@dataclass(frozen=True)
class Explanation:
    """The explanation of a Turncoat. `print` it to read it; `to_dict` for other programs."""

    rounds: int  # told
    arms: tuple[Label, ...]
    retired: tuple[Label, ...]
    best: Label | None  # the arm believed best, if there is one yet
    since: int | None  # the round from which on it is believed
    sure: float | None  # the mean probability that it was served with since
    likeliest: Label  # the arm that the next ask chooses most likely
    chance: float  # and how likely that is
    n_switches: int  # believed to have happened so far
    switches: tuple[Switch, ...]  # the last ones
    bases: tuple[Base, ...]
    restarts: tuple[tuple[str, int, int | None], ...]  # of each detector: its name, how many, and the last one's round
    pages: tuple[Page, ...]  # all rounds told, in order

    @property
    def kinds(self) -> dict[str, float]:
        """How much each kind of base is trusted, all its bases together, the most trusted first."""
        sums = {kind: math.fsum(b.trust for b in self.bases if b.kind == kind) for kind in dict.fromkeys(KINDS)}
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def to_dict(self) -> dict[str, Any]:
        """The same in dicts and lists that JSON can hold."""
        plain = {name: getattr(self, name) for name in ("rounds", "best", "since", "sure", "likeliest", "chance")}
        return {
            **plain,
            "arms": list(self.arms),
            "retired": list(self.retired),
            "n_switches": self.n_switches,
            "switches": [{"when": s.when, "from": s.left, "to": s.to, "sure": s.sure} for s in self.switches],
            "kinds": self.kinds,
            "bases": [base._asdict() for base in self.bases],
            "restarts": [{"name": name, "times": times, "last": last} for name, times, last in self.restarts],
            "pages": [
                {"first": page.first, "last": page.last, "shares": list(page.shares), "trust": list(page.trust)}
                for page in self.pages
            ],
        }

    def __str__(self) -> str:
        return page_of(self)


def beliefs(state: TurncoatState) -> Matrix:
    """One row per belief that is kept, the present one last: since when, which arm, how sure."""
    n, kept = (int(number) for number in state.n_beliefs)
    rows = np.array(state.beliefs)[np.arange(n - kept, n) % BELIEFS]
    sure = np.divide(rows[:, 2], rows[:, 3], out=np.zeros(kept), where=rows[:, 3] > 0.0)
    return np.column_stack([rows[:, :2], np.minimum(sure, 1.0)])


def explain(learner: Turncoat) -> Explanation:
    """What it thinks now."""
    state, arms = learner.view(), tuple(learner.arms)
    served, alive = learner.probabilities(), np.array(state.place) >= 0.0
    rows, top = beliefs(state), int(served.argmax())
    since, best, sure = rows[-1].tolist() if len(rows) else (0.0, -1.0, 0.0)
    is_there = best >= 0.0 and bool(alive[int(best)])
    return Explanation(
        rounds=learner.n_told,
        arms=arms,
        retired=tuple(arm for arm, there in zip(arms, alive, strict=True) if not there),
        best=arms[int(best)] if is_there else None,
        since=int(since) if is_there else None,
        sure=sure if is_there else None,
        likeliest=arms[top],
        chance=min(float(served[top]), 1.0),
        n_switches=max(int(state.n_beliefs[0]) - 1, 0),
        switches=tuple(
            Switch(int(when), arms[int(left)], arms[int(to)], sure)
            for left, (when, to, sure) in zip(rows[:-1, 1], rows[1:].tolist(), strict=True)
        ),
        bases=_bases(state, arms, *learner.loss_range),
        restarts=tuple(
            (NAMES[N_MIRRORS + i], int(n), int(state.restarted[i]) if n > 0 else None)
            for i, n in enumerate(state.n_restarts)
        ),
        pages=_pages(state),
    )


def _bases(state: TurncoatState, arms: tuple[Label, ...], low: float, high: float) -> tuple[Base, ...]:
    alive = (np.array(state.place) >= 0.0)[:, None]
    weights = state.weights[state.P : state.P + state.K] + alive * state.offset
    chances = weights / weights.sum(axis=0)
    proposed = [(int(k), float(chances[k, i])) for i, k in enumerate(chances.argmax(axis=0))]
    proposed += [(int(k), 1.0) for k in state.leaders]
    why = [f"its weights, which learn at rate {rate:.2g}" for rate in state.rates]
    for i in range(N_DETECTORS):
        why.append(_detected(state, i, proposed[N_MIRRORS + i][0], low, high))
    for i in range(N_FOLLOWERS):
        why.append(_followed(state, i, proposed[N_MIRRORS + N_DETECTORS + i][0], low, high))
    return tuple(
        Base(name, kind, float(trust), arms[arm], chance, words)
        for name, kind, trust, (arm, chance), words in zip(NAMES, KINDS, state.p, proposed, why, strict=True)
    )


def _detected(state: TurncoatState, i: int, arm: int, low: float, high: float) -> str:
    """Why a detector proposes its leader."""
    n, start = state.counts[i, arm], int(max(state.starts[i, arm], state.restarted[i]))
    since = f"since round {start:,}" if start else "since the start"
    if n == 0.0:
        known = "what it recalls from before" if state.recalled[i, arm] > 0.0 else "nothing"
        return f"{known}: not tried {since}"
    loss = low + (high - low) * (1.0 - state.sums[i, arm] / n)
    return f"a mean loss of {loss:.3g} in {int(n):,} rounds of it {since}"


def _followed(state: TurncoatState, i: int, arm: int, low: float, high: float) -> str:
    """Why a follower proposes its leader."""
    n = state.samples[i, arm] / state.fading[i, 0]
    of = "all rounds" if WINDOWS[i] == math.inf else f"the last {WINDOWS[i]:,.0f} or so"
    if n < 0.5:  # rounds, faded
        return f"little: hardly tried in {of}"
    loss = low + (high - low) * (1.0 - state.rewards[i, arm] / state.samples[i, arm])
    return f"a mean loss of {loss:.3g} in {of}"


def _pages(state: TurncoatState) -> tuple[Page, ...]:
    full, written, size = (int(number) for number in state.page)
    pages, plays = [], np.zeros((state.K, PAGES))
    plays[state.owners.astype(int)] = state.plays
    for i in range(full + (written > 0)):
        n = size if i < full else written
        trust = state.trust[i] if i < full else state.p
        pages.append(Page(i * size, i * size + n, tuple((plays[:, i] / n).tolist()), tuple(trust.tolist())))
    return tuple(pages)
