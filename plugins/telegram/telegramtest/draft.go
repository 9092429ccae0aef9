package telegramtest

import (
	"context"
	"fmt"
	"time"
)

// Draft is what a private chat shows of an answer that is being written. A message of the bot's takes its place.
type Draft struct {
	ID       int
	Thread   int
	Text     string // empty: the answer has just begun
	Entities []Entity
	Rich     bool
	CanStop  bool // there is a button to stop the answer
}

// AwaitDraft waits until a chat's draft matches, and returns it.
func (s *Server) AwaitDraft(ctx context.Context, chat int64, match func(Draft) bool) (Draft, error) {
	var shown Draft
	err := s.await(ctx, func() bool {
		d, ok := s.drafts[chat]
		shown = d
		return ok && match(d)
	})
	if err != nil {
		return Draft{}, fmt.Errorf("no such draft in chat %d, the last is %+v: %w", chat, shown, err)
	}
	return shown, nil
}

// Draft returns a chat's draft; false: no draft.
func (s *Server) Draft(chat int64) (Draft, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.drafts[chat]
	return d, ok
}

// Stop presses the button of the draft in the user's private chat.
func (u *User) Stop() {
	s := u.server
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.drafts[u.ID]
	if !ok || !d.CanStop {
		panic(fmt.Sprintf("telegramtest: user %d sees no draft that can be stopped", u.ID))
	}
	d.CanStop = false
	s.drafts[u.ID] = d
	object := map[string]any{"chat": s.chatJSON(s.mustHave(u.ID)), "draft_id": d.ID}
	if d.Thread != 0 {
		object["message_thread_id"] = d.Thread
	}
	s.push("stopped_message_generation", object)
}

func (s *Server) sendMessageDraft(params map[string]string) response {
	c, refusal, ok := s.chat(params)
	if !ok {
		return refusal
	}
	if r, ok := s.limit.take(c.id, time.Now()); !ok {
		return r
	}
	d := Draft{
		ID: number(params, "draft_id", 0), Thread: number(params, "message_thread_id", 0),
		Text: params["text"], CanStop: params["can_stop"] == "true",
	}
	switch {
	case c.kind != "private":
		return badRequest("drafts can be sent to private chats only")
	case d.ID == 0:
		return badRequest("draft_id must be non-zero")
	case units(d.Text) > maxText:
		return badRequest("message is too long")
	}
	var err error
	if d.Entities, err = parseEntities(d.Text, params["entities"]); err != nil {
		return badRequest("%v", err)
	}
	if raw, ok := params["rich_message"]; ok {
		if d.Text, err = parseRich(raw); err != nil {
			return badRequest("%v", err)
		}
		d.Rich = true
	}
	s.drafts[c.id] = d
	return succeeded(true)
}
