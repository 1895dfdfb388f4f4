"""Kills of each kind under load: nothing acknowledged is missing, nothing counts twice.

Two of the applier, on PostgreSQL; with `make test-all` five of each kind, and services broken on purpose, which must be
found out. `make chaos` makes many more, and prints what it counted. Faults at single statements, on SQLite and on
PostgreSQL: tests/service/simulation.
"""

from __future__ import annotations

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import Plan

FEW, MORE = 2, 5


def plans(kills: int) -> list[Plan]:
    """A campaign against each kind of victim."""
    return [
        Plan("service", "sqlite", kills),
        Plan("service", "postgres", kills),
        Plan("postgres", "postgres", kills),
        Plan("applier", "postgres", kills),
    ]


@pytest.mark.parametrize(
    "plan",
    [plans(FEW)[-1], *(pytest.param(plan, marks=pytest.mark.exhaustive) for plan in plans(MORE))],
    ids=lambda plan: f"{plan.target}-on-{plan.store}-{plan.kills}",
)
def test_nothing_is_lost_or_doubled_by_kills(plan: Plan, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("private_server") if plan.store == "postgres" else None  # skips if there is none
    outcome = campaign.run(plan, server=server)
    verdict = outcome.verdict
    assert verdict.violations == []
    assert len(outcome.ready) == plan.kills
    # It was under load, of every sort: a campaign in which nothing happened finds nothing.
    assert min(verdict.decisions, verdict.rewards, verdict.verified) > 100
    assert min(verdict.refused[status] for status in ("duplicate", "conflict", "late")) > 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(("broken", "kind"), [("early", "missing"), ("twice", "doubled")])
def test_a_service_broken_on_purpose_is_found_out(broken: str, kind: str) -> None:
    """That a reward counted twice is seen in what is stored: test_checker.py."""
    verdict = campaign.run(Plan("service", "sqlite", 1, broken=broken)).verdict
    assert kind in {violation.kind for violation in verdict.violations}
