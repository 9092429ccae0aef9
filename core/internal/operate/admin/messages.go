package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

// maxMessage bounds the part of a request that is not a file: a text of the maximum size with each byte escaped in JSON.
const maxMessage = 8 * wire.MaxText

// maxFiles bounds the files of a message.
const maxFiles = 10

// idempotencyKey is the header by which a repeated request is recognised.
const idempotencyKey = "Idempotency-Key"

// Message is a message to a chat.
type Message struct {
	To     string `json:"to"`               // as channel:chat, such as telegram:-100123
	Thread string `json:"thread,omitempty"` // of the chat
	Text   string `json:"text,omitempty"`   // Markdown
}

// Sent is the response to a message: the id of its first item in the outbox.
type Sent struct {
	ID int64 `json:"id"`
}

// send takes a message: as JSON, or as a form whose first part, "message", is the JSON, and whose further parts are files.
func (s *Server) send(r *http.Request) (any, error) {
	next := func() (*multipart.Part, error) { return nil, io.EOF }
	var message io.Reader = r.Body
	if form, err := r.MultipartReader(); err == nil {
		next = form.NextPart
		if message, err = next(); err != nil {
			return nil, gateway.Refusal{Text: fmt.Sprintf("read the form: %v", err)}
		}
	}
	m, err := read(message)
	if err != nil {
		return nil, err
	}
	for {
		part, err := next()
		switch {
		case errors.Is(err, io.EOF):
			id, err := s.options.Gateway.Post(r.Context(), gateway.Caller{}, r.Header.Get(idempotencyKey), m)
			return Sent{id}, err
		case err != nil:
			return nil, gateway.Refusal{Text: fmt.Sprintf("read the form: %v", err)}
		case len(m.Files) == maxFiles:
			return nil, gateway.Refusal{Text: fmt.Sprintf("a message has at most %d files", maxFiles)}
		}
		kept, err := s.options.Gateway.Keep(r.Context(), gateway.Caller{}, m.To, chat.Media{FileName: part.FileName()}, part)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, kept)
	}
}

// read reads a message without its files.
func read(from io.Reader) (gateway.Message, error) {
	var m Message
	decoder := json.NewDecoder(io.LimitReader(from, maxMessage))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return gateway.Message{}, gateway.Refusal{Text: fmt.Sprintf("read the message: %v", err)}
	}
	if len(m.Text) > wire.MaxText {
		return gateway.Message{},
			gateway.Refusal{Text: fmt.Sprintf("the text has %d bytes, and at most %d can be sent", len(m.Text), wire.MaxText)}
	}
	to, err := parseAddress(m.To, m.Thread)
	return gateway.Message{To: to, Text: m.Text}, err
}

// parseAddress reads the address of a chat that is written as channel:chat, such as telegram:-100123, and of a thread in it,
// which may be empty. The chat may contain colons.
func parseAddress(s, thread string) (chat.Address, error) {
	channel, id, ok := strings.Cut(s, ":")
	if !ok || channel == "" || id == "" {
		return chat.Address{}, gateway.Refusal{Text: fmt.Sprintf("%q is not an address; one looks like telegram:1001", s)}
	}
	return chat.Address{Channel: channel, Chat: chat.ID(id), Thread: chat.ThreadID(thread)}, nil
}

// Send puts a message with these files into the host's outbox. The same key again sends nothing; an empty one never
// repeats. Once it has returned, the message is delivered whatever dies meanwhile.
func (c *Client) Send(ctx context.Context, key string, m Message, files ...string) (sent Sent, err error) {
	var open []*os.File
	defer func() {
		for _, file := range open {
			_ = file.Close()
		}
	}()
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			return Sent{}, fmt.Errorf("send a file: %w", err)
		}
		open = append(open, file)
	}
	body, form := io.Pipe()
	parts := multipart.NewWriter(form)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer body.Close() // ends the writer if the host answers before it has read everything
	writing.Go(func() { _ = form.CloseWithError(write(parts, m, open)) })
	header := keyed(key)
	header.Set("Content-Type", parts.FormDataContentType())
	answered, err := c.stream(ctx, http.MethodPost, "/v1/messages", header, body)
	if err != nil {
		return Sent{}, err
	}
	defer answered.Close()
	if err := json.NewDecoder(answered).Decode(&sent); err != nil {
		return Sent{}, fmt.Errorf("read the host's answer: %w", err)
	}
	return sent, nil
}

// write writes the form of a message.
func write(form *multipart.Writer, m Message, files []*os.File) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	part, err := form.CreateFormField("message")
	if err == nil {
		_, err = io.Copy(part, bytes.NewReader(text))
	}
	for _, file := range files {
		if err == nil {
			part, err = form.CreateFormFile("file", filepath.Base(file.Name()))
		}
		if err == nil {
			_, err = io.Copy(part, file)
		}
	}
	return errors.Join(err, form.Close())
}
