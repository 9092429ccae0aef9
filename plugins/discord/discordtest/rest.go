package discordtest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers with an error in Discord's form.
func refuse(w http.ResponseWriter, status, code int, message string) {
	answer(w, status, object{"code": code, "message": message})
}

func (s *Server) getGateway(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{
		"url": s.gatewayURL(), "shards": 1,
		"session_start_limit": object{"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1},
	})
}

func (s *Server) gatewayURL() string {
	return "ws" + strings.TrimPrefix(s.http.URL, "http") + "/gateway"
}

func (s *Server) getMe(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, s.userObject(BotID))
}

func (s *Server) getApplication(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{"id": ApplicationID, "name": "claw"})
}

func (s *Server) putCommands(w http.ResponseWriter, r *http.Request) {
	var list []struct {
		Name, Description string
	}
	if json.NewDecoder(r.Body).Decode(&list) != nil || len(list) > 100 || r.PathValue("app") != ApplicationID {
		refuse(w, http.StatusBadRequest, 50035, "Invalid Form Body")
		return
	}
	var commands []Command
	for _, c := range list {
		if c.Name == "" || len(c.Name) > 32 || c.Description == "" || utf8.RuneCountInString(c.Description) > 100 {
			refuse(w, http.StatusBadRequest, 50035, "Invalid Form Body")
			return
		}
		commands = append(commands, Command{c.Name, c.Description})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = commands
	s.signal()
	answer(w, http.StatusOK, []object{})
}

// open finds the request's channel and answers where there is none; mu is held.
func (s *Server) open(w http.ResponseWriter, r *http.Request) *channel {
	id := r.PathValue("channel")
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		refuse(w, http.StatusBadRequest, 50035, "Invalid Form Body")
		return nil
	}
	c := s.channels[id]
	switch {
	case c == nil:
		refuse(w, http.StatusNotFound, 10003, "Unknown Channel")
		return nil
	case s.forbidden[id]:
		refuse(w, http.StatusForbidden, 50001, "Missing Access")
		return nil
	}
	return c
}

func (s *Server) getChannel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.open(w, r); c != nil {
		answer(w, http.StatusOK, s.channelObject(c))
	}
}

// getMessages gives the oldest messages after an id, newest first.
func (s *Server) getMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(w, r)
	if c == nil {
		return
	}
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	if limit == 0 {
		limit = 50
	}
	var found []*Message
	for _, m := range s.messages {
		if m.Channel == c.id && !m.Deleted && number(m.ID) > after {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b *Message) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	found = found[:min(limit, len(found))]
	slices.Reverse(found)
	list := []object{}
	for _, m := range found {
		list = append(list, s.messageObject(m, true))
	}
	answer(w, http.StatusOK, list)
}

func number(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}

// body is what the bot sends for a message.
type body struct {
	Content   string `json:"content"`
	Nonce     string `json:"nonce"`
	Enforce   bool   `json:"enforce_nonce"`
	Flags     int    `json:"flags"`
	Reference *struct {
		MessageID string `json:"message_id"`
		Lenient   *bool  `json:"fail_if_not_exists"`
	} `json:"message_reference"`
	Mentions *struct {
		Parse []string `json:"parse"`
	} `json:"allowed_mentions"`
	Components []struct {
		Type       int `json:"type"`
		Components []struct {
			Type  int    `json:"type"`
			Label string `json:"label"`
			Data  string `json:"custom_id"`
		} `json:"components"`
	} `json:"components"`
}

// readBody decodes and checks a message's body, and answers where it is wrong.
func readBody(w http.ResponseWriter, r *http.Request) (b body, ok bool) {
	if json.NewDecoder(r.Body).Decode(&b) != nil || len(b.Nonce) > 25 {
		refuse(w, http.StatusBadRequest, 50035, "Invalid Form Body")
		return b, false
	}
	if strings.TrimSpace(b.Content) == "" {
		refuse(w, http.StatusBadRequest, 50006, "Cannot send an empty message")
		return b, false
	}
	if utf8.RuneCountInString(b.Content) > 2000 {
		answer(w, http.StatusBadRequest, object{"code": 50035, "message": "Invalid Form Body", "errors": object{
			"content": object{"_errors": []object{{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}}},
		}})
		return b, false
	}
	return b, true
}

