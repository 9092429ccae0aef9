-- Of how many of the dropped messages that a note stands for the chat was told.
ALTER TABLE notes ADD COLUMN told BIGINT NOT NULL DEFAULT 0;
