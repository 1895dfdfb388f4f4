"""`python -m tests.chaos`: kill the service, its applier and its database again and again under load; count losses.

Prints a table; exits with 1 if anything was lost, doubled or otherwise wrong, or could not be done.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from tests.chaos import campaign
from tests.chaos.broken import BREAKAGES
from tests.chaos.campaign import Outcome, Plan
from tests.chaos.report import show
from tests.service.postgres_server import PostgresMissingError, programs

FULL = (
    Plan("service", "sqlite", 50),
    Plan("service", "postgres", 50),
    Plan("postgres", "postgres", 10),
    Plan("applier", "postgres", 100),
)


def main() -> int:
    """Do what the arguments ask for."""
    signal.signal(signal.SIGTERM, _end)  # so that what was started is ended then too
    arguments = _arguments()
    plans = [
        plan._replace(
            kills=plan.kills if arguments.kills is None else arguments.kills,
            seed=arguments.seed,
            broken=arguments.broken,
        )
        for plan in FULL
        if arguments.what in (plan.target, "all") and arguments.store in (plan.store, "both")
    ]
    if not plans:
        print(f"--what {arguments.what} is killed on PostgreSQL only")
        return 2
    if any(plan.store == "postgres" for plan in plans):
        try:
            programs()
        except PostgresMissingError as why:
            print(why)
            return 2
    outcomes: list[Outcome] = []
    for plan in plans:
        outcomes.append(campaign.run(plan, _progress(plan)))
        print()
    text = show(outcomes)
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    return int(any(outcome.verdict.violations for outcome in outcomes))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, help="of each kind (full: 50 of the service, 10 of PostgreSQL, 100 ...)")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--what", choices=["service", "applier", "postgres", "all"], default="all")
    parser.add_argument("--seed", type=int, default=1, help="of what clients do and when kills come")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table there")
    parser.add_argument("--broken", choices=sorted(BREAKAGES), help="break the service on purpose: it must be found")
    return parser.parse_args()


def _progress(plan: Plan) -> campaign.Progress:
    def say(done: int, ready: float) -> None:
        line = f"kill -9 of {plan.target} on {plan.store}: {done} of {plan.kills}, ready again after {ready:.2f} s"
        print(line, end="\r" if sys.stdout.isatty() and done < plan.kills else "\n", flush=True)

    return say


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
