"""How many pulls a version plans: open decisions that may still be rewarded, plus one; and what is published for it."""

from __future__ import annotations

import math
import random
from collections import Counter

import msgspec
import pytest

from tests.naive.delays import Delays
from tests.service.experiments.lab import WINDOW, Lab, StillClock
from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.experiments import learn, waiting
from turncoat.service.experiments.randomness import Randomness
from turncoat.service.experiments.snapshot import served_by
from turncoat.service.experiments.verify import broken_audit, verify
from turncoat.service.store import Store

ARMS = ["a", "b", "c", "d"]
VERSIONS = "SELECT version, kind, m FROM version ORDER BY version"
LOOK = 0.3  # seconds after which a worker looks again


def m_of(lab: Lab) -> int:
    return lab.engine.cache.get("x").m


def planned(lab: Lab) -> list[int]:
    """m of the versions without news."""
    return [m for _, kind, m in lab.rows(VERSIONS) if kind == "planned"]


def decide(lab: Lab, n: int = 1, **ask: bool) -> list[messages.Decided]:
    return [lab.engine.decide("x", **ask) for _ in range(n)]  # type: ignore[arg-type]


def tell(lab: Lab, decided: messages.Decided, value: float) -> None:
    assert lab.engine.reward(str(decided.decision_id), value).status == "accepted"


def is_replayed(lab: Lab) -> bool:
    with lab.store.reading() as session:
        return verify(session, "x").identical and broken_audit(session) is None


def led(lab: Lab) -> None:
    """An experiment in which one arm leads slightly: 0.505 to 0.5, of 20 rewards each. Rewards take ten minutes."""
    lab.open(arms=ARMS, reward_window_s=86_400.0)
    made = [(arm, i, lab.engine.decide("x", allowed_arms=[arm])) for i in range(20) for arm in ARMS]
    lab.clock.move(600.0)
    for arm, i, one in made:
        tell(lab, one, 0.1 if (arm, i) == ("b", 0) else i % 2)
    lab.work(0.0)
    assert m_of(lab) == 1 and len(lab.rows(VERSIONS)) == 2


def test_a_pile_up_is_spread_and_made_up_for_when_it_is_rewarded(labs: Lab) -> None:
    """1,000 decisions before the next reward, all arms tried: none gets more than 1.35/K of them on average.

    One version for all of them (m = 1) gave most of them to the arm that happened to lead.
    """
    led(labs)
    snapshot = labs.engine.cache.get("x")
    assert all(row.tried for row in snapshot.arms)
    of_one = served_by(labs.engine.cache.learner(snapshot), snapshot.active(), 1)
    assert max(of_one.values()) > 2.0 / len(ARMS)
    made: list[messages.Decided] = []
    for _ in range(125):
        made += decide(labs, 8)
        labs.work(LOOK)
    means = {arm: math.fsum(one.probabilities[arm] for one in made) / len(made) for arm in ARMS}
    assert max(means.values()) <= 1.35 / len(ARMS)
    assert all(one.propensity == one.probabilities[one.arm] for one in made)
    assert planned(labs) == [8, 16, 32, 64, 128, 256, 512]  # one a doubling
    for one in made:
        tell(labs, one, float(one.arm == "b"))
    labs.work()
    assert m_of(labs) == 1 and planned(labs) == [8, 16, 32, 64, 128, 256, 512]
    assert is_replayed(labs)


def test_every_decision_is_learned_with_the_m_of_its_version(labs: Lab) -> None:
    """One whose m is altered leads to another state: `verify` notices."""
    led(labs)
    for _ in range(5):
        made = decide(labs, 10)
        labs.work(LOOK)
    record = labs.engine.decision(str(made[-1].decision_id))
    assert record.m == 32 and record.state_version == made[-1].state_version
    tell(labs, made[-1], 1.0)
    labs.work()
    assert m_of(labs) == 32  # 49 are open
    assert [line.m for line in labs.engine.log("x")].count(32) == 10
    assert is_replayed(labs)
    with labs.store.transaction() as session:
        session.run("UPDATE version SET m = 1 WHERE version = :version", version=record.state_version)
    assert not is_replayed(labs)


