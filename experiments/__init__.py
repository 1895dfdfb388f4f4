"""The experiments behind `Turncoat`: games it was tuned on, games it was only reported on, its rivals, and the tables.

`python -m experiments --help`; what was done, and with what outcome: docs/experiments.md.
"""
