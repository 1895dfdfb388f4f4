"""Time SMPyBandits: its Exp3 in its own Evaluator, on Bernoulli arms. Run by a Python that has it.

`python smpybandits_player.py '{"means": […], "gamma": …, "horizon": …}'` prints the seconds of one game; the means are
those of rewards.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"  # it imports matplotlib, and here is no screen


def main() -> None:
    """Play, after a short game that is not counted."""
    words = json.loads(sys.argv[1])
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):  # it tells much
        warnings.simplefilter("ignore")
        from SMPyBandits.Arms import Bernoulli
        from SMPyBandits.Environment import Evaluator
        from SMPyBandits.Policies import Exp3

        def play(horizon: int) -> float:
            began = time.perf_counter()
            configuration = {
                "horizon": horizon,
                "repetitions": 1,
                "n_jobs": 1,
                "verbosity": 0,
                "environment": [{"arm_type": Bernoulli, "params": words["means"]}],
                "policies": [{"archtype": Exp3, "params": {"gamma": words["gamma"]}}],
            }
            Evaluator(configuration).startAllEnv()
            return time.perf_counter() - began

        play(100)
        took = play(words["horizon"])
    print(took)


if __name__ == "__main__":
    main()
