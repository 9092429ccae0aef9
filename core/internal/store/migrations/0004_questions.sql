-- What claude asks before it does something. A question is open until somebody answers it or it has no use any more; its
-- answer is taken by the turn that asked, or by the one that asks the same after a restart.
CREATE TABLE questions (
  id             TEXT   NOT NULL PRIMARY KEY, -- what people name it by
  session        TEXT   NOT NULL,
  claude_session TEXT   NOT NULL,
  digest         TEXT   NOT NULL, -- what is asked: the same again is the same question
  authority      BIGINT NOT NULL, -- of the turn
  asker          TEXT   NOT NULL, -- whose turn it is, as channel:user
  channel        TEXT   NOT NULL, -- where it is asked
  chat           TEXT   NOT NULL,
  thread         TEXT   NOT NULL,
  piece          BIGINT NOT NULL,
  body           TEXT   NOT NULL, -- JSON
  state          TEXT   NOT NULL,
  answer         TEXT   NOT NULL DEFAULT '', -- JSON
  created_at     BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL,
  ended_at       BIGINT
) WITHOUT ROWID;
CREATE INDEX questions_live ON questions (session, digest) WHERE ended_at IS NULL;
CREATE INDEX questions_ended ON questions (ended_at) WHERE ended_at IS NOT NULL;

-- What people have allowed for longer than once.
CREATE TABLE grants (
  session        TEXT   NOT NULL,
  claude_session TEXT   NOT NULL, -- '': all of the session's
  authority      BIGINT NOT NULL,
  rule           TEXT   NOT NULL,
  granted_by     TEXT   NOT NULL, -- channel:user
  granted_at     BIGINT NOT NULL,
  PRIMARY KEY (session, claude_session, authority, rule)
) WITHOUT ROWID;
CREATE INDEX grants_granted ON grants (granted_at);
