"""Turncoat explains itself: hand-made games and hand-made votes."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from turncoat.learners.turncoat import Turncoat, constants
from turncoat.learners.turncoat.explanation_text import arm_name, percent
from turncoat.learners.turncoat.observers.history import ENOUGH, HASTY, believe, record
from turncoat.learners.turncoat.state import BELIEFS, PAGES

ARMS = ["red", "green", "blue"]
FIRST = int(ENOUGH) - 1  # the round in which an arm that has all votes is believed
TURN = 2 * int(ENOUGH) + 1  # rounds that it takes to believe in another one


def game(learner: Turncoat, best: list[str], rounds: int) -> None:
    """No noise: the best arm of each part costs nothing, all others 1."""
    for arm in best:
        for _ in range(rounds):
            decision = learner.ask()
            learner.tell(decision, loss=float(decision.arm != arm))


def vote_often(state: Any, top: int, rounds: int, q: float) -> None:
    for _ in range(rounds):
        believe(state, top, q, q)
        state.clock[0] += 1


def write_in_turn(state: Any, rounds: int) -> None:
    for t in range(rounds):
        record(state, t % state.K)


def vote(learner: Turncoat, top: int, rounds: int, q: float = 1.0) -> None:
    """The history alone: an arm is the likeliest for some rounds."""
    vote_often(learner.view(), top, rounds, q)


# -- a game ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> Any:
    learner = Turncoat(ARMS, seed=3)
    game(learner, ["green", "blue", "red"], 600)
    return learner.explain()


def test_a_game_with_two_switches_is_told_as_it_was(told: Any) -> None:
    assert [(s.left, s.to) for s in told.switches] == [("green", "blue"), ("blue", "red")]
    assert told.n_switches == 2
    for switch, planted in zip(told.switches, (600, 1200), strict=True):
        assert planted <= switch.when < planted + 100
        assert 0.8 < switch.sure <= 1.0
    assert (told.rounds, told.best, told.likeliest) == (1800, "red", "red")
    assert told.since == told.switches[-1].when
    assert told.sure == told.switches[-1].sure


def test_pages_add_up_to_the_rounds_told(told: Any) -> None:
    assert (told.pages[0].first, told.pages[-1].last) == (0, 1800)
    assert all(one.last == then.first for one, then in zip(told.pages, told.pages[1:], strict=False))
    for page in told.pages:
        assert math.fsum(page.shares) == pytest.approx(1.0, rel=1e-12)
        assert math.fsum(page.trust) == pytest.approx(1.0, rel=1e-9)
    chosen = np.sum([np.array(page.shares) * (page.last - page.first) for page in told.pages], axis=0)
    assert chosen.sum() == pytest.approx(1800)
    assert np.all(chosen > 500)


def test_trust_is_that_of_the_master_and_says_why(told: Any) -> None:
    assert [base.name for base in told.bases] == list(constants.NAMES)
    assert math.fsum(base.trust for base in told.bases) == pytest.approx(1.0, rel=1e-9)
    assert math.fsum(told.kinds.values()) == pytest.approx(1.0, rel=1e-9)
    assert set(told.kinds) == {base.kind for base in told.bases}
    assert list(told.kinds.values()) == sorted(told.kinds.values(), reverse=True)
    detector = next(base for base in told.bases if base.kind == "detector")
    assert (detector.arm, detector.chance) == ("red", 1.0)
    assert detector.why.startswith("a mean loss of 0 in ")
    assert all(0.0 < base.chance <= 1.0 for base in told.bases)


def test_it_is_plain_values(told: Any) -> None:
    again = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert again["switches"][0]["from"] == "green"
    assert again["switches"][0]["to"] == "blue"
    assert again["best"] == "red"
    assert again["arms"] == ARMS
    assert len(again["bases"]) == constants.N_BASES
    assert again["pages"][0]["first"] == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.best = "blue"


def test_its_page_names_arms_by_their_labels(told: Any) -> None:
    page = str(told)
    assert page.isascii()
    assert "It believes that red is best, since round 1," in page
    assert "green  ->  blue" in page
    assert "arm 0" not in page
    assert max(map(len, page.splitlines())) <= 140


def test_printing_a_learner_is_worth_reading() -> None:
    learner = Turncoat(ARMS, seed=3)
    assert "in no arm yet" in str(learner)
    assert "The detector never started again." in str(learner.explain())
    learner.ask()
    assert ": 0 rounds told, 1 outstanding" in str(learner)
    game(learner, ["green", "blue"], 600)
    lines = str(learner).splitlines()
    assert lines[0] == "Turncoat over 3 arms: 1,200 rounds told, 1 outstanding"
    assert lines[1].startswith("  believes  that blue is best, since round 6")
    assert lines[3].startswith("  switches  green -> blue at 6")
    assert any(line.startswith("            blue  |") and "###" in line for line in lines)
    assert 5 <= len(lines) <= 9
    assert repr(learner) == "<Turncoat: 3 arms; 1200 told, 1 outstanding>"


def test_without_labels_arms_are_numbered() -> None:
    learner = Turncoat(2, seed=1)
    for _ in range(200):
        decision = learner.ask()
        learner.tell(decision, loss=float(decision.index == 0))
    assert "that arm 1 is best" in str(learner)
    assert learner.explain().best == 1


def test_losses_are_told_in_their_own_units() -> None:
    learner = Turncoat(2, seed=1, loss_range=(100.0, 300.0))
    for _ in range(100):
        learner.tell(learner.ask(), loss=150.0)
    assert "a mean loss of 150 in " in str(learner.explain())


def test_a_restored_learner_explains_the_same() -> None:
    learner = Turncoat(ARMS, seed=3)
    game(learner, ["green", "blue"], 300)
    again = Turncoat._from_state(json.loads(json.dumps(learner.state())))
    assert again.explain() == learner.explain()


def test_explaining_changes_nothing_but_scratch() -> None:
    learner = Turncoat(ARMS, seed=3)
    game(learner, ["green", "blue"], 100)
    before = [np.array(field) for _, field in learner.view().items()]
    str(learner), str(learner.explain()), learner.certificate(2), learner.believed
    for (name, field), old in zip(learner.view().items(), before, strict=True):
        assert name == "chance" or np.array_equal(field, old), name


# -- the vote -------------------------------------------------------------------------------------------------------


def arms_believed(learner: Turncoat) -> list[tuple[int, int]]:
    return [(int(since), int(arm)) for since, arm, _ in learner.believed]


def test_an_arm_is_believed_after_enough_votes_and_not_before() -> None:
    learner = Turncoat(3)
    vote(learner, 1, int(ENOUGH) - 1)
    assert arms_believed(learner) == []
    vote(learner, 1, 1)
    assert arms_believed(learner) == [(FIRST, 1)]
    vote(learner, 2, 2 * int(ENOUGH) - 1)
    assert len(arms_believed(learner)) == 1


def test_a_switch_is_dated_to_the_last_round_without_doubt() -> None:
    learner = Turncoat(3)
    vote(learner, 1, 500)
    for _ in range(10):  # no arm has a majority
        vote(learner, 0, 3)
        vote(learner, 2, 3)
    vote(learner, 2, TURN)
    assert arms_believed(learner) == [(FIRST, 1), (500, 2)]


def test_flicker_is_no_switch() -> None:
    learner = Turncoat(3)
    vote(learner, 1, 500)
    for _ in range(50):
        vote(learner, 0, 30)
        vote(learner, 1, 31)
    assert arms_believed(learner) == [(FIRST, 1)]


def test_a_hasty_belief_leaves_nothing_behind() -> None:
    learner = Turncoat(3)
    vote(learner, 1, 500)
    before = learner.believed[0, 2]
    vote(learner, 0, TURN + 5)  # believed, but for a few rounds only
    assert len(arms_believed(learner)) == 2
    vote(learner, 1, TURN)
    assert arms_believed(learner) == [(FIRST, 1)]
    assert before == learner.believed[0, 2] == 1.0
    vote(learner, 0, TURN + 5)
    vote(learner, 2, TURN)  # and on to a third one
    assert arms_believed(learner) == [(FIRST, 1), (505 + 2 * TURN, 2)]
    assert learner.explain().n_switches == 1


def test_a_first_belief_that_was_hasty_is_replaced() -> None:
    learner = Turncoat(3)
    vote(learner, 1, int(HASTY))
    vote(learner, 0, 2 * int(ENOUGH))
    assert arms_believed(learner) == [(int(HASTY) + 2 * int(ENOUGH) - 1, 0)]
    assert learner.explain().switches == ()


def test_sure_is_the_mean_probability_while_believed() -> None:
    learner = Turncoat(2)
    vote(learner, 1, int(ENOUGH) + 8)  # 8 rounds after it was believed
    vote(learner, 1, 24, q=0.6)
    assert learner.believed[0, 2] == pytest.approx((8 * 1.0 + 24 * 0.6) / 32)


def test_as_many_beliefs_as_fit_are_kept_and_all_are_counted() -> None:
    learner, n = Turncoat(3), BELIEFS + 10
    size = learner.view().beliefs.size
    for i in range(n):
        vote(learner, i % 3, 300)
    told = learner.explain()
    assert told.n_switches == n - 1
    assert len(told.switches) == BELIEFS - 1
    assert [s.to for s in told.switches] == [i % 3 for i in range(n - BELIEFS + 1, n)]
    assert "the last 63" in str(told)
    assert learner.view().beliefs.size == size


def test_undoing_at_the_edge_of_memory_shows_nothing_twice() -> None:
    learner, n = Turncoat(3), BELIEFS + 3
    for i in range(n):
        vote(learner, i % 2, 300)
    vote(learner, 2, TURN + 5)
    vote(learner, (n - 1) % 2, TURN)  # back to the last one: a place is free, and the oldest was overwritten
    rows = arms_believed(learner)
    assert len(rows) == BELIEFS - 1
    assert [arm for _, arm in rows] == [i % 2 for i in range(n - BELIEFS + 1, n)]
    assert rows == sorted(rows)


def test_belief_in_a_retired_arm_ends() -> None:
    learner = Turncoat(ARMS)
    vote(learner, 1, 300)
    assert learner.explain().best == "green"
    state = learner.view()
    state.place[1] = -1.0
    told = learner.explain()
    assert (told.best, told.since, told.sure, told.retired) == (None, None, None, ("green",))
    assert "Retired: green." in str(told) and "in no arm now; " in str(told)
    assert "3 arms, 1 of them retired" in str(learner)
    vote(learner, 2, TURN)
    told = learner.explain()
    assert told.best == "blue"
    assert [(s.when, s.left, s.to) for s in told.switches] == [(300, "green", "blue")]


def test_an_arm_that_is_alone_is_believed_in() -> None:
    learner = Turncoat(["only"], seed=1)
    for _ in range(60):
        learner.tell(learner.ask(), loss=0.5)
    assert (learner.explain().best, learner.explain().sure) == ("only", 1.0)


def test_arms_that_come_and_go_are_told() -> None:
    learner = Turncoat(ARMS, seed=3)
    game(learner, ["green", "blue"], 600)
    (_, n_restarts, restarted) = learner.explain().restarts[0]
    assert n_restarts >= 1 and restarted is not None and 600 <= restarted < 700
    learner.add_arm("white")
    learner.retire_arm("blue")
    told = learner.explain()
    assert (told.best, told.arms, told.retired) == (None, (*ARMS, "white"), ("blue",))
    assert told.restarts[0][1:] == (n_restarts, restarted)  # a new arm is no restart
    game(learner, ["white"], 600)
    told = learner.explain()
    assert (told.best, told.switches[-1].left, told.switches[-1].to) == ("white", "blue", "white")
    assert 1200 <= told.switches[-1].when < 1300
    assert told.pages[-1].last == told.rounds == 1800
    assert all(base.arm != "blue" for base in told.bases)


def test_an_unknown_range_is_no_obstacle() -> None:
    learner = Turncoat(2, seed=1, loss_range="adaptive")
    assert str(learner)
    for _ in range(100):
        decision = learner.ask()
        learner.tell(decision, loss=-5.0 if decision.index else 80.0)
    assert "a mean loss of -5 in " in str(learner.explain())


# -- the history ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 63, 64, 65, 128, 129, 10_000])
def test_the_diary_keeps_every_round_in_few_pages(rounds: int) -> None:
    learner = Turncoat(3)
    write_in_turn(learner.view(), rounds)
    pages = learner.explain().pages
    assert 0 < len(pages) <= PAGES
    assert (pages[0].first, pages[-1].last) == (0, rounds)
    chosen = np.sum([np.array(page.shares) * (page.last - page.first) for page in pages], axis=0)
    assert chosen == pytest.approx([(rounds + 2 - k) // 3 for k in range(3)])
    assert len({page.last - page.first for page in pages[:-1]}) <= 1


# -- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1e-5, "< 0.1 %"), (0.004, "0.4 %"), (0.5, "50 %"), (0.9999, "99.9 %"), (1.0, "100 %")],
)
def test_shares_in_words(share: float, text: str) -> None:
    assert percent(share) == text


def test_names_of_arms_fit_a_line() -> None:
    assert arm_name(3) == "arm 3"
    assert arm_name("a\nb\tc") == "a b c"
    assert arm_name(" ") == "' '"
    assert arm_name("x" * 50) == "x" * 17 + "..."


def test_many_arms_are_summed_up() -> None:
    learner = Turncoat(50, seed=1)
    for _ in range(300):
        learner.tell(learner.ask(), loss=0.5)
    assert any(line.split("|")[0].strip() == "others" for line in str(learner).splitlines())
    assert len(str(learner.explain()).splitlines()) < 40
