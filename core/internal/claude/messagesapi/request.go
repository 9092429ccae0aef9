package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/stub/picture"
)

// Request is a received request.
type Request struct {
	At     time.Time // when it began to arrive
	Method string
	Path   string      // with the query
	Header http.Header // credentials are replaced by "[redacted]"
	Body   []byte
	Prompt *Prompt // of a POST /v1/messages; nil for other requests
}

// String describes the request for failures, without its body and its credential.
func (r Request) String() string {
	if r.Prompt == nil {
		return r.Method + " " + r.Path
	}
	return fmt.Sprintf("%s %s: %s, %d messages, last user text %.200q", r.Method, r.Path, r.Prompt.Model,
		len(r.Prompt.Messages), r.Prompt.LastUserText())
}

func newRequest(at time.Time, r *http.Request, body []byte) Request {
	out := Request{At: at, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	for _, name := range []string{"X-Api-Key", "Authorization", "Cookie"} {
		if out.Header.Get(name) != "" {
			out.Header.Set(name, "[redacted]")
		}
	}
	if r.Method == http.MethodPost && r.URL.Path == "/v1/messages" {
		var p Prompt
		if json.Unmarshal(body, &p) == nil && len(p.Messages) > 0 {
			out.Prompt = &p
		}
	}
	return out
}

// Prompt is the part of a messages request that tests use.
type Prompt struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	System   Content   `json:"system"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools"`
	Output   Output    `json:"output_config"`
	Thinking Thinking  `json:"thinking"`
	Speed    string    `json:"speed"` // empty: the usual one
}

// Thinking configures whether the model thinks before it answers.
type Thinking struct {
	Type string `json:"type"` // adaptive, enabled, disabled
}

// Output configures the model's output.
type Output struct {
	Effort string `json:"effort"`
}

// Tool is a tool that the request offers to the model.
type Tool struct {
	Name string `json:"name"`
}

// Message is one message of the conversation.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Content is a list of blocks; on the wire it may be a single text.
type Content []Block

// UnmarshalJSON reads a string or a list of blocks.
func (c *Content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = Content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []Block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

// Block is a piece of content: "text", "tool_use", "tool_result" or another type.
type Block struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Name    string   `json:"name"`        // of a tool_use
	ID      string   `json:"id"`          // of a tool_use
	Result  string   `json:"tool_use_id"` // of a tool_result: the tool_use it answers
	Content Content  `json:"content"`     // of a tool_result
	IsError bool     `json:"is_error"`    // of a tool_result
	Source  struct { // of an image
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	} `json:"source"`
}

// Texts returns the text blocks of the whole conversation in order, including the CLI's own reminders.
func (p Prompt) Texts() []string {
	var out []string
	for _, m := range p.Messages {
		for _, b := range m.Content {
			if b.Type == "text" {
				out = append(out, b.Text)
			}
		}
	}
	return out
}

// ToolResults returns the tool results of the conversation as text, oldest first.
func (p Prompt) ToolResults() []string {
	var out []string
	for _, m := range p.Messages {
		for _, b := range m.Content {
			if b.Type != "tool_result" {
				continue
			}
			var text strings.Builder
			for _, part := range b.Content {
				text.WriteString(part.Text)
			}
			out = append(out, text.String())
		}
	}
	return out
}

// ToolPictures returns the types of the images in the tool results of the conversation, oldest first.
func (p Prompt) ToolPictures() []string {
	var out []string
	for _, m := range p.Messages {
		for _, b := range m.Content {
			for _, part := range b.Content {
				if b.Type == "tool_result" && part.Type == "image" && len(part.Source.Data) > 0 {
					out = append(out, part.Source.MediaType)
				}
			}
		}
	}
	return out
}

// ShownPictures returns the types of the images in the messages of the conversation themselves, oldest first.
func (p Prompt) ShownPictures() []string {
	var out []string
	for _, m := range p.Messages {
		for _, b := range m.Content {
			if b.Type == "image" && len(b.Source.Data) > 0 {
				out = append(out, b.Source.MediaType)
			}
		}
	}
	return out
}

// maxSide is the longest side of a picture that the API takes, in pixels.
const maxSide = 8000

// refused says why the API does not take one of the conversation's pictures; empty: it takes all.
func (p Prompt) refused() string {
	for i, m := range p.Messages {
		for j, b := range m.Content {
			for _, part := range append(slices.Clone(b.Content), b) {
				width, height, ok := picture.Size(part.Source.Data)
				switch {
				case part.Type != "image" || len(part.Source.Data) == 0:
				case ok && max(width, height) > maxSide:
					return fmt.Sprintf("messages.%d.content.%d.image.source.base64.data: At least one of the image dimensions exceed max allowed size: %d pixels", i, j, maxSide)
				case !picture.Whole(part.Source.Data):
					return "Could not process image"
				}
			}
		}
	}
	return ""
}

// LastUserText returns the newest text of a user message, without the CLI's reminders and interruption notes.
func (p Prompt) LastUserText() string {
	text, _ := p.lastUserText()
	return text
}

// lastUserText also returns the number of the model's messages after the text.
func (p Prompt) lastUserText() (text string, answers int) {
	for i := len(p.Messages) - 1; i >= 0; i-- {
		m := p.Messages[i]
		if m.Role == "assistant" {
			answers++
		}
		if m.Role != "user" {
			continue // the CLI also sends system messages during a conversation
		}
		for j := len(m.Content) - 1; j >= 0; j-- {
			text := strings.TrimSpace(withoutReminders(m.Content[j].Text))
			if m.Content[j].Type == "text" && text != "" && !strings.HasPrefix(text, "[Request interrupted by user") {
				return text, answers
			}
		}
	}
	return "", answers
}

// compaction recognises the CLI's request for a summary of its conversation.
func (p Prompt) compaction() bool {
	return strings.Contains(p.LastUserText(), "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")
}

// script returns the reply requested by the conversation's last user text.
func (p Prompt) script() (Reply, bool) {
	const open, end = "[[reply ", "]]"
	text, answers := p.lastUserText()
	_, rest, found := strings.Cut(text, open)
	if !found {
		return Reply{}, false
	}
	decoder := json.NewDecoder(strings.NewReader(rest))
	var steps script
	if err := decoder.Decode(&steps); err != nil || !strings.HasPrefix(rest[decoder.InputOffset():], end) {
		return Reply{Text: fmt.Sprintf("messagesapi: bad script %.200q: %v", rest, err)}, true
	}
	if answers >= len(steps) {
		return Reply{Text: "messagesapi: the script is over"}, true
	}
	return steps[answers], true
}

// script is a list of replies, or a single one.
type script []Reply

// UnmarshalJSON reads a reply or a list of them.
func (s *script) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]Reply)(s))
	}
	*s = make(script, 1)
	return json.Unmarshal(data, &(*s)[0])
}

// withoutReminders removes text in system-reminder tags.
func withoutReminders(text string) string {
	const open, end = "<system-reminder>", "</system-reminder>"
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, open)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if _, text, found = strings.Cut(rest, end); !found {
			return out.String()
		}
	}
}
