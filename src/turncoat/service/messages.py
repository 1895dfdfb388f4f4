"""The messages between the service and its callers: one class per message, the same in Python and in JSON.

msgspec reads them from JSON and refuses what does not fit: NaN, 1e400, "0.5" or true for a number, unknown fields.
What needs more than a type (floors that sum to more than 1, two arms of one name) is checked by `validation`.
Below the messages: the commands that one transaction records together.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from turncoat.service.errors import Problem

Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)")]
Key = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)")]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Tag = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9._-]*$(?!\n)")]
Tags = Annotated[list[Tag], Meta(max_length=20)]
Days = Annotated[float, Meta(ge=1.0, le=36_500.0)]
Unit = Annotated[str, Meta(min_length=1, max_length=255)]
UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
Uuid = Annotated[str, Meta(pattern=UUID, min_length=36, max_length=36)]
Aggregation = Literal["first", "last", "sum", "mean", "min", "max"]
ArmState = Literal["pending", "active", "paused", "retired"]
ExperimentState = Literal["running", "paused", "stopped"]  # paused and stopped differ in what people read there
Stream = Literal["learn", "control", "holdout"]
Reason = Literal["split", "control", "holdout", "sticky", "stale"]
DamagedPart = Literal["settings", "snapshot", "learner", "log"]
Status = Literal["accepted", "duplicate", "conflict", "late", "pending_decision"]


class Message(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parent of everything a caller sends: unknown fields are refused, so that no typing mistake is ignored."""


class Answer(Struct, frozen=True, kw_only=True):
    """The parent of everything the service answers: callers ignore fields they do not know."""


# --- what callers send ---


class RewardRule(Message, frozen=True, kw_only=True):
    """What rewards look like, and which of a decision's rewards counts. All but `first` wait for the window's end."""

    min: float = 0.0
    max: float = 1.0
    aggregation: Aggregation = "first"


class Control(Message, frozen=True, kw_only=True):
    """A share of the traffic that always gets one arm, as a measure for the rest. It never trains the learner."""

    arm: Name
    share: Share


class Stickiness(Message, frozen=True, kw_only=True):
    """How a unit keeps its decision. `flags`: also where OpenFeature evaluates one flag, which cannot ask for it.
    `keep_s`: for so many seconds after it was drawn; None: until it closes, which ends it in either case."""

    flags: bool = True
    keep_s: Annotated[float, Meta(gt=0.0, le=31_536_000.0)] | None = None


class NamedArm(Message, frozen=True, kw_only=True):
    """An arm of a new experiment, with what the caller wants to get back when it is served."""

    arm: Name
    payload: Any = None


class NewExperiment(Message, frozen=True, kw_only=True):
    """An experiment to open."""

    key: Key
    arms: Annotated[list[Name | NamedArm], Meta(min_length=1, max_length=1000)]
    reward: RewardRule = RewardRule()
    reward_window_s: Annotated[float, Meta(gt=0.0, le=31_536_000.0)] = 86_400.0
    default_reward: float | None = None
    control: Control | None = None
    holdout_share: Share = 0.0
    stickiness: Stickiness = Stickiness()
    floors: dict[Name, Share] = {}
    caps: dict[Name, Share] = {}
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    tags: Tags = []
    keep_days: Days | None = None


class ExperimentChange(Message, frozen=True, kw_only=True):
    """What to change about an experiment; what is left out stays."""

    reward_window_s: Annotated[float, Meta(gt=0.0, le=31_536_000.0)] | UnsetType = UNSET
    default_reward: float | UnsetType | None = UNSET
    control: Control | UnsetType | None = UNSET
    holdout_share: Share | UnsetType = UNSET
    stickiness: Stickiness | UnsetType = UNSET
    state: ExperimentState | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    keep_days: Days | UnsetType | None = UNSET


class NewArm(Message, frozen=True, kw_only=True):
    """An arm to add while the experiment runs. Names are never used twice."""

    arm: Name
    payload: Any = None
    state: Literal["pending", "active"] = "active"
    floor: Share = 0.0
    cap: Share = 1.0


class ArmChange(Message, frozen=True, kw_only=True):
    """What to change about an arm; what is left out stays. A retired arm stays retired."""

    state: Literal["active", "paused", "retired"] | UnsetType = UNSET
    floor: Share | UnsetType = UNSET
    cap: Share | UnsetType = UNSET
    payload: Any = UNSET


class Ask(Message, frozen=True, kw_only=True):
    """A decision asked for. `context` is kept with it and not used."""

    unit_id: Unit | None = None
    allowed_arms: Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None = None
    sticky: bool = False
    deferred: bool = False
    context: dict[str, Any] | None = None
    decision_id: Uuid | None = None


class Reward(Message, frozen=True, kw_only=True):
    """How a decision turned out. `observed_at` is kept; the service's own clock decides what is late."""

    value: float
    reward_id: Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)")] | None = None
    observed_at: datetime | None = None


class RewardLine(Reward, frozen=True, kw_only=True):
    """One line of a batch of rewards."""

    decision_id: Uuid


class Erasure(Message, frozen=True, kw_only=True):
    """A unit to erase, in one experiment or in all."""

    unit_id: Unit
    experiment: Key | None = None


# --- what the service answers ---


