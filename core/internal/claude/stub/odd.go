package stub

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// garbage sends output that a reader must survive.
func (s *session) garbage() {
	s.out.raw("this is no JSON\n\n{\"type\":\"surprise\",\"x\":[1,{\"y\":null}]}\n[1,2]\n\"text\"\n{\"type\":17}\nnull\n")
	s.out.send(map[string]any{"type": "system", "subtype": "surprise"})
	s.out.send(map[string]any{"type": "assistant", "message": "no object", "parent_tool_use_id": nil})
	s.out.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": 5}})
}

// sends sends the scripted events of a moment.
func (s *session) sends(moment string, script Script) {
	for _, event := range script.Sends[moment] {
		s.out.send(event)
	}
}

// void ends a turn without asking the model.
func (s *session) void(m message, began time.Time) {
	s.init()
	s.result(map[string]any{
		"subtype": "success", "is_error": false, "result": "", "stop_reason": nil, "terminal_reason": "completed", "num_turns": 0,
	}, m, began)
	s.finish(m, "completed")
}

// unsolicited runs a turn without a request, like the end of a background task.
func (s *session) unsolicited() {
	s.state("running")
	s.out.send(map[string]any{"type": "system", "subtype": "init", "cwd": s.log.workDir, "model": s.model})
	s.assistant("msg_task", map[string]any{"type": "text", "text": "the task is done"}, nil)
	s.result(map[string]any{
		"subtype": "success", "is_error": false, "result": "the task is done", "stop_reason": "end_turn",
		"terminal_reason": "completed", "origin": map[string]any{"kind": "task-notification"},
	}, message{}, time.Now())
	s.state("idle")
}

// peer runs a turn that another process has started with a text, which the answer repeats.
func (s *session) peer(text string) {
	origin := map[string]any{"kind": "peer", "from": "uds:/tmp/cc-socks/17.sock", "verifiedPeerPid": 17}
	s.state("running")
	s.out.send(map[string]any{"type": "system", "subtype": "init", "cwd": s.log.workDir, "model": s.model})
	s.out.send(map[string]any{
		"type": "user", "uuid": uuid.NewString(), "isReplay": true, "isSynthetic": true, "parent_tool_use_id": nil, "origin": origin,
		"message": map[string]any{"role": "user", "content": text},
	})
	s.assistant("msg_peer", map[string]any{"type": "text", "text": text}, nil)
	s.result(map[string]any{
		"subtype": "success", "is_error": false, "result": text, "stop_reason": "end_turn", "terminal_reason": "completed", "origin": origin,
	}, message{}, time.Now())
	s.state("idle")
}

// fallBack lets another model answer until the returned function is called.
func (s *session) fallBack(to string) (end func()) {
	chosen := s.model
	to = resolveModel(to)
	s.out.send(map[string]any{
		"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2, "retry_delay_ms": 5, "error_status": 529, "error": "overloaded",
	})
	s.out.send(map[string]any{
		"type": "system", "subtype": "model_fallback", "trigger": "overloaded", "original_model": chosen, "fallback_model": to,
		"content": "Switched to " + to + " due to high demand for " + chosen,
	})
	s.model = to
	return func() { s.model = chosen }
}

// limited returns the failure of a turn beyond the account's limit; nil: it is not reached.
func (s *session) limited() *failure {
	if s.opts.limit == "" {
		return nil
	}
	data, err := os.ReadFile(s.opts.limit)
	if err != nil {
		return nil
	}
	var until int64
	var models []string
	for i, word := range strings.Fields(string(data)) {
		if i == 0 {
			until, _ = strconv.ParseInt(word, 10, 64)
		} else {
			models = append(models, resolveModel(word))
		}
	}
	if time.Now().Unix() >= until || len(models) > 0 && !slices.Contains(models, s.model) {
		return nil
	}
	f := failures["limit"]
	f.resetsAt = until
	return &f
}

// fail ends the turn with a failure of the table.
func (s *session) fail(name string, m message, began time.Time) {
	f, ok := failures[name]
	if !ok {
		s.fatal = "Error: no such failure: " + name
		return
	}
	s.failWith(f, m, began)
}

// failWith ends the turn with a failure.
func (s *session) failWith(f failure, m message, began time.Time) {
	var status any
	if f.status != 0 {
		status = f.status
	}
	for i := range f.retries {
		s.out.send(map[string]any{
			"type": "system", "subtype": "api_retry", "attempt": i + 1, "max_retries": f.retries, "retry_delay_ms": 5,
			"error_status": status, "error": f.error,
		})
	}
	if f.resetsAt != 0 {
		s.out.send(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]any{
			"status": "rejected", "resetsAt": f.resetsAt, "rateLimitType": "five_hour", "isUsingOverage": false,
		}})
	}
	if f.refusal {
		s.out.send(map[string]any{
			"type": "system", "subtype": "model_refusal_no_fallback", "original_model": s.model,
			"refused_user_message_uuid": m.uuid,
		})
	}
	result := map[string]any{
		"is_error": true, "api_error_status": status, "stop_reason": "stop_sequence",
		"terminal_reason": "api_error", "subtype": "success",
	}
	if f.stop != "" {
		result["stop_reason"] = f.stop
	}
	if f.terminal != "" {
		result["terminal_reason"] = f.terminal
	}
	if f.subtype != "" {
		result["subtype"], result["errors"] = f.subtype, []string{}
	} else {
		result["result"] = f.text
		content := s.synthetic(f.text, f.error)
		if err := s.log.answer(content, uuid.NewString(), "<synthetic>", "stop_sequence", &f); err != nil {
			s.fatal = "Error: " + err.Error()
		}
	}
	s.result(result, m, began)
	s.finish(m, "cancelled")
}

// synthetic sends a message that no model has written, and returns its content.
func (s *session) synthetic(text, failure string) []any {
	content := []any{map[string]any{"type": "text", "text": text}}
	event := map[string]any{
		"type": "assistant", "parent_tool_use_id": nil,
		"message": map[string]any{
			"id": uuid.NewString(), "type": "message", "role": "assistant", "model": "<synthetic>",
			"content": content, "stop_reason": "stop_sequence", "usage": map[string]any{},
		},
	}
	if failure != "" {
		event["error"] = failure
	}
	s.out.send(event)
	return content
}

// hold increases the process's memory. Only memory that is written to counts.
func (s *session) hold(megabytes int) {
	if megabytes <= 0 {
		return
	}
	s.ballast = make([]byte, megabytes<<20)
	for i := range s.ballast {
		s.ballast[i] = byte(i)
	}
}
