"""One race for all tests of the report, played once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.sample import MAKERS, sample
from turncoat.report import Frames, report


@pytest.fixture(scope="session")
def frames() -> Frames:
    """Six learners on the four environments of the suite `quick`."""
    return sample(["stationary/0", "flip/3", "piecewise/10", "drift/2"], MAKERS, T=2000, n_seeds=3)


@pytest.fixture(scope="session")
def folder(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report."""
    home = tmp_path_factory.mktemp("report")
    report(frames, home)
    return home
