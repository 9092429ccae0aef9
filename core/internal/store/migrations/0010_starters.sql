-- What threads began with, the newest of them. A session need not have a row for it.
CREATE TABLE starters (
  session TEXT   NOT NULL PRIMARY KEY,
  text    TEXT   NOT NULL,
  kept_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX starters_kept ON starters (kept_at);
