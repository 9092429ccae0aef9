-- The timers of plugins.
CREATE TABLE wake_ups (
    instance TEXT   NOT NULL,
    key      TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    next_at  BIGINT NOT NULL,            -- when the plugin is to be called: later than at after a failure
    attempts BIGINT NOT NULL DEFAULT 0,  -- that have failed since the last success
    revision BIGINT NOT NULL,            -- changes each time it is set to another time
    PRIMARY KEY (instance, key)
);

CREATE INDEX wake_ups_next ON wake_ups (instance, next_at, key);

ALTER TABLE state_use ADD COLUMN wake_ups BIGINT NOT NULL DEFAULT 0;
