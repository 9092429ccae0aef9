-- The files of the conversations' outgoing folders that an answer has dealt with. One that was sent is about to be removed; of
-- another one the chat was told why it was not.
CREATE TABLE outgoing_files (
  folder  TEXT   NOT NULL,
  name    TEXT   NOT NULL,
  version TEXT   NOT NULL, -- tells the file from a later one of its name
  sent    BIGINT NOT NULL,
  PRIMARY KEY (folder, name)
) WITHOUT ROWID;
