"""Who plays: all of the bandit group, no setting twice, and told what they should be told."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pytest

import turncoat as tc
from experiments.players import GRID, OURS, RIVALS, Scaled, players, words_of
from turncoat.errors import OptionError
from turncoat.learners.entries import ENTRIES, learner_of, told


def test_all_of_the_bandit_group_and_nobody_who_sees_more() -> None:
    for name, maker in ENTRIES.items():
        ours = getattr(learner_of(maker), "__name__", "") in ("Turncoat", "Band")
        sees_more = "sees all" in name or "dlinucb" in name
        assert (name in RIVALS) == (not sees_more and not ours), name


def test_no_setting_is_there_twice() -> None:
    words = [player.words for player in (*OURS.values(), *RIVALS.values(), *GRID.values())]
    assert len(set(words)) == len(words)


def test_everyone_can_be_made_told_switches_or_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TuningWarning)
        for player in (*RIVALS.values(), *GRID.values(), OURS["stand-in"]):
            for n_switches in (None, 0, 7):
                assert player.make(3, 1000, n_switches, 1).n_arms == 3


def test_turncoat_can_be_told_the_horizon() -> None:
    """Its rates were set by a kernel that only compiled code may call: Python crashed."""
    state = OURS["turncoat, told T"].make(3, 1000, None, 1).view()
    assert state.guess[0] == 1000.0
    assert state.floors[0] == pytest.approx(0.001 / 9)


def test_rivals_are_told_the_planted_switches_if_they_can_use_them() -> None:
    assert RIVALS["exp3.s, told S"].make(3, 1000, 7, 1).n_switches == 7
    assert RIVALS["exp3.s"].make(3, 1000, 7, 1).n_switches is None


@pytest.mark.parametrize(("factor", "planted", "heard"), [(4.0, 7, 28), (0.25, 8, 2), (0.25, 0, 1), (4.0, 500, 999)])
def test_scaled_switches(factor: float, planted: int, heard: int) -> None:
    def maker(arms: Any, horizon: int, *, n_switches: int) -> int:
        return n_switches

    assert Scaled(maker, factor)(3, 1000, n_switches=planted) == heard


def test_words_tell_makers_apart() -> None:
    assert words_of(told(partial(tc.GLRklUCB, restart="local", exploration=0.1))) == (
        "told GLRklUCB exploration=0.1 restart=local"
    )
    assert words_of(told(Scaled(tc.Exp3S, 4.0))) == "told 4× S Exp3S"


def test_results_of_ours_belong_to_the_sources() -> None:
    assert OURS["stand-in"].key.endswith(f"@ {OURS['turncoat'].key.rpartition(' @ ')[2]}")
    assert RIVALS["exp3"].key == f"Exp3 @ {tc.__version__}"


def test_players_by_name_and_group_each_once() -> None:
    found = [player.name for player in players(["stand-in", "exp3", "rivals", "exp3"])]
    assert found[0] == "stand-in" and len(found) == len(set(found)) == 1 + len(RIVALS)
    assert "stand-in" not in [player.name for player in players(["ours"])]
    with pytest.raises(OptionError, match="exp33"):
        players(["exp33"])
