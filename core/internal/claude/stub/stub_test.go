package stub_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/claude/stub"
)

// cli is a running stub, spoken to as the host does.
type cli struct {
	*testing.T
	in     *io.PipeWriter
	events chan map[string]any
	code   chan int
	errors *strings.Builder
}

func start(t *testing.T, conf string, env map[string]string, args ...string) *cli {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &cli{T: t, in: inW, events: make(chan map[string]any, 1000), code: make(chan int, 1), errors: &strings.Builder{}}
	args = append([]string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--replay-user-messages",
	}, args...)
	getenv := func(name string) string {
		if name == "CLAUDE_CONFIG_DIR" {
			return conf
		}
		return env[name]
	}
	go func() {
		c.code <- stub.Run(args, getenv, inR, outW, c.errors)
		outW.Close()
	}()
	go func() {
		defer close(c.events)
		lines := bufio.NewReader(outR)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var event map[string]any
			if json.Unmarshal(line, &event) == nil && event != nil {
				c.events <- event
			}
		}
	}()
	t.Cleanup(func() { inW.Close() })
	return c
}

func (c *cli) write(line string) {
	c.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.Fatal(err)
	}
}

// say writes a user line and returns its id.
func (c *cli) say(text string) string {
	c.Helper()
	id := uuid.NewString()
	line, err := json.Marshal(map[string]any{
		"type": "user", "uuid": id, "message": map[string]any{"role": "user", "content": text},
	})
	if err != nil {
		c.Fatal(err)
	}
	c.write(string(line))
	return id
}

// until returns the events up to one of this type, subtype or state.
func (c *cli) until(what string) []map[string]any {
	c.Helper()
	var seen []map[string]any
	for event := range c.events {
		seen = append(seen, event)
		if event["type"] == what || event["subtype"] == what || event["state"] == what {
			return seen
		}
	}
	c.Fatalf("no %s came, but %v", what, seen)
	return nil
}

// leave ends stdin and returns the exit code.
func (c *cli) leave() int {
	c.Helper()
	c.in.Close()
	for range c.events { // to the end
	}
	return <-c.code
}

func last(events []map[string]any) map[string]any { return events[len(events)-1] }

