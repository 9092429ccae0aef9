package discordtest

import (
	"encoding/json"
	"net/http"
	"time"
)

// Use has a person pick a command of the menu, and returns the interaction's id.
func (s *Server) Use(channel, user, command, args string) string {
	data := object{"id": "1", "name": command, "type": 1}
	if args != "" {
		data["options"] = []object{{"name": "args", "type": 3, "value": args}}
	}
	return s.interact(channel, user, object{"type": 2, "data": data})
}

// Press has a person press a button, and returns the interaction's id.
func (s *Server) Press(message, user, data string) string {
	s.mu.Lock()
	m := s.messages[message]
	pressed := s.messageObject(m, true)
	s.mu.Unlock()
	return s.interact(m.Channel, user, object{
		"type": 3, "message": pressed, "data": object{"component_type": 2, "custom_id": data},
	})
}

func (s *Server) interact(channel, user string, o object) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, id := s.channels[channel], s.newID()
	o["id"], o["application_id"], o["channel_id"], o["token"], o["version"] = id, ApplicationID, channel, "t"+id, 1
	o["entitlements"], o["authorizing_integration_owners"], o["app_permissions"] = []object{}, object{}, "0"
	o["locale"], o["attachment_size_limit"], o["channel"] = "en-GB", maxFile, s.channelObject(c)
	if c.guild == "" {
		o["user"] = s.userObject(user)
	} else {
		o["guild_id"], o["member"] = c.guild, object{"user": s.userObject(user), "permissions": "0", "roles": []string{}}
	}
	s.waiting[id] = wait{channel: channel}
	for _, session := range s.sessions {
		s.push(session, "INTERACTION_CREATE", o)
	}
	return id
}

// Answers are the bot's answers to interactions.
func (s *Server) Answers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Answer, len(s.answers))
	for i, a := range s.answers {
		list[i] = *a
	}
	return list
}

// AnswerTo is the bot's answer to an interaction; false: no answer.
func (s *Server) AnswerTo(interaction string) (Answer, bool) {
	for _, a := range s.Answers() {
		if a.Interaction == interaction {
			return a, true
		}
	}
	return Answer{}, false
}

// wait is an interaction that may be answered.
type wait struct {
	channel string
	late    bool // Discord has shown its person that it failed
}

// Expire has all interactions that are not answered fail, as Discord does after 3 seconds.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, w := range s.waiting {
		w.late = true
		s.waiting[id] = w
	}
}

func (s *Server) postCallback(w http.ResponseWriter, r *http.Request) {
	var b struct {
		Type int
		Data struct {
			Content string
			Flags   int
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&b)
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	wait, known := s.waiting[id]
	if !known || r.PathValue("token") != "t"+id {
		refuse(w, http.StatusNotFound, 10062, "Unknown interaction")
		return
	}
	for _, a := range s.answers {
		if a.Interaction == id {
			refuse(w, http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
			return
		}
	}
	if wait.late {
		refuse(w, http.StatusNotFound, 10062, "Unknown interaction")
		return
	}
	if b.Type == 4 && b.Data.Content == "" {
		refuse(w, http.StatusBadRequest, 50006, "Cannot send an empty message")
		return
	}
	s.answers = append(s.answers, &Answer{
		Interaction: id, channel: wait.channel, Type: b.Type, Text: b.Data.Content,
		Private: b.Data.Flags&(1<<6) != 0,
	})
	s.signal()
	w.WriteHeader(http.StatusNoContent)
}

// original finds the answer that a webhook is about; the token is "t" and the interaction's id.
func (s *Server) original(w http.ResponseWriter, r *http.Request) *Answer {
	for _, a := range s.answers {
		if "t"+a.Interaction == r.PathValue("token") && r.PathValue("app") == ApplicationID {
			return a
		}
	}
	refuse(w, http.StatusNotFound, 10015, "Unknown Webhook")
	return nil
}

func (s *Server) postFollowUp(w http.ResponseWriter, r *http.Request) {
	var b struct{ Content string }
	_ = json.NewDecoder(r.Body).Decode(&b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.original(w, r); a != nil {
		a.FollowUps = append(a.FollowUps, b.Content)
		s.signal()
		answer(w, http.StatusOK, s.answerObject(a, b.Content))
	}
}

func (s *Server) getOriginal(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.original(w, r); a != nil {
		answer(w, http.StatusOK, s.answerObject(a, a.Text))
	}
}

func (s *Server) patchOriginal(w http.ResponseWriter, r *http.Request) {
	var b struct{ Content string }
	_ = json.NewDecoder(r.Body).Decode(&b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.original(w, r); a != nil {
		a.Edited = b.Content
		s.signal()
		answer(w, http.StatusOK, s.answerObject(a, b.Content))
	}
}

// answerObject is an answer as the message that it is.
func (s *Server) answerObject(a *Answer, text string) object {
	return object{
		"id": s.newID(), "channel_id": a.channel, "type": 20, "content": text, "author": s.userObject(BotID), "flags": 1 << 6,
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "edited_timestamp": nil, "application_id": ApplicationID,
		"webhook_id": ApplicationID, "mentions": []object{}, "mention_roles": []string{}, "attachments": []object{}, "embeds": []object{}, "components": []object{},
	}
}
