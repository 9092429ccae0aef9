-- What the agent of a head's run has sent to the run's own chat by a tool: JSON; '': nothing.
ALTER TABLE inbox ADD COLUMN told TEXT NOT NULL DEFAULT '';
