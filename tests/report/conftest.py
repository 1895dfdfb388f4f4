"""One race for all tests of the report, played once."""

from __future__ import annotations

import pytest

from tests.report.sample import sample
from turncoat.report import Frames, write


@pytest.fixture(scope="session")
def frames() -> Frames:
    """Six learners on the four environments of the suite `quick`."""
    return sample()


@pytest.fixture
def page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are their page, without pictures beside it: those take most of the time."""
    monkeypatch.setattr(write, "pictures", lambda spec: {})
