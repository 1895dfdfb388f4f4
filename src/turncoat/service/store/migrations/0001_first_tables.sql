-- Times are seconds since 1970. {text} orders by bytes, {bytes} holds bytes, {tended} is tidied up early,
-- {unpacked} keeps states as they are: each database has its own words for them, or none.

CREATE TABLE experiment (
    id          BIGINT PRIMARY KEY,
    key         {text} NOT NULL UNIQUE,
    created_at  DOUBLE PRECISION NOT NULL,
    config      TEXT NOT NULL,
    state       TEXT NOT NULL,                 -- running, stopped
    revision    BIGINT NOT NULL,               -- changes of settings and arms
    version     BIGINT NOT NULL,               -- changes of anything
    seed        BIGINT NOT NULL,
    salt        TEXT NOT NULL,                 -- hashes units, so that their names are not kept
    machine     TEXT NOT NULL                  -- what the learner's numbers were computed on
);

CREATE TABLE learner (
    experiment  BIGINT PRIMARY KEY,
    version     BIGINT NOT NULL,
    state       {bytes} NOT NULL,
    first_state {bytes} NOT NULL,              -- from which replaying the log must lead to `state`
    checksum    TEXT NOT NULL
);
{unpacked};

CREATE TABLE arm (
    experiment  BIGINT NOT NULL,
    arm         {text} NOT NULL,
    position    BIGINT NOT NULL,
    state       TEXT NOT NULL,                 -- pending, active, paused, retired
    floor       DOUBLE PRECISION NOT NULL,
    cap         DOUBLE PRECISION NOT NULL,
    payload     TEXT NOT NULL,
    added_at    DOUBLE PRECISION NOT NULL,
    tried       BIGINT NOT NULL,               -- 1: a reward of it has been learned from
    PRIMARY KEY (experiment, arm)
);

CREATE TABLE version (
    experiment    BIGINT NOT NULL,
    version       BIGINT NOT NULL,
    at            DOUBLE PRECISION NOT NULL,
    kind          TEXT NOT NULL,               -- opened, rewards, arm_added, arm_changed, settings_changed
    detail        TEXT,
    n_learned     BIGINT NOT NULL,
    probabilities TEXT NOT NULL,               -- served from this version on, to those who name no arms
    checksum      TEXT NOT NULL,               -- of the learner's state
    PRIMARY KEY (experiment, version)
);

-- A decision's whole life is one row: it is closed, once, when applied_version is set.
CREATE TABLE decision (
    id               {text} PRIMARY KEY,
    experiment       BIGINT NOT NULL,
    arm              TEXT NOT NULL,
    propensity       DOUBLE PRECISION NOT NULL,
    probabilities    TEXT,                     -- NULL: its version's
    allowed          TEXT,                     -- the arms it was drawn from; NULL: all the learner has
    version          BIGINT NOT NULL,
    stream           TEXT NOT NULL,            -- learn, control, holdout
    reason           TEXT NOT NULL,
    unit             TEXT,
    context          TEXT,
    decided_at       DOUBLE PRECISION NOT NULL,
    expires_at       DOUBLE PRECISION,         -- NULL: deferred, and not activated
    outcome          TEXT,                     -- rewarded, defaulted, expired
    reward           DOUBLE PRECISION,
    rewarded_at      DOUBLE PRECISION,
    observed_at      DOUBLE PRECISION,
    applied_version  BIGINT,
    applied_position BIGINT
){tended};
CREATE INDEX decision_open ON decision (experiment, expires_at) WHERE applied_version IS NULL;
CREATE INDEX decision_applied ON decision (experiment, applied_version, applied_position)
    WHERE applied_version IS NOT NULL;

