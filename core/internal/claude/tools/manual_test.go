package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// What the agent finds out about the host: names of the config, commands, and in words.
// Behaviour: manual.
func TestManual(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	look := func(about string) result {
		in, err := json.Marshal(map[string]string{"about": about})
		if err != nil {
			t.Fatal(err)
		}
		return use(t, r.Turn("1", anna), "manual", string(in))
	}
	for about, want := range map[string]string{
		"reply.stream":                "| `reply.stream` | how an answer is shown while it is written |",
		"`memory_flush.reserve`?":     "how many tokens before the end of the window",
		"What is reply.visible for":   "only what the agent sends by its tool `message`",
		"/queue":                      "`/queue`",
		"pair telegram":               "telegram",
		"back up the state folder":    "ackup",
		"HEARTBEAT":                   "(configuration.md)",
		"  ":                          "configuration.md: Configuration\n",
		"plugins/memory groups = own": "memory/groups/",
	} {
		got := look(about)
		if got.IsError || !strings.Contains(got.text(), want) || len(got.text()) > 16<<10 {
			t.Errorf("about %q it reads %d bytes:\n%.3000s", about, len(got.text()), got.text())
		}
	}
	if got := look("xyzzy"); !got.IsError || !strings.Contains(got.text(), "Nothing in the manual has these words") {
		t.Errorf("about nothing it reads %q", got.text())
	}
	if got := look(strings.Repeat("a e i o u ", 10_000)); len(got.text()) > 16<<10 {
		t.Errorf("about everything it reads %d bytes", len(got.text()))
	}
}
