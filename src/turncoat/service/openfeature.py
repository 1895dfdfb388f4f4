"""An OpenFeature provider for Python that reports rewards: OFREP's provider, with a `track`.

    api.set_provider(TurncoatProvider("http://localhost:8000", {"button": "bought"}))
    flags = api.get_client()
    colour = flags.get_string_value("button", "red", EvaluationContext("user 7"))
    flags.track("bought", EvaluationContext("user 7"), TrackingEventDetails(1.0))

A hook remembers the decision behind each flag of each targetingKey that was evaluated here. `track` tells the reward of
those whose flag has this event. Where flags are evaluated in one process and rewards known in another, keep
`details.flag_metadata["decision_id"]` with the order, and hand it to `track` as the attribute `decision_id`.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from turncoat.errors import MissingPackageError

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.flag_evaluation import FlagEvaluationDetails
    from openfeature.hook import Hook, HookContext, HookHints
    from openfeature.track import TrackingEventDetails
except ModuleNotFoundError as missing:
    raise MissingPackageError(f"{__name__} needs {missing.name}: pip install openfeature-provider-ofrep") from None

TRIES = 3
FIRST_WAIT = 0.1  # seconds; doubled each time

log = logging.getLogger("turncoat.openfeature")


class TurncoatProvider(OFREPProvider):
    """Evaluates by OFREP, and tells rewards. `rewards`: flag → the tracking event that rewards it."""

    def __init__(
        self,
        base_url: str,
        rewards: Mapping[str, str],
        *,
        headers_factory: Callable[[], dict[str, str]] | None = None,
        timeout: float = 5.0,
        remembered: int = 100_000,
    ) -> None:
        super().__init__(base_url, headers_factory=headers_factory, timeout=timeout)
        self._rewards = dict(rewards)
        self._decisions = _Decisions(remembered)

    def get_provider_hooks(self) -> list[Hook]:
        """The hook that remembers decisions."""
        return [self._decisions]

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Tell the reward, `value` or else 1, of the decisions that this event rewards. Failures are logged."""
        details = tracking_event_details or TrackingEventDetails()
        reward = {"value": 1.0 if details.value is None else details.value, "reward_id": str(uuid.uuid4())}
        if "decision_id" in details.attributes:
            return self._tell(str(details.attributes["decision_id"]), reward)
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        for flag, event in self._rewards.items():
            if event == tracking_event_name:
                decision_id = self._decisions.find(flag, unit)
                if decision_id is None:
                    log.warning("%r is not told: no evaluation of %r for this targetingKey is known here", event, flag)
                else:
                    self._tell(decision_id, reward)
        return None

    def _tell(self, decision_id: str, reward: dict[str, Any]) -> None:
        """Sent again if the service cannot be reached: a reward counts once, however often it arrives."""
        address = f"{self.base_url.rstrip('/')}/v1/decisions/{decision_id}/reward"
        said = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(FIRST_WAIT * 2 ** (attempt - 1))
            try:
                headers = self.headers_factory() if self.headers_factory else None
                answer = self.session.post(address, json=reward, headers=headers, timeout=self.timeout)
            except OSError as problem:  # requests' errors are of this kind
                said = str(problem)
                continue
            if answer.ok:
                return
            said = answer.text
            if answer.status_code < 500:
                break
        log.error("the reward of decision %s was not taken: %s", decision_id, said)


class _Decisions(Hook):
    """The latest decisions by flag and targetingKey."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = Lock()

    def after(self, hook_context: HookContext, details: FlagEvaluationDetails[Any], hints: HookHints) -> None:
        """Remember the decision of an evaluation."""
        unit, found = hook_context.evaluation_context.targeting_key, details.flag_metadata.get("decision_id")
        if unit is None or found is None:
            return
        with self._lock:
            self._known[hook_context.flag_key, unit] = str(found)
            self._known.move_to_end((hook_context.flag_key, unit))
            if len(self._known) > self._most:
                self._known.popitem(last=False)

    def find(self, flag: str, unit: str | None) -> str | None:
        """The decision of this flag for this targetingKey."""
        with self._lock:
            return None if unit is None else self._known.get((flag, unit))
