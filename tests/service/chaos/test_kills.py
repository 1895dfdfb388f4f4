"""Kills of each kind under load, a few of them: nothing acknowledged is missing, nothing counts twice.

`make chaos` does the same with many more kills, and prints what it counted.
"""

from __future__ import annotations

import pytest

from tests.chaos import campaign
from tests.chaos.campaign import Plan

KILLS = 5
PLANS = [
    Plan("service", "sqlite", KILLS),
    Plan("service", "postgres", KILLS),
    Plan("postgres", "postgres", KILLS),
    Plan("applier", "postgres", KILLS),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.target}-on-{plan.store}")
def test_nothing_is_lost_or_doubled_by_kills(plan: Plan, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("private_server") if plan.store == "postgres" else None  # skips if there is none
    outcome = campaign.run(plan, server=server)
    verdict = outcome.verdict
    assert verdict.violations == []
    assert len(outcome.ready) == KILLS
    # It was under load, of every sort: a campaign in which nothing happened finds nothing.
    assert min(verdict.decisions, verdict.rewards, verdict.replayed) > 100
    assert min(verdict.refused[status] for status in ("duplicate", "conflict", "late")) > 0


@pytest.mark.parametrize(("broken", "kind"), [("early", "missing"), ("twice", "doubled")])
def test_a_service_broken_on_purpose_is_found_out(broken: str, kind: str) -> None:
    verdict = campaign.run(Plan("service", "sqlite", 1, broken=broken)).verdict
    assert kind in {violation.kind for violation in verdict.violations}
