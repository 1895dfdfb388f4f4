"""The system page's figures. Whoever measures gives a mapping; the end of a name says what its value is.

    …_seconds    how long        …_bytes    how much     …_at    when (seconds since 1970)     …_share    of one
Anything else is shown as it is. Names in TILES are shown large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turncoat.service.dashboard.formats import count, figure, moment, share, size, span

TILES = {
    "decide_p50_seconds": "Decide, median",
    "decide_p99_seconds": "Decide, 99 %",
    "reward_p50_seconds": "Reward, median",
    "reward_p99_seconds": "Reward, 99 %",
    "decisions_per_second": "Decisions / s",
    "rewards_per_second": "Rewards / s",
    "lag_seconds": "Applier lag",
    "lag_rewards": "Rewards waiting",
    "store_bytes": "Store",
    "last_backup_at": "Last backup",
    "last_verify_at": "Last replay check",
}
LAGGING = 5.0  # seconds
ENDINGS = ("_seconds", "_bytes", "_at", "_share")


def from_facts(facts: Mapping[str, str]) -> dict[str, Any]:
    """What is written down about the last backup and the last replay check: a time, and how it went."""
    found: dict[str, Any] = {}
    for fact, name in (("backup", "last_backup"), ("verified", "last_verify")):
        moment, _, result = facts.get(fact, "").partition(" ")
        try:
            found[f"{name}_at"] = float(moment) if moment else None
        except ValueError:
            found[f"{name}_at"] = None
        if result:
            found[f"{name}_result"] = result
    return found


def shown(name: str, value: Any) -> str:
    """A value as its name says."""
    if value is None:
        return "never" if name.endswith("_at") else "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) and not name.endswith(ENDINGS):
        return count(value)
    shows = zip(ENDINGS, (span, size, moment, share), strict=True)
    return next((show for end, show in shows if name.endswith(end)), figure)(float(value))


def tiles(gauges: Mapping[str, Any]) -> list[dict[str, str]]:
    """The ones shown large, as far as they are measured."""
    return [
        {
            "name": title,
            "value": shown(name, gauges[name]),
            "note": str(gauges.get(name.removesuffix("_at") + "_result", "")) if name.endswith("_at") else "",
            "tone": "bad" if name == "lag_seconds" and (gauges[name] or 0.0) > LAGGING else "",
        }
        for name, title in TILES.items()
        if name in gauges
    ]


def gauge_rows(gauges: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All others, by name."""
    return [
        (name.replace("_", " "), shown(name, value))
        for name, value in gauges.items()
        if name not in TILES and name.removesuffix("_result") + "_at" not in TILES
    ]
