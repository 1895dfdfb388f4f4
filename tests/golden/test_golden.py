"""Golden arms: a change of rule, of random numbers or of their order shows here at once, whether it was meant or not.

They were made on one machine (named in the file); on another libm a difference may be one of rounding. After a change
that is meant: `python -m tests.golden anew`. Arms of a new learner: `make generated`.
"""

from __future__ import annotations

import json

import pytest

from tests.contract.makers import EVERYONE, Maker
from tests.golden.games import FILE, ROUNDS, SEEDS, games, made_on

GOLDEN = json.loads(FILE.read_text())


@pytest.mark.parametrize("name, make", EVERYONE, ids=[name for name, _ in EVERYONE])
def test_the_arms_are_those_of_the_golden_file(name: str, make: Maker) -> None:
    played = games(make)
    for seed, arms in GOLDEN["arms"][name].items():
        first = next((t for t in range(ROUNDS) if arms[t] != played[seed][t]), None)
        assert first is None, f"seed {seed}: round {first} differs; made on {GOLDEN['made_on']}, here {made_on()}"


def test_the_file_has_every_learner_and_seed() -> None:
    assert set(GOLDEN["arms"]) == {name for name, _ in EVERYONE}, "make generated"
    for name, by_seed in GOLDEN["arms"].items():
        assert set(by_seed) == {str(seed) for seed in SEEDS}
        if name != "ad-switch":  # it draws only to look at an arm again, hardly ever in so short a game
            assert len(set(by_seed.values())) == len(SEEDS)
        assert all(len(arms) == ROUNDS and len(set(arms)) > 1 for arms in by_seed.values())
