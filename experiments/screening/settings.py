"""Settings of the band: every constant that was searched over, and the three settings that docs/tuning.md tells of.

Fields are in the order of the structures in band.h, and all of them travel as doubles.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

from turncoat.errors import OptionError, unknown
from turncoat.learners.turncoat import constants

MOST_FOLLOWERS = 6


@dataclass(frozen=True)
class Detector:
    """kl-UCB that tests for changes; its threshold is ln(alarm · n^power_n · N^power_N)."""

    soft: float = 1.0  # 0: an alarm forgets everything
    index: float = constants.DETECTOR_INDEX
    most_log: float = math.inf  # ln t in its index is no larger
    alarm: float = constants.ALARM
    power_n: float = 1.0
    power_N: float = 0.25
    recalled: float = constants.RECALLED
    doubted: float = constants.DOUBTED
    every: float = constants.TEST_EVERY
    least: float = constants.LEAST_PULLS
    prior: float = constants.PRIOR[constants.N_MIRRORS]
    floor: float = constants.DETECTOR_FLOOR  # over √N


@dataclass(frozen=True)
class Follower:
    """UCB on what was seen lately."""

    window: float
    index: float
    pseudo: float = constants.PSEUDO_SAMPLES
    prior: float = 0.03
    floor: float = 0.0  # over √N


@dataclass(frozen=True)
class Setting:
    """A band. Without words: the one that is shipped."""

    n_clipped: float = constants.N_CLIPPED
    n_signed: float = constants.N_SIGNED
    eta: float = constants.ETA
    most_eta: float = constants.MOST_ETA
    self_confident: float = 0.0  # c > 0: eta is at most c/√(c²/most_eta² + variance so far)
    kappa: float = 1.0  # an arm's baseline is at most kappa q/eta; 0: all of it where q ≥ eta b, and none elsewhere
    few: float = constants.FEW
    floor: float = 1.0  # over N H
    fast: float = 64.0  # rounds that the quick mean of losses looks back
    near: float = 0.2  # how far b moves from the quick mean towards that of all losses
    clipped_span: float = 0.5  # rates of clipped bases: √(N^e/(K N)), e from 0 to this
    signed_rate: float = 1.0
    signed_span: float = 0.9
    signed_slow: float = 0.0  # 1: signed bases compare losses with the mean of all, not with b
    share: float = 1.0  # over N
    clipped_prior: float = constants.PRIOR[0]
    signed_prior: float = constants.PRIOR[constants.N_CLIPPED]
    detector: Detector = Detector()
    followers: tuple[Follower, ...] = tuple(
        Follower(constants.WINDOWS[i], constants.FOLLOWER_INDEX[i], prior=constants.PRIOR[i - constants.N_FOLLOWERS])
        for i in range(constants.N_FOLLOWERS)
    )

    def numbers(self) -> list[float]:
        """What the program reads: the fields of `Setting`, of its detector, and of six followers, unused ones 0."""
        if len(self.followers) > MOST_FOLLOWERS:
            raise OptionError(f"{len(self.followers)} followers; accepted are at most {MOST_FOLLOWERS}")
        n_clipped, n_signed, *rest = (float(getattr(self, name)) for name in NUMBERS)
        found = [n_clipped, n_signed, float(len(self.followers)), *rest, *map(float, astuple(self.detector))]
        for follower in self.followers:
            found += map(float, astuple(follower))
        unused = MOST_FOLLOWERS - len(self.followers)
        return found + [0.0] * (unused * len(fields(Follower)))


NUMBERS = [field.name for field in fields(Setting)][:-2]  # detector and followers are none


SETTINGS = {
    "shipped": Setting(),
    "first": Setting(  # with the guaranteed master, and with a third follower, which never forgets
        n_clipped=8,
        n_signed=8,
        most_eta=0.5,
        kappa=0.0,
        few=0.0,
        clipped_span=1.0,
        signed_slow=1.0,
        clipped_prior=0.025,
        signed_prior=0.025,
        detector=Detector(soft=0.0, index=0.3, alarm=3.0, power_n=1.5, power_N=0.5, every=10.0, prior=0.5),
        followers=tuple(Follower(window, 0.2, prior=0.05) for window in (128.0, 1024.0, math.inf)),
    ),
    "later": Setting(  # found when the shipped one was being written
        n_clipped=2,
        eta=2.8,
        most_eta=0.03,
        self_confident=2.5,
        kappa=1.75,
        few=math.inf,
        floor=0.03,
        fast=16.0,
        near=0.1,
        clipped_span=1.0,
        signed_rate=1.2,
        share=0.1,
        clipped_prior=0.015,
        signed_prior=0.015,
        detector=Detector(index=0.25, most_log=6.0, alarm=3.0, doubted=0.5, every=3.0, least=20.0),
        followers=(
            *(Follower(window, 0.1) for window in (128.0, 1024.0, 8192.0)),
            Follower(math.inf, 0.05, prior=0.08, floor=0.05),
        ),
    ),
}


def setting_of(words: str) -> Setting:
    """A setting by name, with changes if any: `shipped`, or `later:kappa=1,detector.index=.2`."""
    name, _, changes = words.partition(":")
    if name not in SETTINGS:
        raise unknown("setting", name, SETTINGS)
    setting = SETTINGS[name]
    for change in filter(None, changes.split(",")):
        field, _, value = change.partition("=")
        known = [*NUMBERS, *(f"detector.{inner.name}" for inner in fields(Detector))]
        if field not in known:
            raise unknown("constant", field, known)
        try:
            number: Any = float(value)
        except ValueError:
            raise OptionError(f"{field} is {value!r}; accepted is a number") from None
        part, _, inner_name = field.partition(".")
        if inner_name:
            setting = replace(setting, detector=replace(setting.detector, **{inner_name: number}))
        else:
            setting = replace(setting, **{part: number})
    return setting
