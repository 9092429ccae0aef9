-- Calls of plugins that other hosts run, and what they return: in parts, which are deleted when they are read. PostgreSQL need not keep them
-- over a crash.
CREATE TABLE calls (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  plugin     TEXT   NOT NULL,
  method     TEXT   NOT NULL,
  request    BLOB   NOT NULL,
  expires_at BIGINT NOT NULL,
  host       TEXT   NOT NULL DEFAULT '',         -- hosts.id of who makes it
  ended      BIGINT NOT NULL DEFAULT 0,
  code       BIGINT NOT NULL DEFAULT 0,          -- of gRPC
  message    TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX calls_waiting ON calls (plugin, id) WHERE host = '';
CREATE INDEX calls_taken ON calls (host) WHERE host != '';
CREATE INDEX calls_expires ON calls (expires_at);

CREATE TABLE call_parts (
  call_id BIGINT NOT NULL,
  number  BIGINT NOT NULL,
  part    BLOB   NOT NULL,
  PRIMARY KEY (call_id, number)
);
