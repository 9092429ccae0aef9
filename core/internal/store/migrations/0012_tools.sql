-- What the tools of plugins tell the host alone, of their last uses in a session.
CREATE TABLE tool_uses (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT   NOT NULL,
  turn    TEXT   NOT NULL,
  plugin  TEXT   NOT NULL,
  tool    TEXT   NOT NULL,
  used_at BIGINT NOT NULL,
  took    BIGINT NOT NULL, -- in milliseconds
  failed  INTEGER NOT NULL,
  details TEXT   NOT NULL -- JSON
);
CREATE INDEX tool_uses_session ON tool_uses (session, id);
CREATE INDEX tool_uses_used ON tool_uses (used_at);
