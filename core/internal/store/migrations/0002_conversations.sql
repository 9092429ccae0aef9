-- What people chose for a session, and what its claude session has been through.
ALTER TABLE sessions ADD COLUMN overrides TEXT NOT NULL DEFAULT '{}'; -- JSON
ALTER TABLE sessions ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN flushed_at BIGINT;
ALTER TABLE claude_sessions ADD COLUMN fork_of TEXT NOT NULL DEFAULT ''; -- '': none
ALTER TABLE claude_sessions ADD COLUMN compactions BIGINT NOT NULL DEFAULT 0;
ALTER TABLE claude_sessions ADD COLUMN flushed BIGINT NOT NULL DEFAULT 0; -- compactions at the last memory flush plus one

-- A run may hold more than the head of its lane: the messages of its burst or collection, whose batch is the seq of its
-- head in each attempt, and those that were joined to it while it ran, which are its only as long as it runs. held counts
-- them; it is 0 where nothing runs.
ALTER TABLE lanes ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN mode TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN share TEXT NOT NULL DEFAULT '';     -- whose turn it may share: the same authority and address
ALTER TABLE inbox ADD COLUMN overrides TEXT NOT NULL DEFAULT ''; -- JSON; '': none
ALTER TABLE inbox ADD COLUMN size BIGINT NOT NULL DEFAULT 0;     -- bytes of the text
ALTER TABLE inbox ADD COLUMN burst BIGINT NOT NULL DEFAULT 0;    -- the seq of the first message of its burst
ALTER TABLE inbox ADD COLUMN burst_by TEXT NOT NULL DEFAULT '';  -- '': it joins none
ALTER TABLE inbox ADD COLUMN batch BIGINT;
ALTER TABLE inbox ADD COLUMN joined_run BIGINT;
UPDATE inbox SET burst = seq, batch = CASE WHEN attempts > 0 THEN seq END;
UPDATE lanes SET held = 1 WHERE run_id IS NOT NULL;
CREATE INDEX inbox_joined ON inbox (joined_run) WHERE joined_run IS NOT NULL;

-- What a session's next turn is told beside its message. batch is the seq of the head of the turn that has it; NULL: none
-- has it yet.
CREATE TABLE notes (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT   NOT NULL,
  kind    TEXT   NOT NULL,
  at      BIGINT NOT NULL,
  sender  TEXT   NOT NULL,
  text    TEXT   NOT NULL,
  count   BIGINT NOT NULL, -- how many messages it stands for
  batch   BIGINT
);
CREATE INDEX notes_session ON notes (session, kind, id);

-- The sessions with notes of what was said in them, so that those of chats in which the agent is never spoken to are
-- forgotten.
CREATE TABLE histories (
  session    TEXT   NOT NULL PRIMARY KEY,
  touched_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX histories_touched ON histories (touched_at);

CREATE TABLE usage_days (
  day           TEXT   NOT NULL, -- such as 2026-03-15
  model         TEXT   NOT NULL,
  turns         BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  cache_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cost_micros   BIGINT NOT NULL,
  PRIMARY KEY (day, model)
) WITHOUT ROWID;

-- How far who follows all transcripts has come.
CREATE TABLE followers (
  name  TEXT   NOT NULL PRIMARY KEY,
  after BIGINT NOT NULL
) WITHOUT ROWID;
