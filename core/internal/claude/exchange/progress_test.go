package exchange

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// watched are the reports of a stream of events, one after each change.
func watched(tb testing.TB, x *Exchange, lines [][]byte) []agent.Progress {
	tb.Helper()
	var reported []agent.Progress
	m := new(Meter)
	for _, line := range lines {
		e, err := protocol.Parse(line)
		if err != nil {
			continue
		}
		if e.Type == "result" {
			m.Count(e)
		}
		x.Observe(e)
		if p, changed := x.Progress(); changed {
			reported = append(reported, p)
		}
	}
	return reported
}

// texts are the different texts that were reported, in order.
func texts(reported []agent.Progress) []string {
	var all []string
	for _, p := range reported {
		if len(all) == 0 || all[len(all)-1] != p.Text {
			all = append(all, p.Text)
		}
	}
	return all
}

// The reports of streams that the real CLI wrote: the texts as they grow, and the steps.
func TestRecordedProgress(t *testing.T) {
	t.Parallel()
	bash := func(summary, output string) agent.Step {
		return agent.Step{Tool: agent.ToolUse{Name: "Bash", Summary: summary, Output: output}}
	}
	for name, tc := range map[string]struct {
		texts []string
		done  []agent.Step
	}{
		"2.1.197_oneshot_partial":  {texts: []string{"echo:", "echo: stream", "echo: stream please"}},
		"2.1.197_persistent_tools": {texts: []string{"echo:", "echo: turn", "echo: turn one"}},
		"2.1.197_permissions": {
			texts: []string{"using Bash", "", "done"},
			done:  []agent.Step{{Text: "using Bash"}, bash("touch /srv/claw/ws/a/x1", "(Bash completed with no output)")},
		},
		"2.1.197_mcp_http": {
			texts: []string{"using mcp__gw__send", "", "fin"},
			done: []agent.Step{
				{Text: "using mcp__gw__send"}, {Tool: agent.ToolUse{Name: "mcp__gw__send", Output: "sent over http: hi"}},
			},
		},
		"2.1.197_subagent": {
			texts: []string{"", "done sub"},
		},
		"2.1.197_err_midstream_drop":       {texts: []string{"partial words here now"}},
		"2.1.197_err_refusal":              {},
		"2.1.197_err_refusaltext":          {texts: []string{"I will not", ""}},
		"2.1.197_err_midstream_overloaded": {texts: []string{"partial words here"}},
		"2.1.329_cut_midblock":             {texts: []string{"one", "one two", "one two three", "", "five", "five six"}},
		"2.1.329_refused_twice":            {texts: []string{"first", "first text", "", "second", "second text", ""}},
		"2.1.329_tool": {
			texts: []string{"using", "", "it", "it said", "it said hi"},
			done:  []agent.Step{{Text: "using"}, bash("echo hi", "hi")},
		},
		"2.1.329_blocks": {texts: []string{"first", "first block", "first block\n\nsecond", "first block\n\nsecond block"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := ""
			if strings.HasPrefix(name, "2.1.329") {
				id = first
			}
			x := New(id)
			reported := watched(t, x, recordings.Stream(t, name))
			if diff := cmp.Diff(tc.texts, texts(reported)); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
			if tc.done != nil {
				if diff := cmp.Diff(tc.done, reported[len(reported)-1].Done); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Of every recorded stream the last one is the answer, and steps are only ever added.
func TestRecordedProgressEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	for _, name := range recordings.Streams(t) {
		for _, id := range []string{"", first} {
			x := New(id)
			reported := watched(t, x, recordings.Stream(t, name))
			wantGrowth(t, reported)
			if !x.Succeeded() {
				continue
			}
			last := agent.Progress{} // of a turn without an answer there is nothing to tell
			if len(reported) > 0 {
				last = reported[len(reported)-1]
			}
			if want := x.Outcome().Text; last.Text != want || want != "" && !last.Complete || len(last.Running) > 0 {
				t.Errorf("%s ends with %+v, its answer is %q", name, last, want)
			}
		}
	}
}

// wantGrowth asserts that what was done is only ever added to.
func wantGrowth(t interface {
	Helper()
	Fatalf(string, ...any)
}, reported []agent.Progress,
) {
	t.Helper()
	var before []agent.Step
	for i, p := range reported {
		if len(p.Done) < len(before) || !slices.Equal(p.Done[:len(before)], before) {
			t.Fatalf("progress %d has done %+v, before it was %+v", i, p.Done, before)
		}
		before = p.Done
	}
}

// scene writes the events of a turn as the CLI would, and knows what must be reported meanwhile.
type scene struct {
	t     *rapid.T
	lines []map[string]any
	want  []string // the text that is to be seen after each event

	shown string // not trimmed
	whole string // what of it is settled
	past  string // the answers of the turns before
	id    int
}

func (s *scene) event(e map[string]any) {
	s.lines = append(s.lines, e)
	text := strings.TrimSpace(s.shown)
	switch {
	case s.past != "" && text != "":
		text = s.past + "\n\n" + text
	case s.past != "":
		text = s.past
	}
	s.want = append(s.want, text)
}

func (s *scene) stream(e map[string]any) {
	s.event(map[string]any{"type": "stream_event", "event": e, "parent_tool_use_id": nil})
}

func (s *scene) assistant(id string, block map[string]any) {
	s.event(map[string]any{"type": "assistant", "message": map[string]any{
		"id": id, "model": "m", "content": []any{block}, "stop_reason": nil,
	}})
}

// message writes a message. It returns how that ended: "end_turn", "tool_use", "max_tokens", "cut", "refusal", "retry" or "fallback".
func (s *scene) message(goesOn bool) string {
	s.id++
	id := fmt.Sprint("msg_", s.id)
	if rapid.Bool().Draw(s.t, "requesting") {
		s.shown = s.whole
		s.event(map[string]any{"type": "system", "subtype": "status", "status": "requesting"})
	}
	kept := ""
	if goesOn {
		kept = s.whole
	}
	before := s.whole
	s.shown = kept
	s.stream(map[string]any{"type": "message_start", "message": map[string]any{"id": id}})
	end := rapid.SampledFrom([]string{"end_turn", "tool_use", "max_tokens", "cut", "refusal", "retry", "fallback"}).Draw(s.t, "end")
	blocks := rapid.SliceOfN(rapid.SampledFrom([]string{"text", "thinking"}), 0, 3).Draw(s.t, "blocks")
	switch end {
	case "retry":
		blocks = nil
	case "tool_use":
		blocks = append(blocks, "tool_use")
	default:
		blocks = append(blocks, "text")
	}
	spoke := false
	for i, kind := range blocks {
		s.stream(map[string]any{"type": "content_block_start", "index": i, "content_block": map[string]any{"type": kind}})
		if kind != "text" {
			block := map[string]any{"type": "thinking", "thinking": "hm"}
			if kind == "tool_use" {
				block = map[string]any{"type": "tool_use", "id": id + "_t", "name": "Bash", "input": map[string]any{"command": "true"}}
				kept, s.shown, spoke = "", "", false
			}
			s.whole = kept
			s.assistant(id, block)
		} else {
			kept = s.block(id, i, kept, spoke)
			spoke = true
		}
		s.stream(map[string]any{"type": "content_block_stop", "index": i})
	}
	if end == "retry" || end == "cut" || end == "fallback" {
		s.stream(map[string]any{"type": "content_block_start", "index": len(blocks), "content_block": map[string]any{"type": "text"}})
		if spoke && strings.TrimSpace(s.shown) != "" {
			s.shown += "\n\n"
		}
		for range rapid.IntRange(1, 3).Draw(s.t, "lost") {
			s.delta(len(blocks), "lost ")
		}
	}
	switch end {
	case "retry":
		s.whole, s.shown = before, before
		if rapid.Bool().Draw(s.t, "told") {
			s.stream(map[string]any{"type": "message_stop"})
		}
		s.event(map[string]any{"type": "system", "subtype": "api_retry", "error": "unknown"})
	case "cut":
		s.shown = kept
		s.stream(map[string]any{"type": "message_stop"})
		s.nudge()
	case "fallback": // the whole answer again, without a stream
		s.id++
		s.whole, s.shown = "another answer", "another answer"
		s.assistant(fmt.Sprint("msg_", s.id), map[string]any{"type": "text", "text": "another answer"})
		s.stream(map[string]any{"type": "message_stop"})
	default:
		if end == "refusal" {
			s.whole, s.shown = "", ""
		}
		s.stream(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": end}})
		s.stream(map[string]any{"type": "message_stop"})
		switch end {
		case "tool_use":
			s.event(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": id + "_t", "content": "ok"},
			}}})
		case "refusal", "max_tokens":
			s.nudge()
		}
	}
	return end
}

// block writes a whole block of text, and returns what the message's text is with it.
func (s *scene) block(id string, index int, kept string, spoke bool) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", " ", "b\n", "\n\n", "é ", "c"}), 1, 6).Draw(s.t, "pieces")
	if spoke && strings.TrimSpace(kept) != "" {
		kept += "\n\n"
	}
	for _, piece := range pieces {
		kept += piece
		s.shown = kept
		s.delta(index, "")
		s.lines[len(s.lines)-1]["event"].(map[string]any)["delta"].(map[string]any)["text"] = piece
	}
	s.whole = kept
	s.assistant(id, map[string]any{"type": "text", "text": strings.Join(pieces, "")})
	return kept
}

func (s *scene) delta(index int, piece string) {
	s.shown += piece
	s.stream(map[string]any{"type": "content_block_delta", "index": index, "delta": map[string]any{"type": "text_delta", "text": piece}})
}

func (s *scene) nudge() {
	s.event(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "Resume."},
	}}})
}

