ALTER TABLE experiment ADD COLUMN pruned_version BIGINT NOT NULL DEFAULT 0; -- decisions applied before it are pruned
ALTER TABLE experiment ADD COLUMN pruned_to DOUBLE PRECISION;               -- when the latest of them was made
ALTER TABLE experiment ADD COLUMN erasures BIGINT NOT NULL DEFAULT 0;       -- entries of the audit about erased units
