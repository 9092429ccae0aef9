package stub

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// reply is a message of the model that is streamed block by block.
type reply struct {
	s       *session
	id      string
	pace    time.Duration // between the pieces of a block
	index   int           // of the next block
	content []any         // the complete blocks
}

// reply begins a message.
func (s *session) reply(script Script) *reply {
	r := &reply{s: s, id: "msg_" + uuid.NewString()[:8], pace: time.Duration(script.TokenDelayMS) * time.Millisecond}
	s.stream(map[string]any{"type": "message_start", "message": map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": s.model, "content": []any{}, "usage": s.usage(1),
	}})
	return r
}

// words are the pieces of a text as they are streamed.
func words(text string) []string { return strings.SplitAfter(text, " ") }

// block streams the pieces of a block, and calls at, if not nil, before each. False: the turn was stopped.
func (r *reply) block(empty map[string]any, kind, field string, pieces []string, at func(i int)) bool {
	r.s.stream(map[string]any{"type": "content_block_start", "index": r.index, "content_block": empty})
	pace := r.pace
	if pace == 0 && r.s.opts.demo && r.s.opts.partial {
		const readable, whole = 40 * time.Millisecond, 1500 * time.Millisecond
		pace = min(readable, whole/time.Duration(len(pieces)))
	}
	for i, piece := range pieces {
		if at != nil {
			at(i)
		}
		if r.s.stop {
			return false
		}
		r.s.stream(map[string]any{"type": "content_block_delta", "index": r.index, "delta": map[string]any{"type": kind, field: piece}})
		r.s.sleep(pace)
	}
	return !r.s.stop
}

// whole ends a block: the CLI sends all of it once more.
func (r *reply) whole(block map[string]any) {
	r.s.assistant(r.id, block, nil)
	r.s.stream(map[string]any{"type": "content_block_stop", "index": r.index})
	r.index++
	r.content = append(r.content, block)
}

// think sends a thought, if there is one.
func (r *reply) think(thought string) {
	if thought != "" && r.block(map[string]any{"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", words(thought), nil) {
		r.whole(map[string]any{"type": "thinking", "thinking": thought, "signature": "c2lnbmF0dXJl"})
	}
}

// say sends a text.
func (r *reply) say(text string, at func(i int)) {
	if r.block(map[string]any{"type": "text", "text": ""}, "text_delta", "text", words(text), at) {
		r.whole(map[string]any{"type": "text", "text": text})
	}
}

// use sends the use of a tool.
func (r *reply) use(name string, input any) (call string) {
	call = "toolu_" + uuid.NewString()[:8]
	block := map[string]any{"type": "tool_use", "id": call, "name": name, "input": map[string]any{}}
	data, err := json.Marshal(input)
	if err != nil {
		panic(err) // it came from JSON
	}
	r.block(block, "input_json_delta", "partial_json", []string{string(data)}, nil)
	r.whole(map[string]any{"type": "tool_use", "id": call, "name": name, "input": input})
	return call
}

// lose streams a text that is cut: its block is void.
func (r *reply) lose(text string) {
	if !r.block(map[string]any{"type": "text", "text": ""}, "text_delta", "text", words(text), nil) || !r.s.opts.partial {
		return
	}
	r.s.stream(map[string]any{"type": "content_block_stop", "index": r.index})
	event := map[string]any{"type": "stream_event", "event": map[string]any{"type": "message_stop"}, "parent_tool_use_id": nil}
	if !r.s.opts.legacy {
		event["abandoned_blocks"] = map[string]any{"api_message_id": r.id, "from_block_index": r.index}
	}
	r.s.out.send(event)
}

// end ends the message and records it, unless a classifier has stopped it.
func (r *reply) end(stop string, tokens int) {
	r.s.output += tokens
	r.s.stream(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop}, "usage": r.s.usage(tokens)})
	r.s.stream(map[string]any{"type": "message_stop"})
	if stop == "refusal" {
		return
	}
	if err := r.s.log.answer(r.content, r.id, r.s.model, stop, nil); err != nil {
		r.s.fatal = "Error: " + err.Error()
	}
}

// retry reports that the request is repeated.
func (s *session) retry(attempt int) {
	s.out.send(map[string]any{
		"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10, "retry_delay_ms": 5,
		"error_status": nil, "error": "unknown",
	})
}

// troubles are the scripted problems before the answer.
func (s *session) troubles(script Script) {
	for i := range script.Retries {
		s.retry(i + 1)
	}
	if script.Lost != "" && !s.stop {
		s.reply(script).lose(script.Lost)
		s.retry(1)
	}
	if script.Refused != "" && !s.stop {
		r := s.reply(script)
		r.say(script.Refused, nil)
		r.end("refusal", 10)
		if script.Error == "" && !s.stop {
			s.out.send(map[string]any{
				"type": "user", "parent_tool_use_id": nil, "isSynthetic": true, "refused_message_id": r.id, "message": map[string]any{
					"role": "user", "content": []any{map[string]any{"type": "text", "text": "Your response above was stopped by a safety classifier."}},
				},
			})
			s.status("requesting")
		}
	}
}

// answer streams the text of the answer and records it.
func (s *session) answer(script Script, text, thinking string, m message) {
	const cached = 110
	s.inTokens += 1 + len(m.text)/4
	if script.Context > 0 {
		s.inTokens = max(0, script.Context-cached-len(text)/4)
	}
	s.troubles(script)
	r := s.reply(script)
	r.think(thinking)
	blocks := []string{text}
	if script.Blocks {
		blocks = strings.Split(text, "\n")
	}
	for _, block := range blocks {
		n := len(words(block))
		r.say(block, func(i int) {
			if i > 0 && script.Pause != "" {
				s.shell(fmt.Sprintf("WORD=%d; %s", i+1, script.Pause), Script{}, m)
			}
			if i == (n+1)/2 || n == 1 {
				s.crash(script, "answer", m)
				if script.Hang != "" {
					s.deafen(script)
					s.sleep(24 * time.Hour)
				}
			}
		})
		if s.stop {
			return
		}
	}
	r.end("end_turn", len(text)/4)
}
