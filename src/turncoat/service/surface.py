"""What can be asked of the service. The engine in this process and the client over HTTP both are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from turncoat.service import messages


class Service(Protocol):
    """Open experiments, decide, reward, look. Everything raises a `Problem` when refused, and then nothing changed."""

    def create(self, new: messages.NewExperiment) -> messages.Experiment:
        """Open an experiment."""

    def experiments(self) -> list[messages.Experiment]:
        """All experiments, in the order in which they were opened."""

    def experiment(self, key: str) -> messages.Experiment:
        """One of them."""

    def change(
        self, key: str, change: messages.ExperimentChange, *, if_revision: int | None = None
    ) -> messages.Experiment:
        """Change its settings; with `if_revision`, only if nobody has since."""

    def add_arm(self, key: str, arm: messages.NewArm) -> messages.Arm:
        """Add an arm while it runs."""

    def change_arm(self, key: str, arm: str, change: messages.ArmChange) -> messages.Arm:
        """Pause, resume or retire an arm, or set its floor, cap and payload."""

    def arms(self, key: str) -> list[messages.Arm]:
        """Its arms, in the order in which they came."""

    def decide(
        self,
        key: str,
        *,
        unit_id: str | None = None,
        allowed_arms: Sequence[str] | None = None,
        sticky: bool = False,
        deferred: bool = False,
        context: dict[str, Any] | None = None,
        decision_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> messages.Decided:
        """Draw an arm, and record how probable it was."""

    def reward(
        self, decision_id: str, value: float, *, reward_id: str | None = None, observed_at: Any = None
    ) -> messages.Receipt:
        """Say how a decision turned out."""

    def rewards(self, lines: Iterable[messages.RewardLine]) -> list[messages.LineReceipt]:
        """Say it of many at once; one bad line does not hold up the others."""

    def activate(self, decision_id: str) -> messages.DecisionRecord:
        """The deferred decision was used now: its window begins."""

    def decision(self, decision_id: str) -> messages.DecisionRecord:
        """Everything known about a decision."""

    def state(self, key: str) -> messages.LearnerState:
        """What the learner makes of it all."""

    def timeline(self, key: str, *, limit: int = 1000) -> list[messages.VersionPoint]:
        """At most `limit` versions of rewards, evenly taken over its life, and all others, the latest last."""

    def switches(self, key: str) -> list[messages.Switch]:
        """The changes of the best arm that the learner believes in."""

    def audit(self, key: str | None = None) -> list[messages.AuditEntry]:
        """Who changed what."""

    def log(self, key: str) -> Iterator[messages.LogLine]:
        """Every decision with its outcome, in the order of their ids."""
