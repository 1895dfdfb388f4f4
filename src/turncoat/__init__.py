"""Turncoat makes decisions in a world that keeps changing its mind.

    import turncoat as tc

    learner = tc.Turncoat(["red", "green", "blue"], seed=7)
    decision = learner.ask()
    learner.tell(decision, loss=0.3)

Names are imported when first used, so that `import turncoat` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turncoat._version import __version__

if TYPE_CHECKING:
    from turncoat import environments, errors
    from turncoat.bounds import Bound, theorem_1, theorem_2
    from turncoat.errors import HorizonError, HorizonWarning, TuningWarning, TurncoatError, TurncoatWarning
    from turncoat.learners import (
        CBCE,
        KLUCB,
        SAOL,
        UCB1,
        AdaptiveMasterBase,
        AdSwitch,
        Band,
        BanditOverBandit,
        ClippedOMD,
        Corral,
        DiscountedThompson,
        DiscountedUCB,
        DLinUCB,
        Exp3,
        Exp3IX,
        Exp3P,
        Exp3R,
        Exp3S,
        Exp3SIX,
        FixedShare,
        FullInformationLearner,
        GLRklUCB,
        Hedge,
        Learner,
        MasterBase,
        MasterUCB,
        Meta,
        MonitoredUCB,
        RestartedExp3,
        SlidingWindowUCB,
        StochasticCorral,
        SwitchingLinear,
        ThompsonSampling,
        TsallisINF,
        Turncoat,
        Uniform,
        restore,
    )
    from turncoat.points import play_points
    from turncoat.racing import Result, race, told
    from turncoat.regret import (
        best_point_losses,
        best_switching_losses,
        best_switching_path,
        path_regret,
        switching_regret,
    )
    from turncoat.simulate.loop import play
    from turncoat.types import Decision

_HOME = {
    "environments": "",
    "errors": "errors HorizonError HorizonWarning TuningWarning TurncoatError TurncoatWarning",
    "bounds": "Bound theorem_1 theorem_2",
    "learners": "AdSwitch AdaptiveMasterBase Band BanditOverBandit CBCE ClippedOMD Corral DLinUCB DiscountedThompson "
    "DiscountedUCB Exp3 Exp3IX Exp3P Exp3R Exp3S Exp3SIX FixedShare FullInformationLearner GLRklUCB "
    "Hedge KLUCB Learner MasterBase MasterUCB Meta MonitoredUCB RestartedExp3 SAOL "
    "SlidingWindowUCB StochasticCorral SwitchingLinear ThompsonSampling TsallisINF Turncoat UCB1 "
    "Uniform restore",
    "simulate.loop": "play",
    "points": "play_points",
    "racing": "Result race told",
    "regret": "best_point_losses best_switching_losses best_switching_path path_regret switching_regret",
    "types": "Decision",
}
_HOME_OF = {name: module for module, names in _HOME.items() for name in names.split() or [module]}

__all__ = [
    "AdSwitch",
    "AdaptiveMasterBase",
    "Band",
    "BanditOverBandit",
    "Bound",
    "CBCE",
    "ClippedOMD",
    "Corral",
    "DLinUCB",
    "Decision",
    "DiscountedThompson",
    "DiscountedUCB",
    "Exp3",
    "Exp3IX",
    "Exp3P",
    "Exp3R",
    "Exp3S",
    "Exp3SIX",
    "FixedShare",
    "FullInformationLearner",
    "GLRklUCB",
    "Hedge",
    "HorizonError",
    "HorizonWarning",
    "KLUCB",
    "Learner",
    "MasterBase",
    "MasterUCB",
    "Meta",
    "MonitoredUCB",
    "RestartedExp3",
    "Result",
    "SAOL",
    "SlidingWindowUCB",
    "StochasticCorral",
    "SwitchingLinear",
    "ThompsonSampling",
    "TsallisINF",
    "TuningWarning",
    "Turncoat",
    "TurncoatError",
    "TurncoatWarning",
    "UCB1",
    "Uniform",
    "__version__",
    "best_point_losses",
    "best_switching_losses",
    "best_switching_path",
    "environments",
    "errors",
    "path_regret",
    "play",
    "play_points",
    "race",
    "restore",
    "switching_regret",
    "theorem_1",
    "theorem_2",
    "told",
]


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
