package stub_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// again writes a line with an id that was used before.
func (c *cli) again(id, text string) {
	c.Helper()
	c.write(fmt.Sprintf(`{"type":"user","uuid":%q,"message":{"role":"user","content":%q}}`, id, text))
}

// request sends a control request and returns its answer.
func (c *cli) request(body string) map[string]any {
	c.Helper()
	c.write(`{"type":"control_request","request_id":"r","request":` + body + `}`)
	response, _ := last(c.until("control_response"))["response"].(map[string]any)
	answer, _ := response["response"].(map[string]any)
	return answer
}

// kinds names events by what tells them apart.
func kinds(events []map[string]any) string {
	var names []string
	for _, e := range events {
		name := fmt.Sprint(e["type"])
		for _, more := range []string{"subtype", "state", "status"} {
			if e[more] != nil {
				name += " " + fmt.Sprint(e[more])
			}
		}
		if e["isReplay"] == true {
			name += " replay"
		}
		names = append(names, name)
	}
	return strings.Join(names, "\n")
}

// An id is spent once the line was withdrawn; only the next process runs it.
func TestWithdrawnID(t *testing.T) {
	t.Parallel()
	conf, session := t.TempDir(), uuid.NewString()
	c := start(t, conf, nil, "--session-id", session)
	c.say(`[[stub {"tool":"sleep 100"}]]`)
	c.until("assistant")
	one, two := c.say("one"), c.say("two")
	c.until("queued")
	c.until("queued")
	if answer := c.request(`{"subtype":"cancel_async_message","message_uuid":"` + one + `"}`); answer["cancelled"] != true {
		t.Errorf("cancel: %v", answer)
	}
	if answer := c.request(`{"subtype":"cancel_async_message","message_uuid":"` + one + `"}`); answer["cancelled"] != false {
		t.Errorf("cancel twice: %v", answer)
	}
	answer := c.request(`{"subtype":"interrupt","cancel_queued":true}`)
	if list, _ := answer["cancelled"].([]any); len(list) != 1 || list[0] != two {
		t.Errorf("interrupt: %v", answer)
	}
	c.until("idle")
	c.again(one, "one")
	if got := kinds(c.until("idle")); got != "user replay\nsystem session_state_changed idle" {
		t.Errorf("a spent id brings\n%s", got)
	}
	c.leave()
	c = start(t, conf, nil, "--resume", session)
	c.again(one, "one")
	if got := last(c.until("result"))["result"]; got != "echo: one" {
		t.Errorf("in the next process the line is answered by %v", got)
	}
}

// The next process knows the ids of turns, not those of steered lines.
func TestSteeredID(t *testing.T) {
	t.Parallel()
	conf, session := t.TempDir(), uuid.NewString()
	c := start(t, conf, nil, "--session-id", session)
	gate := filepath.Join(conf, "gate")
	c.say(`[[stub {"tool":"while [ ! -e ` + gate + ` ]; do sleep 0.01; done","say":"$STEERED"}]]`)
	c.until("assistant")
	id := c.say("by the way")
	c.until("queued")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := last(c.until("result"))["result"]; got != "by the way" {
		t.Errorf("result = %v", got)
	}
	c.until("idle")
	c.again(id, "by the way")
	if got := kinds(c.until("idle")); strings.Contains(got, "result") {
		t.Errorf("a steered id brings\n%s", got)
	}
	c.leave()
	c = start(t, conf, nil, "--resume", session)
	c.again(id, "by the way")
	if got := last(c.until("result"))["result"]; got != "echo: by the way" {
		t.Errorf("in the next process the line is answered by %v", got)
	}
}

func TestFork(t *testing.T) {
	t.Parallel()
	conf, session, fork := t.TempDir(), uuid.NewString(), uuid.NewString()
	c := start(t, conf, nil, "--session-id", session)
	c.say("hello")
	c.until("idle")
	args := []string{"--resume", session, "--fork-session", "--session-id", fork}
	f := start(t, conf, nil, args...)
	f.say(`[[stub {"say":"$HISTORY"}]]`)
	if result := last(f.until("result")); !strings.HasPrefix(fmt.Sprint(result["result"]), "hello\n") || result["session_id"] != fork {
		t.Errorf("result = %v", result)
	}
	f.leave()
	if again := start(t, conf, nil, args...); again.leave() != 1 || !strings.Contains(again.errors.String(), "is already in use") {
		t.Errorf("a second fork: %s", again.errors)
	}
	args[1] = uuid.NewString()
	if missing := start(t, conf, nil, args...); missing.leave() != 1 {
		t.Errorf("a fork of nothing: %s", missing.errors)
	}
	if both := start(t, conf, nil, "--resume", session, "--session-id", uuid.NewString()); both.leave() != 1 {
		t.Errorf("two ids: %s", both.errors)
	}
}

func TestCompactHasTheOrderOfTheCLI(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), nil)
	c.say("hello")
	c.until("idle")
	c.say("/compact keep it")
	want := `system session_state_changed running
command_lifecycle queued
command_lifecycle started
system status compacting
system status
system init
system compact_boundary
user
user replay
user replay
result success
command_lifecycle completed
system session_state_changed idle`
	if got := kinds(c.until("idle")); got != want {
		t.Errorf("the turn was\n%s\nwant\n%s", got, want)
	}
}
