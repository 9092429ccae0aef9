package telegramtest

import "slices"

// Promote makes a user an administrator of a group.
func (s *Server) Promote(chat int64, who *User, anonymous bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustHave(chat)
	c.admins = append(c.admins, admin{who, anonymous})
}

type admin struct {
	*User
	anonymous bool
}

func (s *Server) getChatAdministrators(params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	if c.kind == "private" {
		return badRequest("there are no administrators in the private chat")
	}
	list := []map[string]any{}
	for _, a := range c.admins {
		list = append(list, map[string]any{"status": "administrator", "user": a.json(), "is_anonymous": a.anonymous})
	}
	return succeeded(list)
}

func (s *Server) getChatMemberCount(params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	members := []int64{s.botID}
	for _, a := range c.admins {
		members = append(members, a.ID)
	}
	for _, m := range s.messages {
		if m.Chat == c.id {
			members = append(members, m.From)
		}
	}
	slices.Sort(members)
	return succeeded(len(slices.Compact(members)))
}
