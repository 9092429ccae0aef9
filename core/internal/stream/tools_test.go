package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/stream"
)

// Behaviour: verbose.
func TestListOfTools(t *testing.T) {
	t.Parallel()
	used := []agent.ToolUse{{Name: "Bash", Summary: "ls `pwd`", Output: "a\n```b"}, {Name: "Read", Summary: "/x", Failed: true}, {Name: "Odd"}}
	for verbose, want := range map[string][]string{
		"on":   {"2s send: - Bash: `ls 'pwd'`\n- Read: `/x` (failed)\n- Odd", "3s send: Done."},
		"full": {"2s send: - Bash: `ls 'pwd'`\n\n  ```\n  a\n  '''b\n  ```\n\n- Read: `/x` (failed)\n- Odd", "3s send: Done."},
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
