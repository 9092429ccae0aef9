package telegramtest

import "time"

// LetPin gives the bot the right to pin messages in a group. In a private chat it has it.
func (s *Server) LetPin(group int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustHave(group).pins = true
}

// PinLines is how many lines in a chat say that a message was pinned.
func (s *Server) PinLines(chat int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mustHave(chat).pinLines)
}

// pinChatMessage pins or unpins a message. That a message was pinned is a message of the chat itself, of which the bot learns, too.
func (s *Server) pinChatMessage(params map[string]string, pin bool) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	if c.kind != "private" && !c.pins {
		return badRequest("not enough rights to manage pinned messages in the chat")
	}
	m := s.find(c.id, number(params, "message_id", 0))
	switch {
	case m == nil && pin:
		return badRequest("message to pin not found")
	case m == nil || !pin && !m.Pinned:
		return badRequest("message to unpin not found")
	}
	told := pin && !m.Pinned
	m.Pinned = pin
	if told {
		s.lastID++
		c.pinLines = append(c.pinLines, s.lastID)
		line := &Message{ID: s.lastID, Chat: c.id, Thread: m.Thread, From: s.bot.ID, At: time.Now(), media: map[string]any{"pinned_message": s.messageJSON(m)}}
		s.push("message", s.messageJSON(line))
	}
	return succeeded(true)
}
