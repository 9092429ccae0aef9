-- The schema as the files of the folder above have made it in SQLite by number 40: what its tables and columns are for is said there. Texts are
-- compared byte by byte, as SQLite does.

CREATE TABLE agent_messages (
  session   TEXT COLLATE "C"   NOT NULL,
  number    BIGINT NOT NULL,
  key       TEXT COLLATE "C"   NOT NULL,
  texts     TEXT COLLATE "C"   NOT NULL,
  files     TEXT COLLATE "C"   NOT NULL,
  labels    TEXT COLLATE "C"   NOT NULL,
  posted_at BIGINT NOT NULL,
  PRIMARY KEY (session, number)
);
CREATE UNIQUE INDEX agent_messages_key ON agent_messages (key);
CREATE INDEX agent_messages_posted ON agent_messages (posted_at);

CREATE TABLE allowed (
  channel    TEXT COLLATE "C"   NOT NULL,
  user_id    TEXT COLLATE "C"   NOT NULL,
  allowed_at BIGINT NOT NULL,
  PRIMARY KEY (channel, user_id)
);

CREATE TABLE chosen_agents (
  conversation TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  agent        TEXT COLLATE "C"   NOT NULL
);

CREATE TABLE claude_sessions (
  id          TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  session     TEXT COLLATE "C"   NOT NULL,
  begun_at    BIGINT NOT NULL,
  started_at  BIGINT,
  replaced_at BIGINT,
  parent      TEXT COLLATE "C"   NOT NULL DEFAULT '',
  compactions BIGINT NOT NULL DEFAULT 0,
  flushed     BIGINT NOT NULL DEFAULT 0,
  given       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  folder      TEXT COLLATE "C"   NOT NULL DEFAULT '',
  worktree    TEXT COLLATE "C"   NOT NULL DEFAULT '',
  copy_of     TEXT COLLATE "C"   NOT NULL DEFAULT '',
  todos       TEXT COLLATE "C"   NOT NULL DEFAULT ''
);
CREATE INDEX claude_sessions_folder ON claude_sessions (session, folder);
CREATE INDEX claude_sessions_replaced ON claude_sessions (replaced_at) WHERE replaced_at IS NOT NULL;

CREATE TABLE dead_pieces (
  id         BIGINT NOT NULL PRIMARY KEY,
  channel    TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  thread     TEXT COLLATE "C"   NOT NULL,
  text       TEXT COLLATE "C"   NOT NULL,
  created_at BIGINT NOT NULL,
  died_at    BIGINT NOT NULL,
  attempts   BIGINT NOT NULL,
  error      TEXT COLLATE "C"   NOT NULL,
  reply_to   TEXT COLLATE "C"   NOT NULL DEFAULT '',
  run_id     BIGINT NOT NULL DEFAULT 0,
  uncertain  BIGINT NOT NULL DEFAULT 0,
  rest       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  kept       BIGINT NOT NULL DEFAULT 0,
  edits      BIGINT NOT NULL DEFAULT 0,
  key_id     BIGINT NOT NULL DEFAULT 0,
  session    TEXT COLLATE "C"   NOT NULL DEFAULT '',
  told       BIGINT NOT NULL DEFAULT 1
);
CREATE INDEX dead_pieces_died ON dead_pieces (died_at);
CREATE INDEX dead_pieces_untold ON dead_pieces (session, id) WHERE told = 0;

CREATE TABLE dedupe (
  kind    TEXT COLLATE "C"   NOT NULL,
  channel TEXT COLLATE "C"   NOT NULL,
  id      TEXT COLLATE "C"   NOT NULL,
  seen_at BIGINT NOT NULL,
  ref     BIGINT,
  PRIMARY KEY (kind, channel, id)
);
CREATE INDEX dedupe_seen ON dedupe (seen_at);

