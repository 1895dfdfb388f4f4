"""Generator of states-<commit>.json.gz: `python -m tests.compatibility.write COMMIT [LEARNER …]`, run at that commit.

The tests never run it, and it refuses to overwrite a file: later code must read what that commit wrote. For every
learner, in every mode whose state differs, the file holds a state saved in the middle of a game, the decisions that
were outstanding, and what the learner did next (`rounds.go_on`); for Turncoat also its explanation and certificates.
Only the public interface is used. states-98c032b has Turncoat alone, whose rule had changed since 8d72b1b.
"""

from __future__ import annotations

import gzip
import json
import platform
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import turncoat as tc
from tests.compatibility.rounds import How, ask, go_on, tell, thoughts, unit_loss
from turncoat.learners import LEARNERS

T = 1000
BEFORE = 200  # rounds that are played before a learner is saved
LABELS = ["red", "green", "blue", "white", "black"]
MIXED: list[Any] = [tc.Exp3, partial(tc.ClippedOMD, n_switches=0), "ucb1", tc.Exp3]


def bandits() -> Iterator[tuple[str, tc.Learner]]:
    """Bandit learners: one loss per round is told. Each has a twin with labelled arms and losses in [-1, 2]."""
    plain: dict[str, Any] = {"arms": 5, "horizon": T, "seed": 11}
    named: dict[str, Any] = {"arms": LABELS, "horizon": T, "seed": 12, "loss_range": (-1.0, 2.0)}
    for name, maker in LEARNERS.items():
        if name not in ("dlinucb", "switching-linear") and not maker.sees_all:
            make: Any = maker
            yield name, make(**plain)
            yield f"{name}, labels", make(**named)
    for feedback, projection in (("own", "mixing"), ("shared", "exact"), ("shared", "mixing")):
        words: Any = {"feedback": feedback, "projection": projection}
        yield f"master-base, {feedback}, {projection}", tc.MasterBase(**plain, **words)
        yield f"adaptive-master-base, {feedback}, {projection}", tc.AdaptiveMasterBase(**named, **words)
    yield "adaptive-master-base, theorem", tc.AdaptiveMasterBase(**plain, rate="theorem")
    yield "band, bold", tc.Band(**named, bases=["exp3", "ucb1"], prior=[3.0, 1.0], master="bold")
    yield "bob, block", tc.BanditOverBandit(**plain, block=20)
    yield "corral, mixed", tc.Corral(**plain, bases=MIXED, rate=0.3)
    yield "stochastic-corral, snapshots", tc.StochasticCorral(**plain, n_snapshots=3, rate=0.3)
    yield "clipped-omd, told", tc.ClippedOMD(**plain, n_switches=2, projection="sharing")
    yield "exp3, gain", tc.Exp3(**plain, form="gain")
    yield "exp3, anytime", tc.Exp3(5, seed=13)
    yield "exp3-ix, anytime", tc.Exp3IX(5, seed=13)
    yield "exp3.p, risk", tc.Exp3P(**plain, risk=0.01)
    yield "exp3.s, told", tc.Exp3S(**plain, n_switches=2)
    yield "exp3-six, told", tc.Exp3SIX(**plain, n_switches=2)
    yield "exp3.r, restarting", tc.Exp3R(**plain, gap=0.5, delta=0.5)
    yield "restarted-exp3, told", tc.RestartedExp3(**plain, n_switches=2)
    yield "tsallis-inf, rv", tc.TsallisINF(**plain, estimator="rv")
    yield "discounted-thompson, given", tc.DiscountedThompson(**plain, discount=0.97, prior=0.5)
    yield "discounted-ucb, kl", tc.DiscountedUCB(**plain, n_switches=2, index="kl")
    yield "discounted-ucb, given", tc.DiscountedUCB(5, seed=13, discount=0.97)
    yield "sliding-window-ucb, kl", tc.SlidingWindowUCB(**plain, n_switches=2, index="kl")
    yield "sliding-window-ucb, given", tc.SlidingWindowUCB(5, seed=13, window=30)
    glr: dict[str, Any] = {"restart": "local", "threshold": "experiments", "n_splits": 6, "every": 2}
    yield "glr-kl-ucb, local", tc.GLRklUCB(**plain, **glr)
    yield "monitored-ucb, kl", tc.MonitoredUCB(**plain, n_switches=2, index="kl", window=8, tolerance=0.3)
    touchy: dict[str, Any] = {"confidence": 0.2, "elimination": 0.3, "precision": 4, "exploration": 20}
    yield "ad-switch, touchy", tc.AdSwitch(**plain, **touchy)
    yield "master-ucb, touchy", tc.MasterUCB(**plain, scale=0.0005, replays=0.3)
    yield "meta, touchy", tc.Meta(**plain, eviction=0.1, replays=1.0)


