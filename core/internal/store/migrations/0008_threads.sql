-- A claude session names the session whose conversation it begins as a copy of, as that is by then; '': none.
ALTER TABLE claude_sessions RENAME COLUMN fork_of TO parent;
UPDATE claude_sessions SET parent = COALESCE((SELECT c.session FROM claude_sessions c WHERE c.id = claude_sessions.parent), '')
  WHERE parent != '';
