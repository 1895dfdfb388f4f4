"""Downloads: the decisions that pass a filter, as NDJSON or CSV, a part at a time."""

from __future__ import annotations

import csv
import io
from typing import Literal

import msgspec

from turncoat.service.dashboard.data.decisions import Filter, FoundDecision, find_decisions
from turncoat.service.store.interface import Session

Kind = Literal["ndjson", "csv"]
MEDIA = {"ndjson": "application/x-ndjson", "csv": "text/csv"}
AT_ONCE = 1_000  # decisions per part
COLUMNS = (
    *("decision_id", "experiment", "decided_at", "arm", "propensity", "stream", "reason", "state_version"),
    *("outcome", "reward", "rewarded_at"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would compute a text that begins so

encode = msgspec.json.encode


def part(session: Session, wanted: Filter, kind: Kind, before: str) -> str:
    """A part of the file, after a line with the id to go on from, empty at the end. The first has an empty `before`."""
    found = find_decisions(session, wanted, AT_ONCE, before or None)
    if kind == "ndjson":
        text = "".join(f"{encode(one).decode()}\n" for one in found.decisions)
    else:
        text = as_csv(found.decisions, has_head=not before)
    return f"{found.older or ''}\n{text}"


def as_csv(decisions: list[FoundDecision], *, has_head: bool) -> str:
    """Lines of CSV. Formula injection: an arm's name that a spreadsheet would compute is preceded by an apostrophe."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    if has_head:
        writer.writerow(COLUMNS)
    for one in decisions:
        row = msgspec.to_builtins({name: getattr(one, name) for name in COLUMNS})
        if row["arm"].startswith(FORMULA):
            row["arm"] = f"'{row['arm']}"
        writer.writerow(row.values())
    return lines.getvalue()
