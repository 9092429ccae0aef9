-- A direct chat may have an id of its own, and its person several: it is found by each of them.
CREATE TABLE direct_chats (
  channel TEXT NOT NULL,
  user_id TEXT NOT NULL,
  chat    TEXT NOT NULL, -- the one that the person wrote in last
  ids     TEXT NOT NULL, -- all ids of the person, the channel's own first: a JSON array
  PRIMARY KEY (channel, user_id)
);
CREATE INDEX direct_chats_chat ON direct_chats (channel, chat);
-- Whose direct chat a session's route is, as in direct_chats; '': it is not known, or a group.
ALTER TABLE sessions ADD COLUMN peer TEXT NOT NULL DEFAULT '';
