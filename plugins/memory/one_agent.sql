-- Every agent has an index of its own. What was said to others than main is removed from this one, and read again into theirs.
DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE session GLOB 'agent:*');
DELETE FROM passages WHERE session GLOB 'agent:*';
DELETE FROM entries WHERE session GLOB 'agent:*';
DELETE FROM sessions WHERE key GLOB 'agent:*';
-- Deleted words stay in the file until the full-text index is merged.
INSERT INTO words (words) VALUES ('optimize');
