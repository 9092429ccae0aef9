package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
)

// Behaviour: verbose.
func TestListOfTools(t *testing.T) {
	t.Parallel()
	used := []agent.ToolUse{{Name: "Bash", Summary: "ls `pwd`", Output: "a\n```b"}, {Name: "Read", Summary: "/x", Failed: true}, {Name: "Odd", Failed: true, Denied: true}}
	for verbose, want := range map[string][]string{
		"on":   {"2s send: - Bash: `ls 'pwd'`\n- Read: `/x` (failed)\n- Odd (not allowed)", "3s send: Done."},
		"full": {"2s send: - Bash: `ls 'pwd'`\n\n  ```\n  a\n  '''b\n  ```\n\n- Read: `/x` (failed)\n- Odd (not allowed)", "3s send: Done."},
		"off":  {"3s send: Done."},
		"":     {"3s send: Done."},
	} {
		t.Run(verbose, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, stream.Options{Mode: stream.Off, Verbose: verbose})
				for _, tool := range used {
					u.p.Done = append(u.p.Done, agent.Step{Tool: tool})
				}
				u.tell()
				pass(3 * time.Second)
				u.p.Text = "Done."
				u.tell()
				u.finish()
				u.happened(want...)
			})
		})
	}
}

// Behaviour: verbose.
func TestToolsAreListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Blocks, Verbose: "on"})
		u.write("One")
		u.use(bash("make"))
		u.use(agent.ToolUse{Name: "Read"})
		u.used()
		pass(time.Second)
		u.used()
		pass(3 * time.Second)
		u.use(bash("make"))
		u.used()
		u.write("Two")
		u.use(agent.ToolUse{Name: "Write"})
		u.used()
		u.finish()
		u.happened("100ms send: One", "2.1s send: - Bash: `make`\n- Read", "4.1s send: - Bash: `make`", "4.2s send: Two", "4.2s send: - Write")
	})
}

// Behaviour: verbose.
func TestToolsAreListedWithoutStreaming(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Off, Verbose: "on"})
		u.write("One")
		u.use(bash("make"))
		u.used()
		u.write("Two")
		u.finish()
		u.happened("100ms send: - Bash: `make`", "200ms send: Two")
	})
}
