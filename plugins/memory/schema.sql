-- What was read of each file, to tell when it has to be read again. Times are in nanoseconds.
CREATE TABLE files (
  path    TEXT PRIMARY KEY,
  mtime   INTEGER NOT NULL,
  size    INTEGER NOT NULL,
  hash    BLOB NOT NULL,
  checked INTEGER NOT NULL
) WITHOUT ROWID;

-- Who has used a session: 0 one person in a direct chat, 1 several owners in direct chats, 2 others. Person is the first
-- of them, as channel:user, and owner tells whether he was an owner when he last wrote.
CREATE TABLE sessions (
  key    TEXT PRIMARY KEY,
  person TEXT NOT NULL,
  owner  INTEGER NOT NULL,
  used   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_person ON sessions (person);

-- Redacted messages. An exchange is what somebody said and the answers to it, named by its first entry.
CREATE TABLE entries (
  session  TEXT NOT NULL,
  id       INTEGER NOT NULL,
  exchange INTEGER NOT NULL,
  role     INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  text     TEXT NOT NULL,
  PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE INDEX entries_exchange ON entries (session, exchange);
CREATE INDEX entries_at ON entries (at);

-- How far older conversations were read: the last entry, and whether that was all.
CREATE TABLE older (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  last INTEGER NOT NULL,
  done INTEGER NOT NULL
);

-- What is recalled: a piece of a file, or of an exchange of a session.
CREATE TABLE passages (
  id       INTEGER PRIMARY KEY,
  path     TEXT,
  session  TEXT,
  exchange INTEGER,
  heading  TEXT NOT NULL,
  body     TEXT NOT NULL,
  at       INTEGER NOT NULL,
  CHECK ((path IS NULL) <> (session IS NULL) AND (session IS NULL) = (exchange IS NULL))
);
CREATE INDEX passages_path ON passages (path) WHERE path IS NOT NULL;
CREATE INDEX passages_session ON passages (session, exchange) WHERE session IS NOT NULL;

-- The words of the passages, folded and cut to stems by the plugin: hence the tokenizer that leaves them alone.
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, tokenize = "ascii");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
