"""The stores that worlds are simulated on."""

from __future__ import annotations

from tests.service.experiments.conftest import _compiled, _postgres_stores, postgres_stores

__all__ = ["_compiled", "_postgres_stores", "postgres_stores"]