-- Rewards on their way to the applier, at most one a decision: this key is what makes "exactly one" true.
CREATE TABLE inbox (
    decision_id {text} PRIMARY KEY,
    experiment  BIGINT,                        -- NULL: the decision has not arrived yet
    value       DOUBLE PRECISION,              -- NULL: the window has ended, and there is no default
    received_at DOUBLE PRECISION NOT NULL,
    observed_at DOUBLE PRECISION,
    source      TEXT NOT NULL                  -- real, default, collected, early (rewards wait in `part`)
);
-- Only for those who name the experiment. PostgreSQL takes the inbox for all but empty, and to look for a decision in
-- all of another index would seem cheap.
CREATE INDEX inbox_waiting ON inbox (experiment, received_at, decision_id) WHERE experiment IS NOT NULL;
CREATE INDEX inbox_early ON inbox (received_at) WHERE experiment IS NULL;

-- Rewards of decisions that collect several, and rewards that came before their decision.
CREATE TABLE part (
    decision_id {text} NOT NULL,
    reward_id   {text} NOT NULL,
    value       DOUBLE PRECISION NOT NULL,
    received_at DOUBLE PRECISION NOT NULL,
    observed_at DOUBLE PRECISION,
    PRIMARY KEY (decision_id, reward_id)
);

CREATE TABLE refused (
    decision_id {text} NOT NULL,
    experiment  BIGINT,
    reward_id   TEXT,
    value       DOUBLE PRECISION NOT NULL,
    received_at DOUBLE PRECISION NOT NULL,
    status      TEXT NOT NULL                  -- duplicate, conflict, late, out_of_range, orphan
);
CREATE INDEX refused_decision ON refused (decision_id);
CREATE INDEX refused_time ON refused (experiment, received_at);

CREATE TABLE idempotency (
    experiment  BIGINT NOT NULL,
    key         {text} NOT NULL,
    body_hash   TEXT NOT NULL,
    answer      {bytes} NOT NULL,
    expires_at  DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (key, experiment)              -- looked up for several experiments at once
);
CREATE INDEX idempotency_old ON idempotency (expires_at);

CREATE TABLE sticky (
    experiment  BIGINT NOT NULL,
    unit        {text} NOT NULL,
    decision_id {text} NOT NULL,
    answer      {bytes} NOT NULL,
    PRIMARY KEY (unit, experiment)
);

CREATE TABLE bucket (
    experiment  BIGINT NOT NULL,
    width       BIGINT NOT NULL,
    start       BIGINT NOT NULL,
    arm         {text} NOT NULL,
    stream      {text} NOT NULL,
    n           BIGINT NOT NULL,
    n_rewarded  BIGINT NOT NULL,
    n_defaulted BIGINT NOT NULL,
    n_expired   BIGINT NOT NULL,
    r           DOUBLE PRECISION NOT NULL,     -- sums over rewarded and defaulted: of rewards, their squares,
    r2          DOUBLE PRECISION NOT NULL,
    w           DOUBLE PRECISION NOT NULL,     -- of w = 1 / propensity, and of its products with the reward
    w2          DOUBLE PRECISION NOT NULL,
    wr          DOUBLE PRECISION NOT NULL,
    w2r         DOUBLE PRECISION NOT NULL,
    w2r2        DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, width, start, arm, stream)
);

CREATE TABLE audit (
    seq           BIGINT PRIMARY KEY,
    at            DOUBLE PRECISION NOT NULL,
    actor         TEXT NOT NULL,
    action        TEXT NOT NULL,
    experiment    {text},
    before        TEXT NOT NULL,
    after         TEXT NOT NULL,
    previous_hash TEXT NOT NULL,
    hash          TEXT NOT NULL
);

CREATE TABLE api_key (
    id          {text} PRIMARY KEY,
    name        TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    created_at  DOUBLE PRECISION NOT NULL,
    expires_at  DOUBLE PRECISION,
    revoked_at  DOUBLE PRECISION
);

-- Facts about the whole: the last backup, the last time the log was replayed and compared.
CREATE TABLE fact (
    name        {text} PRIMARY KEY,
    value       TEXT NOT NULL
);
