"""How often the intervals of gains hold the truth, and their bias in standard errors, over many runs of every game.

    python -m tests.statistical 1000 [number of a game …]

prints the table of docs/service.md.
"""

from __future__ import annotations

import sys

from tests.statistical.gain_games import GAMES, coverage

n_runs, some = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:]
print("| game | gain over | runs | hold the truth | bias / its error | bias / half width |\n|---|---|---|---|---|---|")
for number, (name, game) in enumerate(GAMES.items()):
    if not some or str(number) in some:
        for rival, one in coverage(game, n_runs, number).items():
            found = f"{one.held} ({one.held / one.runs:.1%}) | {one.bias:+.1f} | {one.error:+.3f}"
            print(f"| {name} | {rival} | {one.runs} | {found} |", flush=True)
