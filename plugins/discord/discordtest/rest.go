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
		"session_start_limit": object{"total": 1000, "remaining": s.startsLeft(), "reset_after": 60_000, "max_concurrency": 1},
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

// postDirect opens a person's direct channel, which is always the same one.
func (s *Server) postDirect(w http.ResponseWriter, r *http.Request) {
	var with struct {
		ID string `json:"recipient_id"`
	}
	if json.NewDecoder(r.Body).Decode(&with) != nil {
		refuse(w, http.StatusBadRequest, 50035, "Invalid Form Body")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, known := s.users[with.ID]; {
	case !known:
		refuse(w, http.StatusNotFound, 10013, "Unknown User")
		return
	case with.ID == BotID:
		refuse(w, http.StatusBadRequest, 50033, "Invalid Recipient(s)")
		return
	}
	id := s.directOf(with.ID)
	if id == "" {
		id = s.newID()
		s.channels[id] = &channel{id: id, kind: direct, person: with.ID}
		s.order = append(s.order, id)
	}
	answer(w, http.StatusOK, s.channelObject(s.channels[id]))
}

func (s *Server) getApplication(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, object{"id": ApplicationID, "name": "claw", "flags": s.flags})
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
	shown := []object{}
	for _, c := range commands {
		shown = append(shown, object{
			"id": s.newID(), "application_id": ApplicationID, "version": "1", "type": 1, "name": c.Name, "description": c.Description,
			"default_member_permissions": nil,
		})
	}
	answer(w, http.StatusOK, shown)
}

// open finds the request's channel and answers if it does not exist; mu is held.
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

// getMessages gives the oldest messages after an id, or the newest before one, newest first.
func (s *Server) getMessages(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.open(w, r)
	if c == nil {
		return
	}
	before := number(r.FormValue("before"))
	if before == 0 {
		c.asked++
	}
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	if limit == 0 {
		limit = 50
	}
	var found []*Message
	for _, m := range s.messages {
		if m.Channel == c.id && !m.Deleted && number(m.ID) > after && (before == 0 || number(m.ID) < before) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b *Message) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	if before != 0 {
		found = found[max(0, len(found)-limit):]
	}
	found = found[:min(limit, len(found))]
	slices.Reverse(found)
	list := []object{}
	for _, m := range found {
		list = append(list, s.messageObject(m, true))
	}
	answer(w, http.StatusOK, list)
}

func (s *Server) getMessage(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, m := s.find(w, r); m != nil {
		answer(w, http.StatusOK, s.messageObject(m, true))
	}
}

func (s *Server) getRoles(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, s.rolesOf(r.PathValue("guild")))
}

func number(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
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
	if b.Flags&spoken != 0 && s.voiceless[c.id] {
		refuse(w, http.StatusForbidden, 50173, "You cannot send voice messages in this channel")
		return
	}
	nonce := b.nonce()
	if known, sent := s.nonces[c.id+"/"+nonce]; sent && b.Enforce && nonce != "" {
		if s.messages[known].Deleted {
			refuse(w, http.StatusNotFound, 10008, "Unknown Message")
			return
		}
		answer(w, http.StatusOK, s.messageObject(s.messages[known], true))
		return
	}
	m := &Message{Channel: c.id, Author: BotID, Nonce: nonce, Silent: b.Flags&silent != 0, Files: b.files}
	b.apply(m)
	for _, f := range b.files {
		s.attach(m, f)
	}
	if b.Flags&spoken != 0 {
		m.Voice = &Voice{b.Enclosures[0].Seconds, b.Enclosures[0].Waveform}
	}
	if b.Reference != nil {
		target := s.messages[b.Reference.MessageID]
		switch {
		case target != nil && !target.Deleted:
			m.ReplyTo = target.ID
		case b.Reference.Strict == nil || *b.Reference.Strict:
			invalid(w, "message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
			return
		}
	}
	s.add(c, m)
	if nonce != "" {
		s.nonces[c.id+"/"+nonce] = m.ID
	}
	s.dispatch("MESSAGE_CREATE", c, func(content bool) object { return s.messageObject(m, content) }, m)
	answer(w, http.StatusOK, s.messageObject(m, true))
}

// find finds the request's message and answers if it does not exist; mu is held.
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
	if m.Voice != nil {
		refuse(w, http.StatusBadRequest, 50162, "Voice messages cannot be edited")
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
	_, m := s.find(w, r)
	if m == nil {
		return
	}
	s.remove(m.ID)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) postTyping(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.open(w, r); c != nil {
		c.typing++
		s.typing(c, BotID, time.Now())
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) putReaction(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, m := s.find(w, r); m != nil {
		if r.PathValue("emoji")[0] < 0x80 && !strings.Contains(r.PathValue("emoji"), ":") {
			refuse(w, http.StatusBadRequest, 10014, "Unknown Emoji")
			return
		}
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

func (s *Server) getAttachment(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, ok := s.files[r.URL.Path]
	if ok {
		s.fetched++
	}
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

// Fetched returns how many files of people's the bot has fetched.
func (s *Server) Fetched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched
}

// ExpireFiles has the addresses of all files of people's be good no longer. Messages that are asked for have new ones.
func (s *Server) ExpireFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		for _, a := range m.attached {
			old := a.path
			a.path += "+"
			s.files[a.path] = s.files[old]
			delete(s.files, old)
		}
	}
}
