"""Race entries: the learners that race by name, each with its maker(arms, horizon, seed=…), and their feedback groups.

Learners that see the losses of all arms, or the arms' features, are ranked apart from those that see the loss of one
arm; beside them they show what bandit feedback costs. A learner's group follows from the setting in its facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from turncoat import learners
from turncoat.errors import OptionError, unknown
from turncoat.learners.base.declarations import TOLD
from turncoat.learners.base.learner import Learner

Maker = Callable[..., Any]


class Told:
    """A maker whose learner is also told `n_switches`, the planted number of switches, where there is one."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker

    def __call__(self, arms: Any, horizon: int | None = None, **words: Any) -> Any:
        """What the maker makes."""
        return self.maker(arms, horizon, **words)

    def __repr__(self) -> str:
        return f"told({self.maker!r})"


def told(maker: Maker) -> Told:
    """A maker for `race` whose learner is told how many switches were planted; where none were, it is told nothing."""
    return Told(maker)


def make_learner(maker: Maker, size: int, horizon: int, seed: Any, n_switches: int | None) -> Any:
    """A learner for a game with so many arms (or features) and rounds, and so many planted switches."""
    if isinstance(maker, Told) and n_switches is not None:
        return maker(size, horizon, seed=seed, n_switches=n_switches)
    return maker(size, horizon, seed=seed)


def _entries(learner: type[learners.Learner]) -> Iterator[tuple[str, Maker]]:
    """A learner's entries: it and its variants, told S where it wants S; names say so, and whether it sees all."""
    seen = ", sees all" if learner.sees_all else ""
    wanted = {"n_switches": TOLD} if learner.facts.switches == "wanted" else {}
    for stem, given in ((learner.name, {}), *learner.variants):
        words = {**wanted, **given}
        is_told = words.pop("n_switches", None) == TOLD
        maker: Maker = partial(learner, **words) if words else learner
        yield f"{stem}{seen}{', told S' if is_told else ''}", told(maker) if is_told else maker


ENTRIES: dict[str, Maker] = {
    name: maker for one in learners.LEARNERS.values() if one.can_race for name, maker in _entries(one)
}

# Six for a newcomer's first minute: the one to start with, its hardest rival, the paper's two, and the classics.
FEW = ("turncoat", "glr-kl-ucb", "adaptive-master-base", "master-base", "exp3.s, told S", "exp3")


def learner_of(maker: Maker) -> type[learners.Learner] | None:
    """The class that a maker makes, where it is one of ours with words filled in or told S; None of any other."""
    while isinstance(maker, Told | partial):
        maker = maker.maker if isinstance(maker, Told) else maker.func
    return maker if isinstance(maker, type) and issubclass(maker, learners.Learner) else None


def entry(name: str) -> Maker:
    """The maker of this name."""
    if name not in ENTRIES:
        if name in learners.LEARNERS and learners.LEARNERS[name] not in map(learner_of, ENTRIES.values()):
            raise OptionError(f"the learner {name!r} cannot race: turncoat list {name} says what it is for")
        raise unknown("learner", name, ENTRIES)
    return ENTRIES[name]


BANDIT = "bandit"
FEEDBACK_GROUPS = (BANDIT, "full information", "linear")
TOP_N = 12  # learners of a group that stand in front, where many race


def setting_of(learner: object) -> str:
    """The setting that a learner states; what it sees, for learners of users', which need not state any."""
    if not isinstance(learner, Learner):
        return ""
    if learner.sees_all:
        return "full information"
    return learner.facts.setting if hasattr(learner, "facts") else ""


def feedback_group(setting: str) -> str:
    """The group of learners with this setting; one that states none sees one loss per round."""
    return setting if setting in FEEDBACK_GROUPS else BANDIT


def by_feedback_group(learners: Iterable[str], settings: Mapping[str, str]) -> dict[str, list[str]]:
    """The groups that have learners, each with its own in the order given."""
    found: dict[str, list[str]] = {group: [] for group in FEEDBACK_GROUPS}
    for learner in learners:
        found[feedback_group(settings.get(learner, ""))].append(learner)
    return {group: names for group, names in found.items() if names}
