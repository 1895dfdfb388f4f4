"""Who plays: Turncoat, its rivals with one setting for all games, and rivals whose constants are picked game by game.

Every rival is told the horizon, and the number of planted switches where it can use it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import turncoat as tc
from turncoat import learners
from turncoat.errors import unknown
from turncoat.learners.entries import BANDIT, ENTRIES, Maker, Told, feedback_group, learner_of, make_learner, told
from turncoat.learners.turncoat.constants import set_rates


class Player(NamedTuple):
    """A learner in the experiments: its maker, its description, and why it is included."""

    name: str
    maker: Maker
    words: str
    why: str
    ours: bool = False  # results then belong to one version of the sources

    def make(self, n_arms: int, horizon: int, n_switches: int | None, seed: Any) -> Any:
        """A learner for a game."""
        return make_learner(self.maker, n_arms, horizon, seed, n_switches)

    @property
    def key(self) -> str:
        """What results are known by: its words, and the sources if it is ours."""
        return f"{self.words} @ {sources() if self.ours else tc.__version__}"


@cache
def sources() -> str:
    """A hash of every source file of the package."""
    home, digest = Path(str(tc.__file__)).parent, hashlib.sha256()
    for file in sorted(home.rglob("*.py")):
        digest.update(str(file.relative_to(home)).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


class Scaled:
    """A maker that is told `factor` times the planted switches: what its rates are tuned by, turned up or down."""

    def __init__(self, maker: Maker, factor: float) -> None:
        self.maker, self.factor = maker, factor

    def __call__(self, arms: Any, horizon: int, *, n_switches: int | None = None, **words: Any) -> Any:
        """What the maker makes. Without planted switches it is tuned as for one."""
        S = round(self.factor * max(1 if n_switches is None else n_switches, 1))
        return self.maker(arms, horizon, n_switches=min(max(S, 1), horizon - 1), **words)


def words_of(maker: Maker) -> str:
    """`told GLRklUCB exploration=0.1`: all that tells makers apart."""
    if isinstance(maker, Told):
        return f"told {words_of(maker.maker)}"
    if isinstance(maker, Scaled):
        return f"{maker.factor:g}× S {words_of(maker.maker)}"
    if isinstance(maker, partial):
        return " ".join([words_of(maker.func), *(f"{word}={value}" for word, value in sorted(maker.keywords.items()))])
    return str(maker.__name__)


def _player(name: str, maker: Maker, why: str) -> Player:
    return Player(name, maker, words_of(maker), why)


# --- ours ---


def anytime(arms: Any, horizon: int, **words: Any) -> Any:
    """Turncoat with its defaults: without the horizon."""
    return tc.Turncoat(arms, **words)


def with_horizon(arms: Any, horizon: int, **words: Any) -> Any:
    """Turncoat that knows the horizon: its first guess is the true one, so it never has to double it.

    Users cannot have it, as it has no use for a horizon; it is here to see what guessing costs.
    """
    learner = tc.Turncoat(arms, **words)
    learner.view().guess[0] = horizon
    set_rates(learner.view())
    return learner


OURS = {
    "turncoat": Player("turncoat", anytime, "Turncoat", "the learner this is about", True),
    "turncoat, told T": Player("turncoat, told T", with_horizon, "Turncoat told T", "what not knowing T costs", True),
    "stand-in": Player(
        "stand-in",
        partial(learners.AdaptiveMasterBase, feedback="shared"),
        "stand-in AdaptiveMasterBase feedback=shared",
        "to try the experiments at less cost: it compiles sooner than Turncoat",
        True,
    ),
}


# --- rivals: one setting for all games ---

PRACTICAL: dict[str, tuple[Maker, str]] = {
    "glr-kl-ucb, 0.1": (
        partial(learners.GLRklUCB, exploration=0.1),
        "its page: a fifth to three quarters of the regret of the paper's forced exploration",
    ),
    "glr-kl-ucb, 0.1, told S": (
        told(partial(learners.GLRklUCB, exploration=0.1)),
        "the same with the paper's exploration for a known S",
    ),
    "glr-kl-ucb, local, 0.1": (
        partial(learners.GLRklUCB, restart="local", exploration=0.1),
        "the same for restarts of single arms",
    ),
    "discounted-ucb, 0.05, told S": (
        told(partial(learners.DiscountedUCB, exploration=0.05)),
        "its page: a tenth to a third of the regret of the theorem's constant",
    ),
    "discounted-ucb, kl, 0.3, told S": (
        told(partial(learners.DiscountedUCB, index="kl", exploration=0.3)),
        "its page: its best setting",
    ),
    "sliding-window-ucb, 0.1, told S": (
        told(partial(learners.SlidingWindowUCB, exploration=0.1)),
        "its page: its best setting",
    ),
}


def _is_bandit(maker: Maker) -> bool:
    kind = learner_of(maker)
    return (
        kind is not None
        and not issubclass(kind, tc.Turncoat | tc.Band)
        and feedback_group(kind.facts.setting) == BANDIT
    )


RIVALS = {
    **{
        name: _player(name, maker, "as it races: its paper's constants, or its page's")
        for name, maker in ENTRIES.items()
        if _is_bandit(maker)
    },
    **{name: _player(name, maker, why) for name, (maker, why) in PRACTICAL.items()},
}

# --- constants picked game by game, in hindsight: together with the rivals of the same kind ---

SWITCH_FACTORS = (0.25, 4.0)


def _grid() -> Iterable[tuple[str, Maker]]:
    for exploration in (0.03, 0.3):
        for restart in ("global", "local"):
            name = f"glr-kl-ucb, {restart}, {exploration}"
            yield name, partial(learners.GLRklUCB, restart=restart, exploration=exploration)
    tuned: dict[str, Callable[..., Any]] = {
        "discounted-ucb, kl, 0.3": partial(learners.DiscountedUCB, index="kl", exploration=0.3),
        "sliding-window-ucb, 0.1": partial(learners.SlidingWindowUCB, exploration=0.1),
        "clipped-omd": learners.ClippedOMD,
        "discounted-thompson": learners.DiscountedThompson,
        "exp3.s": learners.Exp3S,
    }
    for name, maker in tuned.items():
        for factor in SWITCH_FACTORS:
            yield f"{name}, {factor:g}× S", told(Scaled(maker, factor))
    yield "discounted-ucb, kl, 0.1, told S", told(partial(learners.DiscountedUCB, index="kl", exploration=0.1))
    yield "sliding-window-ucb, kl, 0.3, told S", told(partial(learners.SlidingWindowUCB, index="kl", exploration=0.3))
    for exploration in (0.03, 0.3):
        yield (
            f"sliding-window-ucb, {exploration:g}, told S",
            told(partial(learners.SlidingWindowUCB, exploration=exploration)),
        )


GRID = {name: _player(name, maker, "one of the constants to pick from") for name, maker in _grid()}
GROUPS = {"ours": OURS, "rivals": RIVALS, "grid": GRID}


def players(names: Iterable[str]) -> list[Player]:
    """Players by their names or by those of groups, each once. No group has the stand-in."""
    everyone = {**OURS, **RIVALS, **GRID}
    found: dict[str, Player] = {}
    for name in names:
        if name in GROUPS:
            found |= {one: player for one, player in GROUPS[name].items() if one != "stand-in"}
        elif name in everyone:
            found[name] = everyone[name]
        else:
            raise unknown("player", name, [*GROUPS, *everyone])
    return list(found.values())
