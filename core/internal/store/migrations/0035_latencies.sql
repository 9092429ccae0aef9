-- How long people have waited for turns, as a histogram of each hour.
CREATE TABLE latencies (
    hour   BIGINT NOT NULL, -- in which the turn ended, counted since 1970
    kind   TEXT   NOT NULL, -- first_word, answer
    bucket BIGINT NOT NULL, -- eight times the binary logarithm of the milliseconds, rounded
    turns  BIGINT NOT NULL,
    PRIMARY KEY (hour, kind, bucket)
) WITHOUT ROWID;
