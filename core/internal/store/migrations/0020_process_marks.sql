-- What the environment of a child, and of all that it starts, carries, by which these are found. Empty: it has none, or a
-- build that did not record it started the child.
ALTER TABLE processes ADD COLUMN mark TEXT NOT NULL DEFAULT '';