def others() -> Iterator[tuple[str, tc.Learner, How]]:
    """Full-information and linear learners."""
    for make in (tc.Hedge, tc.FixedShare, tc.SAOL, tc.CBCE):
        yield make.name, make(LABELS, T, seed=14, loss_range=(-1.0, 2.0)), "all losses"
    yield "fixed-share, told", tc.FixedShare(5, T, seed=14, n_switches=2), "all losses"
    yield "hedge, anytime", tc.Hedge(5, seed=14), "all losses"
    yield "cbce, anytime", tc.CBCE(5, seed=14), "all losses"
    yield "dlinucb", tc.DLinUCB(5, T, seed=15), "features"
    yield "dlinucb, unit vectors", tc.DLinUCB(LABELS, T, seed=15, n_switches=2, exploration=0.2), "plain"
    yield "switching-linear", tc.SwitchingLinear(4, T, seed=16), "points"
    yield "switching-linear, told", tc.SwitchingLinear(4, T, seed=16, n_switches=2), "points"


def turncoats() -> Iterator[tuple[str, tc.Turncoat, How]]:
    """Turncoat: many arms, changing arms, restricted asks, an unknown range of losses, late tells, a long game."""
    yield "turncoat, 40 arms", tc.Turncoat(40, seed=21), "plain"
    many = tc.Turncoat(1500, seed=20)
    for t in range(300):  # a detector restarts, and two arms that are told often are 1,024 apart
        many.observe((3, 1027, 77, t)[t % 4], float(t >= 150) if t % 4 == 0 else unit_loss(t, t % 4), 0.25)
    yield "turncoat, 1500 arms", many, "plain"
    yield "turncoat, restricted asks", tc.Turncoat(LABELS, seed=22), "allowed"
    yield "turncoat, unknown loss range", tc.Turncoat(LABELS, seed=23, loss_range="adaptive"), "any scale"
    everything = tc.Turncoat(["a", "b", "c"], seed=24, loss_range="adaptive")
    change_arms(everything, "any scale, allowed")
    yield "turncoat, changed arms, unknown loss range, restricted asks", everything, "any scale, allowed"
    changed = tc.Turncoat(["a", "b", "c"], seed=25)
    change_arms(changed, "plain")
    yield "turncoat, changed arms", changed, "plain"
    observed = tc.Turncoat(LABELS, seed=26)
    for t in range(120):  # as the service teaches its learner
        observed.observe(t % 3, 0.25 * (t % 5), 0.5, allowed=[0, 1, 2, 4] if t % 2 else None)
    yield "turncoat, observed", observed, "plain"
    late = tc.Turncoat(5, seed=27)
    for t in range(0, 100, 25):
        block = [ask(late, "plain", t) for _ in range(25)]
        for decision in reversed(block):
            tell(late, decision, "plain", t)
    yield "turncoat, late tells", late, "plain"
    long = tc.Turncoat(LABELS, seed=28)
    for t in range(4000):  # switches are believed, detectors restart, pages of the history are merged
        decision = long.ask()
        long.tell(decision, loss=0.6 * (decision.index != t // 1000) + 0.4 * unit_loss(t, decision.index))
    yield "turncoat, long", long, "plain"


def change_arms(learner: tc.Turncoat, how: How) -> None:
    """Add and retire arms; two decisions are told after their arm was retired."""
    for t in range(90):
        tell(learner, ask(learner, how, t), how, t)
        if t in (20, 40, 60):
            learner.add_arm(f"added at {t}")
        if t in (50, 80):
            decision = learner.ask()
            learner.retire_arm(decision.arm)  # type: ignore[arg-type]  # a label: its arms are no points
            tell(learner, decision, how, t)


def saved(learner: tc.Learner, how: How, rounds: int = BEFORE) -> dict[str, Any]:
    """One case: play with late and forgotten decisions, save, go on."""
    waiting: list[tc.Decision] = []
    for t in range(rounds):
        waiting.append(ask(learner, how, t))
        if t % 29 == 28:
            learner.forget(waiting.pop(0))
        if t % 7:
            tell(learner, waiting.pop(), how, t)
        if len(waiting) > 3:
            tell(learner, waiting.pop(0), how, t)
    state = learner.state()
    case = {"how": how, "round": rounds, "state": state, "outstanding": [one.to_dict() for one in waiting]}
    if isinstance(learner, tc.Turncoat):
        case["thoughts"] = thoughts(learner)
    case["next"] = go_on(learner, waiting, how, rounds)
    return case


def write(commit: str, learners: set[str]) -> None:
    """Write the file of a commit, for these learners, or for all if there are none."""
    file_of_commit = Path(__file__).parent / f"states-{commit}.json.gz"
    cases = {name: saved(learner, "plain") for name, learner in bandits()}
    cases |= {name: saved(learner, how) for name, learner, how in (*others(), *turncoats())}
    for loss_range in ((0.0, 1.0), "adaptive"):
        how: How = "plain" if loss_range != "adaptive" else "any scale"
        made: Any = loss_range
        cases[f"turncoat, nothing told, {how}"] = saved(tc.Turncoat(3, seed=29, loss_range=made), how, rounds=0)
    assert {case["state"]["learner"] for case in cases.values()} == set(LEARNERS)
    cases = {name: case for name, case in cases.items() if case["state"]["learner"] in (learners or set(LEARNERS))}
    packages = {name: version(name) for name in ("numba", "llvmlite", "numpy")}
    made_on = {"machine": platform.machine(), "libc": " ".join(platform.libc_ver()), **packages}
    text = json.dumps({"commit": commit, "made_on": made_on, "cases": cases}, allow_nan=False)
    with file_of_commit.open("xb") as file:
        file.write(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    write(sys.argv[1], {*sys.argv[2:]})
