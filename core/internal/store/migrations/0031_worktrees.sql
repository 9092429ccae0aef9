-- The working copies of repositories that threads have for themselves.
CREATE TABLE worktrees (
    root       TEXT   PRIMARY KEY, -- its folder
    session    TEXT   NOT NULL,    -- the thread's
    folder     TEXT   NOT NULL,    -- in which the thread would work without it; '': the workspace of the agent
    place      TEXT   NOT NULL,    -- in which it works: the root, or a folder in it
    repo       TEXT   NOT NULL,    -- the folder of the repository
    branch     TEXT   NOT NULL,
    base       TEXT   NOT NULL,    -- the branch at which it began; '': none
    start      TEXT   NOT NULL,    -- the commit at which it began
    made_at    BIGINT NOT NULL,
    ready      BIGINT NOT NULL,    -- 1: a turn may have worked in it
    snapshot   TEXT   NOT NULL,    -- the commit that it is restored from, once it is being removed
    removed_at BIGINT              -- NULL: it exists
);

CREATE UNIQUE INDEX worktrees_session ON worktrees (session, folder);

-- The folder of the worktree in which claude works; '': it works in its folder itself.
ALTER TABLE claude_sessions ADD COLUMN worktree TEXT NOT NULL DEFAULT '';
