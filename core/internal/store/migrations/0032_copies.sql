-- The claude session that one begins as a copy of; '': none, or the current one of its parent.
ALTER TABLE claude_sessions ADD COLUMN copy_of TEXT NOT NULL DEFAULT '';
