-- Values of the config that owners have set while the host ran.
CREATE TABLE overrides (
    name   TEXT   NOT NULL PRIMARY KEY, -- as in "access.dm"
    value  TEXT   NOT NULL,             -- in HCL
    set_by TEXT   NOT NULL,             -- as channel:user
    set_at BIGINT NOT NULL
);
