"""The columns of tables that are written from more than one place."""

from __future__ import annotations

INBOX = ("decision_id", "experiment", "value", "received_at", "observed_at", "source")
PART = ("decision_id", "reward_id", "value", "received_at", "observed_at")
REFUSED = ("decision_id", "experiment", "reward_id", "value", "received_at", "status")
