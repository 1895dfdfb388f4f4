"""Validation of what games are made of: arms, rounds, switches, losses and their range, noise, propensities."""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from turncoat.errors import ArmsError, HorizonError, LossError, LossTypeError, OptionError
from turncoat.types import Ints, Label, Vector
from turncoat.validation.numbers import MOST_ROUNDS, is_number, is_whole, parse_between, parse_positive

Noise: TypeAlias = str | float


def parse_arms(arms: int | Sequence[Label]) -> list[Label]:
    """The labels of the arms: 0, 1, … for a count, else the distinct labels given."""
    accepted = "accepted are a count of at least 1 or a list of distinct labels (str or int)"
    if is_whole(arms):
        if arms < 1:  # type: ignore[operator]
            raise ArmsError(f"arms is {arms!r}; {accepted}")
        return list(range(int(arms)))  # type: ignore[arg-type]
    if isinstance(arms, str | bytes | dict | set | frozenset) or not hasattr(arms, "__iter__"):
        raise ArmsError(f"arms is {arms!r}; {accepted}")
    labels: list[Label] = []
    for label in arms:
        if isinstance(label, str):
            labels.append(str(label))
        elif is_whole(label):
            labels.append(int(label))
        else:
            raise ArmsError(f"the label {label!r} is neither str nor int; {accepted}")
    if not labels:
        raise ArmsError(f"there are no arms; {accepted}")
    if len(set(labels)) < len(labels):
        twice = next(label for label, n in Counter(labels).items() if n > 1)
        raise ArmsError(f"the label {twice!r} stands twice; {accepted}")
    return labels


def parse_horizon(horizon: float | None, *, needed_by: str | None) -> int | None:
    """The number of rounds, or None where the learner has an anytime form."""
    if horizon is None:
        if needed_by is not None:
            raise HorizonError(f"{needed_by} has no anytime form: give horizon, the number of rounds, at least 1")
        return None
    if isinstance(horizon, float) and horizon.is_integer():  # 1e6 is what people type
        horizon = int(horizon)
    if not is_whole(horizon) or not 1 <= horizon <= MOST_ROUNDS:
        raise HorizonError(f"horizon is {horizon!r}; accepted is a whole number of rounds, from 1 to 2**53")
    return int(horizon)


def parse_switches(n_switches: int | None, horizon: int) -> int | None:
    """The number of switches of the comparator, or None for "not known"."""
    if n_switches is None:
        return None
    if not is_whole(n_switches) or not 0 <= n_switches < max(horizon, 1):
        raise OptionError(
            f"n_switches is {n_switches!r}; accepted are whole numbers from 0 to horizon - 1 = {horizon - 1}, or None"
        )
    return int(n_switches)


def parse_planted_switches(n_switches: Any, n_arms: int, horizon: int) -> int:
    """The number of switches of the best arm: fewer than there are rounds, and none with a single arm."""
    high = horizon - 1 if n_arms > 1 else 0
    if not is_whole(n_switches) or not 0 <= n_switches <= high:
        raise OptionError(
            f"n_switches is {n_switches!r}; accepted are whole numbers from 0 to horizon - 1 = {horizon - 1} "
            "(0 with a single arm)"
        )
    return int(n_switches)


def parse_range(loss_range: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest loss that can be told."""
    accepted = "accepted is a pair (lowest, highest) of finite numbers, lowest < highest"
    try:
        lowest, highest = loss_range
        low, high = (float(bound) if is_number(bound) else math.nan for bound in (lowest, highest))
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"loss_range is {loss_range!r}; {accepted}") from None
    if not (low < high and math.isfinite(high - low)):
        raise OptionError(f"loss_range is {loss_range!r}; {accepted}")
    return low, high


def parse_propensity(propensity: Any, *, needed: bool) -> float:
    """The probability that a round was served with; 1 if it is not given and not needed."""
    if propensity is None and not needed:
        return 1.0
    return parse_positive("propensity", propensity, 1.0)


def parse_risk(risk: float | None) -> float | None:
    """The probability with which a bound may fail, or None for "not given"."""
    if risk is None:
        return None
    if not is_number(risk) or not 0.0 < risk < 1.0 or not 0.0 < float(risk) < 1.0:  # a fraction may round to 0
        raise OptionError(f"risk is {risk!r}; accepted are numbers above 0 and below 1, or None")
    return float(risk)


def parse_prior(prior: Any) -> float:
    """A number of rounds that every arm starts with; the shapes of Beta laws are at least this."""
    return parse_between("prior", prior, 0.001, 1000.0)


def parse_noise(noise: Any) -> Noise:
    """How losses scatter around their means: "bernoulli" (0 or 1), or how far at most, uniformly, from 0 to 0.5."""
    if isinstance(noise, str) and noise == "bernoulli":
        return noise
    if not is_number(noise) or not 0.0 <= float(noise) <= 0.5:
        raise OptionError(
            f"noise is {noise!r}; accepted are 'bernoulli' (losses 0 or 1) and numbers from 0 (losses are their means) "
            "to 0.5 (losses lie within that distance of their means)"
        )
    return float(noise)


def parse_played(name: str, arms: ArrayLike, n_arms: int, horizon: int) -> Ints:
    """A sequence of arms, one per round from round 0, as compiled code reads it."""
    try:
        played = np.asarray(arms)
    except (ValueError, TypeError, OverflowError):  # ragged, for one
        played = np.empty((0, 0))
    fits = played.ndim == 1 and played.size <= horizon and (played.dtype.kind in "iu" or not played.size)
    if not fits or np.any((played < 0) | (played >= n_arms)):
        raise OptionError(
            f"{name} is {reprlib.repr(arms)}; accepted are at most {horizon} whole numbers from 0 to {n_arms - 1}"
        )
    return played.astype(np.int64)


def unit_loss(loss: Any, reward: Any, low: float, high: float) -> float:
    """The loss in [0, 1] that a told loss, or a told reward, stands for."""
    if (loss is None) == (reward is None):
        raise LossTypeError("give either loss= or reward=, and only one of them")
    number = _inside("loss", loss, low, high) if reward is None else _inside("reward", reward, low, high)
    return (number - low) / (high - low) if reward is None else (high - number) / (high - low)


def _inside(name: str, value: Any, low: float, high: float) -> float:
    """A number of the range."""
    if not is_number(value):
        raise LossTypeError(f"{name} is {value!r} ({type(value).__name__}); accepted are numbers from {low} to {high}")
    if not low <= value <= high:
        raise LossError(f"{name} is {value!r}; accepted are numbers from {low} to {high} (see loss_range)")
    return float(value)


def unit_losses(losses: Any, rewards: Any, K: int, low: float, high: float) -> Vector:
    """The losses in [0, 1] that the told losses, or the told rewards, of all K arms stand for."""
    if (losses is None) == (rewards is None):
        raise LossTypeError("give either losses= or rewards=, and only one of them")
    name, told = ("losses", losses) if rewards is None else ("rewards", rewards)
    try:
        several = None if isinstance(told, str | bytes | Mapping | Set) else list(told)
    except TypeError:
        several = None
    accepted = f"accepted are {K} numbers from {low} to {high}, one per arm"
    if several is None:
        raise LossTypeError(f"{name} is {reprlib.repr(told)}; {accepted}")
    if len(several) != K:
        raise LossError(f"{name} is {reprlib.repr(told)}, {len(several)} in number; {accepted}")
    told_by_arm = np.array([_inside(f"{name}[{i}]", value, low, high) for i, value in enumerate(several)])
    return (told_by_arm - low) / (high - low) if rewards is None else (high - told_by_arm) / (high - low)
