-- Several hosts share a database: the processes of hosts, which lanes each may claim, and what only one of them does at a time. A host that
-- is alone has no row, and its id, name and placement are empty.
CREATE TABLE hosts (
  id          TEXT    NOT NULL PRIMARY KEY,      -- of the process
  name        TEXT    NOT NULL UNIQUE,
  folder      TEXT    NOT NULL,                  -- the id of its state folder
  version     TEXT    NOT NULL,
  labels      TEXT    NOT NULL,                  -- JSON
  started_at  BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  draining    BIGINT NOT NULL DEFAULT 0,
  gone_at     BIGINT,                            -- its lease has ended, and what it had in hand is free
  moved       BIGINT NOT NULL DEFAULT 0         -- what waited for it waits for others
);

CREATE TABLE placements (
  host      TEXT NOT NULL,                       -- hosts.id
  lane      TEXT NOT NULL,
  placement TEXT NOT NULL,                       -- as in lanes
  PRIMARY KEY (host, lane, placement)
);

CREATE TABLE duties (
  name       TEXT    NOT NULL PRIMARY KEY,
  host       TEXT    NOT NULL,                   -- hosts.id
  changed_at BIGINT NOT NULL
);

ALTER TABLE lanes ADD COLUMN placement TEXT NOT NULL DEFAULT ''; -- which hosts may claim it
ALTER TABLE lanes ADD COLUMN host TEXT NOT NULL DEFAULT '';      -- hosts.id of its run
DROP INDEX lanes_ready;
CREATE INDEX lanes_ready ON lanes (lane, placement, owner, ready_at) WHERE ready_at IS NOT NULL;
ALTER TABLE out_lanes ADD COLUMN host TEXT NOT NULL DEFAULT '';  -- hosts.id of who sends
ALTER TABLE sessions ADD COLUMN host TEXT NOT NULL DEFAULT '';   -- the name of the host of its last turn

CREATE TABLE processes_of_hosts (
  pid        BIGINT NOT NULL,
  start_time BIGINT NOT NULL,
  kind       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  boot_id    TEXT    NOT NULL,
  host_pid   BIGINT NOT NULL DEFAULT 0,
  host_start BIGINT NOT NULL DEFAULT 0,
  mark       TEXT    NOT NULL DEFAULT '',
  host       TEXT    NOT NULL DEFAULT '',        -- its name
  PRIMARY KEY (host, pid, start_time)
);
INSERT INTO processes_of_hosts SELECT pid, start_time, kind, name, boot_id, host_pid, host_start, mark, '' FROM processes;
DROP TABLE processes;
ALTER TABLE processes_of_hosts RENAME TO processes;
