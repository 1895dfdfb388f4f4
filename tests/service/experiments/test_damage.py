"""One damaged experiment is one damaged experiment: the others decide and learn, and it says what is wrong with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest

from tests.service.experiments.damaging import DAMAGES, damage, taught
from tests.service.experiments.faults import FaultySession, FaultyStore
from tests.service.experiments.lab import Lab
from turncoat.service import messages
from turncoat.service.errors import Damaged
from turncoat.service.experiments import queries
from turncoat.service.experiments.repair import repair
from turncoat.service.experiments.retention import DAY
from turncoat.service.messages import Decide, Tell
from turncoat.service.store.interface import Row, Session, StoreError

READS = "SELECT version, state, checksum FROM learner"  # how an attempt at the learner begins


def open_both(lab: Lab) -> tuple[str, str]:
    """Two experiments that have learned, of which the first will be damaged; an open decision of each."""
    for key in ("broken", "x"):
        lab.open(key)
        taught(lab, key)
    bad, good = (str(lab.engine.decide(key).decision_id) for key in ("broken", "x"))
    return bad, good


def told(decision: str, value: float = 1.0) -> Tell:
    return Tell(decision, messages.Reward(value=value))


@pytest.mark.parametrize("part", DAMAGES)
def test_the_others_go_on(labs: Lab, part: str) -> None:
    """The whole service was not ready, and with settings or probabilities damaged it did not even start."""
    bad, good = open_both(labs)
    damage(labs, part)
    decided, reward, _ = labs.engine.serve([Decide("x", messages.Ask()), told(good), told(bad)])
    assert isinstance(decided, messages.Decided) and isinstance(reward, messages.Receipt)
    labs.clock.move(1.0)
    labs.engine.work()
    assert labs.engine.decision(good).outcome == "rewarded"
    assert [one.key for one in labs.engine.experiments()][-1] == "x"
    if part in ("learner", "log"):
        shown = labs.engine.experiment("broken").damage
    else:
        with pytest.raises(Damaged):
            labs.engine.experiment("broken")
        shown = None
    stored = labs.rows("SELECT part, detail FROM damage")
    assert [one for one, _ in stored] == [part] and "'broken'" in stored[0][1]
    assert shown is None or (shown.part, shown.detail) == stored[0]
    assert labs.engine.experiment("x").damage is None


@pytest.mark.parametrize("part", ["learner", "log"])
def test_its_decisions_go_on_from_the_last_snapshot(labs: Lab, part: str) -> None:
    bad, _ = open_both(labs)
    served = labs.engine.decide("broken").probabilities
    damage(labs, part)
    labs.engine.reward(bad, 1.0)
    labs.damage("broken")
    decided = labs.engine.decide("broken")
    assert decided.probabilities == served and decided.propensity == served[decided.arm]
    assert labs.engine.decision(str(decided.decision_id)).probabilities == served


@pytest.mark.parametrize("part", ["snapshot", "settings"])
def test_without_a_sound_snapshot_every_answer_names_the_experiment_and_the_way_out(labs: Lab, part: str) -> None:
    """Rewards of a whole batch were refused, of other experiments too: 'others kept changing the same things'."""
    bad, good = open_both(labs)
    damage(labs, part)
    answers = labs.engine.serve([Decide("broken", messages.Ask()), told(bad), told(good)])
    assert isinstance(answers[2], messages.Receipt)
    if part == "snapshot":  # the rule for its rewards is known
        assert isinstance(answers[1], messages.Receipt)
    for answer in answers[: 1 if part == "snapshot" else 2]:
        assert isinstance(answer, Damaged) and answer.part == part
        assert "'broken'" in answer.detail and "turncoat repair broken" in answer.detail
    with pytest.raises(Damaged, match="turncoat repair broken"):
        labs.engine.change("broken", messages.ExperimentChange(holdout_share=0.1))


def test_rewards_that_came_before_their_decision_wait(labs: Lab) -> None:
    """Looking up the rule of a damaged experiment stopped the whole pass; after an hour they were lost as orphans."""
    open_both(labs)
    early = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"]
    for one, key in zip(early, ("broken", "x"), strict=True):
        labs.engine.reward(one, 1.0)
        labs.engine.decide(key, decision_id=one)
    ((config,),) = labs.rows("SELECT config FROM experiment WHERE id = 1")
    damage(labs, "settings")
    labs.clock.move(98.0)
    for _ in range(2):  # joined to its decision, then learned
        labs.clock.move(0.5)
        labs.engine.work()
    assert labs.engine.decision(early[1]).outcome == "rewarded"
    labs.clock.move(4000.0)
    labs.engine.work()
    assert labs.refused(early[0]) == []
    with labs.store.transaction() as session:
        session.run("UPDATE experiment SET config = :config WHERE id = 1", config=config)
    labs.clock.move(60.0)
    for _ in range(3):  # read again, joined, learned
        labs.work()
    assert labs.engine.decision(early[0]).outcome == "rewarded"


def test_a_damaged_experiment_is_tried_less_and_less_often_and_said_once(
    labs: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """It was tried at every pass, ten times a second, for ever."""
    bad, _ = open_both(labs)
    damage(labs, "learner")
    labs.engine.reward(bad, 1.0)
    labs.engine.store = labs.engine.cache._store = store = FaultyStore(labs.store)
    store.shared = False
    with caplog.at_level(logging.WARNING):
        for _ in range(1200):  # two minutes
            labs.clock.move(0.1)
            labs.engine.work()
    assert 6 <= sum(name.startswith(READS) for name in store.names) <= 9  # after 0, 1, 3, 7, 15, 31, 63 and 123 s
    assert len(caplog.records) == 1 and "'broken'" in caplog.text


@pytest.mark.parametrize("part", ["learner", "snapshot"])
def test_it_recovers_by_itself_after_a_repair(labs: Lab, part: str) -> None:
    """The service has the file; the repair is written by another process, past it."""
    bad, _ = open_both(labs)
    damage(labs, part)
    if part == "learner":
        labs.engine.reward(bad, 1.0)
    labs.clock.move(1.0)
    for _ in range(3):
        labs.engine.work()
        labs.clock.move(0.1)
    assert labs.rows("SELECT part FROM damage") == [(part,)]
    done = repair(labs.store, labs.clock.now(), "broken")
    assert done.version == 7 and done.learned == 5 and done.is_exact
    labs.clock.move(0.1)
    labs.engine.work()
    labs.work(0.1)
    assert labs.engine.experiment("broken").damage is None and labs.engine.decide("broken").state_version >= 7
    if part == "learner":
        assert labs.engine.decision(bad).outcome == "rewarded"


def test_a_damaged_record_of_delays_is_its_own_experiment_s(labs: Lab) -> None:
    """Looking whether m has doubled read the records of all: the damaged one stopped every applier."""
    bad, good = open_both(labs)
    with labs.store.transaction() as session:
        session.run("UPDATE learner SET delays = '[oops' WHERE experiment = 1")
    labs.restart()
    labs.engine.reward(good, 1.0)
    labs.clock.move(1.0)
    labs.engine.work()
    assert labs.engine.decision(good).outcome == "rewarded"
    assert repair(labs.store, labs.clock.now(), "broken").version == 7
    labs.clock.move(1.0)
    labs.engine.work()
    labs.engine.reward(bad, 1.0)
    labs.work()
    assert labs.engine.decision(bad).outcome == "rewarded"


def test_a_damaged_answer_that_was_kept_is_one_caller_s(labs: Lab) -> None:
    """The retry that met it failed, and the whole batch with it."""
    labs.open()
    labs.engine.decide("x", idempotency_key="k")
    held = labs.engine.decide("x", unit_id="u", sticky=True)
    with labs.store.transaction() as session:
        session.run("UPDATE idempotency SET answer = :bad", bad=b"{")
        session.run("UPDATE sticky SET answer = :bad", bad=b"{")
    ask = messages.Ask()
    bad, good, sticky = labs.engine.serve(
        [Decide("x", ask, "k"), Decide("x", ask, "l"), Decide("x", messages.Ask(unit_id="u", sticky=True))]
    )
    assert isinstance(bad, Damaged) and "'k'" in bad.detail
    assert isinstance(good, messages.Decided)
    assert isinstance(sticky, messages.Decided) and sticky.decision_id != held.decision_id
    again = labs.engine.decide("x", unit_id="u", sticky=True)
    assert (again.decision_id, again.reason) == (sticky.decision_id, "sticky")


def test_text_that_is_no_utf8_is_the_damage_of_its_row(lab: Lab) -> None:
    """SQLite cannot return such a column: no experiment could be read."""
    open_both(lab)
    for column in ("experiment SET config = cast(x'7bff7d' AS TEXT)", "arm SET payload = cast(x'22ff22' AS TEXT)"):
        with lab.store.transaction() as session:
            session.run(f"UPDATE {column} WHERE {'id' if 'config' in column else 'experiment'} = 1")
        engine = lab.restart()
        assert engine.decide("x").stream == "learn"
        with pytest.raises(Damaged, match="'broken'"):
            engine.decide("broken")


@pytest.mark.parametrize("part", DAMAGES)
def test_pruning_goes_on_in_the_others(labs: Lab, part: str) -> None:
    """Settings that cannot be read stopped the look for what is due, and with it every applier."""
    for key in ("broken", "x"):
        labs.open(key, keep_days=1.0)
        taught(labs, key)
    damage(labs, part)
    labs.clock.move(3.0 * DAY)
    for _ in range(5):
        labs.clock.move(1.0)
        labs.engine.work()
    assert labs.rows("SELECT COUNT(*) FROM decision WHERE experiment = 2") == [(0,)]
    assert labs.engine.decide("x").stream == "learn"


def test_what_was_mended_by_hand_is_found_out_by_the_next_start(labs: Lab) -> None:
    """The record of the process before was shown until a reward was learned."""
    open_both(labs)
    ((config,),) = labs.rows("SELECT config FROM experiment WHERE id = 1")
    damage(labs, "settings")
    labs.clock.move(1.0)
    labs.engine.work()
    assert labs.rows("SELECT part FROM damage") == [("settings",)]
    with labs.store.transaction() as session:
        session.run("UPDATE experiment SET config = :config WHERE id = 1", config=config)
    labs.restart()
    labs.work()
    assert labs.rows("SELECT part FROM damage") == [] and labs.engine.experiment("broken").damage is None


class BadPage(FaultyStore):
    """A database that cannot read the pages with some decisions."""

    bad: Sequence[str] = ()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with super().reading() as session:
            yield BadSession(self, session)


class BadSession(FaultySession):
    def rows(self, sql: str, **values: Any) -> list[Row]:
        found = super().rows(sql, **values)
        bad = cast(BadPage, self._faults).bad
        if sql == queries.MANY and any(row[0] in bad for row in found):
            raise StoreError("database disk image is malformed")
        return found


@pytest.mark.parametrize("places", [[0], [3, 4], [19], [5, 12, 19], list(range(20))])
def test_the_log_goes_on_past_pages_that_cannot_be_read(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, places: list[int]
) -> None:
    monkeypatch.setattr(queries, "PAGE", 7)
    lab.open()
    ids = sorted(str(lab.engine.decide("x").decision_id) for _ in range(20))
    store = BadPage(lab.store)
    store.bad = [ids[place] for place in places]
    gone: list[str] = []
    lines = list(queries.read_log(store, "x", lambda one, why: gone.append(one)))
    assert gone == list(store.bad)
    assert [line.decision_id for line in lines] == [one for one in ids if one not in store.bad]
