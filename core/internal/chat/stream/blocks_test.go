package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: block, block-delay, answer-restarted, message-tool-once, files-block.
func TestBlocks(t *testing.T) {
	t.Parallel()
	block := stream.Block{Min: 8, Max: 30, Idle: time.Second}
	for name, tt := range map[string]struct {
		options stream.Options
		turn    func(u *turn)
		want    []string
	}{
		"paragraphs of the least size": {
			stream.Options{Block: block},
			func(u *turn) { u.write("One.\n\n", "Two three.\n", "\n", "Fo", "ur.") },
			[]string{"300ms send: One.\n\nTwo three.", "500ms send: Four."},
		},
		"a text over the largest size": {
			stream.Options{Block: block},
			func(u *turn) { u.write("one two three four five six ", "seven eight") },
			[]string{"100ms send: one two three four five six", "200ms send: seven eight"},
		},
		"sentences": {
			stream.Options{Block: stream.Block{Min: 8, Max: 100, At: chunk.Sentence}},
			func(u *turn) { u.write("One two. ", "Three four. ", "Five") },
			[]string{"100ms send: One two.", "200ms send: Three four.", "300ms send: Five"},
		},
		"the text stands still": {
			stream.Options{Block: block},
			func(u *turn) { u.write("One two three.", " Four"); pass(2 * time.Second); u.write(" five.") },
			[]string{"1.1s send: One two three.", "2.3s send: Four five."},
		},
		"the text stands still, but is too short": {
			stream.Options{Block: block},
			func(u *turn) { u.write("One."); pass(5 * time.Second); u.write(" Two three."); pass(2 * time.Second) },
			[]string{"6.1s send: One. Two three."},
		},
		"the text stands still, which is all right": {
			stream.Options{Block: stream.Block{Min: 8, Max: 100}},
			func(u *turn) { u.write("One two three."); pass(time.Minute) },
			[]string{"1m0.1s send: One two three."},
		},
		"a text that is complete": {
			stream.Options{Block: block},
			func(u *turn) { u.write("One"); u.complete(); pass(2 * time.Second) },
			[]string{"1s send: One"},
		},
		"a short text that begins later and is complete": {
			stream.Options{Block: block},
			func(u *turn) { pass(time.Second); u.write("O", "ne"); u.complete(); pass(2 * time.Second) },
			[]string{"2.2s send: One"},
		},
		"a short text that begins later and is not complete": {
			stream.Options{Block: block},
			func(u *turn) { pass(time.Second); u.write("O", "ne"); pass(2 * time.Second) },
			[]string{"3.2s send: One"},
		},
		"a short file that begins later": {
			stream.Options{Block: stream.Block{Min: 30, Max: 100}},
			func(u *turn) { pass(time.Second); u.write("MEDIA:", "/a\n", "Nice") },
			[]string{"1.1s file: </a>", "1.3s send: Nice"},
		},
		"a short paragraph that begins later": {
			stream.Options{Block: stream.Block{Min: 30, Max: 100}, Rule: chunk.Rule{Paragraphs: true}},
			func(u *turn) { pass(time.Second); u.write("One.\n", "\nT", "wo.") },
			[]string{"1.1s send: One.", "1.3s send: Two."},
		},
		"a short text after a tool": {
			stream.Options{Block: block, Verbose: "on"},
			func(u *turn) {
				u.use(bash("make"))
				u.used()
				pass(100 * time.Millisecond)
				u.write("One")
				pass(2 * time.Second)
			},
			[]string{"100ms send: - Bash: `make`", "2.2s send: One"},
		},
		"a text before a tool": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("One")
				u.use(bash("make"))
				pass(time.Second)
				u.used()
				u.write("Two")
			},
			[]string{"100ms send: One", "1.2s send: Two"},
		},
		"only whole texts": {
			stream.Options{Block: stream.Block{Min: 1, Max: 10, Idle: time.Second, Whole: true}},
			func(u *turn) {
				u.write("One.\n\nTwo.\n\nThree")
				u.complete()
				pass(5 * time.Second)
				u.use(bash("make"))
				u.used()
				u.write("Four")
			},
			[]string{"5.1s send: One.\n\nTwo.", "5.1s send: Three", "5.2s send: Four"},
		},
		"paragraph by paragraph": {
			stream.Options{Block: block, Rule: chunk.Rule{Paragraphs: true}},
			func(u *turn) { u.write("One.\n\nT", "wo.\n\nT", "hree.") },
			[]string{"0s send: One.", "100ms send: Two.", "300ms send: Three."},
		},
		"not within code": {
			stream.Options{Block: block},
			func(u *turn) { u.write("One two:\n\n```go\n", "a\n\nb\n", "```\n\n", "Three") },
			[]string{"200ms send: One two:\n\n```go\na\n\nb\n```", "400ms send: Three"},
		},
		"within code that is too large": {
			stream.Options{Block: block},
			func(u *turn) { u.write("```go\nonetwo\nthreefour\nfivesix\n", "seven\n```") },
			[]string{"100ms send: ```go\nonetwo\nthreefour\n```", "100ms send: ```go\nfivesix\nseven\n```"},
		},
		"silence": {
			stream.Options{Block: block},
			func(u *turn) { u.write("NO_", "REPLY"); u.complete(); pass(5 * time.Second) },
			nil,
		},
		"a message that may yet be none": {
			stream.Options{Block: block},
			func(u *turn) { u.write("NO_REPLY", " is what I would say to this.\n\n", "But") },
			[]string{"100ms send: NO_REPLY is what I would say", "200ms send: to this.", "300ms send: But"},
		},
		"pauses": {
			stream.Options{Block: block, Delay: stream.Delay{Min: 2 * time.Second, Max: 2 * time.Second}},
			func(u *turn) {
				u.write("One two three.\n\n", "Four five six.\n\n", "Seven eight nine.\n\n", "Ten")
				pass(3 * time.Second)
			},
			[]string{"100ms send: One two three.", "2.1s send: Four five six.", "3.4s send: Seven eight nine.\n\nTen"},
		},
		"a prefix": {
			stream.Options{Block: block, Prefix: "Bot:"},
			func(u *turn) { u.write("One two three.\n\nF", "our") },
			[]string{"0s send: Bot: One two three.", "200ms send: Four"},
		},
		"a prefix that needs a message of its own": {
			stream.Options{Block: block, Prefix: "This is a long prefix:"},
			func(u *turn) { u.write("One two three.\n\nF", "our") },
			[]string{"0s send: This is a long prefix:", "0s send: One two three.", "200ms send: Four"},
		},
		"another message is answered": {
			stream.Options{Block: block, Quoting: answer.Quoting{Mode: "off", Current: "m9"}},
			func(u *turn) { u.write("[[reply_to:m1]]One\n\n", "[[reply_to_current]]", "Two") },
			[]string{"200ms send: (to m1) One", "300ms send: (to m9) Two"},
		},
		"the first piece answers": {
			stream.Options{Block: block, Quoting: answer.Quoting{Mode: "first", Current: "m9"}},
			func(u *turn) { u.write("One two three.\n\nT", "wo") },
			[]string{"0s send: (to m9) One two three.", "200ms send: Two"},
		},
		"a file": {
			stream.Options{Block: block},
			func(u *turn) { u.write("Look:\nMEDIA:/a.png\n", "Nice") },
			[]string{"100ms send: Look:", "100ms file: </a.png>", "200ms send: Nice"},
		},
		"a file before a tool": {
			stream.Options{Block: block, Verbose: "on"},
			func(u *turn) {
				u.write("MEDIA:/a\nOne\nMEDIA:/b\nMEDIA:/c")
				u.use(bash("make"))
				u.used()
				u.write("MEDIA:/d\n", "Two")
			},
			[]string{"0s file: </a>", "100ms send: One", "100ms file: </b></c>", "100ms send: - Bash: `make`", "100ms file: </d>", "300ms send: Two"},
		},
		"a file that was sent": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("One\nMEDIA:/a")
				u.use(bash("make"))
				u.used()
				u.write("MEDIA:/a\nMEDIA:/b\nTwo")
			},
			[]string{"100ms send: One", "100ms file: </a>", "100ms file: </b>", "200ms send: Two"},
		},
		"a file of a text that starts again": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("One two three.\nMEDIA:/a\nFour")
				u.p.Text = ""
				u.write("Five six.\nMEDIA:/a\nMEDIA:/b\nSeven")
			},
			[]string{"0s send: One two three.", "0s file: </a>", "100ms send: _The answer began again:_", "100ms send: Five six.", "100ms file: </b>", "200ms send: Seven"},
		},
		"files of whole texts": {
			stream.Options{Block: stream.Block{Min: 1, Max: 10, Idle: time.Second, Whole: true}},
			func(u *turn) {
				u.write("One.\nMEDIA:/a\nTwo.")
				u.complete()
				pass(5 * time.Second)
				u.use(bash("make"))
			},
			[]string{"5.1s send: One.", "5.1s file: </a>", "5.1s send: Two."},
		},
		"the same text again": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("Done.")
				u.use(bash("make"))
				u.used()
				u.write("Done.")
				u.use(bash("make"))
				u.used()
				u.write("Done.")
			},
			[]string{"100ms send: Done."},
		},
		"another try": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("One two three.\n\n", "Four")
				u.p.Text = ""
				u.write("Five six seven.\n\n", "Eight")
			},
			[]string{"100ms send: One two three.", "300ms send: _The answer began again:_", "300ms send: Five six seven.", "400ms send: Eight"},
		},
		"another try, the same": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("One two three.\n\n", "Four")
				u.p.Text = ""
				u.write("One ", "two three.", "\n\nFour five.")
			},
			[]string{"100ms send: One two three.", "500ms send: Four five."},
		},
		"a text that a tool has sent": {
			stream.Options{Block: block},
			func(u *turn) { u.sendByTool(tea); u.write("One boils water.\n\n", "Then waits.") },
			[]string{"200ms send: One boils water.\n\nThen waits."}, // which belongs to the answer
		},
		"a text that begins like one that a tool has sent": {
			stream.Options{Block: block},
			func(u *turn) {
				u.sendByTool(tea)
				u.write("One boils water.\n\n", "Then ", "drinks it.\n\n", "Enough")
			},
			[]string{"200ms send: One boils water.", "300ms send: Then drinks it.", "400ms send: Enough"},
		},
		"a text before a tool that a tool has sent": {
			stream.Options{Block: block},
			func(u *turn) {
				u.sendByTool(tea)
				u.write("One boils water.\n\n", "Then waits.")
				u.use(bash("make"))
				u.used()
				u.write("Done.")
			},
			[]string{"300ms send: Done."},
		},
		"another try, which ends before": {
			stream.Options{Block: block},
			func(u *turn) {
				u.write("One two three.\n\n", "Four")
				u.p.Text = ""
				u.write("One two")
			},
			[]string{"100ms send: One two three.", "300ms send: _The answer began again:_\n\nOne two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.options.Mode = stream.Blocks
				u := start(t, tt.options)
				tt.turn(u)
				u.finish()
				u.happened(tt.want...)
			})
		})
	}
}

