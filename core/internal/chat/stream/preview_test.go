package stream_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: stream, preview-pace, preview-tools, reasoning, message-tool-once.
func TestPreview(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tt := range map[string]struct {
		options stream.Options
		turn    func(u *turn)
		want    []string
	}{
		"grows": {
			stream.Options{Stop: [][]chat.Button{{{Label: "Stop", Data: "/stop"}}}},
			func(u *turn) { u.write("One", " two", " three"); pass(second); u.write(" four") },
			[]string{"0s preview 1: One <Stop>", "1s show 1: One two three", "1.4s settle 1: One two three four"},
		},
		"does not grow": {
			stream.Options{},
			func(u *turn) { u.write("One", " "); pass(5 * second) },
			[]string{"0s preview 1: One", "5.2s settle 1: One"},
		},
		"silence": {
			stream.Options{},
			func(u *turn) { u.write("NO_", "REPLY"); pass(5 * second) },
			nil,
		},
		"silence behind a tool": {
			stream.Options{},
			func(u *turn) { u.use(bash("make")); pass(second); u.used(); u.write("NO_REPLY") },
			[]string{"300ms preview 1: 🔧 Bash: `make`", "1.1s delete 1"},
		},
		"a list of what is to do": {
			stream.Options{},
			func(u *turn) {
				u.write("I plan")
				u.plan(domain.Todo{Text: "Boil *it*"}, domain.Todo{Text: "Wait"})
				pass(2 * second)
				u.plan(domain.Todo{Text: "Boil *it*", Doing: "Boiling", State: domain.TodoDoing}, domain.Todo{Text: "Wait"})
				u.use(bash("boil"))
				pass(2 * second)
				u.used()
				u.plan()
				pass(2 * second)
				u.write("Done")
			},
			[]string{
				"0s preview 1: I plan", "1s show 1: I plan\n\n☐ Boil \\*it\\*\n☐ Wait", "2.1s show 1: I plan\n\n▶ Boiling\n☐ Wait",
				"3.1s show 1: ▶ Boiling\n☐ Wait\n\n🔧 Bash: `boil`", "4.1s show 1: ▶ Boiling\n☐ Wait", "6.1s show 1: Done", "6.2s settle 1: Done",
			},
		},
		"tools at work": {
			stream.Options{},
			func(u *turn) {
				u.write("I try")
				u.use(bash("echo `x`"))
				pass(second)
				u.use(agent.ToolUse{Name: "Read"})
				pass(33 * second)
				u.used()
				pass(30 * second)
				u.used()
				u.write("Done")
			},
			[]string{
				"0s preview 1: I try",
				"1s show 1: 🔧 Bash: `echo 'x'`",
				"2s show 1: 🔧 Bash: `echo 'x'`\n🔧 Read",
				"10.1s show 1: 🔧 Bash: `echo 'x'` (10 s)\n🔧 Read",
				"11.1s show 1: 🔧 Bash: `echo 'x'` (10 s)\n🔧 Read (10 s)",
				"20.1s show 1: 🔧 Bash: `echo 'x'` (20 s)\n🔧 Read (10 s)",
				"21.1s show 1: 🔧 Bash: `echo 'x'` (20 s)\n🔧 Read (20 s)",
				"30.1s show 1: 🔧 Bash: `echo 'x'` (30 s)\n🔧 Read (20 s)",
				"31.1s show 1: 🔧 Bash: `echo 'x'` (30 s)\n🔧 Read (30 s)",
				"34.1s show 1: 🔧 Read (30 s)",
				"41.1s show 1: 🔧 Read (40 s)",
				"51.1s show 1: 🔧 Read (50 s)",
				"1m1.1s show 1: 🔧 Read (1 min)",
				"1m4.1s show 1: Done",
				"1m4.2s settle 1: Done",
			},
		},
		"a tool beside a text": {
			stream.Options{},
			func(u *turn) {
				u.use(bash("make"))
				pass(2 * second)
				u.write("Meanwhile")
			},
			[]string{"300ms preview 1: 🔧 Bash: `make`", "2s show 1: Meanwhile\n\n🔧 Bash: `make`", "2.1s settle 1: Meanwhile"},
		},
		"thoughts": {
			stream.Options{Reasoning: true},
			func(u *turn) {
				u.p.Thinking = "Hm.\nSo"
				u.tell()
				pass(2 * second)
				u.write("One")
			},
			[]string{"0s preview 1: > Hm.\n> So", "2s show 1: One", "2.1s settle 1: One"},
		},
		"thoughts that no one wants": {
			stream.Options{},
			func(u *turn) { u.p.Thinking = "Hm"; u.tell(); u.write("One") },
			[]string{"0s preview 1: One", "100ms settle 1: One"},
		},
		"code": {
			stream.Options{},
			func(u *turn) { u.write("One\n\n```go\n"); pass(second); u.write("a\n"); pass(second); u.write("```") },
			[]string{"0s preview 1: One", "1.1s show 1: One\n\n```go\na\n```", "2.3s settle 1: One\n\n```go\na\n```"},
		},
		"another try": {
			stream.Options{},
			func(u *turn) {
				u.write("One")
				pass(second)
				u.p.Text = ""
				u.write("Two")
				pass(second)
				u.write(" three")
			},
			[]string{"0s preview 1: One", "1.1s show 1: Two", "2.2s show 1: Two three", "2.3s settle 1: Two three"},
		},
		"a text too long for a message": {
			stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 20, Unit: chat.Runes}}, Prefix: "Bot:"},
			func(u *turn) {
				u.write("One two")
				pass(second)
				u.write(" three four")
				pass(second)
				u.write(" five six")
				pass(second)
				u.write(" seven eight nine")
			},
			[]string{
				"0s preview 1: Bot: One two",
				"1.1s settle 1: Bot: One two three",
				"1.1s preview 3: four",
				"2.2s show 3: four five six",
				"3.3s settle 3: four five six seven",
				"3.3s preview 5: eight nine",
				"3.4s settle 5: eight nine",
			},
		},
		"a text too long for a message, and another one": {
			stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 20, Unit: chat.Runes}}},
			func(u *turn) {
				u.write("One two three four five")
				u.use(bash("make"))
				pass(second)
				u.used()
				u.write("Six")
			},
			[]string{
				"0s send: One two three four",
				"0s preview 2: five",
				"100ms settle 2: five",
				"1s preview 4: 🔧 Bash: `make`",
				"1.2s settle 4: Six",
			},
		},
		"a text too long for a message, and another try": {
			stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 60, Unit: chat.Runes}}},
			func(u *turn) {
				u.write(strings.Repeat("x", 55) + " y zzzz")
				u.p.Text = ""
				u.write("One")
				pass(second)
				u.write(" two")
			},
			[]string{
				"0s send: " + strings.Repeat("x", 55) + " y",
				"0s preview 2: zzzz",
				"1s show 2: _The answer began again:_\n\nOne",
				"1.3s settle 2: _The answer began again:_\n\nOne two",
			},
		},
		"code too long for a message": {
			stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 30, Unit: chat.Runes}}},
			func(u *turn) { u.write("```go\none\ntwo\nthree\nfour\nfive six"); pass(second); u.write("\n```") },
			[]string{
				"0s send: ```go\none\ntwo\nthree\nfour\n```",
				"0s preview 2: ```go\nfive six\n```",
				"1.2s settle 2: ```go\nfive six\n```",
			},
		},
		"tools are told": {
			stream.Options{Verbose: "on"},
			func(u *turn) { u.use(bash("make")); pass(second); u.used(); u.write("One"); pass(second) },
			[]string{"300ms preview 1: 🔧 Bash: `make`", "1s settle 1: - Bash: `make`", "1.3s preview 3: One", "2.1s settle 3: One"},
		},
		"it answers": {
			stream.Options{Quoting: answer.Quoting{Mode: "off", Current: "m1"}},
			func(u *turn) { u.write("[[reply_to_current]] One") },
			[]string{"0s preview 1: (to m1) One", "100ms settle 1: (to m1) One"},
		},
		"a text that a tool has sent": {
			stream.Options{},
			func(u *turn) {
				u.sendByTool(tea)
				u.write("One boils water.", "\n\nThen waits.")
				pass(3 * second)
			},
			[]string{"3.2s send: One boils water.\n\nThen waits."},
		},
		"what an earlier attempt has shown": {
			stream.Options{},
			func(u *turn) { u.resume("One.", 7); u.write("On", "e.", " Two") },
			[]string{"200ms show 7: Two", "300ms settle 7: Two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.options.Mode, tt.options.Interval = stream.Preview, time.Second
				u := start(t, tt.options)
				tt.turn(u)
				u.finish()
				u.happened(tt.want...)
			})
		})
	}
}