// turn writes a turn to its end.
func (s *scene) turn(line string) {
	s.event(map[string]any{"type": "command_lifecycle", "command_uuid": line, "state": "started"})
	s.event(map[string]any{"type": "system", "subtype": "init"})
	goesOn := false
	for i := range 12 {
		end := "end_turn"
		if i < 8 {
			end = s.message(goesOn)
		}
		goesOn = end == "cut" || end == "max_tokens" || goesOn && end == "retry"
		if end == "end_turn" || end == "fallback" {
			break
		}
	}
	answer := strings.TrimSpace(s.whole)
	if s.past != "" && answer != "" {
		s.past += "\n\n"
	}
	s.past += answer
	s.shown, s.whole = "", ""
	s.event(map[string]any{"type": "result", "subtype": "success", "user_message_uuids": []string{line}})
}

// Whatever comes in whatever order: a text grows until something announces that it starts again, the last report is the
// answer, and steps are only added.
func TestProgress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &scene{t: t}
		x := New("m")
		s.turn("m")
		if rapid.Bool().Draw(t, "steered") {
			if !x.Expect("l") {
				t.Fatal("expect")
			}
			s.turn("l")
		}
		var reported []agent.Progress
		before := ""
		for i, fields := range s.lines {
			line, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			e, err := protocol.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			past, steps := x.text(), len(x.shown.done)
			if past != "" {
				past += paragraph
			}
			x.Observe(e)
			for _, step := range x.shown.done[min(steps, len(x.shown.done)):] {
				if step.Tool.Name == "" && step.Earlier != past {
					t.Fatalf("event %d, %s: %q stands before a step, want %q", i, line, step.Earlier, past)
				}
			}
			p, changed := x.Progress()
			if !changed {
				p = agent.Progress{Text: before}
			} else {
				reported = append(reported, p)
			}
			if p.Text != s.want[i] {
				t.Fatalf("after event %d, %s, the text is %q, want %q", i, line, p.Text, s.want[i])
			}
			if e.Type == "stream_event" && e.Stream.Type == "content_block_delta" && !strings.HasPrefix(p.Text, before) {
				t.Fatalf("event %d, %s, makes %q of %q", i, line, p.Text, before)
			}
			before = p.Text
		}
		wantGrowth(t, reported)
		if !x.finished {
			t.Fatal("the exchange is not finished")
		}
		if want := x.Outcome().Text; before != want {
			t.Fatalf("last told is %q, the answer is %q", before, want)
		}
	})
}
