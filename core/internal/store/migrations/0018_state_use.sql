-- How much each instance keeps in its state: it is bounded.
CREATE TABLE state_use (
  instance TEXT   NOT NULL PRIMARY KEY,
  keys     BIGINT NOT NULL,
  bytes    BIGINT NOT NULL -- of the values
) WITHOUT ROWID;
INSERT INTO state_use (instance, keys, bytes) SELECT instance, COUNT(*), COALESCE(SUM(LENGTH(value)), 0) FROM state GROUP BY instance;