def test_a_service_that_was_killed_goes_on_with_the_same_m(labs: Lab) -> None:
    led(labs)
    made = decide(labs, 40)
    labs.work(LOOK)
    before, shares = m_of(labs), labs.engine.experiment("x").arms
    versions = labs.rows(VERSIONS)
    labs.restart()
    labs.work(LOOK)
    assert m_of(labs) == before == 32 and labs.engine.experiment("x").arms == shares
    assert labs.rows(VERSIONS) == versions  # nothing new, nothing written
    some = labs.engine.decide("x", allowed_arms=["a", "b"])
    snapshot = labs.engine.cache.get("x")
    rows = [row for row in snapshot.active() if row.arm in "ab"]
    assert some.probabilities == served_by(labs.engine.cache.learner(snapshot), rows, 32)
    assert some.probabilities != served_by(labs.engine.cache.learner(snapshot), rows, 1)
    tell(labs, some, 1.0)
    tell(labs, made[0], 0.0)
    labs.work()
    assert m_of(labs) == 32 and is_replayed(labs)


def test_rewards_that_are_lost_do_not_keep_m_high(labs: Lab) -> None:
    """30 % are never told, the others within two seconds, at ten decisions per second: some 20 are waited for."""
    labs.open(arms=ARMS, reward_window_s=86_400.0)
    chance = random.Random(5)
    due: list[tuple[float, messages.Decided]] = []
    highest = []
    for turn in range(600):
        one = decide(labs)[0]
        if chance.random() >= 0.3:
            due.append((labs.clock.time + chance.uniform(0.2, 2.0), one))
        for when, other in [pair for pair in due if pair[0] <= labs.clock.time]:
            tell(labs, other, float(other.arm == "c"))
            due.remove((when, other))
        labs.work(0.1)
        if turn > 100:
            highest.append(m_of(labs))
    assert labs.rows("SELECT COUNT(*) FROM decision WHERE applied_version IS NULL")[0][0] > 150
    assert max(highest) <= 32 and min(highest) >= 4
    for _, other in due:
        tell(labs, other, 0.5)
    for _ in range(5):  # no one asks any more; the last reward finds that nothing is waited for
        last = decide(labs)[0]
        labs.work(3.0)
        tell(labs, last, 0.5)
    labs.work()
    assert m_of(labs) == 1 and is_replayed(labs)


def test_what_counts(lab: Lab) -> None:
    """Open decisions that train; of these, deferred ones too. Neither control nor holdout, nor what is closed."""
    lab.open(arms=ARMS, control=messages.Control(arm="a", share=0.3), holdout_share=0.3)
    made = decide(lab, 60)
    n = Counter(one.stream for one in made)["learn"]
    assert 16 <= n < 31
    lab.work(LOOK)
    assert m_of(lab) == 16
    decide(lab, 40, deferred=True)
    lab.work(LOOK)
    deferred = sum(one.stream == "learn" for one in made) + lab.rows(
        "SELECT COUNT(*) FROM decision WHERE expires_at IS NULL AND stream = 'learn'"
    )[0][0]  # fmt: skip
    assert m_of(lab) == 1 << (deferred + 1).bit_length() - 1 == 32
    lab.engine.change("x", messages.ExperimentChange(holdout_share=0.0))
    assert m_of(lab) == 32  # a change has the m of the version before
    lab.work(WINDOW)
    left = lab.rows("SELECT COUNT(*) FROM decision WHERE outcome IS NULL AND stream = 'learn'")[0][0]
    assert 0 < left < deferred and m_of(lab) == 1 << (left + 1).bit_length() - 1  # the others have expired
    assert {kind for _, kind, _ in lab.rows(VERSIONS)} == {"opened", "planned", "settings_changed", "rewards"}
    assert lab.engine.experiment("x").revision == 2 and is_replayed(lab)


def test_defaults_are_waited_for_as_rewards_are(lab: Lab) -> None:
    """Where most decisions end with the default, all that are open will be learned from."""
    lab.open(arms=ARMS, default_reward=0.0)
    for _ in range(30):
        decide(lab)
        lab.work(10.0)
    assert len(lab.rows("SELECT id FROM decision WHERE applied_version IS NULL")) == 9 and m_of(lab) == 8


