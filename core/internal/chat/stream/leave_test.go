package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// An answer stands behind what its turn has asked: where that came in between, the preview goes, and another one begins.
// Behaviour: preview-behind.
func TestLeave(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options stream.Options
		turn    func(u *turn)
		want    []string
	}{
		"goes on behind it": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) {
				u.use(bash("make"))
				pass(time.Second)
				u.stream.Leave()
				pass(2 * time.Second)
				u.used()
				u.write("Done")
			},
			[]string{"300ms preview 1: 🔧 Bash: `make`", "1s delete 1", "1.3s preview 3: 🔧 Bash: `make`", "3s show 3: Done", "3.1s settle 3: Done"},
		},
		"is over at once": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) { u.write("One"); u.p.Text = "One two"; u.stream.Progress(u.p); u.stream.Leave() },
			[]string{"0s preview 1: One", "100ms delete 1", "100ms send: One two"},
		},
		"the chat does not keep up": {
			stream.Options{Mode: stream.Preview, Rule: chunk.Rule{Limit: chat.TextLimit{Max: 10, Unit: chat.Runes}}},
			func(u *turn) {
				u.write("One")
				u.fixture.late = time.Minute
				u.write(" two three four") // is not sent
				u.stream.Leave()
				pass(time.Second)
				u.p.Text = "One two"
			},
			[]string{"0s preview 1: One", "200ms delete 1", "1.2s send: One two"},
		},
		"the turn ends meanwhile": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) {
				u.write("One")
				u.fixture.slow = time.Second
				u.stream.Leave()
				synctest.Wait()
			},
			[]string{"0s preview 1: One", "100ms delete 1", "100ms send: One"},
		},
		"twice": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) { u.write("One"); u.stream.Leave(); u.stream.Leave(); pass(time.Second); u.write(" two") },
			[]string{"0s preview 1: One", "100ms delete 1", "1s preview 3: One", "1.2s settle 3: One two"},
		},
		"there is none": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) { u.stream.Leave(); pass(time.Second); u.write("One") },
			[]string{"1s preview 1: One", "1.1s settle 1: One"},
		},
		"a draft": {
			stream.Options{Mode: stream.Draft, Interval: time.Second},
			func(u *turn) { u.write("One"); u.stream.Leave(); pass(2 * time.Second); u.write(" two") },
			[]string{"0s draft: One", "2.1s draft: One two", "2.2s send: One two"},
		},
		"of an earlier attempt": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) {
				u.resume("", 7)
				u.stream.Leave()
				pass(time.Second)
				u.p = agent.Progress{Text: "One"}
				u.tell()
			},
			[]string{"0s delete 7", "1s preview 2: One", "1s settle 2: One"},
		},
		"waits for people": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) {
				u.use(bash("make"))
				u.stream.Leave()
				u.stream.Pause()
				u.stream.Pause()
				pass(20 * time.Second)
				u.stream.Resume()
				pass(20 * time.Second)
				u.stream.Resume()
				pass(15 * time.Second)
				u.used()
				u.write("Done")
			},
			[]string{"40.3s preview 1: 🔧 Bash: `make`", "50s show 1: 🔧 Bash: `make` (10 s)", "55s show 1: Done", "55.1s settle 1: Done"},
		},
		"asks": {
			stream.Options{Mode: stream.Preview},
			func(u *turn) {
				u.use(agent.ToolUse{Name: "AskUserQuestion"})
				u.stream.Leave()
				pass(20 * time.Second)
				u.used()
				u.use(agent.ToolUse{Name: "ExitPlanMode"})
				pass(20 * time.Second)
				u.used()
				u.write("Done")
			},
			[]string{"40s preview 1: Done", "40.1s settle 1: Done"},
		},
		"shows what is written while it waits": {
			stream.Options{Mode: stream.Draft, Interval: time.Second},
			func(u *turn) {
				u.use(bash("make"))
				pass(time.Second)
				u.stream.Pause()
				u.write("One")
				pass(time.Second)
				u.stream.Resume()
				pass(time.Second)
			},
			[]string{"300ms draft: 🔧 Bash: `make`", "1.3s draft: One", "2.4s draft: One\n\n🔧 Bash: `make`", "3.1s send: One"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, tt.options)
				tt.turn(u)
				u.finish()
				u.happened(tt.want...)
			})
		})
	}
}
