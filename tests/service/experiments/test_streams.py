"""Control and holdout: shares as said, a unit stays where it is, and the learner never hears of them."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

from tests.service.experiments.lab import WINDOW, Lab
from turncoat.service import messages
from turncoat.service.experiments.draw import draw
from turncoat.service.messages import Decide

SHARES = {"control": 0.2, "holdout": 0.1, "learn": 0.7}
CONTROL = messages.Control(arm="a", share=0.2)


def opened(lab: Lab) -> None:
    lab.open(arms=["a", "b", "c"], control=CONTROL, holdout_share=0.1)


def streams(lab: Lab, asks: list[messages.Ask]) -> list[str]:
    drawn = [draw(lab.engine.cache, lab.clock.now(), lab.randomness, Decide("x", ask)).answer for ask in asks]
    return [one.stream for one in drawn if isinstance(one, messages.Decided)]


@pytest.mark.parametrize("by_unit", [False, True])
def test_shares(lab: Lab, by_unit: bool) -> None:
    """30,000 decisions, false alarms 1e-6; a stream two points off is caught with more than 99 % (checked here)."""
    opened(lab)
    n = 30_000
    counts = Counter(streams(lab, [messages.Ask(unit_id=f"user-{i}" if by_unit else None) for i in range(n)]))
    assert stats.chisquare([counts[name] for name in SHARES], [n * share for share in SHARES.values()]).pvalue > 1e-6
    off = n * 0.02**2 * (1.0 / 0.2 + 1.0 / 0.7)
    assert stats.ncx2.sf(stats.chi2.ppf(1.0 - 1e-6, 2), 2, off) > 0.99


def test_a_unit_stays_in_its_stream(lab: Lab) -> None:
    opened(lab)
    asks = [messages.Ask(unit_id=f"user-{i}") for i in range(200)]
    assert streams(lab, asks) == streams(lab, asks)
    before = streams(lab, asks)
    lab.engine.change("x", messages.ExperimentChange(control=messages.Control(arm="a", share=0.3)))
    after = streams(lab, asks)
    assert all(now == "control" for now, was in zip(after, before, strict=True) if was == "control")


def test_what_they_are_served(lab: Lab) -> None:
    opened(lab)
    for _ in range(200):
        decided = lab.engine.decide("x")
        if decided.stream == "control":
            assert (decided.arm, decided.propensity, decided.probabilities) == ("a", 1.0, {"a": 1.0})
        elif decided.stream == "holdout":
            assert decided.probabilities == dict.fromkeys("abc", 1.0 / 3.0) and decided.propensity == 1.0 / 3.0
        assert decided.reason == ("split" if decided.stream == "learn" else decided.stream)


def test_the_learner_never_hears_of_them(labs: Lab) -> None:
    """The same learning decisions, with and without the other streams between them: the same bytes."""
    opened(labs)
    labs.open("alone", arms=["a", "b", "c"], seed=7)
    same = labs.rows("SELECT first_state, checksum FROM learner ORDER BY experiment")
    with labs.store.transaction() as session:  # the token is the one thing that differs between them
        session.run("UPDATE learner SET state = :s, first_state = :s, checksum = :sum WHERE experiment = 2",
                    s=bytes(same[0][0]), sum=same[0][1])  # fmt: skip
    labs.restart()
    learned = 0
    for i in range(150):
        one = labs.engine.decide("x")
        labs.engine.reward(str(one.decision_id), (i % 7) / 7)
        if one.stream == "learn":
            learned += 1
            twin = labs.engine.decide("alone")
            with labs.store.transaction() as session:  # as if its draw had come out the same
                session.run("UPDATE decision SET arm = :arm, propensity = :p WHERE id = :id",
                            arm=one.arm, p=one.propensity, id=twin.decision_id)  # fmt: skip
            labs.engine.reward(str(twin.decision_id), (i % 7) / 7)
        labs.work()
    assert 0 < learned < 150
    assert labs.state("x") == labs.state("alone")
    sums = labs.rows("SELECT SUM(n_learned) FROM version WHERE experiment = 1")
    closed = labs.rows("SELECT COUNT(*) FROM decision WHERE experiment = 1 AND outcome = 'rewarded'")
    assert sums == [(learned,)] and closed == [(150,)]


def test_they_close_by_default_too(labs: Lab) -> None:
    labs.open(control=messages.Control(arm="a", share=0.999), default_reward=0.0)
    before = labs.state()
    for _ in range(20):
        labs.engine.decide("x")
    labs.work(WINDOW)
    assert set(labs.rows("SELECT stream, outcome FROM decision")) == {("control", "defaulted")}
    assert labs.state() == before


@pytest.mark.parametrize("how", ["pause", "retire", "not allowed"])
def test_without_its_arm_control_is_ordinary_traffic(labs: Lab, how: str) -> None:
    labs.open(arms=["a", "b", "c"], control=messages.Control(arm="a", share=0.999))
    allowed = ["b", "c"] if how == "not allowed" else None
    if how == "pause":
        labs.pause("a")
    if how == "retire":
        labs.retire("a")
    decided = labs.engine.decide("x", allowed_arms=allowed)
    assert decided.stream == "learn" and set(decided.probabilities) == {"b", "c"}
    labs.engine.change("x", messages.ExperimentChange(holdout_share=0.0))  # settings can still be changed
