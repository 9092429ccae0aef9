-- The agent in whose workspace an outgoing file is.
ALTER TABLE outgoing_files ADD COLUMN agent TEXT NOT NULL DEFAULT 'main';

-- The agents that people have chosen for their conversations.
CREATE TABLE chosen_agents (
  conversation TEXT PRIMARY KEY, -- the key of its session with the agent main
  agent        TEXT NOT NULL
) WITHOUT ROWID;
