package stream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: stream.
func TestChoose(t *testing.T) {
	t.Parallel()
	limits := func(d chat.Draft) chat.Limits { return chat.Limits{Draft: d} }
	for _, tt := range []struct {
		configured        string
		draft             chat.Draft
		canEdit, canDraft bool
		want              stream.Mode
	}{
		{"preview", chat.NativeDraft, true, true, stream.Draft},
		{"preview", chat.NativeDraft, true, false, stream.Preview},
		{"preview", chat.NativeDraft, false, false, stream.Blocks},
		{"preview", chat.DraftByEdit, true, false, stream.Preview},
		{"preview", chat.DraftByEdit, false, true, stream.Blocks},
		{"preview", chat.NoDraft, true, true, stream.Blocks},
		{"preview", 0, true, true, stream.Blocks},
		{"block", chat.DraftByEdit, true, true, stream.Blocks},
		{"off", chat.DraftByEdit, true, true, stream.Off},
		{"", chat.DraftByEdit, true, true, stream.Off},
	} {
		if got := stream.Choose(tt.configured, limits(tt.draft), tt.canEdit, tt.canDraft); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestNothingIsShownWhereItIsOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Off})
		u.write("One.\n\n", "Two.")
		u.use(bash("make"))
		u.used()
		u.write("Three.")
		out := u.finish()
		u.happened("300ms send: Three.")
		if diff := cmp.Diff(stream.Outcome{}, out); diff != "" {
			t.Error(diff)
		}
	})
}

const tea = "One boils water.\n\nThen waits."

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
		"a file of a text that begins anew": {
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
			func(u *turn) { u.fixture.sendByTool(tea); u.write("One boils water.\n\n", "Then waits.") },
			[]string{"200ms send: One boils water.\n\nThen waits."}, // which belongs to the answer
		},
		"a text that begins like one that a tool has sent": {
			stream.Options{Block: block},
			func(u *turn) {
				u.fixture.sendByTool(tea)
				u.write("One boils water.\n\n", "Then ", "drinks it.\n\n", "Enough")
			},
			[]string{"200ms send: One boils water.", "300ms send: Then drinks it.", "400ms send: Enough"},
		},
		"a text before a tool that a tool has sent": {
			stream.Options{Block: block},
			func(u *turn) {
				u.fixture.sendByTool(tea)
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

// Behaviour: verbose.
func TestToolsAreTold(t *testing.T) {
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
		out := u.finish()
		u.happened("100ms send: One", "2.1s send: - Bash: `make`\n- Read", "4.1s send: - Bash: `make`", "4.2s send: Two", "4.2s send: - Write")
		if diff := cmp.Diff([]string{"- Write"}, out.Before); diff != "" {
			t.Error(diff)
		}
	})
}

// Behaviour: verbose.
func TestToolsAreToldWithoutStreaming(t *testing.T) {
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
		"thoughts that nobody wants": {
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
				u.fixture.sendByTool(tea)
				u.write("One boils water.", "\n\nThen waits.")
				pass(3 * second)
			},
			[]string{"3.2s send: One boils water.\n\nThen waits."},
		},
		"what an earlier attempt has shown": {
			stream.Options{Said: "One.", PreviewID: 7},
			func(u *turn) { u.fixture.preview = 7; u.write("On", "e.", " Two") },
			[]string{"200ms show 7: Two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.options.Mode, tt.options.Interval = stream.Preview, time.Second
				u := start(t, tt.options)
				tt.turn(u)
				if tt.options.PreviewID == 0 {
					u.finish()
				} else {
					u.stream.End()
				}
				u.happened(tt.want...)
			})
		})
	}
}

// Behaviour: stream, preview-pace, draft-refresh.
func TestDraft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Draft, Interval: time.Second, Rule: chunk.Rule{Limit: chat.TextLimit{Max: 20, Unit: chat.Runes}}})
		u.write("One", " two")
		pass(30 * time.Second)
		u.write(" three four five six")
		pass(2 * time.Second)
		u.finish()
		u.happened(
			"0s draft: One", "1s draft: One two", "21s draft: One two", // networks drop it after a while
			"30.2s send: One two three four", "30.2s draft: five six", "32.3s send: five six")
	})
}

