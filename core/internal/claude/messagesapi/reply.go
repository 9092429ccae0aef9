package messagesapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Reply scripts the response to one request. Its content is sent in the order of the fields.
type Reply struct {
	Thinking string    `json:"thinking,omitempty"`
	Text     string    `json:"text,omitempty"`
	Tools    []ToolUse `json:"tools,omitempty"`

	StopReason  string `json:"stop_reason,omitempty"`  // empty: "tool_use" if there are Tools, else "end_turn"
	InputTokens int    `json:"input_tokens,omitempty"` // reported tokens of the prompt; zero: estimated by its size

	DelayMS      int             `json:"delay_ms,omitempty"`       // milliseconds before the status line
	DeltaDelayMS int             `json:"delta_delay_ms,omitempty"` // milliseconds after each delta of a stream
	Gate         <-chan struct{} `json:"-"`                        // not nil: the status line waits until it is closed
	// Gates are the gates of a stream: the delta with this number, counted from 0 over all blocks, waits until its gate is
	// closed.
	Gates map[int]<-chan struct{} `json:"-"`

	Failure       *Failure `json:"failure,omitempty"`        // answer with this instead
	StreamFailure *Failure `json:"stream_failure,omitempty"` // end the stream with an error event
	Hang          *int     `json:"hang,omitempty"`           // stop after this many deltas, leaving the connection open
	Cut           *int     `json:"cut,omitempty"`            // cut the connection after this many deltas
}

// ToolUse is a call of a tool by the model.
type ToolUse struct {
	ID    string         `json:"id,omitempty"` // empty: a new one
	Name  string         `json:"name"`
	Input map[string]any `json:"input"`
}

// Failure is an error of the API.
type Failure struct {
	Status  int               `json:"status"`
	Type    string            `json:"type,omitempty"` // empty: derived from the status
	Message string            `json:"message,omitempty"`
	Header  map[string]string `json:"header,omitempty"`
}

// Bash is an answer that calls the shell tool.
func Bash(command string) Reply {
	return Reply{Tools: []ToolUse{{Name: "Bash", Input: map[string]any{"command": command}}}}
}

// Unauthorized is the error for an invalid credential.
func Unauthorized() Reply {
	return Reply{Failure: &Failure{Status: http.StatusUnauthorized, Message: "invalid x-api-key"}}
}

// Forbidden is the error for a missing permission.
func Forbidden() Reply {
	return Reply{Failure: &Failure{Status: http.StatusForbidden, Message: "your key has no access to this model"}}
}

// RateLimited is the error of a rate limit; zero sends no retry-after header.
func RateLimited(retryAfter time.Duration) Reply {
	failure := &Failure{Status: http.StatusTooManyRequests, Message: "this request would exceed your rate limit"}
	if retryAfter > 0 {
		failure.Header = map[string]string{"Retry-After": strconv.Itoa(int(retryAfter.Seconds()))}
	}
	return Reply{Failure: failure}
}

// Overloaded is the error of an overloaded service.
func Overloaded() Reply {
	return Reply{Failure: &Failure{Status: 529, Message: "Overloaded"}}
}

// PromptTooLong is the error of a conversation that exceeds the model's context.
func PromptTooLong() Reply {
	return Reply{Failure: &Failure{Status: http.StatusBadRequest, Message: "prompt is too long: 208310 tokens > 200000 maximum"}}
}

// Rejected is the error of a conversation with more large pictures than the API accepts.
func Rejected() Reply {
	return Reply{Failure: &Failure{
		Status:  http.StatusBadRequest,
		Message: "messages.3.content.0.image.source.base64.data: at least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
	}}
}

// Refusal is an answer that stops because the model declines, after it has sent the text.
func Refusal(text string) Reply { return Reply{Text: text, StopReason: "refusal"} }

func (r Reply) empty() bool { return reflect.ValueOf(r).IsZero() }

