-- Which process was the host of a child: the child is another host's to end as long as that one lives. Zero: not known.
ALTER TABLE processes ADD COLUMN host_pid BIGINT NOT NULL DEFAULT 0;
ALTER TABLE processes ADD COLUMN host_start BIGINT NOT NULL DEFAULT 0;
