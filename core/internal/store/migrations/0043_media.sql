-- Files may be in the database, for several hosts. A row of media names its content, and what has none is in the folder of one host.
ALTER TABLE media ADD COLUMN content TEXT NOT NULL DEFAULT '';
ALTER TABLE media ADD COLUMN digest TEXT NOT NULL DEFAULT '';
CREATE INDEX media_contents ON media (created_at, instance, ref) WHERE content != '';
CREATE INDEX media_contents_of ON media (instance, created_at, ref) WHERE content != '';

CREATE TABLE media_chunks (
  instance TEXT   NOT NULL,
  content  TEXT   NOT NULL,
  part     BIGINT NOT NULL, -- 0, 1, 2 and so on
  bytes    BLOB   NOT NULL,
  PRIMARY KEY (instance, content, part)
);

-- Contents that no row of media names: those that are being written, and those that are to be deleted.
CREATE TABLE media_leftovers (
  instance TEXT   NOT NULL,
  content  TEXT   NOT NULL,
  due_at   BIGINT NOT NULL, -- when it is deleted
  PRIMARY KEY (instance, content)
) WITHOUT ROWID;
CREATE INDEX media_leftovers_due ON media_leftovers (due_at);

-- What the contents of an instance take up.
CREATE TABLE media_use (
  instance TEXT   NOT NULL PRIMARY KEY,
  files    BIGINT NOT NULL, -- that media has
  bytes    BIGINT NOT NULL  -- of all chunks
) WITHOUT ROWID;
