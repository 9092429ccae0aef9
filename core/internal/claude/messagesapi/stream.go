package messagesapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// deltaSize is the number of characters of a tool's input per delta.
const deltaSize = 32

// stream is a message being sent as server-sent events.
type stream struct {
	ctx   context.Context
	w     http.ResponseWriter
	reply Reply
	sent  int // deltas
}

// stream sends the message as server-sent events, as far as the reply allows.
func (r Reply) stream(ctx context.Context, w http.ResponseWriter, m message) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s := &stream{ctx: ctx, w: w, reply: r}

	start := m
	start.Content, start.StopReason, start.Usage.OutputTokens = []block{}, nil, 1
	s.event("message_start", map[string]any{"message": start})
	s.event("ping", map[string]any{})
	for i, b := range m.Content {
		s.block(i, b)
	}
	s.hangOrCut()
	if r.StreamFailure != nil {
		s.event("error", map[string]any{"error": r.StreamFailure.envelope()})
		return
	}
	s.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil},
		"usage": m.Usage,
	})
	s.event("message_stop", map[string]any{})
}

func (s *stream) event(name string, data map[string]any) {
	data["type"] = name
	line, _ := json.Marshal(data) // strings and JSON values always encode
	_, _ = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, line)
	_ = http.NewResponseController(s.w).Flush()
}

// block sends one block in deltas.
func (s *stream) block(index int, b block) {
	empty, deltas := b.deltas()
	s.event("content_block_start", map[string]any{"index": index, "content_block": empty})
	for _, d := range deltas {
		s.hangOrCut()
		if !open(s.ctx, s.reply.Gates[s.sent]) {
			panic(http.ErrAbortHandler)
		}
		s.event("content_block_delta", map[string]any{"index": index, "delta": d})
		s.sent++
		if !wait(s.ctx, s.reply.DeltaDelayMS) {
			panic(http.ErrAbortHandler)
		}
	}
	s.event("content_block_stop", map[string]any{"index": index})
}

// hangOrCut ends the stream if the reply says so.
func (s *stream) hangOrCut() {
	hang := s.reply.Hang != nil && s.sent >= *s.reply.Hang
	if hang {
		<-s.ctx.Done()
	}
	if hang || s.reply.Cut != nil && s.sent >= *s.reply.Cut {
		panic(http.ErrAbortHandler)
	}
}

// deltas splits a block into its start event and the deltas.
func (b block) deltas() (empty block, deltas []map[string]any) {
	switch b["type"] {
	case "text":
		for _, word := range strings.SplitAfter(b["text"].(string), " ") {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": word})
		}
		return block{"type": "text", "text": ""}, deltas
	case "thinking":
		for _, word := range strings.SplitAfter(b["thinking"].(string), " ") {
			deltas = append(deltas, map[string]any{"type": "thinking_delta", "thinking": word})
		}
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": b["signature"]})
		return block{"type": "thinking", "thinking": "", "signature": ""}, deltas
	default: // tool_use
		input, _ := json.Marshal(b["input"]) // it came from JSON or from a test's literal
		for part := range slices.Chunk([]rune(string(input)), deltaSize) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": string(part)})
		}
		return block{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}, deltas
	}
}
