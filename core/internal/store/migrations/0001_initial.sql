-- Times are milliseconds since 1970. A column that may be NULL says by it that there is none.

-- One row: what is true of the whole database.
CREATE TABLE store (
  id             TEXT   NOT NULL, -- begins every idempotency key: two databases never share one
  uncertain      BIGINT NOT NULL, -- pieces whose send had an unknown outcome and that were sent again
  state_revision BIGINT NOT NULL  -- the last one given to a value of a plugin's state
);
INSERT INTO store (id, uncertain, state_revision) VALUES (lower(hex(randomblob(8))), 0, 0);

CREATE TABLE sessions (
  key            TEXT   NOT NULL PRIMARY KEY,
  claude_session TEXT   NOT NULL,
  kind           BIGINT NOT NULL,
  title          TEXT   NOT NULL,
  channel        TEXT   NOT NULL,
  chat           TEXT   NOT NULL,
  thread         TEXT   NOT NULL,
  created_at     BIGINT NOT NULL,
  reset_at       BIGINT NOT NULL,
  interacted_at  BIGINT,
  message_at     BIGINT, -- when the turn lane's last message was received
  model          TEXT   NOT NULL DEFAULT '',
  turns          BIGINT NOT NULL DEFAULT 0,
  input_tokens   BIGINT NOT NULL DEFAULT 0,
  cache_tokens   BIGINT NOT NULL DEFAULT 0,
  output_tokens  BIGINT NOT NULL DEFAULT 0,
  cost_micros    BIGINT NOT NULL DEFAULT 0,
  context_tokens BIGINT NOT NULL DEFAULT 0,
  context_window BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Claude's sessions, the replaced ones too: a message stays with the one that it was first claimed for.
CREATE TABLE claude_sessions (
  id          TEXT   NOT NULL PRIMARY KEY,
  session     TEXT   NOT NULL,
  begun_at    BIGINT NOT NULL,
  started_at  BIGINT, -- when it first consumed a message
  replaced_at BIGINT
) WITHOUT ROWID;
CREATE INDEX claude_sessions_replaced ON claude_sessions (replaced_at) WHERE replaced_at IS NOT NULL;

-- A lane is a session's queue. Its counter decides whether there is work, never a look at the inbox: under concurrent
-- writers such a look loses wake-ups. Whenever no step is under way: queued > 0 and run_id NULL, or ready_at NULL.
-- Idle lanes are in neither index.
CREATE TABLE lanes (
  session  TEXT   NOT NULL,
  lane     TEXT   NOT NULL,
  next_seq BIGINT NOT NULL, -- the last one given
  queued   BIGINT NOT NULL, -- inbox rows, the running one included
  ready_at BIGINT,
  run_id   BIGINT,
  PRIMARY KEY (session, lane)
) WITHOUT ROWID;
CREATE INDEX lanes_ready ON lanes (lane, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lanes_running ON lanes (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE inbox (
  session        TEXT   NOT NULL,
  lane           TEXT   NOT NULL,
  seq            BIGINT NOT NULL,
  channel        TEXT   NOT NULL,
  event_id       TEXT   NOT NULL,
  message        TEXT   NOT NULL, -- JSON
  received_at    BIGINT NOT NULL,
  ready_at       BIGINT NOT NULL,
  previous_at    BIGINT, -- when the session's message before it was received
  attempts       BIGINT NOT NULL DEFAULT 0,
  claude_session TEXT,
  consumed_at    BIGINT,
  PRIMARY KEY (session, lane, seq)
) WITHOUT ROWID;

-- What was taken in or posted already. ref is the first outbox row of a post.
CREATE TABLE dedupe (
  kind    TEXT   NOT NULL, -- 'event' or 'post'
  channel TEXT   NOT NULL, -- '' for posts
  id      TEXT   NOT NULL,
  seen_at BIGINT NOT NULL,
  ref     BIGINT,
  PRIMARY KEY (kind, channel, id)
) WITHOUT ROWID;
CREATE INDEX dedupe_seen ON dedupe (seen_at);

-- The id is the fencing token: never reused, hence AUTOINCREMENT.
CREATE TABLE runs (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  session    TEXT   NOT NULL,
  lane       TEXT   NOT NULL,
  seq        BIGINT NOT NULL,
  channel    TEXT   NOT NULL,
  event_id   TEXT   NOT NULL,
  state      TEXT   NOT NULL, -- 'running' or how it ended
  started_at BIGINT NOT NULL,
  ended_at   BIGINT,
  error      TEXT   NOT NULL DEFAULT '',
  answer     TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX runs_event ON runs (channel, event_id);

-- The id is in idempotency keys: never reused.
CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  channel    TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  thread     TEXT   NOT NULL,
  text       TEXT   NOT NULL,
  reply_to   TEXT   NOT NULL,
  run_id     BIGINT NOT NULL, -- 0: no run's
  created_at BIGINT NOT NULL,
  attempts   BIGINT NOT NULL DEFAULT 0,
  uncertain  BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_destination ON outbox (channel, chat, thread, id);

-- A destination with undelivered pieces: they leave one at a time, in order. Whenever no step is under way, either
-- next_at is set, or sending is, the outbox id of the piece on its way.
CREATE TABLE out_lanes (
  channel    TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  thread     TEXT   NOT NULL,
  pending    BIGINT NOT NULL,
  next_at    BIGINT,
  sending    BIGINT,
  last_error TEXT   NOT NULL DEFAULT '',
  PRIMARY KEY (channel, chat, thread)
) WITHOUT ROWID;
CREATE INDEX out_lanes_due ON out_lanes (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX out_lanes_sending ON out_lanes (sending) WHERE sending IS NOT NULL;

CREATE TABLE dead_pieces (
  id         BIGINT NOT NULL PRIMARY KEY,
  channel    TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  thread     TEXT   NOT NULL,
  text       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  died_at    BIGINT NOT NULL,
  attempts   BIGINT NOT NULL,
  error      TEXT   NOT NULL
);
CREATE INDEX dead_pieces_died ON dead_pieces (died_at);

-- The networks' ids of what was sent.
CREATE TABLE sent (
  channel    TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  message_id TEXT   NOT NULL,
  run_id     BIGINT NOT NULL,
  sent_at    BIGINT NOT NULL,
  PRIMARY KEY (channel, chat, message_id)
) WITHOUT ROWID;
CREATE INDEX sent_at ON sent (sent_at);

CREATE TABLE transcript (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  session TEXT   NOT NULL,
  role    BIGINT NOT NULL,
  text    TEXT   NOT NULL,
  said_at BIGINT NOT NULL
);
CREATE INDEX transcript_session ON transcript (session, id);

CREATE TABLE pairings (
  channel    TEXT   NOT NULL,
  user_id    TEXT   NOT NULL,
  code       TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (channel, user_id)
) WITHOUT ROWID;

CREATE TABLE allowed (
  channel    TEXT   NOT NULL,
  user_id    TEXT   NOT NULL,
  allowed_at BIGINT NOT NULL,
  PRIMARY KEY (channel, user_id)
) WITHOUT ROWID;

CREATE TABLE state (
  instance TEXT   NOT NULL,
  key      TEXT   NOT NULL,
  value    BLOB   NOT NULL,
  revision BIGINT NOT NULL,
  PRIMARY KEY (instance, key)
);

CREATE TABLE media (
  instance   TEXT   NOT NULL,
  ref        TEXT   NOT NULL,
  kind       BIGINT NOT NULL,
  mime_type  TEXT   NOT NULL,
  file_name  TEXT   NOT NULL,
  size       BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance, ref)
) WITHOUT ROWID;

CREATE TABLE processes (
  pid        BIGINT NOT NULL,
  start_time BIGINT NOT NULL,
  kind       TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  boot_id    TEXT   NOT NULL,
  PRIMARY KEY (pid, start_time)
) WITHOUT ROWID;
