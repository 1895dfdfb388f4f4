-- The control's settings when the version was written, as in experiments/comparisons.py; NULL: by an earlier Turncoat.
ALTER TABLE version ADD COLUMN control TEXT;

-- Sums over closed decisions of the learn stream, and over those that had a rival, where chance could give either.
CREATE TABLE comparison (
    experiment  BIGINT NOT NULL,
    width       BIGINT NOT NULL,
    start       BIGINT NOT NULL,
    rival       {text} NOT NULL,               -- control, holdout, arm
    stratum     {text} NOT NULL,               -- the settings that streams were drawn with, or why not; or the arm
    n           BIGINT NOT NULL,               -- of the learn stream
    r           DOUBLE PRECISION NOT NULL,
    iw          DOUBLE PRECISION NOT NULL,     -- of 1 / the probability of the arm
    rival_n     BIGINT NOT NULL,               -- of those that had the rival; w = 1 / propensity, 1 for the streams
    w           DOUBLE PRECISION NOT NULL,
    w2          DOUBLE PRECISION NOT NULL,
    wr          DOUBLE PRECISION NOT NULL,
    wr2         DOUBLE PRECISION NOT NULL,
    w2r         DOUBLE PRECISION NOT NULL,
    w2r2        DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, width, start, rival, stratum)
);

-- Units of control and holdout in groups, by their hash: what the decisions of one unit have in common.
CREATE TABLE unit_group (
    experiment  BIGINT NOT NULL,
    rival       {text} NOT NULL,
    stratum     {text} NOT NULL,
    number      BIGINT NOT NULL,
    n           BIGINT NOT NULL,
    r           DOUBLE PRECISION NOT NULL,
    r2          DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, rival, stratum, number)
);
