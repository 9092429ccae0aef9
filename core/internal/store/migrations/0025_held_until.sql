-- Until when a message waits for another try, also if the host restarts meanwhile, in milliseconds.
ALTER TABLE inbox ADD COLUMN held_until BIGINT; -- NULL: a restart ends the wait
