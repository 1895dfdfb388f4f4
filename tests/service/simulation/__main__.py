"""python -m tests.service.simulation --seeds 100000: as many simulated worlds as there is patience for."""

from __future__ import annotations

import argparse
import time

from tests.service.simulation.seeds import run


def main() -> None:
    """Run seeds, a thousand at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    arguments = parser.parse_args()
    begun, end = time.monotonic(), arguments.first + arguments.seeds
    for first in range(arguments.first, end, 1000):
        last = min(first + 1000, end)
        tally = run(range(first, last))
        print(f"seeds {first} to {last - 1}: all well; {tally}; {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