// A chat that does not keep up gets the rest with the answer.
// Behaviour: early-stops.
func TestChatFallsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Blocks, Verbose: "on", Block: stream.Block{Min: 1, Max: 100}})
		u.fixture.late = 14 * time.Second
		u.write("One.\n\nT")
		u.fixture.late = 16 * time.Second
		u.write("wo.\n\nT")
		u.fixture.late = 0
		u.write("hree.\n\nFour.")
		u.use(bash("make"))
		u.used()
		u.write("Five.")
		u.finish()
		u.happened("0s send: One.", "400ms send: Two.\n\nThree.\n\nFour.", "400ms send: - Bash: `make`", "400ms send: Five.")
	})
}

// Behaviour: early-stops.
func TestEarlySendingFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Blocks, Prefix: "Bot:", Block: stream.Block{Min: 1, Max: 100}})
		u.fixture.err = errRefused
		u.write("One.\n\nT")
		u.fixture.err = nil
		u.write("wo.")
		u.finish()
		u.happened("200ms send: Bot: One.\n\nTwo.")
	})
}

// What is noted as said is of the text being written, never of one that is over: after a crash it is taken for the
// beginning of the answer.
func TestSaidBelongsToTheCurrentText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Blocks, Block: stream.Block{Min: 1, Max: 100, Idle: time.Second}})
		said := func(want string) {
			t.Helper()
			if u.fixture.said != want {
				t.Errorf("%q is noted, want %q", u.fixture.said, want)
			}
		}
		u.write("One.\n\nTwo")
		said("One.")
		u.use(bash("make"))
		said("")
		u.used()
		u.write("Three")
		u.complete()
		pass(2 * time.Second)
		said("Three")
		u.use(bash("make"))
		said("")
		u.finish()
		u.happened("0s send: One.", "100ms send: Two", "1.1s send: Three", `2.2s said ""`)
	})
}

