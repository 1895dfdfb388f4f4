"""Offices to ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.http.direct import Direct, direct
from tests.service.http.served import Served, make_context, serving


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Direct]:
    """A service with one experiment, `e`, of arms a and b."""
    with direct(make_context(tmp_path)) as one:
        assert one.post("/v1/experiments", {"key": "e", "arms": ["a", "b"]}).status == 201
        yield one


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The same on a socket."""
    with serving(make_context(tmp_path)) as one:
        yield one