def test_few_decisions_make_no_version_of_their_own(lab: Lab) -> None:
    lab.open(arms=ARMS)
    made = decide(lab, 6)
    lab.work(LOOK)
    assert planned(lab) == [] and m_of(lab) == 1
    decide(lab)
    lab.work(LOOK)
    assert planned(lab) == [8]
    tell(lab, made[0], 1.0)
    lab.work()
    assert m_of(lab) == 4 and planned(lab) == [8]


def test_databases_of_before_wait_for_nothing_until_the_next_reward(labs: Lab) -> None:
    """Their versions have m = 1, and nothing is known of delays: what is open may have been lost long ago."""
    led(labs)
    old = decide(labs, 50)
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET delays = NULL")
    labs.restart()
    labs.work(LOOK)
    assert planned(labs) == [] and m_of(labs) == 1
    tell(labs, old[0], 1.0)
    labs.work(0.0)
    assert m_of(labs) == 32 and is_replayed(labs)  # 49 others, as old as this one


def test_of_very_many_the_newest_are_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 per second and a reach of some eleven seconds: a thousand, of which 64 are counted."""
    monkeypatch.setattr(waiting, "COUNTED", 64)
    lab.open(arms=ARMS, reward_window_s=86_400.0)
    first = decide(lab, 64)
    lab.work(LOOK)
    assert m_of(lab) == 64  # before the first reward there is no reach
    lab.clock.move(10.0 - LOOK)
    for one in first[:8]:
        tell(lab, one, 0.5)
    lab.work(0.0)
    for _ in range(150):
        decide(lab, 10)
        lab.clock.move(0.1)
    lab.work(0.0)
    with lab.store.reading() as session:
        delays = lab.rows("SELECT delays FROM learner")[0][0]
        found = waiting.pulls_to_plan(session, 1, delays, lab.clock.now())()
    monkeypatch.setattr(waiting, "COUNTED", 16_384)
    with lab.store.reading() as session:
        exact = waiting.pulls_to_plan(session, 1, delays, lab.clock.now())()
    assert exact >= 512 and found in (exact, 2 * exact, exact // 2) and m_of(lab) == found


def test_the_record_of_delays_is_that_of_the_oracle(lab: Lab) -> None:
    chance, oracle, record = random.Random(1), Delays(), waiting.no_delays()
    assert waiting.reach(record) > 1e9 and waiting.reach(None) == 1e-3
    for longest in (0.01, 5.0, 86_400.0 * 365, 1.0):
        for _ in range(600):
            told = [chance.uniform(-0.01, longest) for _ in range(chance.randint(1, 3))]
            record = waiting.with_delays(record, told)
            for seconds in told:
                oracle.add(max(round(1e3 * seconds), 1))
        assert oracle.reach is not None
        assert waiting.reach(record) == pytest.approx(1e-3 * oracle.reach)
    assert len(msgspec.json.decode(record)) < 162


def test_plans_for_many_arms_are_learned_from_in_several_passes(labs: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reward is learned by planning again: a thousand of them, of a thousand arms, took half a second."""
    monkeypatch.setattr(learn, "MOST_PLANNED", 20)
    labs.open(arms=ARMS)
    made = decide(labs, 15)
    labs.work(LOOK)
    made += decide(labs, 15)
    for one in made:
        tell(labs, one, float(one.arm == "b"))
    labs.work()
    passes = [point.n_learned for point in labs.engine.timeline("x") if point.kind == "rewards"]
    assert sum(passes) == 30 and len(passes) == 4  # 15 for one pull and one for 16, of 4 arms; 5; 5; 4
    assert is_replayed(labs)


def test_two_workers_publish_it_once(postgres_stores: tuple[Store, Store]) -> None:
    clock = StillClock()
    engines = [Engine(store, clock, Randomness(i)) for i, store in enumerate(postgres_stores)]
    engines[0].create(messages.NewExperiment(key="x", arms=list(ARMS)))
    for _ in range(3):
        for engine in engines:
            for _ in range(20):
                engine.decide("x")
        clock.move(LOOK)
        for engine in engines:
            while engine.work():
                pass
    points = engines[1].timeline("x")
    assert [point.m for point in points] == [1, 32, 64] and {point.kind for point in points[1:]} == {"planned"}
    assert engines[0].decide("x").state_version <= 3 and engines[1].cache.get("x").m == 64
