package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// given is what the plugin adds to a caller's conversation and to the prompt.
func (p *plugin) given(caller chat.Caller, prompt string) (conversation, prepend string) {
	p.t.Helper()
	added, err := p.BeforeAgentStart(sdk.AgentStart{TurnID: "1", Caller: caller, Prompt: prompt})
	if err != nil {
		p.t.Fatalf("the hook fails: %v", err)
	}
	return added.Conversation, added.Prepend
}

// Behaviour: memory-file.
func TestTheMemoryFileIsInTheConversation(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"memory_file": 8000, "open_to": []string{"c:group:open"}})
	p.write("MEMORY.md", "# Home\n\nThe boiler is\u202e serviced by Huber.\nIts password: xK9#mQ2$vL7p\n")
	p.write("memory/2026-03-01.md", "# Home\nThe boiler was too loud for Huber.\n")
	const whole = "MEMORY.md, the whole file as it is now:\n# Home\n\nThe boiler is serviced by Huber.\nIts password: xK9#mQ2$vL7p"
	const noise = "From memory (may be out of date):\n- memory/2026-03-01.md › Home: The boiler was too loud for Huber."
	for range 2 { // the host gives it once
		if conversation, prepend := p.given(anna, "what of the boiler and Huber?"); conversation != whole || prepend != noise {
			t.Errorf("an owner is given %q and reminded of %q", conversation, prepend)
		}
	}
	if conversation, prepend := p.given(anna, "hello"); conversation != whole || prepend != "" {
		t.Errorf("a greeting is given %q and reminded of %q", conversation, prepend)
	}
	opened, _ := p.given(group("open", "ben", chat.Other), "hello")
	if !strings.Contains(opened, "serviced by Huber") || strings.Contains(opened, "xK9#m") {
		t.Errorf("an opened group is given %q", opened)
	}
	for who, c := range map[string]chat.Caller{
		"another person":      direct("ben", chat.Other),
		"an authorised one":   direct("cleo", chat.Authorised),
		"an owner in a group": group("g", "anna", chat.Owner),
	} {
		if conversation, prepend := p.given(c, "what of the boiler?"); conversation+prepend != "" {
			t.Errorf("%s is given %q and reminded of %q", who, conversation, prepend)
		}
	}
	p.write("MEMORY.md", "The boiler is serviced by Maier.\n")
	if conversation, _ := p.given(anna, "hello"); !strings.HasSuffix(conversation, ":\nThe boiler is serviced by Maier.") {
		t.Errorf("after a change an owner is given %q", conversation)
	}
	p.write("MEMORY.md", " \n")
	if conversation, _ := p.given(anna, "hello"); conversation != "" {
		t.Errorf("of an empty file an owner is given %q", conversation)
	}
}

// What does not fit is left out, whole lines of it, and recalled like any other passage.
// Behaviour: memory-file.
func TestALongMemoryFile(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]any{"memory_file": 200})
	var lines []string
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("## Animal %d\nThe animal w%dx likes the number %d.", i, i, i))
	}
	text := strings.Join(lines, "\n")
	p.write("MEMORY.md", text)
	conversation, first := p.given(anna, "what does w1x like?")
	title, rest, _ := strings.Cut(conversation, "\n")
	if title != "The beginning of MEMORY.md as it is now (cut; memory_get reads on from line 10):" || !strings.HasPrefix(text, rest) ||
		len(rest) > 200 || !strings.HasSuffix(rest, "\n## Animal 4") {
		t.Errorf("an owner is given %q", conversation)
	}
	if first != "" {
		t.Errorf("what is in the context is recalled again: %q", first)
	}
	if _, last := p.given(anna, "what does w8x like?"); !strings.Contains(last, "MEMORY.md › Animal 8: ") {
		t.Errorf("what is cut is not recalled: %q", last)
	}
	p.write("MEMORY.md", text+"\nAnd one more.")
	if again, _ := p.given(anna, "hello"); again != conversation {
		t.Errorf("a change behind the cut gives another text: %q", again)
	}
	p.write("MEMORY.md", strings.Repeat("é", 150))
	if long, _ := p.given(anna, "hello"); !strings.HasSuffix(long, "line 1):\n"+strings.Repeat("é", 98)+"…") {
		t.Errorf("of one long line an owner is given %q", long)
	}
}

// An older host would ignore the file, so its passages are recalled.
func TestTheMemoryFileWithAnOlderHost(t *testing.T) {
	t.Parallel()
	p := &plugin{t: t, workspace: t.TempDir(), state: t.TempDir()}
	p.Harness = sdktest.New(t, component(p.state))
	p.Before = true
	p.Configure(map[string]any{"workspace": p.workspace})
	p.write("MEMORY.md", "The boiler is serviced by Huber.\n")
	if conversation, prepend := p.given(anna, "who services the boiler?"); conversation != "" || !strings.Contains(prepend, "Huber") {
		t.Errorf("an older host is given %q and %q", conversation, prepend)
	}
}