// A line that was steered, but missed the last tool, is answered behind the first answer, which stays. What is said before a
// tool of that part neither sends the first answer again nor restarts it.
func TestSteeredLineIsAnsweredAfterTheFirstAnswer(t *testing.T) {
	t.Parallel()
	limit := chunk.Rule{Limit: chat.TextLimit{Max: 50, Unit: chat.Runes}}
	const first, second = "The first answer, as it is.", "The second answer."
	for name, tt := range map[string]struct {
		options stream.Options
		first   string
		seldom  bool // the stream looks only at the end
		want    []string
		said    string
	}{
		"in blocks": {
			stream.Options{Mode: stream.Blocks, Block: stream.Block{Min: 1, Max: 100, Idle: time.Second}},
			first, false,
			[]string{first, "I look.", second},
			first + "\n\n" + second,
		},
		"in blocks, at once": {
			stream.Options{Mode: stream.Blocks, Block: stream.Block{Min: 1, Max: 100, Idle: time.Second}},
			first, true,
			[]string{first + "\n\nI look.", second},
			first,
		},
		"in a preview": {stream.Options{Mode: stream.Preview}, first, false, []string{first + "\n\n" + second}, ""},
		"in previews": {
			stream.Options{Mode: stream.Preview, Rule: limit},
			first + " It is long.", false,
			[]string{first + " It is long.", second},
			first + " It is long.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, tt.options)
				tell := func() {
					if !tt.seldom {
						u.tell()
						pass(2 * time.Second)
					}
				}
				past := tt.first + "\n\n"
				u.p.Text, u.p.Complete = tt.first, true
				tell()
				u.p.Text, u.p.Complete = past+"I look.", false
				tell()
				u.p.Done = append(u.p.Done, agent.Step{Earlier: past, Text: "I look."})
				u.p.Text = tt.first
				tell()
				u.p.Done = append(u.p.Done, agent.Step{Tool: bash("make")})
				u.p.Text = past + second
				tell()
				if tt.seldom {
					u.tell()
				}
				if u.fixture.said != tt.said {
					t.Errorf("%q is noted", u.fixture.said)
				}
				u.finish()
				if diff := cmp.Diff(tt.want, u.fixture.seen()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