// serve responds to a request; ctx ends when the client or the server goes. An incomplete response is cut then: an empty or
// short one would look complete.
func (r Reply) serve(ctx context.Context, w http.ResponseWriter, p Prompt, size int) {
	if !wait(ctx, r.DelayMS) || !open(ctx, r.Gate) {
		panic(http.ErrAbortHandler)
	}
	if r.Failure != nil {
		writeFailure(w, *r.Failure)
		return
	}
	m := r.message(p, size)
	w.Header().Set("Request-Id", fresh("req"))
	if p.Stream {
		r.stream(ctx, w, m)
		return
	}
	switch {
	case r.StreamFailure != nil:
		writeFailure(w, *r.StreamFailure)
	case r.Hang != nil:
		<-ctx.Done()
		panic(http.ErrAbortHandler)
	case r.Cut != nil:
		panic(http.ErrAbortHandler)
	default:
		writeJSON(w, http.StatusOK, m)
	}
}

// message is a response on the wire.
type message struct {
	ID           string  `json:"id"`
	Type         string  `json:"type"`
	Role         string  `json:"role"`
	Model        string  `json:"model"`
	Content      []block `json:"content"`
	StopReason   *string `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
	Usage        usage   `json:"usage"`
}

// block is a block of a response's content: its keys depend on its type.
type block map[string]any

type usage struct {
	InputTokens         int `json:"input_tokens"`
	OutputTokens        int `json:"output_tokens"`
	CacheCreationTokens int `json:"cache_creation_input_tokens"`
	CacheReadTokens     int `json:"cache_read_input_tokens"`
}

func (r Reply) message(p Prompt, size int) message {
	m := message{ID: fresh("msg"), Type: "message", Role: "assistant", Model: p.Model, Content: []block{}, StopReason: &r.StopReason}
	if r.Thinking != "" {
		m.Content = append(m.Content, block{"type": "thinking", "thinking": r.Thinking, "signature": "c2lnbmF0dXJl"})
	}
	if r.Text != "" {
		m.Content = append(m.Content, block{"type": "text", "text": r.Text})
	}
	for _, t := range r.Tools {
		if t.ID == "" {
			t.ID = fresh("toolu")
		}
		if t.Input == nil {
			t.Input = map[string]any{}
		}
		m.Content = append(m.Content, block{"type": "tool_use", "id": t.ID, "name": t.Name, "input": t.Input})
	}
	if r.StopReason == "" {
		m.StopReason = new("end_turn")
		if len(r.Tools) > 0 {
			m.StopReason = new("tool_use")
		}
	}
	content, _ := json.Marshal(m.Content) // strings and JSON values always encode
	m.Usage = usage{InputTokens: r.InputTokens, OutputTokens: tokens(len(content))}
	if r.InputTokens == 0 {
		m.Usage.InputTokens = tokens(size)
	}
	return m
}

func writeFailure(w http.ResponseWriter, f Failure) {
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	id := fresh("req")
	w.Header().Set("Request-Id", id)
	writeJSON(w, f.Status, map[string]any{"type": "error", "error": f.envelope(), "request_id": id})
}

// envelope returns the failure in the API's format, for a body or an error event.
func (f Failure) envelope() map[string]string {
	types := map[int]string{
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusUnauthorized:          "authentication_error",
		http.StatusPaymentRequired:       "billing_error",
		http.StatusForbidden:             "permission_error",
		http.StatusNotFound:              "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests:       "rate_limit_error",
		http.StatusGatewayTimeout:        "timeout_error",
		529:                              "overloaded_error",
	}
	kind := f.Type
	if kind == "" {
		kind = types[f.Status]
	}
	if kind == "" {
		kind = "api_error"
	}
	return map[string]string{"type": kind, "message": f.Message}
}

// tokens estimates the number of tokens.
func tokens(bytes int) int { return bytes/4 + 1 }

func fresh(prefix string) string { return prefix + "_" + uuid.NewString() }

// wait returns false if ctx ended first.
func wait(ctx context.Context, milliseconds int) bool {
	if milliseconds <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timer.Stop()
	return open(ctx, timer.C)
}

// open waits for a gate; it returns false if ctx ended first. A nil gate is open.
func open[T any](ctx context.Context, gate <-chan T) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-ctx.Done():
		return false
	}
}