CREATE TABLE direct_chats (
  channel TEXT COLLATE "C"   NOT NULL,
  user_id TEXT COLLATE "C"   NOT NULL,
  chat    TEXT COLLATE "C"   NOT NULL,
  ids     TEXT COLLATE "C"   NOT NULL,
  PRIMARY KEY (channel, user_id)
);
CREATE INDEX direct_chats_chat ON direct_chats (channel, chat);

CREATE TABLE extracts (
  source     TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  text       TEXT COLLATE "C"   NOT NULL,
  failure    TEXT COLLATE "C"   NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX extracts_created ON extracts (created_at);

CREATE TABLE followers (
  name  TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  after BIGINT NOT NULL
);

CREATE TABLE grants (
  session        TEXT COLLATE "C"   NOT NULL,
  claude_session TEXT COLLATE "C"   NOT NULL,
  authority      BIGINT NOT NULL,
  rule           TEXT COLLATE "C"   NOT NULL,
  granted_by     TEXT COLLATE "C"   NOT NULL,
  granted_at     BIGINT NOT NULL,
  PRIMARY KEY (session, claude_session, authority, rule)
);
CREATE INDEX grants_granted ON grants (granted_at);

CREATE TABLE histories (
  session    TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  touched_at BIGINT NOT NULL
);
CREATE INDEX histories_touched ON histories (touched_at);

CREATE TABLE inbox (
  session        TEXT COLLATE "C"   NOT NULL,
  lane           TEXT COLLATE "C"   NOT NULL,
  seq            BIGINT NOT NULL,
  channel        TEXT COLLATE "C"   NOT NULL,
  event_id       TEXT COLLATE "C"   NOT NULL,
  message        TEXT COLLATE "C"   NOT NULL,
  received_at    BIGINT NOT NULL,
  ready_at       BIGINT NOT NULL,
  previous_at    BIGINT,
  attempts       BIGINT NOT NULL DEFAULT 0,
  claude_session TEXT COLLATE "C",
  consumed_at    BIGINT,
  mode           TEXT COLLATE "C"   NOT NULL DEFAULT '',
  share          TEXT COLLATE "C"   NOT NULL DEFAULT '',
  overrides      TEXT COLLATE "C"   NOT NULL DEFAULT '',
  size           BIGINT NOT NULL DEFAULT 0,
  burst          BIGINT NOT NULL DEFAULT 0,
  burst_by       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  batch          BIGINT,
  joined_run     BIGINT,
  said           TEXT COLLATE "C"   NOT NULL DEFAULT '',
  preview        BIGINT NOT NULL DEFAULT 0,
  message_id     TEXT COLLATE "C"   NOT NULL DEFAULT '',
  receipt        BIGINT NOT NULL DEFAULT 0,
  urgent         BIGINT NOT NULL DEFAULT 0,
  ticket         BIGINT,
  reacts         BIGINT NOT NULL DEFAULT 0,
  told           TEXT COLLATE "C"   NOT NULL DEFAULT '',
  authority      BIGINT NOT NULL DEFAULT 0,
  origin         TEXT COLLATE "C"   NOT NULL DEFAULT '',
  fresh          BIGINT NOT NULL DEFAULT 0,
  edition        TEXT COLLATE "C"   NOT NULL DEFAULT '',
  files          BIGINT NOT NULL DEFAULT 0,
  steers         BIGINT NOT NULL DEFAULT 0,
  withdrawn      BIGINT NOT NULL DEFAULT 0,
  held_until     BIGINT,
  budget         TEXT COLLATE "C"   NOT NULL DEFAULT '',
  PRIMARY KEY (session, lane, seq)
);
CREATE INDEX inbox_joined ON inbox (joined_run) WHERE joined_run IS NOT NULL;
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id != '';

CREATE TABLE jobs (
  id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  session    TEXT COLLATE "C"   NOT NULL,
  caller     TEXT COLLATE "C"   NOT NULL,
  channel    TEXT COLLATE "C"   NOT NULL,
  user_id    TEXT COLLATE "C"   NOT NULL,
  title      TEXT COLLATE "C"   NOT NULL,
  command    TEXT COLLATE "C"   NOT NULL,
  folder     TEXT COLLATE "C"   NOT NULL,
  pattern    TEXT COLLATE "C"   NOT NULL,
  deadline   BIGINT,
  matched    BIGINT NOT NULL DEFAULT 0,
  late       BIGINT NOT NULL DEFAULT 0,
  pid        BIGINT NOT NULL DEFAULT 0,
  start_time BIGINT NOT NULL DEFAULT 0,
  boot_id    TEXT COLLATE "C"   NOT NULL DEFAULT '',
  state      TEXT COLLATE "C"   NOT NULL,
  code       BIGINT NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL,
  ended_at   BIGINT,
  output     BIGINT NOT NULL DEFAULT 0,
  tail       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  stopped_by TEXT COLLATE "C"   NOT NULL DEFAULT ''
);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_session ON jobs (session, id);

CREATE TABLE kept_pieces (
  piece      BIGINT NOT NULL PRIMARY KEY,
  channel    TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  thread     TEXT COLLATE "C"   NOT NULL,
  message_id TEXT COLLATE "C"   NOT NULL,
  sent_at    BIGINT NOT NULL,
  more       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  repeated   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX kept_pieces_sent ON kept_pieces (sent_at);

CREATE TABLE lanes (
  session  TEXT COLLATE "C"   NOT NULL,
  lane     TEXT COLLATE "C"   NOT NULL,
  next_seq BIGINT NOT NULL,
  queued   BIGINT NOT NULL,
  ready_at BIGINT,
  run_id   BIGINT,
  held     BIGINT NOT NULL DEFAULT 0,
  urgent   BIGINT NOT NULL DEFAULT 0,
  owner    BIGINT,
  PRIMARY KEY (session, lane)
);
CREATE INDEX lanes_ready ON lanes (lane, owner, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lanes_running ON lanes (run_id) WHERE run_id IS NOT NULL;

CREATE TABLE latencies (
  hour   BIGINT NOT NULL,
  kind   TEXT COLLATE "C"   NOT NULL,
  bucket BIGINT NOT NULL,
  turns  BIGINT NOT NULL,
  PRIMARY KEY (hour, kind, bucket)
);

CREATE TABLE lifts (
  budget    TEXT COLLATE "C"   NOT NULL,
  day       TEXT COLLATE "C"   NOT NULL,
  lifted_at BIGINT NOT NULL,
  PRIMARY KEY (budget, day)
);
CREATE INDEX lifts_age ON lifts (lifted_at);

CREATE TABLE media (
  instance   TEXT COLLATE "C"   NOT NULL,
  ref        TEXT COLLATE "C"   NOT NULL,
  kind       BIGINT NOT NULL,
  mime_type  TEXT COLLATE "C"   NOT NULL,
  file_name  TEXT COLLATE "C"   NOT NULL,
  size       BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance, ref)
);
CREATE INDEX media_created ON media (created_at);

CREATE TABLE moved_chats (
  id      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  channel TEXT COLLATE "C"   NOT NULL,
  chat    TEXT COLLATE "C"   NOT NULL,
  origin  TEXT COLLATE "C"   NOT NULL,
  UNIQUE (channel, chat)
);
CREATE INDEX moved_chats_by_origin ON moved_chats (channel, origin, id);

CREATE TABLE notes (
  id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  session    TEXT COLLATE "C"   NOT NULL,
  kind       TEXT COLLATE "C"   NOT NULL,
  at         BIGINT NOT NULL,
  sender     TEXT COLLATE "C"   NOT NULL,
  text       TEXT COLLATE "C"   NOT NULL,
  count      BIGINT NOT NULL,
  batch      BIGINT,
  told       BIGINT NOT NULL DEFAULT 0,
  message_id TEXT COLLATE "C"   NOT NULL DEFAULT ''
);
CREATE INDEX notes_session ON notes (session, kind, id);

CREATE TABLE out_lanes (
  channel    TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  thread     TEXT COLLATE "C"   NOT NULL,
  pending    BIGINT NOT NULL,
  next_at    BIGINT,
  sending    BIGINT,
  last_error TEXT COLLATE "C"   NOT NULL DEFAULT '',
  PRIMARY KEY (channel, chat, thread)
);
CREATE INDEX out_lanes_due ON out_lanes (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX out_lanes_sending ON out_lanes (sending) WHERE sending IS NOT NULL;

CREATE TABLE outbox (
  id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  channel    TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  thread     TEXT COLLATE "C"   NOT NULL,
  text       TEXT COLLATE "C"   NOT NULL,
  reply_to   TEXT COLLATE "C"   NOT NULL,
  run_id     BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  attempts   BIGINT NOT NULL DEFAULT 0,
  uncertain  BIGINT NOT NULL DEFAULT 0,
  rest       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  kept       BIGINT NOT NULL DEFAULT 0,
  edits      BIGINT NOT NULL DEFAULT 0,
  key_id     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_destination ON outbox (channel, chat, thread, id);

CREATE TABLE outgoing_files (
  folder  TEXT COLLATE "C"   NOT NULL,
  name    TEXT COLLATE "C"   NOT NULL,
  version TEXT COLLATE "C"   NOT NULL,
  sent    BIGINT NOT NULL,
  agent   TEXT COLLATE "C"   NOT NULL DEFAULT 'main',
  PRIMARY KEY (folder, name)
);

CREATE TABLE overrides (
  name   TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  value  TEXT COLLATE "C"   NOT NULL,
  set_by TEXT COLLATE "C"   NOT NULL,
  set_at BIGINT NOT NULL
);

CREATE TABLE pairings (
  channel    TEXT COLLATE "C"   NOT NULL,
  user_id    TEXT COLLATE "C"   NOT NULL,
  code       TEXT COLLATE "C"   NOT NULL,
  name       TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (channel, user_id)
);

CREATE TABLE processes (
  pid        BIGINT NOT NULL,
  start_time BIGINT NOT NULL,
  kind       TEXT COLLATE "C"   NOT NULL,
  name       TEXT COLLATE "C"   NOT NULL,
  boot_id    TEXT COLLATE "C"   NOT NULL,
  host_pid   BIGINT NOT NULL DEFAULT 0,
  host_start BIGINT NOT NULL DEFAULT 0,
  mark       TEXT COLLATE "C"   NOT NULL DEFAULT '',
  PRIMARY KEY (pid, start_time)
);

CREATE TABLE question_messages (
  question TEXT COLLATE "C"   NOT NULL,
  person   TEXT COLLATE "C"   NOT NULL,
  channel  TEXT COLLATE "C"   NOT NULL,
  chat     TEXT COLLATE "C"   NOT NULL,
  thread   TEXT COLLATE "C"   NOT NULL,
  piece    BIGINT NOT NULL,
  numbered BIGINT NOT NULL,
  pinned   BIGINT NOT NULL DEFAULT 0,
  lost     BIGINT NOT NULL DEFAULT 0,
  asked_at BIGINT NOT NULL,
  PRIMARY KEY (question, person)
);
CREATE INDEX question_messages_piece ON question_messages (piece);

CREATE TABLE questions (
  id             TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  session        TEXT COLLATE "C"   NOT NULL,
  claude_session TEXT COLLATE "C"   NOT NULL,
  digest         TEXT COLLATE "C"   NOT NULL,
  authority      BIGINT NOT NULL,
  asker          TEXT COLLATE "C"   NOT NULL,
  body           TEXT COLLATE "C"   NOT NULL,
  state          TEXT COLLATE "C"   NOT NULL,
  answer         TEXT COLLATE "C"   NOT NULL DEFAULT '',
  created_at     BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL,
  ended_at       BIGINT,
  unseen         TEXT COLLATE "C"   NOT NULL DEFAULT '',
  further        BIGINT NOT NULL DEFAULT 0,
  outcome        TEXT COLLATE "C"   NOT NULL DEFAULT ''
);
CREATE INDEX questions_ended ON questions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX questions_live ON questions (session, digest) WHERE ended_at IS NULL;
CREATE INDEX questions_unended ON questions (id) WHERE ended_at IS NULL;

CREATE TABLE reactions (
  channel    TEXT COLLATE "C"   NOT NULL,
  event_id   TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  thread     TEXT COLLATE "C"   NOT NULL,
  message_id TEXT COLLATE "C"   NOT NULL,
  stage      TEXT COLLATE "C"   NOT NULL,
  shown      TEXT COLLATE "C"   NOT NULL DEFAULT '',
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (channel, event_id)
);
CREATE INDEX reactions_due ON reactions (channel, changed_at) WHERE stage != shown;

CREATE TABLE runs (
  id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  session    TEXT COLLATE "C"   NOT NULL,
  lane       TEXT COLLATE "C"   NOT NULL,
  seq        BIGINT NOT NULL,
  channel    TEXT COLLATE "C"   NOT NULL,
  event_id   TEXT COLLATE "C"   NOT NULL,
  state      TEXT COLLATE "C"   NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at   BIGINT,
  error      TEXT COLLATE "C"   NOT NULL DEFAULT '',
  answer     TEXT COLLATE "C"   NOT NULL DEFAULT ''
);
CREATE INDEX runs_event ON runs (channel, event_id);

CREATE TABLE sent (
  channel    TEXT COLLATE "C"   NOT NULL,
  chat       TEXT COLLATE "C"   NOT NULL,
  message_id TEXT COLLATE "C"   NOT NULL,
  run_id     BIGINT NOT NULL,
  sent_at    BIGINT NOT NULL,
  PRIMARY KEY (channel, chat, message_id)
);
CREATE INDEX sent_at ON sent (sent_at);

CREATE TABLE sessions (
  key            TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  claude_session TEXT COLLATE "C"   NOT NULL,
  kind           BIGINT NOT NULL,
  title          TEXT COLLATE "C"   NOT NULL,
  channel        TEXT COLLATE "C"   NOT NULL,
  chat           TEXT COLLATE "C"   NOT NULL,
  thread         TEXT COLLATE "C"   NOT NULL,
  created_at     BIGINT NOT NULL,
  reset_at       BIGINT NOT NULL,
  interacted_at  BIGINT,
  message_at     BIGINT,
  model          TEXT COLLATE "C"   NOT NULL DEFAULT '',
  turns          BIGINT NOT NULL DEFAULT 0,
  input_tokens   BIGINT NOT NULL DEFAULT 0,
  cache_tokens   BIGINT NOT NULL DEFAULT 0,
  output_tokens  BIGINT NOT NULL DEFAULT 0,
  cost_micros    BIGINT NOT NULL DEFAULT 0,
  context_tokens BIGINT NOT NULL DEFAULT 0,
  context_window BIGINT NOT NULL DEFAULT 0,
  overrides      TEXT COLLATE "C"   NOT NULL DEFAULT '{}',
  label          TEXT COLLATE "C"   NOT NULL DEFAULT '',
  flushed_at     BIGINT,
  peer           TEXT COLLATE "C"   NOT NULL DEFAULT '',
  commanded_at   BIGINT
);
CREATE INDEX sessions_route ON sessions (channel, chat, thread);

CREATE TABLE shown_messages (
  session    TEXT COLLATE "C"   NOT NULL,
  message_id TEXT COLLATE "C"   NOT NULL,
  shown_at   BIGINT NOT NULL,
  PRIMARY KEY (session, message_id)
);
CREATE INDEX shown_messages_shown ON shown_messages (shown_at);

CREATE TABLE spending (
  per         TEXT COLLATE "C"   NOT NULL,
  subject     TEXT COLLATE "C"   NOT NULL,
  period      TEXT COLLATE "C"   NOT NULL,
  turns       BIGINT NOT NULL,
  cost_micros BIGINT NOT NULL,
  tokens      BIGINT NOT NULL,
  changed_at  BIGINT NOT NULL,
  PRIMARY KEY (per, subject, period)
);
CREATE INDEX spending_changed ON spending (changed_at);

CREATE TABLE starters (
  session TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  text    TEXT COLLATE "C"   NOT NULL,
  kept_at BIGINT NOT NULL
);
CREATE INDEX starters_kept ON starters (kept_at);

CREATE TABLE state (
  instance TEXT COLLATE "C"   NOT NULL,
  key      TEXT COLLATE "C"   NOT NULL,
  value    BYTEA  NOT NULL,
  revision BIGINT NOT NULL,
  PRIMARY KEY (instance, key)
);

CREATE TABLE state_use (
  instance TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  keys     BIGINT NOT NULL,
  bytes    BIGINT NOT NULL,
  wake_ups BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE store (
  id             TEXT COLLATE "C"   NOT NULL,
  uncertain      BIGINT NOT NULL,
  state_revision BIGINT NOT NULL
);

CREATE TABLE tool_uses (
  id      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  session TEXT COLLATE "C"   NOT NULL,
  turn    TEXT COLLATE "C"   NOT NULL,
  plugin  TEXT COLLATE "C"   NOT NULL,
  tool    TEXT COLLATE "C"   NOT NULL,
  used_at BIGINT NOT NULL,
  took    BIGINT NOT NULL,
  failed  INTEGER NOT NULL,
  details TEXT COLLATE "C"   NOT NULL
);
CREATE INDEX tool_uses_session ON tool_uses (session, id);
CREATE INDEX tool_uses_used ON tool_uses (used_at);

CREATE TABLE transcript (
  id         BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  session    TEXT COLLATE "C"   NOT NULL,
  role       BIGINT NOT NULL,
  text       TEXT COLLATE "C"   NOT NULL,
  said_at    BIGINT NOT NULL,
  message_id TEXT COLLATE "C"   NOT NULL DEFAULT '',
  made       TEXT COLLATE "C"   NOT NULL DEFAULT ''
);
CREATE INDEX transcript_session ON transcript (session, id);

CREATE TABLE usage_days (
  day           TEXT COLLATE "C"   NOT NULL,
  model         TEXT COLLATE "C"   NOT NULL,
  turns         BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  cache_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cost_micros   BIGINT NOT NULL,
  PRIMARY KEY (day, model)
);

CREATE TABLE wake_ups (
  instance TEXT COLLATE "C"   NOT NULL,
  key      TEXT COLLATE "C"   NOT NULL,
  at       BIGINT NOT NULL,
  next_at  BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  revision BIGINT NOT NULL,
  PRIMARY KEY (instance, key)
);
CREATE INDEX wake_ups_next ON wake_ups (instance, next_at, key);

CREATE TABLE worktrees (
  root       TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
  session    TEXT COLLATE "C"   NOT NULL,
  folder     TEXT COLLATE "C"   NOT NULL,
  place      TEXT COLLATE "C"   NOT NULL,
  repo       TEXT COLLATE "C"   NOT NULL,
  branch     TEXT COLLATE "C"   NOT NULL,
  base       TEXT COLLATE "C"   NOT NULL,
  start      TEXT COLLATE "C"   NOT NULL,
  made_at    BIGINT NOT NULL,
  ready      BIGINT NOT NULL,
  snapshot   TEXT COLLATE "C"   NOT NULL,
  removed_at BIGINT
);
CREATE UNIQUE INDEX worktrees_session ON worktrees (session, folder);

INSERT INTO store (id, uncertain, state_revision) VALUES (replace(left(gen_random_uuid()::text, 18), '-', ''), 0, 0);
