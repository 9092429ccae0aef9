-- The folder in which claude works in a session; '': the workspace of the agent. A session may have one in each folder that is not
-- replaced.
ALTER TABLE claude_sessions ADD COLUMN folder TEXT NOT NULL DEFAULT '';
CREATE INDEX claude_sessions_folder ON claude_sessions (session, folder);
