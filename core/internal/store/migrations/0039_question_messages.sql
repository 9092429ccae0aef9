-- The messages that ask a question: in the chat of its turn, and in the direct chats of others who are asked.
CREATE TABLE question_messages (
    question TEXT   NOT NULL,
    person   TEXT   NOT NULL,            -- whose direct chat it is, as channel:user; '': the chat of the turn
    channel  TEXT   NOT NULL,
    chat     TEXT   NOT NULL,
    thread   TEXT   NOT NULL,
    piece    BIGINT NOT NULL,
    numbered BIGINT NOT NULL,            -- 1: it has numbers in place of buttons
    pinned   BIGINT NOT NULL DEFAULT 0,  -- 1: it is pinned while the question is open, where the channel may
    lost     BIGINT NOT NULL DEFAULT 0,  -- 1: it could not be delivered
    asked_at BIGINT NOT NULL,
    PRIMARY KEY (question, person)
) WITHOUT ROWID;

CREATE INDEX question_messages_piece ON question_messages (piece);

INSERT INTO question_messages (question, person, channel, chat, thread, piece, numbered, asked_at)
    SELECT id, '', channel, chat, thread, piece, CASE WHEN body LIKE '%"numbered":true%' THEN 1 ELSE 0 END, created_at FROM questions;

DROP INDEX questions_asking;
CREATE INDEX questions_unended ON questions (id) WHERE ended_at IS NULL;
ALTER TABLE questions DROP COLUMN channel;
ALTER TABLE questions DROP COLUMN chat;
ALTER TABLE questions DROP COLUMN thread;
ALTER TABLE questions DROP COLUMN piece;
ALTER TABLE questions ADD COLUMN further BIGINT NOT NULL DEFAULT 0; -- 1: others are asked if no message of it arrives
ALTER TABLE questions ADD COLUMN outcome TEXT NOT NULL DEFAULT ''; -- what its messages say of its end
