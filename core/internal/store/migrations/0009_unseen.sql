-- What the session of a question is told where the message that asks it could not be delivered.
ALTER TABLE questions ADD COLUMN unseen TEXT NOT NULL DEFAULT '';
CREATE INDEX questions_asking ON questions (piece) WHERE ended_at IS NULL;