func TestTurnHasTheOrderOfTheCLI(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil, "--include-partial-messages")
	c.say("hello")
	var got []string
	for _, e := range c.until("idle") {
		name := fmt.Sprint(e["type"])
		for _, more := range []string{"subtype", "state"} {
			if e[more] != nil {
				name += " " + fmt.Sprint(e[more])
			}
		}
		if raw, ok := e["event"].(map[string]any); ok {
			name += " " + fmt.Sprint(raw["type"])
		}
		got = append(got, name)
	}
	want := `system session_state_changed running
command_lifecycle queued
command_lifecycle started
system init
system status
user
stream_event message_start
stream_event content_block_start
stream_event content_block_delta
stream_event content_block_delta
assistant
stream_event content_block_stop
stream_event message_delta
stream_event message_stop
result success
command_lifecycle completed
system session_state_changed idle`
	if strings.Join(got, "\n") != want {
		t.Errorf("the turn was\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if code := c.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// As with the CLI, a time to hold pieces joins those that follow the first one of a block. What else is written comes after
// them, and they come without it.
func TestPiecesAreJoined(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script, hold, want string
	}{
		"held":         {`{"answer":"one two three four"}`, "2000", `["one " "two three four"]`},
		"as they come": {`{"answer":"one two three"}`, "", `["one " "two " "three"]`},
		"two blocks":   {`{"answer":"one two three\nfour five six","blocks":true}`, "2000", `["one " "two three" "four " "five six"]`},
		"a pause":      {`{"answer":"one two three four","hang":"stream"}`, "1", `["one " "two "]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, t.TempDir(), map[string]string{"CLAUDE_CODE_STREAM_EVENT_HOLD_MS": tc.hold}, "--include-partial-messages")
			c.say("[[stub " + tc.script + "]]")
			var got []string
			for event := range c.events {
				raw, _ := event["event"].(map[string]any)
				if raw["type"] == "content_block_delta" {
					got = append(got, raw["delta"].(map[string]any)["text"].(string))
				}
				if name == "a pause" && len(got) == 2 {
					c.write(`{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}`)
				}
				if event["type"] == "result" {
					break
				}
			}
			if fmt.Sprintf("%q", got) != tc.want {
				t.Errorf("the pieces are %q, want %s", got, tc.want)
			}
		})
	}
}

func TestSteerAndMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	c := start(t, dir, nil)
	c.say(`go [[stub {"tool":"while [ ! -e ` + gate + ` ]; do sleep 0.01; done","answer":"done"}]]`)
	c.until("assistant")
	steered := c.say("by the way")
	c.until("queued")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	events := c.until("result")
	if last(events)["result"] != "done" {
		t.Errorf("result = %v", last(events)["result"])
	}
	echoed := false
	for _, e := range events {
		echoed = echoed || e["uuid"] == steered && e["isReplay"] == true
	}
	if !echoed {
		t.Error("a line during a tool is not echoed in the turn")
	}
	c.until("idle")

	c.say(`wait [[stub {"delay_ms":200}]]`)
	c.until("init")
	c.say("two")
	c.say("three")
	c.until("result")
	if merged := last(c.until("result"))["result"]; merged != "echo: two\nthree" {
		t.Errorf("waiting lines are answered by %q", merged)
	}
	if code := c.leave(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	for subtype, want := range map[string]string{
		"initialize": "success", "interrupt": "success", "set_model": "success", "set_permission_mode": "success",
		"get_context_usage": "success", "mcp_status": "success", "cancel_async_message": "success", "frobnicate": "error",
	} {
		c.write(`{"type":"control_request","request_id":"r","request":{"subtype":"` + subtype + `","model":"opus"}}`)
		response, _ := last(c.until("control_response"))["response"].(map[string]any)
		if response["subtype"] != want || response["request_id"] != "r" {
			t.Errorf("%s is answered by %v", subtype, response)
		}
	}
	c.write("")
	c.say("hello")
	if model := last(c.until("init"))["model"]; model != "claude-opus-4-8" {
		t.Errorf("model = %v", model)
	}
	c.until("idle")
	c.say(`[[stub {"error":"401"}]]`)
	c.until("result")
	if code := c.leave(); code != 1 {
		t.Errorf("exit code %d after a failed turn", code)
	}
}

func TestMalformedLineEndsIt(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"no json", `{"type":"user"}`, `{"type":"user","message":{"role":"user","content":5}}`} {
		c := start(t, t.TempDir(), nil)
		c.write(line)
		if code := c.leave(); code != 1 || c.errors.Len() == 0 {
			t.Errorf("%s: exit code %d, %q", line, code, c.errors)
		}
	}
}

func TestSessionsOnDisk(t *testing.T) {
	t.Parallel()
	conf, id := t.TempDir(), uuid.NewString()
	missing := start(t, conf, nil, "--resume", id)
	if code := missing.leave(); code != 1 || !strings.Contains(missing.errors.String(), "No conversation found with session ID: "+id) {
		t.Errorf("resume of nothing: %d, %s", code, missing.errors)
	}
	unused := start(t, conf, nil, "--session-id", id)
	unused.leave()
	first := start(t, conf, nil, "--session-id", id)
	uuid := first.say("hello")
	first.until("idle")
	first.leave()
	taken := start(t, conf, nil, "--session-id", id)
	if code := taken.leave(); code != 1 || !strings.Contains(taken.errors.String(), "is already in use") {
		t.Errorf("a second begin: %d, %s", code, taken.errors)
	}
	again := start(t, conf, nil, "--resume="+id)
	again.write(`{"type":"user","uuid":"` + uuid + `","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`)
	for _, e := range again.until("idle") {
		if e["type"] == "result" {
			t.Error("a repeated message ran again")
		}
	}
	again.leave()
}

func TestBadCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{}, {"-p", "--session-id", "nonsense"}, {"-p", "--input-format", "stream-json"}, {"-p", "--settings", "/no/such/file"}, {"-p"},
	} {
		var out, errs strings.Builder
		if code := stub.Run(args, func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 1 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, %q", args, code, errs.String())
		}
	}
}

// A start that is to be delayed says so if it cannot be: nobody waits for one that is wrong.
func TestDelayedStart(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"1": 0, "soon": 1} {
		c := start(t, t.TempDir(), map[string]string{"CLAUDE_STUB_START_MS": value})
		c.in.Close()
		if code := <-c.code; code != want || (want != 0) != strings.Contains(c.errors.String(), "CLAUDE_STUB_START_MS") {
			t.Errorf("a delay of %q ends the stub with %d, want %d: %s", value, code, want, c.errors)
		}
	}
}
