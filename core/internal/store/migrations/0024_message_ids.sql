-- The networks' ids of messages that the agent is told, so that it can name them.
ALTER TABLE transcript ADD COLUMN message_id TEXT NOT NULL DEFAULT ''; -- '': none, or of an older version
ALTER TABLE notes ADD COLUMN message_id TEXT NOT NULL DEFAULT '';

-- Those of messages that it was told without having been asked.
CREATE TABLE shown_messages (
  session    TEXT   NOT NULL,
  message_id TEXT   NOT NULL,
  shown_at   BIGINT NOT NULL,
  PRIMARY KEY (session, message_id)
) WITHOUT ROWID;
CREATE INDEX shown_messages_shown ON shown_messages (shown_at);
