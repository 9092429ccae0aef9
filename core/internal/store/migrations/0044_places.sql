-- Jobs and worktrees are on the machine of a host: each host, by its name, knows its own.
ALTER TABLE jobs ADD COLUMN host TEXT NOT NULL DEFAULT '';
DROP INDEX jobs_running;
CREATE INDEX jobs_running ON jobs (host, id) WHERE state = 'running';

CREATE TABLE worktrees_of_hosts (
  root       TEXT   NOT NULL,
  session    TEXT   NOT NULL,
  folder     TEXT   NOT NULL,
  place      TEXT   NOT NULL,
  repo       TEXT   NOT NULL,
  branch     TEXT   NOT NULL,
  base       TEXT   NOT NULL,
  start      TEXT   NOT NULL,
  made_at    BIGINT NOT NULL,
  ready      BIGINT NOT NULL,
  snapshot   TEXT   NOT NULL,
  removed_at BIGINT,
  host       TEXT   NOT NULL DEFAULT '',
  PRIMARY KEY (host, root)
);
INSERT INTO worktrees_of_hosts SELECT root, session, folder, place, repo, branch, base, start, made_at, ready, snapshot, removed_at, '' FROM worktrees;
DROP TABLE worktrees;
ALTER TABLE worktrees_of_hosts RENAME TO worktrees;
CREATE UNIQUE INDEX worktrees_session ON worktrees (host, session, folder);
CREATE INDEX worktrees_of_session ON worktrees (session, folder, made_at);
