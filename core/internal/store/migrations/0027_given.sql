-- What a claude session has of hooks since its begin or its last compaction: marks of their texts by name, as JSON.
ALTER TABLE claude_sessions ADD COLUMN given TEXT NOT NULL DEFAULT ''; -- '': nothing
