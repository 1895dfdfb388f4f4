-- Deferred decisions that were never used, by age (experiments/unused.py).
CREATE INDEX decision_unused ON decision (decided_at) WHERE applied_version IS NULL AND expires_at IS NULL;
