"""OpenFeature's Python SDK evaluates flags, and `track` tells their rewards."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from tests.examples.scripts import printed
from tests.service.openfeature.conftest import Shop
from turncoat.service import openfeature
from turncoat.service.openfeature import TurncoatProvider

PAGE = Path(__file__).parents[3] / "docs" / "openfeature.md"


@pytest.fixture
def provider(shop: Shop) -> Iterator[TurncoatProvider]:
    headers = {"Authorization": f"Bearer {shop.key}"}
    one = TurncoatProvider(shop.url, {"button": "bought", "other": "sold"}, headers_factory=lambda: headers)
    api.set_provider(one)
    yield one
    one.session.close()
    api.clear_providers()


@pytest.fixture
def flags(provider: TurncoatProvider) -> OpenFeatureClient:
    return api.get_client()


def user(number: int) -> EvaluationContext:
    return EvaluationContext(f"user {number}")


def rewards(shop: Shop) -> list[float | None]:
    return [line.reward for line in shop.decisions()]


def test_the_event_rewards_the_decision_of_the_user(shop: Shop, flags: OpenFeatureClient) -> None:
    seen = [flags.get_string_details("button", "mine", user(number)) for number in range(3)]
    assert all(one.error_code is None for one in seen)
    flags.track("bought", user(0), TrackingEventDetails(0.5))
    flags.track("bought", user(2))
    flags.track("sold", user(1))
    flags.track("nothing that is known", user(1))
    assert rewards(shop) == [0.5, None, 1.0]
    again = flags.get_string_details("button", "mine", user(1))
    assert again.flag_metadata["decision_id"] == seen[1].flag_metadata["decision_id"]
    flags.track("bought", user(1), TrackingEventDetails(0.25))
    assert rewards(shop) == [0.5, 0.25, 1.0]


def test_a_decision_handed_on_is_rewarded_wherever_it_was_made(shop: Shop, flags: OpenFeatureClient) -> None:
    """Another process evaluated the flag, or no targetingKey was known."""
    found = flags.get_string_details("button", "mine")
    decision = str(found.flag_metadata["decision_id"])
    flags.track("bought", None, TrackingEventDetails(0.5, {"decision_id": decision}))
    assert rewards(shop) == [0.5]


def test_what_is_not_known_is_said(shop: Shop, flags: OpenFeatureClient, caplog: pytest.LogCaptureFixture) -> None:
    flags.get_string_value("button", "mine", user(1))
    for context in (user(2), None):
        flags.track("bought", context)
    assert caplog.text.count("no evaluation of 'button' for this targetingKey is known here") == 2
    assert rewards(shop) == [None]


def test_what_is_refused_is_said_and_not_sent_again(
    shop: Shop, flags: OpenFeatureClient, provider: TurncoatProvider, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    flags.get_string_value("button", "mine", user(1))
    sent = counted(provider, monkeypatch, failing=0)
    flags.track("bought", user(1), TrackingEventDetails(7.0))
    assert len(sent) == 1 and "accepted are 0.0 to 1.0" in caplog.text
    assert [one.levelno for one in caplog.records if one.name == "turncoat.openfeature"] == [logging.ERROR]


@pytest.mark.parametrize("failing", [2, 3])
def test_a_reward_is_sent_again(
    shop: Shop, flags: OpenFeatureClient, provider: TurncoatProvider, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch, failing: int,
) -> None:  # fmt: skip
    flags.get_string_value("button", "mine", user(1))
    monkeypatch.setattr(openfeature, "FIRST_WAIT", 0.0)
    sent = counted(provider, monkeypatch, failing)
    flags.track("bought", user(1))
    assert len(sent) == 3 and len({one["reward_id"] for one in sent}) == 1  # the same reward each time
    assert rewards(shop) == ([1.0] if failing == 2 else [None])
    assert ("no way through" in caplog.text) is (failing == 3)


def counted(provider: TurncoatProvider, monkeypatch: pytest.MonkeyPatch, failing: int) -> list[Any]:
    """What is sent from now on; the first `failing` do not arrive."""
    sent: list[Any] = []
    post = provider.session.post

    def fails_first(address: str, **words: Any) -> Any:
        sent.append(words["json"])
        if len(sent) <= failing:
            raise requests.ConnectionError("no way through")
        return post(address, **words)

    monkeypatch.setattr(provider.session, "post", fails_first)
    return sent


def test_only_so_many_are_remembered(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Authorization": f"Bearer {shop.key}"}
    provider = TurncoatProvider(shop.url, {"button": "bought"}, headers_factory=lambda: headers, remembered=2)
    api.set_provider(provider)
    flags = api.get_client()
    for number in (0, 1, 0, 2):
        flags.get_string_value("button", "mine", user(number))
    for number in (0, 1, 2):
        flags.track("bought", user(number))
    provider.session.close()
    api.clear_providers()
    assert rewards(shop) == [1.0, None, 1.0] and caplog.text.count("is not told") == 1


def test_the_example_runs(shop: Shop, tmp_path: Path) -> None:
    said = printed("feature_flags/shop.py", shop.url, shop.key, folder=tmp_path)
    assert re.fullmatch(r"(user \d sees (red|green)\n){10}", said)
    assert sorted(str(one) for one in rewards(shop)) == ["1.0"] * 5 + ["None"] * 5


def test_the_python_of_the_page_runs(open_shop: Shop, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        code = block.replace("http://127.0.0.1:8000", open_shop.url)
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert (ran.returncode, ran.stderr) == (0, "") and re.match(r"(red|green)\b", ran.stdout)
    assert rewards(open_shop) == [1.0, 1.0]
