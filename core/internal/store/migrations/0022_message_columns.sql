-- What steps select messages by. The rest of a message is in its JSON alone.
ALTER TABLE inbox ADD COLUMN authority BIGINT NOT NULL DEFAULT 0; -- of whoever wrote it, as in the JSON
ALTER TABLE inbox ADD COLUMN origin TEXT NOT NULL DEFAULT '';     -- '': a person wrote it
ALTER TABLE inbox ADD COLUMN fresh BIGINT NOT NULL DEFAULT 0;     -- 1: a claude session begins with it
ALTER TABLE inbox ADD COLUMN edition TEXT NOT NULL DEFAULT '';    -- the edit that its uuid is derived from; '': its event
ALTER TABLE inbox ADD COLUMN files BIGINT NOT NULL DEFAULT 0;     -- 1: it, or what it quotes, has files
ALTER TABLE inbox ADD COLUMN steers BIGINT NOT NULL DEFAULT 0;    -- 1: it may be told to the running turn
ALTER TABLE inbox ADD COLUMN withdrawn BIGINT NOT NULL DEFAULT 0; -- 1: it was joined to a run, and cleared then
UPDATE inbox SET authority = CAST(SUBSTR(share, 1, 1) AS BIGINT) WHERE share != '';
UPDATE inbox SET steers = 1 WHERE mode IN ('steer', 'steer-backlog');
UPDATE inbox SET withdrawn = 1, mode = '' WHERE mode = 'withdrawn';
UPDATE inbox SET origin = COALESCE(message ->> 'origin', ''),
    fresh = COALESCE(message ->> 'fresh', 0),
    edition = COALESCE(message ->> 'edition', ''),
    files = CASE WHEN message ->> 'media' IS NOT NULL OR message -> 'reply_to' ->> 'Media' IS NOT NULL THEN 1 ELSE 0 END
  WHERE json_valid(message);