class Arm(Answer, frozen=True, kw_only=True):
    """An arm as it stands."""

    arm: str
    state: ArmState
    floor: float
    cap: float
    payload: Any
    probability: float


class Damage(Answer, frozen=True, kw_only=True):
    """What of an experiment could not be used. Settings or snapshot: it cannot decide; learner or log: nor learn."""

    part: DamagedPart
    detail: str
    since: datetime


class Experiment(Answer, frozen=True, kw_only=True):
    """An experiment as it stands. `revision` counts changes of its settings (the ETag), `version` everything."""

    key: str
    state: ExperimentState
    revision: int
    version: int
    arms: list[Arm]
    reward: RewardRule
    reward_window_s: float
    default_reward: float | None
    control: Control | None
    holdout_share: float
    stickiness: Stickiness
    tags: list[str]
    keep_days: float | None = None
    seed: int
    learner: str
    created_at: datetime
    damage: Damage | None = None


class Decided(Answer, frozen=True, kw_only=True):
    """A decision: the arm to use, and how probable it was when it was drawn."""

    decision_id: str | None
    arm: str
    payload: Any
    propensity: float
    probabilities: dict[str, float]
    state_version: int
    stream: Stream
    reason: Reason
    expires_at: datetime | None


class Receipt(Answer, frozen=True, kw_only=True):
    """What became of a reward."""

    decision_id: str
    status: Status


class LineReceipt(Answer, frozen=True, kw_only=True):
    """What became of one line of a batch: a receipt, or what was wrong with it."""

    line: int
    decision_id: str | None = None
    status: Status | Literal["refused"] = "refused"
    detail: str | None = None


class DecisionFields(Answer, frozen=True, kw_only=True):
    """What `DecisionRecord` and `LogLine` both tell about a decision."""

    decision_id: str
    experiment: str
    decided_at: datetime
    arm: str
    propensity: float
    probabilities: dict[str, float]
    state_version: int
    m: int
    stream: Stream
    reason: Reason
    context: Any
    reward: float | None
    rewarded_at: datetime | None
    applied_version: int | None
    applied_position: int | None


class DecisionRecord(DecisionFields, frozen=True, kw_only=True):
    """Everything known about one decision."""

    expires_at: datetime | None
    outcome: Literal["open", "waiting", "rewarded", "defaulted", "expired"]
    refused: list[RefusedReward] = field(default_factory=list)


class RefusedReward(Answer, frozen=True, kw_only=True):
    """A reward that was recorded and not learned from."""

    value: float
    status: Literal["duplicate", "conflict", "late", "out_of_range", "orphan"]
    received_at: datetime
    reward_id: str | None = None


class LearnerState(Answer, frozen=True, kw_only=True):
    """What the learner makes of it all at present."""

    key: str
    version: int
    probabilities: dict[str, float]
    pending_rewards: int
    open_decisions: int
    explanation: dict[str, Any]
    explanation_text: str
    checksum: str


class VersionPoint(Answer, frozen=True, kw_only=True):
    """A version of an experiment: what made it, what was served from then on, and how many pulls that plans ahead."""

    version: int
    at: datetime
    kind: Literal[
        "opened", "rewards", "planned", "checkpoint", "repaired", "arm_added", "arm_changed", "settings_changed"
    ]
    n_learned: int
    probabilities: dict[str, float]
    m: int


class Switch(Answer, frozen=True, kw_only=True):
    """A change of the leading arm that the learner reports."""

    version: int
    at: datetime
    before: str
    after: str


class AuditEntry(Answer, frozen=True, kw_only=True):
    """Who changed what, chained by hashes: an entry altered or taken out later shows."""

    seq: int
    at: datetime
    actor: str
    action: str
    experiment: str | None
    before: Any
    after: Any
    previous_hash: str
    hash: str


class Erased(Answer, frozen=True, kw_only=True):
    """What was erased: of decisions the context and the unit's hash; sticky decisions and stored answers as a whole."""

    decisions: int
    sticky: int
    answers: int


class LogLine(DecisionFields, frozen=True, kw_only=True):
    """One decision with its outcome, as exported."""

    unit: str | None
    outcome: Literal["open", "rewarded", "defaulted", "expired"]


# --- what one transaction records together ---


class Decide(NamedTuple):
    """The command to draw a decision. `is_flag`: for OpenFeature, so the experiment's `stickiness.flags` applies."""

    key: str
    ask: Ask
    idempotency_key: str | None = None
    is_flag: bool = False


class Tell(NamedTuple):
    """The command to record a reward. `only`: refused unless the decision is there and of one of these experiments."""

    decision_id: str
    reward: Reward
    only: Set[str] | None = None


Command: TypeAlias = Decide | Tell
Result: TypeAlias = Decided | Receipt | Problem


class DecideMethod:
    """The method `decide` of engine and client: its keyword arguments become an `Ask`."""

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
    ) -> Decided:
        """Draw an arm, and record how probable it was."""
        ask = Ask(
            unit_id=unit_id,
            allowed_arms=None if allowed_arms is None else list(allowed_arms),
            sticky=sticky,
            deferred=deferred,
            context=context,
            decision_id=decision_id,
        )
        return self._decide(key, ask, idempotency_key)

    def _decide(self, key: str, ask: Ask, idempotency_key: str | None) -> Decided:
        raise NotImplementedError
