"""Turncoat: bandits whose best arm keeps changing.

    import turncoat as tc

    learner = tc.Turncoat(["red", "green", "blue"], seed=7)
    decision = learner.ask()
    learner.tell(decision, loss=0.3)

Lazy imports: a name is imported when it is first used, so that `import turncoat` takes a millisecond or two.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turncoat._version import __version__

if TYPE_CHECKING:
    from turncoat import environments as environments
    from turncoat import errors as errors
    from turncoat.bounds import Bound as Bound
    from turncoat.bounds import theorem_1 as theorem_1
    from turncoat.bounds import theorem_2 as theorem_2
    from turncoat.bounds import turncoat_bound as turncoat_bound
    from turncoat.decision import Decision as Decision
    from turncoat.errors import HorizonError as HorizonError
    from turncoat.errors import HorizonWarning as HorizonWarning
    from turncoat.errors import TuningWarning as TuningWarning
    from turncoat.errors import TurncoatError as TurncoatError
    from turncoat.errors import TurncoatWarning as TurncoatWarning
    from turncoat.learners import *  # noqa: F403
    from turncoat.racing import Result as Result
    from turncoat.racing import race as race
    from turncoat.racing import told as told
    from turncoat.regret import best_point_losses as best_point_losses
    from turncoat.regret import best_switching_losses as best_switching_losses
    from turncoat.regret import best_switching_path as best_switching_path
    from turncoat.regret import path_regret as path_regret
    from turncoat.regret import switching_regret as switching_regret
    from turncoat.simulate import compile as compile  # noqa: A004
    from turncoat.simulate import play as play
    from turncoat.simulate import play_points as play_points

# Written by `make generated`.
_LEARNERS = """
AdSwitch AdaptiveMasterBase Band BanditOverBandit CBCE ClippedOMD Corral DLinUCB DiscountedThompson DiscountedUCB Exp3
Exp3IX Exp3P Exp3R Exp3S Exp3SIX FixedShare FullInformationLearner GLRklUCB Hedge KLUCB Learner MasterBase MasterUCB
Meta MonitoredUCB RestartedExp3 SAOL SlidingWindowUCB StochasticCorral SwitchingLinear ThompsonSampling TsallisINF
Turncoat UCB1 Uniform restore
"""
_HOME = {
    "environments": "",
    "errors": "errors HorizonError HorizonWarning TuningWarning TurncoatError TurncoatWarning",
    "bounds": "Bound theorem_1 theorem_2 turncoat_bound",
    "learners": _LEARNERS,
    "racing": "Result race told",
    "regret": "best_point_losses best_switching_losses best_switching_path path_regret switching_regret",
    "simulate": "compile play play_points",
    "decision": "Decision",
}
_HOME_OF = {name: module for module, names in _HOME.items() for name in names.split() or [module]}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604


if not TYPE_CHECKING:  # a type checker would take every name for granted

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'turncoat' has no attribute {name!r}")
        module = import_module(f"turncoat.{_HOME_OF[name]}")
        value = getattr(module, name, module)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
