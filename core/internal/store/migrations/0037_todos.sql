-- The list of what the agent plans to do in a conversation: JSON; '': there is none.
ALTER TABLE claude_sessions ADD COLUMN todos TEXT NOT NULL DEFAULT '';