// Where the agent may be silent nothing is seen of a turn before it has a word.
// Behaviour: preview-silent.
func TestNothingIsSeenBeforeAWord(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		texts []string
		want  []string
	}{
		"silent": {[]string{"NO", "_REPLY"}, nil},
		"a word": {[]string{"No", "w", " it is ready."}, []string{
			"1.1s preview 1: Now", "2.1s show 1: > What is it?\n\n🔧 Bash: `test`", "2.4s settle 1: Yes.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, stream.Options{Mode: stream.Preview, Listens: true, Reasoning: true})
				u.p.Thinking = "What is it?"
				u.use(bash("make"))
				pass(time.Second)
				u.used()
				u.write(tt.texts...)
				if len(tt.want) > 0 {
					u.use(bash("test"))
					pass(time.Second)
					u.write("Yes.")
				}
				u.finish()
				u.happened(tt.want...)
			})
		})
	}
}

// A preview that cannot be edited for a while is tried again, and an end does not wait for the network.
// Behaviour: stream.
func TestPreviewFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Preview}) // a second from one edit to the next
		u.write("One")
		u.fixture.err = errRefused
		u.write(" two")
		pass(2 * time.Second)
		u.fixture.err = nil
		u.write(" three")
		u.finish()
		u.happened("0s preview 1: One", "1s show 1: One two", "2.2s show 1: One two three", "2.3s settle 1: One two three")
	})
}

