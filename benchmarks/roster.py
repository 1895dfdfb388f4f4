"""Nanoseconds per round of every learner that can race; how those grow that look back; and SMPyBandits beside.

The game is the scenario stationary/0, ten arms with 0/1 losses, and Uniform's row is what the game itself costs. The
policies of SMPyBandits play arms of the same means in a plain loop, without its engine, which would cost them more.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import turncoat as tc
from benchmarks import smpybandits
from benchmarks.play import BARE, bare_game, bare_loop
from benchmarks.results import Result, Table, Target, best_of, seconds
from turncoat.learners.entries import ENTRIES, make_learner

GAME, N_ARMS, N_SWITCHES = "stationary/0", 10, 4
LOOKS_BACK = ("ad-switch", "glr-kl-ucb", "glr-kl-ucb, local", "master-ucb", "meta")  # over all they have seen
BALL = "switching-linear, told S, d=8"
SHORT, LONG = 10_000, 1_000_000
GROWTH = math.log(LONG) / math.log(SHORT)  # of log t between the two

# Theirs for ours. What they call a number of random events is the number of segments.
COUNTERPARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("Uniform", {}),
    "exp3": ("Exp3", {}),
    "exp3.s, told S": ("Exp3S", {"max_nb_random_events": N_SWITCHES + 1}),
    "exp3.r": ("Exp3R", {}),
    "tsallis-inf": ("TsallisInf", {}),
    "corral": ("CORRAL", {"children": ["Exp3"] * 13}),
    "ad-switch": ("AdSwitchNew", {}),
    "ucb1": ("UCB", {}),
    "kl-ucb": ("klUCB", {}),
    "discounted-ucb, told S": ("DiscountedUCB", {}),
    "discounted-ucb, kl, told S": ("DiscountedklUCB", {}),
    "sliding-window-ucb, told S": ("SWUCB", {}),
    "sliding-window-ucb, kl, told S": ("SWklUCB", {}),
    "glr-kl-ucb": ("BernoulliGLR_IndexPolicy", {"max_nb_random_events": N_SWITCHES + 1}),
    "monitored-ucb, told S": ("Monitored_IndexPolicy", {"max_nb_random_events": N_SWITCHES + 1}),
    "thompson-sampling": ("Thompson", {}),
    "discounted-thompson, told S": ("DiscountedThompson", {}),
    "hedge, sees all": ("Hedge", {}),
}
WANT_HORIZON = ("Exp3S", "Exp3R", "CORRAL", "AdSwitchNew", "BernoulliGLR_IndexPolicy", "Monitored_IndexPolicy")


def make(name: str, horizon: int) -> Any:
    """A fresh learner; parameters that are capped at this horizon are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TuningWarning)
        return make_learner(ENTRIES[name], N_ARMS, horizon, 1, N_SWITCHES)


def whole_game(name: str, horizon: int) -> Callable[[], float]:
    """A timing of a whole game, compiled here; the learner is new each time."""
    game = tc.environments.scenario(GAME, horizon, 0)
    tc.play(make(name, horizon), tc.environments.scenario(GAME, 100, 0))
    return lambda: seconds(partial(tc.play, make(name, horizon), game))


def whole_ball(horizon: int) -> Callable[[], float]:
    """The same for the learner that plays points of the ball, in eight dimensions."""

    def once(rounds: int = horizon) -> float:
        game = tc.environments.BallSwitching(8, rounds, N_SWITCHES, seed=0)
        learner = tc.SwitchingLinear(8, rounds, n_switches=N_SWITCHES, seed=1)
        return seconds(lambda: tc.play_points(learner, game))

    once(100)
    return once


def late(name: str, t: int, n_rounds: int) -> Callable[[], float]:
    """A timing of the rounds after t, of one learner that has seen t rounds."""
    learner = make(name, LONG + n_rounds)
    tc.play(learner, tc.environments.scenario(GAME, t, 0))
    state, last = learner.state(), tc.environments.scenario(GAME, n_rounds, 0)

    def once() -> float:
        again = tc.restore(state)
        return seconds(lambda: tc.play(again, last))

    return once


def theirs(horizon: int, budget: float) -> tuple[dict[str, float], list[str]]:
    """Nanoseconds per round of the counterparts, by the names of ours, and what went wrong."""
    means = [1.0 - mean for mean in tc.environments.scenario(GAME, horizon, 0).means_block(0, 1)[0].tolist()]
    policies = {
        policy: {**params, "horizon": horizon} if policy in WANT_HORIZON else params
        for policy, params in COUNTERPARTS.values()
    }
    try:
        found = smpybandits.policies(policies, means, horizon, budget)
    except Exception as problem:  # it cannot be installed here, or cannot be imported
        return {}, [f"SMPyBandits failed: {type(problem).__name__}: {problem}"]
    broken = [f"{policy} failed: {took}" for policy, took in found.items() if isinstance(took, str)]
    took = {name: found[policy] for name, (policy, _) in COUNTERPARTS.items()}
    return {name: ns for name, ns in took.items() if isinstance(ns, float)}, broken


def run(quick: bool) -> Result:
    """Two tables, and a target for each row that has one."""
    T, repeats, n_late, budget = (20_000, 3, 2_000, 0.2) if quick else (100_000, 15, 10_000, 2.0)
    peers, broken = theirs(T, budget)
    timings: dict[Any, Callable[[], float]] = {BARE: bare_game(bare_loop, T)}
    timings |= {name: whole_game(name, T) for name in ENTRIES} | {BALL: whole_ball(T)}
    ns = {name: took / T * 1e9 for name, took in best_of(repeats, timings, enough=2.0).items()}
    rows: list[list[Any]] = [[BARE[0], ns[BARE], 1.0, "", "", ""]]
    for name in (*ENTRIES, BALL):
        row = [name, ns[name], ns[name] / ns[BARE]]
        beside = [COUNTERPARTS[name][0], peers[name], peers[name] / ns[name]] if name in peers else ["", "", ""]
        rows.append([*row, *beside])
    note = (
        f"best of {repeats}; {GAME}, K={N_ARMS}, T = {T:,}, told {N_SWITCHES} switches; the game is included; "
        f"SMPyBandits: choice and getReward in a loop, up to T rounds or {budget} s, in its own environment"
    )
    columns = ["learner", "ns", "bare loops", "SMPyBandits", "ns", "times ours"]
    tables = [Table("roster: ns per round", "; ".join([note, *broken]), columns, rows), growth(n_late, repeats)]
    targets = [
        Target(f"{name}: times faster than SMPyBandits' {policy}", peers.get(name, math.nan) / ns[name], 20.0, False)
        for name, (policy, _) in COUNTERPARTS.items()
    ]
    grown = [Target(f"{row[0]}: t = {LONG:,} against {SHORT:,}", row[-1], GROWTH, True) for row in tables[1].rows]
    return Result(tables, targets + grown)


def growth(n_late: int, repeats: int) -> Table:
    """What the rounds after t cost those who look back."""
    times = (SHORT, 100_000, LONG)
    took = best_of(repeats, {(name, t): late(name, t, n_late) for name in LOOKS_BACK for t in times}, enough=2.0)
    ns = {place: spent / n_late * 1e9 for place, spent in took.items()}
    rows = [[name, *(ns[name, t] for t in times), ns[name, LONG] / ns[name, SHORT]] for name in LOOKS_BACK]
    note = f"best of {repeats}; the {n_late:,} rounds after t, in the same game; log t itself grows by {GROWTH:.2f}"
    columns = ["learner", *(f"t={t:,}" for t in times), "last/first"]
    return Table("looking back: ns per round at t", note, columns, rows)
