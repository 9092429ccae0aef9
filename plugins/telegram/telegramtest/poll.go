package telegramtest

import (
	"encoding/json"
	"strings"
)

// Poll is a poll of the bot.
type Poll struct {
	Question            string
	Options             []string
	Anonymous, Multiple bool
}

// What a poll may hold, in UTF-16 code units.
const (
	maxQuestion = 300
	maxOption   = 100
	maxOptions  = 10
)

func (s *Server) sendPoll(params map[string]string) response {
	m, refusal, ok := s.begin(params)
	if !ok {
		return refusal
	}
	var options []struct {
		Text string `json:"text"`
	}
	p := &Poll{
		Question: params["question"], Anonymous: params["is_anonymous"] != "false",
		Multiple: params["allows_multiple_answers"] == "true",
	}
	switch err := json.Unmarshal([]byte(params["options"]), &options); {
	case err != nil:
		return badRequest("can't parse options JSON object")
	case strings.TrimSpace(p.Question) == "":
		return badRequest("poll question must be non-empty")
	case units(p.Question) > maxQuestion:
		return badRequest("poll question length must not exceed 300")
	case len(options) < 2:
		return badRequest("poll must have at least 2 option")
	case len(options) > maxOptions:
		return badRequest("poll can't have more than 10 options")
	case s.chats[m.Chat].kind == "channel" && !p.Anonymous:
		return badRequest("non-anonymous polls can't be sent to channel chats")
	}
	for _, o := range options {
		if o.Text == "" || units(o.Text) > maxOption {
			return badRequest("poll options length must not exceed 100")
		}
		p.Options = append(p.Options, o.Text)
	}
	m.Poll = p
	return s.post(m)
}
