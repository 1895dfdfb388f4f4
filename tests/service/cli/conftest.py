"""A database to type commands about."""

from __future__ import annotations

from pathlib import Path

import pytest

from turncoat.service import messages
from turncoat.service.engine import Engine
from turncoat.service.store import open_store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two experiments with a little history, an arm added and one retired."""
    path = tmp_path / "some.db"
    store = open_store(str(path))
    engine = Engine(store)
    engine.create(
        messages.NewExperiment(key="first", arms=["red", "green"], control=messages.Control(arm="red", share=0.2))
    )
    engine.create(messages.NewExperiment(key="second", arms=["a", "b", "c"]))
    for i in range(40):
        for key in ("first", "second"):
            decided = engine.decide(
                key, context={"i": i}, allowed_arms=["a", "b"] if key == "second" and i % 3 else None
            )
            if i % 4:
                assert decided.decision_id
                engine.reward(decided.decision_id, (i % 3) / 2)
        if i == 20:
            engine.add_arm("second", messages.NewArm(arm="d"))
        if i == 30:
            engine.change_arm("second", "b", messages.ArmChange(state="retired"))
        engine.work()
    store.close()
    return path
