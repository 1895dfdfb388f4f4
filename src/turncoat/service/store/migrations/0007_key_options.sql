ALTER TABLE api_key ADD COLUMN experiments TEXT;              -- their keys, with spaces between; NULL: all
ALTER TABLE api_key ADD COLUMN rate DOUBLE PRECISION;         -- requests per second and worker; NULL: no limit
ALTER TABLE api_key ADD COLUMN burst BIGINT;                  -- requests at once; set where rate is

-- Logins of the dashboard. The cookie holds the random token, of which only the hash is kept.
CREATE TABLE login_session (
    sha256      {text} PRIMARY KEY,
    api_key     TEXT NOT NULL,
    expires_at  DOUBLE PRECISION NOT NULL
);