// A turn may last longer than its network edits a message.
// Behaviour: delivery-edit-old.
func TestAPreviewThatIsTooOldIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Preview})
		u.write("One")
		u.fixture.old = true
		u.write(" two")
		pass(2 * time.Second)
		u.write(" three")
		pass(2 * time.Second)
		u.write(" four")
		u.finish()
		u.happened("0s preview 1: One", "1s preview 2 in the place of 1: One two", "2.2s show 2: One two three",
			"4.3s show 2: One two three four", "4.4s settle 2: One two three four")
	})
}

func TestFencedRunShowsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Preview, Interval: time.Second, Rule: chunk.Rule{Limit: chat.TextLimit{Max: 10, Unit: chat.Runes}}})
		u.write("One")
		u.fixture.err = domain.ErrFenced
		u.write(" two three four")
		u.fixture.err = nil
		pass(5 * time.Second)
		u.write(" five")
		u.stream.End()
		u.happened("0s preview 1: One")
	})
}

// slow is a chat in which a change of the preview takes its time.
type slow struct {
	*fixture
	takes time.Duration
}

func (s slow) Show(ctx context.Context, preview int64, text string) error {
	select {
	case <-time.After(s.takes):
		return s.fixture.Show(ctx, preview, text)
	case <-ctx.Done():
		return s.fixture.Show(ctx, preview, "cut off")
	}
}

// A change that is on its way at the turn's end arrives before the answer, or is given up; it does not come behind it.
func TestAChangeOnItsWayLandsFirst(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration][]string{
		600 * time.Millisecond: {"0s preview 1: One", "1.6s show 1: One, two", "1.6s settle 1: One, two, three"},
		time.Minute:            {"0s preview 1: One", "2.1s show 1: cut off", "2.1s settle 1: One, two, three"},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := start(t, stream.Options{Mode: stream.Preview})
			u.stream.End()
			u.stream = stream.New(u.options, slow{u.fixture, takes}, &domain.Run{})
			u.stream.Start(t.Context())
			u.write("One")
			pass(900 * time.Millisecond)
			u.write(", two") // at one second it is shown
			u.p.Text += ", three"
			u.finish()
			u.happened(want...)
		})
	}
}

// A preview begins with the first text that is certain to stay, and is not edited before its interval is over. Nothing that
// is shown disappears again.
// Behaviour: preview-pace.
func TestWhenAPreviewBegins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"One two three four": {"0s preview 1: O", "1s show 1: One two th"},
		" \n\t ":             nil,
		"NO_REPLY":           nil,
		"Noon":               {"200ms preview 1: Noo"},
		"[[reply_to:7]] Hi":  {"1.6s preview 1: Hi"},
		"MEDIA:/a.png\nHere": {"1.5s preview 1: Her"},
		"```go\nx := 1\n":    {"600ms preview 1: ```go\nx\n```"},
		"[from: Anna] x":     nil,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, stream.Options{Mode: stream.Preview})
				u.write(strings.Split(text, "")...)
				u.stream.End()
				if len(want) > 0 {
					u.fixture.log = u.fixture.log[:len(want)]
				}
				u.happened(want...)
			})
		})
	}
}
