"""What the dashboard shows, as plain values: read in one look at the store, never through the engine's thread.

    windows.py       an experiment's life in at most 60 windows of time, from buckets
    recent.py        the last 2,000 decisions, what is open, what was refused
    explanation.py   what the learner says of itself
    gains.py         what learning has gained, with intervals
    tables.py        shares over time, the table of arms, marks, the audit
    read.py          all of it together
Nothing here reads a row more because the log is longer.
"""

from turncoat.service.dashboard.data.read import Line, Page, Present, Views

__all__ = ["Line", "Page", "Present", "Views"]
