"""Numbers and tables of the experiments, on regrets made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.boards import board_of, certified
from experiments.games import draw
from experiments.numbers import Board, Span, against_best, against_picked, best_of, geometric, mean, ratio
from experiments.players import OURS, RIVALS
from experiments.playing import title
from experiments.promises import TOLD_T, Target, certificates, targets
from experiments.store import Line
from experiments.tables import by_game, by_rank, leaderboard, show_targets
from turncoat.errors import OptionError

GAMES = [game._replace(n_arms=4) for game in draw("tune", 2, 10_000, 0)]  # r0 = 50
T_975 = 12.706204736  # Student's t with one degree of freedom
RIVAL, TOLD = "exp3", "exp3.s, told S"
BOARD = Board(
    GAMES,
    ["mine", RIVAL, TOLD],
    np.array([[[100.0, 100.0], [150.0, 250.0], [450.0, 450.0]], [[250.0, 250.0], [350.0, 350.0], [90.0, 110.0]]]),
)


def test_ratio_of_means_with_the_offset() -> None:
    assert ratio(np.array([90.0, 110.0]), np.array([200.0, 300.0]), 50.0).value == pytest.approx(150 / 300)


def test_regret_below_zero_counts_as_none() -> None:
    assert ratio(np.array([-300.0, -100.0]), np.array([50.0, 50.0]), 50.0) == pytest.approx((0.5, 0.5, 0.5))


def test_interval_of_a_ratio_by_hand() -> None:
    """Two repetitions that differ by 20 in mine alone: the error of the mean is 10, that of the logarithm 10/150."""
    span = ratio(np.array([90.0, 110.0]), np.array([100.0, 100.0]), 50.0)
    assert math.log(span.high) == pytest.approx(T_975 * 10 / 150)
    assert math.log(span.low) == pytest.approx(-T_975 * 10 / 150)


def test_what_both_met_alike_drops_out() -> None:
    span = ratio(np.array([90.0, 110.0]), np.array([90.0, 110.0]), 50.0)
    assert span == pytest.approx((1.0, 1.0, 1.0))


def test_geometric_mean_and_its_interval_over_games() -> None:
    span = geometric([0.5, 2.0])
    assert span.value == pytest.approx(1.0)
    assert math.log(span.high) == pytest.approx(T_975 * math.log(2.0))


def test_one_repetition_has_a_mean_and_no_interval() -> None:
    assert mean(np.array([3.0])) == Span(3.0, -math.inf, math.inf)
    assert ratio(np.array([100.0]), np.array([100.0]), 50.0) == Span(1.0, 0.0, math.inf)


def test_the_best_rival_is_another_one_in_every_game() -> None:
    assert best_of(BOARD, [RIVAL, TOLD]) == [RIVAL, TOLD]
    values = [span.value for span in against_best(BOARD, "mine", [RIVAL, TOLD])]
    assert values == pytest.approx([150 / 250, 300 / 150])


def test_a_rival_picked_by_one_half_is_met_in_the_other() -> None:
    """Each rival is lucky once: in hindsight the best has 100, picked by the other half it has 300."""
    regrets = np.array([[[100.0, 100.0], [0.0, 300.0], [301.0, 0.0]]])
    board = Board(GAMES[:1], ["mine", RIVAL, TOLD], regrets)
    assert against_picked(board, "mine", [RIVAL, TOLD]) == pytest.approx([math.sqrt(150 / 350 * 150 / 351)])


def test_targets_by_hand() -> None:
    found = {target.promise: target for target in targets([BOARD], "mine")}
    whole = found["geometric mean against the best rival of each game"]
    assert whole.measured.value == pytest.approx(math.sqrt(0.6 * 2.0)) and whole.verdict == "NOT reached"
    worst = found["worst game against its best rival"]
    assert (
        worst.measured.value == pytest.approx(2.0)
        and worst.verdict == "reached"
        and worst.note.endswith(GAMES[1].label)
    )
    told = found["geometric mean against exp3.s, told S"]
    assert told.measured.value == pytest.approx(math.sqrt(150 / 500 * 300 / 150)) and told.limit == 0.3
    rank = found["mean rank at T = 10,000, at most the best rival's"]
    assert (rank.measured.value, rank.limit, rank.verdict) == (1.5, 2.0, "reached")


def test_worse_than_a_master_counts_the_upper_end() -> None:
    board = Board(GAMES[:1], ["mine", "adaptive-master-base"], np.array([[[60.0, 80.0], [100.0, 100.0]]]))
    found = {target.promise: target for target in targets([board], "mine")}
    target = found["no game worse than adaptive-master-base"]
    assert target.measured.value == pytest.approx(120 / 150 * math.exp(T_975 * 10 / 120))
    assert target.verdict == "NOT reached"


def test_the_version_told_the_horizon_is_no_rival() -> None:
    board = Board(GAMES[:1], ["mine", TOLD_T, RIVAL], np.array([[[100.0, 100.0], [50.0, 50.0], [250.0, 250.0]]]))
    found = {target.promise: target.measured.value for target in targets([board], "mine", (), [TOLD_T])}
    assert found["geometric mean against the best rival of each game"] == pytest.approx(0.5)
    assert found["geometric mean against turncoat, told T"] == pytest.approx(1.5)


def test_leaderboard_by_mean_rank() -> None:
    lines = leaderboard(BOARD, "mine", [RIVAL, TOLD]).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| **mine**", f"| {TOLD}", f"| {RIVAL}"]
    assert lines[2].split(" | ")[1] == "1.50 (1.50–1.50)"
    assert by_rank(BOARD, [RIVAL, TOLD]) == [RIVAL, TOLD]


def test_a_line_for_every_game() -> None:
    lines = by_game(BOARD, "mine", [RIVAL, TOLD]).splitlines()
    assert len(lines) == 4
    assert lines[2].startswith(f"| {GAMES[0].label} | 100 ± 0 | {RIVAL} | 200 ± 635 | 0.60 (")


def test_what_has_no_limit_is_shown_beside() -> None:
    shown = show_targets([Target("a", Span(1.0, 0.5, 2.0), math.nan), Target("b", Span(1.0, 0.5, 2.0), 0.9, "why")])
    assert shown.splitlines()[2:] == [
        "| a | 1.00 (0.50–2.00) |  | beside |  |",
        "| b | 1.00 (0.50–2.00) | ≤ 0.90 | NOT reached | why |",
    ]


def lines_of(player: str, key: str, reps: list[int], value: float) -> list[Line]:
    return [Line(key, player, title(game), 10_000, rep, value, 0.0) for game in GAMES for rep in reps]


def test_a_board_has_what_all_have_played() -> None:
    mine, rival, absent = OURS["stand-in"], RIVALS["exp3"], RIVALS["uniform"]
    stored = lines_of(mine.name, mine.key, [0, 1, 2], 1.0) + lines_of(rival.name, rival.key, [0, 1, 3], 2.0)
    stored += lines_of(absent.name, absent.key, [0], 3.0)[:1]
    board = board_of(stored, GAMES, [mine, rival, absent], mine.name)
    assert board.players == ["stand-in", "exp3"]
    assert board.regrets.tolist() == [[[1.0, 1.0], [2.0, 2.0]]] * 2
    with pytest.raises(OptionError, match="uniform"):
        board_of(stored, GAMES, [mine, rival, absent], absent.name)


def test_results_of_these_sources_come_before_older_ones_and_those_before_none() -> None:
    mine = OURS["stand-in"]
    old = lines_of(mine.name, f"{mine.words} @ old", [0], 7.0)
    new = lines_of(mine.name, mine.key, [0], 1.0)
    assert board_of(new + old, GAMES, [mine], mine.name).of(mine.name).tolist() == [[1.0], [1.0]]
    assert board_of(old, GAMES, [mine], mine.name).of(mine.name).tolist() == [[7.0], [7.0]]


def test_regret_is_held_against_its_certificate() -> None:
    mine = OURS["stand-in"]
    pairs = [(90.0, 200.0), (110.0, 200.0)]
    stored = [
        Line(mine.key, mine.name, title(GAMES[0]), 10_000, rep, regret, 0.0, bound)
        for rep, (regret, bound) in enumerate(pairs)
    ]
    spans = certified(stored, GAMES, mine)
    assert len(spans) == 1 and spans[0].value == pytest.approx(0.5)
    worst, whole = certificates(spans)
    assert worst.measured.value == pytest.approx(0.5 * math.exp(T_975 * 10 / 100)) and worst.verdict == "NOT reached"
    assert whole.measured.value == pytest.approx(0.5)
    assert certificates([]) == []
