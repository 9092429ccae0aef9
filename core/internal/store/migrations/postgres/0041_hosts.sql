-- Several hosts share a database: the processes of hosts, which lanes each may claim, and what only one of them does at a time. A host that
-- is alone has no row, and its id, name and placement are empty.
CREATE TABLE hosts (
  id          TEXT COLLATE "C" NOT NULL PRIMARY KEY, -- of the process
  name        TEXT COLLATE "C" NOT NULL UNIQUE,
  folder      TEXT COLLATE "C" NOT NULL, -- the id of its state folder
  version     TEXT COLLATE "C" NOT NULL,
  labels      TEXT COLLATE "C" NOT NULL, -- JSON
  started_at  BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  draining    BIGINT NOT NULL DEFAULT 0,
  gone_at     BIGINT, -- its lease has ended, and what it had in hand is free
  moved       BIGINT NOT NULL DEFAULT 0 -- what waited for it waits for others
);

CREATE TABLE placements (
  host      TEXT COLLATE "C" NOT NULL, -- hosts.id
  lane      TEXT COLLATE "C" NOT NULL,
  placement TEXT COLLATE "C" NOT NULL, -- as in lanes
  PRIMARY KEY (host, lane, placement)
);

CREATE TABLE duties (
  name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  host       TEXT COLLATE "C" NOT NULL, -- hosts.id
  changed_at BIGINT NOT NULL
);

ALTER TABLE lanes ADD COLUMN placement TEXT COLLATE "C" NOT NULL DEFAULT ''; -- which hosts may claim it
ALTER TABLE lanes ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT ''; -- hosts.id of its run
DROP INDEX lanes_ready;
CREATE INDEX lanes_ready ON lanes (lane, placement, owner, ready_at) WHERE ready_at IS NOT NULL;
ALTER TABLE out_lanes ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT ''; -- hosts.id of who sends
ALTER TABLE sessions ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT ''; -- the name of the host of its last turn

ALTER TABLE processes ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT ''; -- its name
ALTER TABLE processes DROP CONSTRAINT processes_pkey;
ALTER TABLE processes ADD PRIMARY KEY (host, pid, start_time);
