"""`python -m experiments late`: the same games with losses told at other times, and who is met in them."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from experiments.games import draw
from experiments.late import BATCH_RIVAL, LATE_RIVALS, ab_tests, base_games, late_games, parts, rows_of
from experiments.players import players
from experiments.playing import missing, play_once, title
from experiments.store import Line, Store

HORIZON = 400


def test_a_retimed_game_has_the_same_layout_and_losses() -> None:
    (game,) = [game for game in draw("tune", 14, HORIZON, 7) if game.shape == "flips"]
    late = game.retimed(100, 1)
    assert (late.delay, late.batch, late.retimed(10, 5).name.count(" · ")) == (100, 1, 1)
    for rep in (0, 1):
        ours, theirs = (one.make(rep).losses_block(0, HORIZON) for one in (game, late))
        assert np.array_equal(ours, theirs) and game.planted(rep, game.make(rep)) == late.planted(rep, late.make(rep))
        assert game.seed(rep, 2).entropy == late.seed(rep, 2).entropy
    assert title(game) != title(late)


def test_restricted_games_and_ab_tests_are_no_late_games() -> None:
    games = draw("tune-2", 28, HORIZON, 7)
    base = base_games("tune-2", 28, HORIZON, 7)
    assert {game.shape for game in games} - {game.shape for game in base} == {"open-resampled", "open-levels"}
    found = late_games(base, 10)
    assert {game.shape for game in base} - {game.shape for game in found} == {"ab-gap"}
    assert {(game.delay, game.batch) for game in found} == {(10, 1)}


def test_ab_tests_are_told_in_batches_and_there_are_as_many_as_asked_for() -> None:
    found = ab_tests("test-2", 3, HORIZON, 999, 50)
    assert len(found) == 3 and {(game.shape, game.delay, game.batch) for game in found} == {("ab-rates", 0, 50)}
    assert ab_tests("tune", 3, HORIZON, 999, 50) == []


def words(**more: object) -> argparse.Namespace:
    found = {"family": "tune-2", "games": 4, "horizon": [HORIZON], "seed": 7, "delays": [0, 20], "batches": [1, 50]}
    return argparse.Namespace(**{**found, **more})


def test_there_is_a_part_per_delay_and_per_batch() -> None:
    found = parts(words())
    assert [part.label for part in found] == [
        *(f"T=400 delay {delay}" for delay in (0, 20)),
        *(f"T=400 batch {batch}" for batch in (1, 50)),
    ]
    assert [[rival.name for rival in part.rivals] for part in found] == [[*LATE_RIVALS]] * 2 + [[BATCH_RIVAL]] * 2


def test_a_row_compares_with_the_better_rival_and_names_the_worst_game() -> None:
    """r0 = 10 for four arms: 30/20 against the better rival in one game and 30/30 in the other; batches have one."""
    (part, *_) = parts(words(games=2))
    part.games = [game._replace(n_arms=4) for game in part.games]
    rules = players(["turncoat"])
    regrets = {rules[0].key: (20.0, 20.0), part.rivals[0].key: (10.0, 50.0), part.rivals[1].key: (90.0, 20.0)}
    lines = [
        Line(key, "", title(game), HORIZON, rep, found[i], 0.0)
        for key, found in regrets.items()
        for i, game in enumerate(part.games)
        for rep in (0, 1)
    ]
    ((label, rule, mean, worst, low, game, beside),) = rows_of(part, rules, lines)
    assert (label, rule, worst, low, beside) == (part.label, "turncoat", "1.50", "1.50", "")
    assert mean.startswith("1.22") and game == part.games[0].untimed and "delay" not in game


@pytest.mark.parametrize(("delay", "batch"), [(30, 1), (0, 40)])
def test_rivals_and_turncoat_play_late_games_to_the_end(tmp_path: Path, delay: int, batch: int) -> None:
    (game,) = [game for game in draw("tune", 14, HORIZON, 7) if game.shape == "flips"]
    game = game.retimed(delay, batch)
    who = players(["turncoat", BATCH_RIVAL])
    with Store(tmp_path / "x.jsonl") as store:
        for piece in missing(store, [game], 1, who):
            environment = game.make(0)
            for player in piece.players:
                store.add(play_once(player, game, 0, environment, game.planted(0, environment)))
        assert not missing(store, [game], 1, who)
