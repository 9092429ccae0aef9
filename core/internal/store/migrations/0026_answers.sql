-- How each answer was made.
ALTER TABLE transcript ADD COLUMN made TEXT NOT NULL DEFAULT ''; -- JSON: model, usage, why it ended; '': unknown, or no answer