// apply puts the body into a message.
func (b body) apply(m *Message) {
	m.Text, m.Buttons = b.Content, nil
	for _, row := range b.Components {
		for _, c := range row.Components {
			m.Buttons = append(m.Buttons, Button{c.Label, c.Data})
		}
	}
	if b.Mentions != nil {
		m.Mentions = b.Mentions.Parse
	}
}

func (s *Server) postMessage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(w, r)
	if c == nil {
		return
	}
	b, ok := readBody(w, r)
	if !ok {
		return
	}
	if known, sent := s.nonces[c.id+"/"+b.Nonce]; sent && b.Enforce && b.Nonce != "" {
		answer(w, http.StatusOK, s.messageObject(s.messages[known], true))
		return
	}
	m := &Message{Channel: c.id, Author: BotID, Nonce: b.Nonce, Silent: b.Flags&(1<<12) != 0}
	b.apply(m)
	if b.Reference != nil {
		target := s.messages[b.Reference.MessageID]
		switch {
		case target != nil && !target.Deleted:
			m.ReplyTo = target.ID
		case b.Reference.Lenient == nil || *b.Reference.Lenient:
			refuse(w, http.StatusBadRequest, 50035, "Invalid Form Body")
			return
		}
	}
	s.add(c, m)
	if b.Nonce != "" {
		s.nonces[c.id+"/"+b.Nonce] = m.ID
	}
	s.dispatch("MESSAGE_CREATE", c, func(content bool) object { return s.messageObject(m, content) }, m)
	answer(w, http.StatusOK, s.messageObject(m, true))
}

// find finds the request's message and answers where there is none; mu is held.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (*channel, *Message) {
	c := s.open(w, r)
	if c == nil {
		return nil, nil
	}
	m := s.messages[r.PathValue("message")]
	if m == nil || m.Deleted || m.Channel != c.id {
		refuse(w, http.StatusNotFound, 10008, "Unknown Message")
		return nil, nil
	}
	return c, m
}

func (s *Server) patchMessage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m := s.find(w, r)
	if m == nil {
		return
	}
	if m.Author != BotID {
		refuse(w, http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
		return
	}
	b, ok := readBody(w, r)
	if !ok {
		return
	}
	b.apply(m)
	m.Edits++
	m.edited = time.Now()
	s.signal()
	s.dispatch("MESSAGE_UPDATE", c, func(content bool) object { return s.messageObject(m, content) }, m)
	answer(w, http.StatusOK, s.messageObject(m, true))
}

func (s *Server) deleteMessage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m := s.find(w, r)
	if m == nil {
		return
	}
	s.remove(c, m)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) postTyping(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.open(w, r); c != nil {
		c.typing++
		s.signal()
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) putReaction(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, m := s.find(w, r); m != nil {
		if emoji := r.PathValue("emoji"); !slices.Contains(m.Reactions, emoji) {
			m.Reactions = append(m.Reactions, emoji)
		}
		s.signal()
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) deleteReaction(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, m := s.find(w, r); m != nil {
		m.Reactions = slices.DeleteFunc(m.Reactions, func(e string) bool { return e == r.PathValue("emoji") })
		s.signal()
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) postCallback(w http.ResponseWriter, r *http.Request) {
	var b struct{ Type int }
	_ = json.NewDecoder(r.Body).Decode(&b)
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	began, known := s.waiting[id]
	if !known {
		refuse(w, http.StatusNotFound, 10062, "Unknown interaction")
		return
	}
	delete(s.waiting, id)
	s.answers = append(s.answers, Answer{Interaction: id, Type: b.Type, InTime: time.Since(began) < 3*time.Second})
	s.signal()
	w.WriteHeader(http.StatusNoContent)
}

// original finds the answer that a webhook is about; the token is "t" and the interaction's id.
func (s *Server) original(w http.ResponseWriter, r *http.Request) *Answer {
	for i := range s.answers {
		if "t"+s.answers[i].Interaction == r.PathValue("token") {
			return &s.answers[i]
		}
	}
	refuse(w, http.StatusNotFound, 10015, "Unknown Webhook")
	return nil
}

func (s *Server) patchOriginal(w http.ResponseWriter, r *http.Request) {
	var b struct{ Content string }
	_ = json.NewDecoder(r.Body).Decode(&b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.original(w, r); a != nil {
		a.Edited = b.Content
		s.signal()
		answer(w, http.StatusOK, object{})
	}
}

func (s *Server) deleteOriginal(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.original(w, r); a != nil {
		a.Deleted = true
		s.signal()
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) getAttachment(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}
