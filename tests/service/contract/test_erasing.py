"""Units are erased, through the engine and through HTTP."""

from __future__ import annotations

import pytest

from tests.service.contract.conftest import World
from turncoat.service import messages
from turncoat.service.errors import NotFound, Unprocessable


def test_a_unit_is_erased(world: World) -> None:
    service = world.service
    key = world.opened()
    decided = service.decide(key, unit_id="anna", context={"city": "Ulm"})
    assert service.decision(str(decided.decision_id)).context == {"city": "Ulm"}
    erased = service.erase("anna")
    assert erased.decisions == 1
    record = service.decision(str(decided.decision_id))
    assert (record.context, record.arm, record.propensity) == (None, decided.arm, decided.propensity)
    assert service.erase("anna", experiment=key) == messages.Erased(decisions=0, sticky=0, answers=0)
    assert service.audit(key)[-1].action == "erase unit" and "anna" not in str(service.audit(key))


def test_bad_requests_are_refused(world: World) -> None:
    with pytest.raises(NotFound, match="'nowhere'"):
        world.service.erase("anna", experiment="nowhere")
    with pytest.raises(Unprocessable, match="unit_id"):
        world.service.erase("")


def test_keep_days(world: World) -> None:
    key = world.opened(keep_days=90.0)
    assert world.service.experiment(key).keep_days == 90.0
    world.service.change(key, messages.ExperimentChange(keep_days=None))
    assert world.service.experiment(key).keep_days is None
    with pytest.raises(Unprocessable, match="keep_days"):
        world.service.change(key, messages.ExperimentChange(keep_days=0.5))
