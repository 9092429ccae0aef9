-- Jobs and worktrees are on the machine of a host: each host, by its name, knows its own.
ALTER TABLE jobs ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX jobs_running;
CREATE INDEX jobs_running ON jobs (host, id) WHERE state = 'running';

ALTER TABLE worktrees ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE worktrees DROP CONSTRAINT worktrees_pkey;
ALTER TABLE worktrees ADD PRIMARY KEY (host, root);
DROP INDEX worktrees_session;
CREATE UNIQUE INDEX worktrees_session ON worktrees (host, session, folder);
CREATE INDEX worktrees_of_session ON worktrees (session, folder, made_at);
