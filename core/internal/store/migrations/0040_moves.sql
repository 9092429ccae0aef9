-- What several hosts must agree on is in rows: the current id of a chat that has moved, and when the last command came, which is later
-- than every message before it.
CREATE INDEX moved_chats_by_origin ON moved_chats (channel, origin, id);
ALTER TABLE sessions ADD COLUMN commanded_at BIGINT;
