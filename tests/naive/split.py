"""What every base of a master loses on average, added up round by round while the oracle is told a recorded game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.naive.driver import Round, Row, tell
from tests.naive.masters import Master
from tests.naive.solve import REAL, floats, reals


def base_losses(oracle: Master, rounds: Iterable[Round], losses: Iterable[Row]) -> Iterator[list[float]]:
    """After each round: for every base h the sum so far of <p_h, row>, p_h as it stood when the arm was drawn."""
    totals = reals([0.0] * oracle.H)
    for one, row in zip(rounds, losses, strict=True):
        for h, base in enumerate(oracle.arms):
            totals[h] += sum(p * REAL(loss) for p, loss in zip(base.served(), row, strict=True))
        yield floats(totals)
        tell(oracle, one)
