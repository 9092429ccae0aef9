-- What a piece is besides a text. A kept piece is known by its id, also once it is sent: others edit its message.
ALTER TABLE outbox ADD COLUMN rest TEXT NOT NULL DEFAULT '';    -- JSON; '': none
ALTER TABLE outbox ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN edits BIGINT NOT NULL DEFAULT 0;  -- the kept piece whose message it edits; 0: it is one of its own
ALTER TABLE outbox ADD COLUMN key_id BIGINT NOT NULL DEFAULT 0; -- the id that it had before it was dead; 0: this one

-- What kept pieces have become.
CREATE TABLE kept_pieces (
  piece      BIGINT NOT NULL PRIMARY KEY,
  channel    TEXT   NOT NULL,
  chat       TEXT   NOT NULL,
  thread     TEXT   NOT NULL,
  message_id TEXT   NOT NULL,
  sent_at    BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX kept_pieces_sent ON kept_pieces (sent_at);

-- A dead piece has all that it had in the outbox, so that it can be put back. Its session is told of it once.
ALTER TABLE dead_pieces ADD COLUMN reply_to TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_pieces ADD COLUMN run_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dead_pieces ADD COLUMN uncertain BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dead_pieces ADD COLUMN rest TEXT NOT NULL DEFAULT '';
ALTER TABLE dead_pieces ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dead_pieces ADD COLUMN edits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dead_pieces ADD COLUMN key_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE dead_pieces ADD COLUMN session TEXT NOT NULL DEFAULT ''; -- '': no run's
ALTER TABLE dead_pieces ADD COLUMN told BIGINT NOT NULL DEFAULT 1;
CREATE INDEX dead_pieces_untold ON dead_pieces (session, id) WHERE told = 0;

-- What the attempts of a head's run have sent already.
ALTER TABLE inbox ADD COLUMN said TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN preview BIGINT NOT NULL DEFAULT 0; -- a kept piece; 0: none

-- What waits can be found by the network's id of its message, is shown by a receipt, and comes before others if somebody
-- wants that. What is urgent gets a seq before theirs once no run is in the way; its ticket is the one that it had. The
-- lane counts the wishes.
ALTER TABLE inbox ADD COLUMN message_id TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN receipt BIGINT NOT NULL DEFAULT 0; -- a kept piece; 0: none
ALTER TABLE inbox ADD COLUMN urgent BIGINT NOT NULL DEFAULT 0;  -- the higher, the earlier
ALTER TABLE inbox ADD COLUMN ticket BIGINT;                     -- NULL: its seq
ALTER TABLE lanes ADD COLUMN urgent BIGINT NOT NULL DEFAULT 0;  -- 0: nothing that waits is
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id != '';
