-- What is sent to a chat from elsewhere is told to the session whose last message came from there.
CREATE INDEX sessions_route ON sessions (channel, chat, thread);
