"""Explanations as text: a page, and a few lines. Plain ASCII, except for the labels of arms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from turncoat.types import Label

if TYPE_CHECKING:
    from turncoat.learners.turncoat.explain import Base, Explanation

MOST_ARMS = 12  # whose shares are drawn on a page
FEW_ARMS = 4  # in a few lines
FEW_SWITCHES = 2
LONGEST = 20  # signs of an arm's name
SHADES = " .:=#"  # a share of up to 5, 25, 50, 75 and 100 %
STEPS = (0.05, 0.25, 0.5, 0.75)


def arm_name(arm: Label) -> str:
    """How an arm is called in a text: by its label, on one line."""
    name = f"arm {arm}" if isinstance(arm, int) else " ".join(arm.split()) or repr(arm)
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."


def percent(share: float) -> str:
    """A share in words. Only all is 100 %, and only nothing 0 %."""
    if share >= 1.0 or share == 0.0:
        return f"{100.0 * min(share, 1.0):.0f} %"
    if share < 0.0005:
        return "< 0.1 %"
    return f"{min(100.0 * share, 99.9):.1f} %" if share >= 0.995 or share < 0.095 else f"{100.0 * share:.0f} %"


def few_lines(told: Explanation, n_outstanding: int) -> str:
    """What `print(learner)` prints."""
    waiting = f", {n_outstanding:,} outstanding" if n_outstanding else ""
    lines = [f"Turncoat over {_arms(told)}: {_rounds(told.rounds)} told{waiting}"]
    lines.append(f"  believes  {_belief(told)}")
    lines.append("  trusts    " + ", ".join(f"{_several(kind)} {percent(p)}" for kind, p in told.kinds.items()))
    lines.append(f"  switches  {_last_switches(told)}")
    bars = shares_over_time(told, FEW_ARMS)
    return "\n".join(lines + [f"  {'shares' if i == 0 else '':<8}  {bar}" for i, bar in enumerate(bars)])


def page_of(told: Explanation) -> str:
    """What `print(learner.explain())` prints."""
    lines = [f"Turncoat over {_arms(told)}, after {_rounds(told.rounds)}", "", f"It believes {_belief(told)}."]
    lines.append(f"The next ask chooses {arm_name(told.likeliest)} with probability {percent(told.chance)}.")
    if told.retired:
        lines.append("Retired: " + ", ".join(arm_name(arm) for arm in told.retired) + ".")
    lines += [
        "",
        *_switch_table(told),
        "",
        "Trust in each base: high where its proposals have cost little, at least recently",
        *_trust(told),
    ]
    for name, times, last in told.restarts:
        lines.append(f"The {name} {_restarts(times, last)}.")
    if told.pages:
        size = told.pages[0].last - told.pages[0].first
        grades = "  ".join(f"{100 * step:.0f} % {sign}" for step, sign in zip(STEPS, SHADES[1:], strict=True))
        lines += ["", f"How often it chose each arm; a sign is {_rounds(size)}, above {grades}"]
        lines += [f"  {bar}" for bar in shares_over_time(told, MOST_ARMS)]
    return "\n".join(lines)


def _belief(told: Explanation) -> str:
    if told.best is None:
        when = "now" if told.retired else "yet"
        return f"in no arm {when}; {arm_name(told.likeliest)} is the likeliest, with {percent(told.chance)}"
    sure = f", {percent(told.sure)} sure" if told.sure else ""
    return f"that {arm_name(told.best)} is best, since round {told.since:,}{sure}"


def _last_switches(told: Explanation) -> str:
    if not told.switches:
        return "none"
    last = told.switches[-FEW_SWITCHES:]
    text = "; ".join(f"{arm_name(s.left)} -> {arm_name(s.to)} at {s.when:,}" for s in last)
    return f"{told.n_switches:,}, the last: {text}" if told.n_switches > len(last) else text


def _switch_table(told: Explanation) -> list[str]:
    if not told.switches:
        return ["It believes that no switch happened."]
    known, n = len(told.switches), told.n_switches
    heading = f"The {n:,} switches it believes happened" if n > 1 else "The switch it believes happened"
    heading += f", the last {known}" if known < n else ""
    rows = [("round", "from", "", "to", "sure")]
    rows += [(f"{s.when:,}", arm_name(s.left), "->", arm_name(s.to), percent(s.sure)) for s in told.switches]
    return [f"{heading} (sure: the mean probability of the arm while it was believed best)", *_columns(rows, "><<<>")]


def _trust(told: Explanation) -> list[str]:
    """One line per base that proposes a single arm; one line for all clipped bases, and one for all signed."""
    rows = []
    for kind, trust in told.kinds.items():
        bases = sorted((base for base in told.bases if base.kind == kind), key=lambda base: -base.trust)
        if kind in ("clipped", "signed") and len(bases) > 1:
            top = bases[0]
            rows.append((trust, f"{len(bases)} {kind}, {top.name} the most", _proposal(top), top.why))
        else:
            rows += [(base.trust, base.name, _proposal(base), base.why) for base in bases]
    rows.sort(key=lambda row: -row[0])
    head = ("trust", "base", "proposes", "because of")
    return _columns([head, *((percent(trust), *words) for trust, *words in rows)], "><<<")


def _proposal(base: Base) -> str:
    return arm_name(base.arm) + (f" ({percent(base.chance)})" if base.chance < 1.0 else "")


def shares_over_time(told: Explanation, most: int) -> list[str]:
    """A line for each of the arms chosen most, a sign for each page, the first round on the left."""
    if not told.pages:
        return []
    sizes = np.array([page.last - page.first for page in told.pages], dtype=float)
    shares = np.array([page.shares for page in told.pages])
    often = sizes @ shares / sizes.sum()
    first = [] if told.best is None else [told.arms.index(told.best)]  # whatever its share so far
    ranked = dict.fromkeys(first + np.argsort(-often, kind="stable").tolist())
    shown = sorted(k for k in list(ranked)[:most] if often[k] > 0.0)
    drawn = [(arm_name(told.arms[k]), shares[:, k], float(often[k])) for k in shown]
    if (rest := 1.0 - often[shown].sum()) > 1e-9:
        drawn.append(("others", 1.0 - shares[:, shown].sum(axis=1), rest))
    wide = max(len(name) for name, _, _ in drawn)
    return [f"{name:<{wide}} |{_shaded(row)}| {percent(share)}" for name, row, share in drawn]


def _shaded(shares: Iterable[float]) -> str:
    return "".join(SHADES[int(np.searchsorted(STEPS, share, side="left"))] for share in shares)


def _columns(rows: Sequence[tuple[str, ...]], sides: str) -> list[str]:
    """Rows with their cells one below the other."""
    wide = [max(len(row[i]) for row in rows) for i in range(len(sides))]
    return [
        "  " + "  ".join(f"{cell:{side}{n}}" for cell, side, n in zip(row, sides, wide, strict=True)).rstrip()
        for row in rows
    ]


def _arms(told: Explanation) -> str:
    n, gone = len(told.arms), len(told.retired)
    return ("1 arm" if n == 1 else f"{n:,} arms") + (f", {gone:,} of them retired" if gone else "")


def _rounds(n: int) -> str:
    return "1 round" if n == 1 else f"{n:,} rounds"


def _several(kind: str) -> str:
    return {"detector": "detectors", "follower": "followers"}.get(kind, kind)


def _restarts(times: int, last: int | None) -> str:
    if last is None:
        return "never started again"
    often = f"once, in round {last:,}" if times == 1 else f"{times:,} times, the last in round {last:,}"
    return f"started again {often}"
