-- Chats that go on under another id, with the first that they had: it is what their sessions are named by.
CREATE TABLE moved_chats (
  id      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they moved
  channel TEXT NOT NULL,
  chat    TEXT NOT NULL,
  origin  TEXT NOT NULL,
  UNIQUE (channel, chat)
);
