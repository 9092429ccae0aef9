package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/clawhost/clawhost/sdk/chat"
)

// maxLogin bounds a login request, and each line of its response, in bytes.
const maxLogin = 256 << 10

// login responds with a line for each step, and one for the end. It ends when the client disconnects.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var request LoginRequest
	lines, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "application/x-ndjson")
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLogin)).Decode(&request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = lines.Encode(problem{fmt.Sprintf("read the request: %v", err)})
		return
	}
	// Write errors are ignored: the request's context ends when the client is gone.
	account, err := s.options.Plugins.Login(r.Context(), request.Plugin, request.Answers, func(step chat.LoginStep) {
		_ = lines.Encode(LoginEvent{Step: &LoginStep{
			ID: step.ID, Instructions: step.Instructions, QR: step.QR, Code: step.Code, Input: step.Input,
		}})
		_ = flush()
	})
	switch {
	case err != nil:
		_ = lines.Encode(LoginEvent{Error: err.Error()})
	case account != "":
		_ = lines.Encode(LoginEvent{Account: string(account)})
	}
}

// Login lets a person log in to a channel's account and shows each step. An empty account without an error means that
// the last step asks for an answer, with which Login is called again. Ctx ends it.
func (c *Client) Login(ctx context.Context, plugin string, answers map[string]string, show func(LoginStep)) (account string, err error) {
	body, err := json.Marshal(LoginRequest{Plugin: plugin, Answers: answers})
	if err != nil {
		return "", fmt.Errorf("ask the host: %w", err)
	}
	answered, err := c.stream(ctx, http.MethodPost, "/v1/plugins/login", nil, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer answered.Close()
	lines := bufio.NewScanner(answered)
	lines.Buffer(nil, maxLogin)
	asked := false
	for lines.Scan() {
		var event LoginEvent
		switch err := json.Unmarshal(lines.Bytes(), &event); {
		case err != nil:
			return "", fmt.Errorf("read the host's answer: %w", err)
		case event.Error != "":
			return "", errors.New(event.Error)
		case event.Step == nil:
			return event.Account, nil
		}
		asked = event.Step.Input != ""
		show(*event.Step)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case lines.Err() != nil:
		return "", fmt.Errorf("read the host's answer: %w", lines.Err())
	case !asked:
		return "", fmt.Errorf("read the host's answer: %w", io.ErrUnexpectedEOF)
	}
	return "", nil
}
