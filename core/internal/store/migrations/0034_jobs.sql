-- Commands that agents have started and that outlive their turns.
CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session    TEXT    NOT NULL,
    caller     TEXT    NOT NULL,            -- the person for whom it was started, as JSON
    channel    TEXT    NOT NULL,            -- the caller's
    user_id    TEXT    NOT NULL,            -- the caller's
    title      TEXT    NOT NULL,
    command    TEXT    NOT NULL,
    folder     TEXT    NOT NULL,
    pattern    TEXT    NOT NULL,            -- '': none
    deadline   BIGINT,                      -- NULL: none
    matched    BIGINT  NOT NULL DEFAULT 0,  -- 1: the line that the pattern matches was told
    late       BIGINT  NOT NULL DEFAULT 0,  -- 1: it was told that the deadline has passed
    pid        BIGINT  NOT NULL DEFAULT 0,  -- 0: it has not begun
    start_time BIGINT  NOT NULL DEFAULT 0,
    boot_id    TEXT    NOT NULL DEFAULT '',
    state      TEXT    NOT NULL,
    code       BIGINT  NOT NULL DEFAULT 0,
    started_at BIGINT  NOT NULL,
    ended_at   BIGINT,                      -- NULL: it runs
    output     BIGINT  NOT NULL DEFAULT 0,  -- bytes
    tail       TEXT    NOT NULL DEFAULT '',
    stopped_by TEXT    NOT NULL DEFAULT ''
);

CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_session ON jobs (session, id);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
