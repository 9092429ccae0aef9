package admin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/wire"
)

// Prompt is a text for Claude.
type Prompt struct {
	Session string `json:"session,omitempty"` // whose conversation continues; empty: that of all questions that name none
	Agent   string `json:"agent,omitempty"`   // who answers; empty: the session's agent, or the one that answers questions that name none
	Text    string `json:"text"`
}

// Answer is the end of a turn.
type Answer struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
	Text    string `json:"text"`            // of the answer
	Error   string `json:"error,omitempty"` // why it is missing
}

// TurnEvent is one line of the response to a question. One of its fields is set.
type TurnEvent struct {
	Queued    *Queued `json:"queued,omitempty"` // the first line: the turn is durable
	More      string  `json:"more,omitempty"`   // more of the answer's text
	Restarted bool    `json:"anew,omitempty"`   // the answer starts again: what came before does not count
	Held      string  `json:"held,omitempty"`   // why the turn cannot begin or end yet; it is tried again
	Answer    *Answer `json:"answer,omitempty"` // the last line
	Error     string  `json:"error,omitempty"`  // the last line: the question was not asked
}

// Queued is where a turn waits.
type Queued struct {
	Session string `json:"session"`
	Waiting int    `json:"waiting"` // messages before it
}

// asking returns the handler of questions, which responds with a line for each change of the answer. When the client
// disconnects, the turn is stopped, unless another caller waits for it or, if stays is set, the question has a key.
func (s *Server) asking(stays bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.ask(w, r, stays) }
}

// decode reads a JSON value with names that are known.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

func (s *Server) ask(w http.ResponseWriter, r *http.Request, stays bool) {
	var q Prompt
	lines, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	if strings.Contains(r.Header.Get("Accept"), eventStream) {
		w.Header().Set("Content-Type", eventStream)
		lines = json.NewEncoder(events{w})
	} else {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
	// The whole body is read: net/http does not see before that when the client disconnects.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err == nil {
		err = decode(body, &q)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = lines.Encode(problem{fmt.Sprintf("read the question: %v", err)})
		return
	}
	if err := q.check(); err != nil {
		_ = lines.Encode(TurnEvent{Error: err.Error()})
		return
	}
	var shown gateway.Progress
	for p, err := range s.options.Gateway.Ask(r.Context(), gateway.Caller{}, gateway.Prompt{
		Key: r.Header.Get(idempotencyKey), Session: q.Session, Agent: q.Agent, Text: q.Text, Stays: stays,
	}) {
		refusal, refused := errors.AsType[gateway.Refusal](err)
		switch {
		case refused && refusal.Reason == gateway.NoAgent: // before anything else
			w.WriteHeader(http.StatusBadRequest)
			_ = lines.Encode(problem{refusal.Text})
			return
		case refused && refusal.Reason == gateway.Reused: // before anything else, too
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = lines.Encode(problem{refusal.Text})
			return
		case err != nil && !refused && r.Context().Err() == nil:
			s.log.Error("a question could not be asked", "error", err)
		}
		// Write errors are ignored: the request's context ends when the client is gone.
		for _, event := range turnEvents(shown, p, err) {
			_ = lines.Encode(event)
			_ = flush()
		}
		shown = p
	}
}

// check refuses a text that cannot be a question.
func (q Prompt) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return gateway.Refusal{Text: "the question is empty"}
	case len(q.Text) > wire.MaxText:
		return gateway.Refusal{Text: fmt.Sprintf("the question has %d bytes, and at most %d can be asked", len(q.Text), wire.MaxText)}
	}
	return nil
}

// turnEvents are the lines for a turn's progress, of which a part was shown, or for its end.
func turnEvents(shown, p gateway.Progress, err error) (events []TurnEvent) {
	switch end := p.End; {
	case err != nil:
		return []TurnEvent{{Error: err.Error()}}
	case end.State == domain.RunDone:
		return []TurnEvent{{Answer: &Answer{Session: p.Session, Agent: session.AgentOf(p.Session), Text: end.Answer}}}
	case end.State != "":
		why := cmp.Or(end.Answer, end.Error, "the turn was "+string(end.State))
		return []TurnEvent{{Answer: &Answer{Session: p.Session, Agent: session.AgentOf(p.Session), Error: why}}}
	}
	if shown.Session == "" && p.Session != "" {
		events = append(events, TurnEvent{Queued: &Queued{p.Session, p.Waiting}})
	}
	more, grows := strings.CutPrefix(p.Text, shown.Text)
	if !grows {
		events = append(events, TurnEvent{Restarted: true})
	}
	if more != "" {
		events = append(events, TurnEvent{More: more})
	}
	if p.Held != shown.Held && p.Held != "" {
		events = append(events, TurnEvent{Held: p.Held})
	}
	return events
}

// eventStream is the type of server-sent events.
const eventStream = "text/event-stream"

// events writes each line as a server-sent event.
type events struct{ io.Writer }

// Write writes a line.
func (e events) Write(line []byte) (int, error) {
	_, err := fmt.Fprintf(e.Writer, "data: %s\n", line)
	return len(line), err
}

// Ask asks Claude something, and shows each change of its answer. The same key again waits for the same answer; an empty
// one never repeats. When ctx ends, the turn is stopped.
func (c *Client) Ask(ctx context.Context, key string, q Prompt, show func(TurnEvent)) (Answer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return Answer{}, fmt.Errorf("ask the host: %w", err)
	}
	answered, err := c.stream(ctx, http.MethodPost, "/v1/turns", keyed(key), bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	defer answered.Close()
	lines := bufio.NewScanner(answered)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var event TurnEvent
		switch err := json.Unmarshal(lines.Bytes(), &event); {
		case err != nil:
			return Answer{}, fmt.Errorf("read the host's answer: %w", err)
		case event.Error != "":
			return Answer{}, errors.New(event.Error)
		case event.Answer != nil:
			return *event.Answer, nil
		}
		show(event)
	}
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case lines.Err() != nil:
		return Answer{}, fmt.Errorf("read the host's answer: %w", lines.Err())
	}
	return Answer{}, fmt.Errorf("read the host's answer: %w", io.ErrUnexpectedEOF)
}

// maxAnswer bounds a line of a response, in bytes.
const maxAnswer = 64 << 20

// keyed is the header of a request with a key.
func keyed(key string) http.Header {
	header := http.Header{}
	if key != "" {
		header.Set(idempotencyKey, key)
	}
	return header
}
