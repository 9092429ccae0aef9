-- What the agent has sent to its own conversation by a tool, under the number by which it knows it, so that it can change or
-- delete it. The buttons of a message name it by its key, which is the tool call's.
CREATE TABLE agent_messages (
  session   TEXT   NOT NULL,
  number    BIGINT NOT NULL,
  key       TEXT   NOT NULL,
  texts     TEXT   NOT NULL, -- JSON: the kept items of its text, in order
  files     TEXT   NOT NULL, -- JSON: those of its files
  labels    TEXT   NOT NULL, -- JSON: the labels of its buttons, in order
  posted_at BIGINT NOT NULL,
  PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX agent_messages_key ON agent_messages (key);
CREATE INDEX agent_messages_posted ON agent_messages (posted_at);

-- The network's ids of a kept item beyond the first, as of several files: JSON; '': there are none.
ALTER TABLE kept_pieces ADD COLUMN more TEXT NOT NULL DEFAULT '';
