ALTER TABLE learner ADD COLUMN rule BIGINT NOT NULL DEFAULT 1; -- the version of the rule that `state` is of

-- Versions of the kind `checkpoint`: from the latest on the log is replayed. An older rule learned what lies before.
CREATE TABLE checkpoint (
    experiment  BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    older_rule  BIGINT NOT NULL,
    state       {bytes} NOT NULL,              -- migrated to the rule that is newer
    PRIMARY KEY (experiment, version)
);
