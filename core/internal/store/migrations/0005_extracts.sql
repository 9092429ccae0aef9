-- What a program of the operator's choice made of a file or a page. It is kept so that a turn that is tried again does not
-- run it once more.
CREATE TABLE extracts (
  source     TEXT   NOT NULL PRIMARY KEY,
  text       TEXT   NOT NULL,
  failure    TEXT   NOT NULL, -- why there is none; '': there is one
  created_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX extracts_created ON extracts (created_at);