// What is sent behind a draft ends it: it is shown again, and no more often than drafts may be.
// Behaviour: draft-refresh.
func TestDraftIsShownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Draft, Interval: time.Second})
		u.stream.Redraw() // There is nothing to show yet.
		u.write("One")
		pass(5 * time.Second)
		u.stream.Redraw()
		pass(100 * time.Millisecond)
		u.stream.Redraw()
		u.stream.Redraw()
		pass(5 * time.Second)
		u.fixture.err = errRefused
		u.stream.Redraw()
		pass(time.Second)
		u.fixture.err = nil
		u.finish()
		u.stream.Redraw()
		u.happened("0s draft: One", "5.1s draft: One", "6.1s draft: One", "10.2s draft: One", "11.2s send: One")
	})
	synctest.Test(t, func(t *testing.T) {
		u := start(t, stream.Options{Mode: stream.Preview})
		u.write("One")
		u.stream.Redraw()
		pass(5 * time.Second)
		u.finish()
		u.happened("0s preview 1: One", "5.1s settle 1: One")
	})
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

// Where the network takes no drafts the answer is shown otherwise, at once.
// Behaviour: stream.
func TestDraftIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		instead stream.Mode
		want    []string
	}{
		"an edited message": {stream.Preview, []string{
			"0s draft: One", "300ms no draft: One two.\n\nThree", "300ms preview 1: One two.\n\nThree",
			"5.2s show 1: One two.\n\nThree four.", "7.3s settle 1: One two.\n\nThree four.",
		}},
		"blocks": {stream.Blocks, []string{
			"0s draft: One", "300ms no draft: One two.\n\nThree", "300ms send: One two.",
			"6.2s send: Three four.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, stream.Options{Mode: stream.Draft, Undrafted: tt.instead, Block: stream.Block{Min: 8, Max: 30, Idle: time.Second}})
				u.write("One")
				u.fixture.noDraft = true
				u.write(" two.\n\nThree")
				pass(5 * time.Second)
				u.write(" four.")
				pass(2 * time.Second)
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

// Behaviour: answer-restarted.
func TestRest(t *testing.T) {
	t.Parallel()
	o := stream.Options{Prefix: "Bot:", Rule: chunk.Rule{Limit: chat.TextLimit{Max: 100, Unit: chat.Runes}}}
	texts := func(pieces []domain.OutboxItem) (list []string) {
		for _, p := range pieces {
			list = append(list, p.Text)
		}
		return list
	}
	for name, tt := range map[string]struct {
		text       string
		out        stream.Outcome
		head, tail string
		want       []string
	}{
		"nothing was sent":           {"One", stream.Outcome{}, "", "", []string{"Bot: One"}},
		"nothing was sent, and more": {"One", stream.Outcome{}, "_head_", "_tail_", []string{"Bot: _head_\n\nOne\n\n_tail_"}},
		"a part":                     {"One\n\nTwo", stream.Outcome{Said: "One", Begun: true}, "", "_tail_", []string{"Two\n\n_tail_"}},
		"in code":                    {"```go\na\nb\n```", stream.Outcome{Said: "```go\na", Begun: true}, "", "", []string{"```go\nb\n```"}},
		"all":                        {"One", stream.Outcome{Said: "One", Begun: true}, "_head_", "", nil},
		"all but the tail":           {"One", stream.Outcome{Said: "One", Begun: true}, "", "_tail_", []string{"_tail_"}},
		"all, by an earlier text":    {"One", stream.Outcome{Whole: []string{"One"}, Begun: true}, "", "", nil},
		"another":                    {"One", stream.Outcome{Said: "Two", Begun: true}, "", "", []string{"_The answer began again:_\n\nOne"}},
		"something before":           {"One", stream.Outcome{Before: []string{"Zero"}}, "", "", []string{"Zero", "Bot: One"}},
		"silence":                    {"", stream.Outcome{Preview: 3}, "", "", []string{""}},
		"a file at the end":          {"One\nMEDIA:/a", stream.Outcome{Begun: true}, "", "_tail_", []string{"One\n\n_tail_"}},
		"a file":                     {"One\nMEDIA:/a\nTwo", stream.Outcome{Begun: true}, "", "", []string{"One", "Two"}},
	} {
		got := o.Rest(answer.Parse(tt.text, true), tt.out, stream.Beside{Head: tt.head, Tail: tt.tail})
		if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if tt.out.Preview != 0 && got[0].Edits != tt.out.Preview {
			t.Errorf("%s: the preview stays: %+v", name, got)
		}
	}
}

// Files stand where the text says; those of what was said come first.
// Behaviour: files-place.
func TestRestPlacesFiles(t *testing.T) {
	t.Parallel()
	o := stream.Options{Rule: chunk.Rule{Limit: chat.TextLimit{Max: 200, Unit: chat.Runes}}}
	a := answer.Parse("MEDIA:/zero\nOne.\nMEDIA:/one\n\nTwo.\nMEDIA:/two\nMEDIA:/three\nThree.", true)
	var files []stream.Placed
	for _, m := range a.Media {
		files = append(files, stream.Placed{At: m.At, Media: []chat.Media{{FileName: m.Path}}})
	}
	for name, tt := range map[string]struct {
		out  stream.Outcome
		want []string
	}{
		"nothing was sent":        {stream.Outcome{Preview: 3}, []string{"/zero", "_head_\n\nOne.", "/one", "Two.", "/two", "/three", "Three.\n\n_tail_"}},
		"a part":                  {stream.Outcome{Said: "One.", Begun: true}, []string{"/zero", "/one", "_head_\n\nTwo.", "/two", "/three", "Three.\n\n_tail_"}},
		"a part, and some of it":  {stream.Outcome{Said: "One.\n\nTw", Begun: true}, []string{"/zero", "/one", "_head_\n\no.", "/two", "/three", "Three.\n\n_tail_"}},
		"all":                     {stream.Outcome{Said: a.Text, Begun: true}, []string{"/zero", "/one", "/two", "/three", "_head_\n\n_tail_"}},
		"all, by an earlier text": {stream.Outcome{Whole: []string{a.Text}, Begun: true}, []string{"/zero", "/one", "/two", "/three", "_head_\n\n_tail_"}},
	} {
		var got []string
		for _, p := range o.Rest(a, tt.out, stream.Beside{Head: "_head_", Tail: "_tail_", Files: files}) {
			if p.Text != "" {
				got = append(got, p.Text)
			}
			for _, m := range p.Media {
				got = append(got, m.FileName)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What is noted as said is of the text in the making, never of one that is over: after a crash it is taken for the
// beginning of the answer.
func TestSaidIsOfTheTextInTheMaking(t *testing.T) {
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
func TestAPartOfATurnWithToolsOfItsOwn(t *testing.T) {
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
			u.stream = stream.Start(t.Context(), u.options, slow{u.fixture, takes})
			u.write("One")
			pass(900 * time.Millisecond)
			u.write(", two") // at one second it is shown
			u.p.Text += ", three"
			u.finish()
			u.happened(want...)
		})
	}
}

// What of a text is in the chat, or on its way there, a tool has no need to send.
// Behaviour: message-tool-text.
func TestHold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options stream.Options
		turn    func(u *turn)
		want    bool
	}{
		"nothing was written":      {stream.Options{Mode: stream.Blocks}, func(*turn) {}, false},
		"it is in the chat":        {stream.Options{Mode: stream.Blocks}, func(u *turn) { u.write(tea); u.use(bash("make")) }, true},
		"it was, before a tool":    {stream.Options{Mode: stream.Blocks}, func(u *turn) { u.write(tea); u.use(bash("make")); u.used(); u.write("And"); u.use(bash("make")) }, true},
		"another text is":          {stream.Options{Mode: stream.Blocks}, func(u *turn) { u.write(tea + " And drinks."); u.use(bash("make")) }, false},
		"it is not shown for good": {stream.Options{Mode: stream.Preview}, func(u *turn) { u.write(tea); u.use(bash("make")) }, false},
		"a part of it is": {
			stream.Options{Mode: stream.Blocks, Block: stream.Block{Min: 8, Max: 100}, Delay: stream.Delay{Min: time.Minute, Max: time.Minute}},
			func(u *turn) { u.write("One boils water.\n\n", "Then waits."); u.use(bash("make")) }, true,
		},
		"it could not be sent": {
			stream.Options{Mode: stream.Blocks},
			func(u *turn) { u.fixture.err = errRefused; u.write(tea); u.use(bash("make")) }, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := start(t, tt.options)
				tt.turn(u)
				before := len(u.fixture.seen())
				err := u.stream.Hold(func(has func(string) bool) error {
					if got := has("One boils  water.\nThen waits."); got != tt.want {
						t.Errorf("has %t, want %t", got, tt.want)
					}
					u.stream.Progress(agent.Progress{Done: u.p.Done, Text: "More.\n\nAnd more."})
					pass(time.Minute)
					if now := u.fixture.seen(); len(now) != before {
						t.Errorf("meanwhile there came %q", now[before:])
					}
					return errRefused
				})
				if !errors.Is(err, errRefused) {
					t.Error(err)
				}
				u.stream.End()
			})
		})
	}
}

// A preview begins with the first character that is sure to be seen, and is not changed before its time then: nothing comes that goes
// again.
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
