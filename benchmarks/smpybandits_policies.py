"""Time policies of SMPyBandits: a plain loop of choice and getReward on Bernoulli arms. Run by a Python that has it.

`python smpybandits_policies.py '{"means": […], "horizon": …, "seconds": …, "policies": {"Exp3": {"gamma": …}}}'` prints
the nanoseconds per round of every policy as JSON, or what went wrong with it. The means are those of rewards. A policy
plays its whole horizon, or as much of it as the seconds allow: who slows down as it goes on gains by that.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "agg"  # it imports matplotlib, and here is no screen


def ns_per_round(policy: Any, means: list[float], horizon: int, budget: float) -> float:
    """Play on until the horizon or the budget of seconds is reached."""
    coins = random.Random(0)
    policy.startGame()
    began = time.perf_counter()
    took, t = 0.0, 0
    while t < horizon and took < budget:
        for _ in range(min(20, horizon - t)):
            arm = policy.choice()
            policy.getReward(arm, 1.0 if coins.random() < means[arm] else 0.0)
            t += 1
        took = time.perf_counter() - began
    return took / t * 1e9


def main() -> None:
    """Play every policy, the first rounds of the first one not counted."""
    words = json.loads(sys.argv[1])
    found: dict[str, float | str] = {}
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):  # it tells much
        warnings.simplefilter("ignore")
        from SMPyBandits import Policies

        def play(name: str, params: dict[str, Any], budget: float) -> float:
            params = {word: children(Policies, value) for word, value in params.items()}
            policy = getattr(Policies, name)(len(words["means"]), **params)
            return ns_per_round(policy, words["means"], words["horizon"], budget)

        for name, params in words["policies"].items():
            try:
                play(name, params, 0.05)
                found[name] = play(name, params, words["seconds"])
            except Exception as problem:  # whatever it is: it is said, and the rest goes on
                found[name] = f"{type(problem).__name__}: {problem}"
    print(json.dumps(found))


def children(policies: Any, value: Any) -> Any:
    """A list of names stands for the policies of these names, as its CORRAL wants them."""
    if not isinstance(value, list):
        return value
    return [{"archtype": getattr(policies, name), "params": {}} for name in value]


if __name__ == "__main__":
    main()
