-- Whether the message of a kept item may be there twice: its send had an unknown outcome and was repeated.
ALTER TABLE kept_pieces ADD COLUMN repeated BIGINT NOT NULL DEFAULT 0;
