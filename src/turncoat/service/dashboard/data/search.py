"""Search: which experiments have a text in their key or tags, and which tags there are. It reads one row for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import msgspec

from turncoat.service.experiments.snapshot_cache import UNREADABLE
from turncoat.service.store.interface import Session

MOST_TAGS = 24  # listed
ALL = "SELECT id, key, config FROM experiment ORDER BY id DESC"


class _Tagged(msgspec.Struct):
    """The settings, as far as they are searched."""

    tags: list[str] = []


def find(
    session: Session, search: str, tag: str, only: Collection[str] | None = None
) -> tuple[list[int], list[tuple[str, int]]]:
    """The experiments that match, the newest first, and the commonest tags of all experiments; `only`: of these."""
    decode, counts, found = msgspec.json.Decoder(_Tagged).decode, Counter[str](), list[int]()
    text = search.strip().lower()
    for number, key, config in session.rows(ALL):
        if only is not None and key not in only:
            continue
        try:
            tags = decode(config).tags
        except UNREADABLE:  # the list says so
            tags = []
        counts.update(tags)
        if (not tag or tag in tags) and any(text in one for one in (key.lower(), *tags)):
            found.append(number)
    return found, sorted(counts.most_common(MOST_TAGS))
