-- The messages that show how far their answers are. One that has shown how it ended is forgotten.
CREATE TABLE reactions (
  channel    TEXT   NOT NULL,
  event_id   TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  thread     TEXT   NOT NULL,
  message_id TEXT   NOT NULL,
  stage      TEXT   NOT NULL,
  shown      TEXT   NOT NULL DEFAULT '', -- the stage that it shows; '': none yet
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (channel, event_id)
) WITHOUT ROWID;
CREATE INDEX reactions_due ON reactions (channel, changed_at) WHERE stage != shown;
ALTER TABLE inbox ADD COLUMN reacts BIGINT NOT NULL DEFAULT 0;
