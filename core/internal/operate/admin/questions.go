package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
)

// maxDecision bounds the answer to a question, in bytes.
const maxDecision = 64 << 10

// OpenQuestion is an open question with what people see of it, for who may answer it here. The model has written most of it.
type OpenQuestion struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`  // tool, plan, choice, resume, form
	About     string    `json:"about"` // as in [Question]
	Session   string    `json:"session"`
	Agent     string    `json:"agent"`
	Since     time.Time `json:"since,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	May       []string  `json:"may"` // who may answer it in the chat

	For      string   `json:"for,omitempty"`      // the person whose turn asks, if another person is asked
	Text     string   `json:"text,omitempty"`     // what is to be chosen, what an MCP server asks for, or why work was given up
	Shown    string   `json:"shown,omitempty"`    // the tool's input, or the plan in Markdown
	Why      string   `json:"why,omitempty"`      // the tool is used
	Outside  string   `json:"outside,omitempty"`  // the path outside of the workspace that the tool would access
	Purpose  string   `json:"purpose,omitempty"`  // of a turn that no person has asked for
	Other    string   `json:"other,omitempty"`    // the tool's other input
	Missing  int      `json:"missing,omitempty"`  // characters that are not shown
	Doubtful bool     `json:"doubtful,omitempty"` // it can be read in more than one way
	Several  bool     `json:"several,omitempty"`  // several options may be chosen
	Server   string   `json:"server,omitempty"`   // the MCP server that asks, for a form
	Takes    string   `json:"takes,omitempty"`    // what may be written besides the options, for a form
	Options  []Option `json:"options"`
}

// Option is an answer to an [OpenQuestion].
type Option struct {
	Answer string `json:"answer"` // to send
	Label  string `json:"label"`
	Help   string `json:"help,omitempty"`
}

// OpenQuestions are the open questions with what people see of them, oldest first; at most [maxQuestions].
func (h Host) OpenQuestions(ctx context.Context) ([]OpenQuestion, error) {
	open, err := h.Approvals.Open(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]OpenQuestion, 0, min(len(open), maxQuestions))
	for _, q := range open[:cap(list)] {
		asked := q.Asked
		shown := OpenQuestion{
			ID: q.ID, Kind: string(asked.About), About: q.About, Session: q.Session, Agent: session.AgentOf(q.Session), Since: q.Since,
			ExpiresAt: q.Expires, May: h.mayAnswer(q), For: asked.For, Text: asked.Line, Shown: asked.Shown, Why: asked.Why, Outside: asked.Outside,
			Purpose: asked.Purpose, Other: asked.Other, Missing: asked.Missing, Doubtful: asked.Doubtful, Several: asked.Several,
			Options: make([]Option, 0, len(q.Options)),
		}
		if asked.Form != nil {
			shown.Server, shown.Takes = asked.Form.Server, asked.Form.Takes
		}
		for _, o := range q.Options {
			shown.Options = append(shown.Options, Option{Answer: o.Word, Label: o.Label, Help: o.Help})
		}
		list = append(list, shown)
	}
	return list, nil
}

// questions serves the open questions, and answers to them, which an operator gives by what is named.
func (s *Server) questions(mux *http.ServeMux, by string) {
	mux.HandleFunc("GET /v1/questions", answer(func(r *http.Request) (any, error) { return s.options.Host.OpenQuestions(r.Context()) }))
	mux.HandleFunc("POST /v1/questions/answer", answer(func(r *http.Request) (any, error) { return s.decide(r, by) }))
}

// decide answers a question. The first answer counts, whoever gives it.
func (s *Server) decide(r *http.Request, by string) (any, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, 4*maxDecision) // a letter of a form may take three bytes
	typed, text := r.FormValue("id"), r.FormValue("answer")
	if len(text) > maxDecision {
		return nil, gateway.Refusal{Text: fmt.Sprintf("the answer has %d bytes; the limit is %d", len(text), maxDecision)}
	}
	id, ok := permission.ID(typed)
	if !ok {
		return nil, noQuestion(typed)
	}
	err := s.options.Host.Approvals.Decide(r.Context(), by, id, text)
	if errors.Is(err, domain.ErrNotFound) {
		return nil, noQuestion(id)
	}
	return struct{}{}, err
}

// noQuestion is the error for an unknown question.
func noQuestion(id string) error {
	return missing(fmt.Sprintf("no question has the ID %q; `clawhost approve` lists those that are open", shorten(id, shownID)))
}

// shownID bounds the id of an unknown question in an error, in characters.
const shownID = 20
