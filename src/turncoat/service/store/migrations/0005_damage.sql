-- What of an experiment could not be used when it was last needed. It counts while the experiment is at this version.
CREATE TABLE damage (
    experiment  BIGINT PRIMARY KEY,
    version     BIGINT NOT NULL,
    part        TEXT NOT NULL,                 -- settings, snapshot, learner, log
    detail      TEXT NOT NULL,
    since       DOUBLE PRECISION NOT NULL
);
