-- Versions of the kind `planned` have no news: so many decisions are open that more pulls are planned ahead.
ALTER TABLE version ADD COLUMN m BIGINT NOT NULL DEFAULT 1; -- pulls that were planned for `probabilities`

ALTER TABLE learner ADD COLUMN delays TEXT; -- a record of delays in milliseconds; NULL: nothing was counted yet

CREATE INDEX decision_waiting ON decision (experiment, decided_at) WHERE applied_version IS NULL AND stream = 'learn';
