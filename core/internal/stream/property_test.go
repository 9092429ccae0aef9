package stream_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Whatever happens in a turn, whenever it crashes and is begun again: what stands in the chat at its end is each text
// once, in order, in messages that fit; what went before in the answer's place is set apart by a line that says so.
func TestChatHasTheWholeAnswerOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) { chatHasTheWholeAnswerOnce(t, rt) })
	})
}

func chatHasTheWholeAnswerOnce(t *testing.T, rt *rapid.T) {
	o := stream.Options{
		Mode: rapid.SampledFrom([]stream.Mode{stream.Off, stream.Blocks, stream.Preview, stream.Draft}).Draw(rt, "mode"),
		Rule: chunk.Rule{Limit: chat.TextLimit{Max: rapid.IntRange(60, 300).Draw(rt, "limit"), Unit: chat.Runes}, Paragraphs: rapid.Bool().Draw(rt, "paragraphs")},
		Block: stream.Block{
			Min: rapid.IntRange(0, 100).Draw(rt, "min"), Max: rapid.IntRange(40, 300).Draw(rt, "max"),
			Idle: time.Second, Whole: rapid.Bool().Draw(rt, "whole"),
			At: rapid.SampledFrom([]chunk.Break{chunk.Paragraph, chunk.Line, chunk.Sentence}).Draw(rt, "at"),
		},
		Interval: 300 * time.Millisecond,
	}
	if rapid.Bool().Draw(rt, "told") {
		o.Tools = tools
	}
	if rapid.Bool().Draw(rt, "delayed") {
		o.Delay = func() time.Duration { return 2 * time.Second }
	}
	u := start(t, o)
	var texts []string // of the turn, its answer last
	restarted := false
	for n := rapid.IntRange(1, 3).Draw(rt, "texts"); n > 0; n-- {
		text := markdown().Draw(rt, "text")
		texts = append(texts, text)
		for at := 0; at < len(text); {
			at = min(len(text), at+rapid.IntRange(1, 80).Draw(rt, "more"))
			u.p.Text, u.p.Complete = text[:at], at == len(text)
			u.tell()
			switch rapid.IntRange(0, 19).Draw(rt, "event") {
			case 0, 1, 2, 3, 4:
				pass(time.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * time.Millisecond)
			case 5: // The model's stream breaks off, and what it writes then is the same.
				u.p.Text, u.p.Complete, at = "", false, 0
				u.tell()
			case 6: // The host crashes, and the turn goes on where it was.
				u = u.again()
				restarted = true
			}
		}
		if n > 1 {
			u.use(bash("make"))
			u.used()
		}
	}
	u.finish()

	seen := u.room.seen()
	for _, message := range seen {
		if size := chunk.Size(message, chat.Runes); size > o.Rule.Limit.Max {
			rt.Fatalf("%d characters, over %d: %q", size, o.Rule.Limit.Max, message)
		}
		if strings.Count(message, "```")%2 != 0 {
			rt.Fatalf("a fence is not closed in %q", message)
		}
	}
	shown := strings.Join(slices.DeleteFunc(seen, func(m string) bool { return m == "- Bash" || m == "- Bash\n- Bash" }), "\n")
	last := texts[len(texts)-1]
	if slices.Contains(texts[:len(texts)-1], last) {
		return
	}
	switch {
	case strings.Contains(shown, stream.Anew):
		if !restarted {
			rt.Fatalf("the answer began anew:\n%s", strings.Join(u.room.log, "\n"))
		}
		if !strings.HasSuffix(bare(shown), bare(last)) {
			rt.Fatalf("the chat ends otherwise:\n%s\nwant\n%s", shown, last)
		}
	case o.Mode == stream.Blocks && !restarted:
		if diff := cmp.Diff(bare(strings.Join(texts, "\n")), bare(shown)); diff != "" {
			rt.Fatalf("the chat has not all of the texts once:\n%s\n%s", diff, strings.Join(u.room.log, "\n"))
		}
	case o.Mode == stream.Off, len(texts) == 1:
		if diff := cmp.Diff(bare(last), bare(shown)); diff != "" {
			rt.Fatalf("the chat has not the answer alone:\n%s\n%s", diff, strings.Join(u.room.log, "\n"))
		}
	default:
		// Texts before the answer are there as a whole, or were replaced.
		left := bare(shown)
		for _, text := range texts[:len(texts)-1] {
			left = strings.TrimPrefix(left, bare(text))
		}
		if left != bare(last) && !restarted {
			rt.Fatalf("beside the texts there is\n%s\n%s", left, strings.Join(u.room.log, "\n"))
		}
		if !strings.HasSuffix(left, bare(last)) {
			rt.Fatalf("the chat ends otherwise:\n%s\nwant\n%s", left, bare(last))
		}
	}
}

// again is the turn in the host's next life: another stream, which knows what the store knows.
func (u *turn) again() *turn {
	u.stream.End()
	u.room.mu.Lock()
	defer u.room.mu.Unlock()
	o := u.options
	o.Said, o.PreviewID = u.room.said, u.room.preview
	p := agent.Progress{Text: u.p.Text, Complete: u.p.Complete}
	return &turn{t: u.t, room: u.room, options: o, p: p, stream: stream.Start(u.t.Context(), o, u.room)}
}

// markdown makes a text of paragraphs and code.
func markdown() *rapid.Generator[string] {
	paragraph := rapid.StringMatching(`([a-z]{1,9}[.,]? ){1,20}[a-z]{1,9}[.]?`)
	code := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`\t?[a-z(){};]{1,30}`), 1, 12), func(lines []string) string {
		return "```go\n" + strings.Join(lines, "\n") + "\n```"
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(paragraph, paragraph, code), 1, 6), func(blocks []string) string {
		return strings.Join(blocks, "\n\n")
	})
}

// bare returns a text without blanks and the lines of fences.
func bare(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "```") {
			b.WriteString(strings.Join(strings.FieldsFunc(line, unicode.IsSpace), ""))
		}
	}
	return b.String()
}

// What the goroutine sends and End returns holds for every moment at which the turn may end.
func TestEndAtAnyMoment(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("One two three four.\n\n", 10)
	for at := range 40 {
		synctest.Test(t, func(t *testing.T) {
			u := start(t, stream.Options{Mode: stream.Blocks, Block: stream.Block{Min: 30, Max: 90, Idle: time.Second}})
			for n := range at {
				u.stream.Progress(agent.Progress{Text: text[:(n+1)*5]})
			}
			u.p.Text = text
			u.finish()
			if got := bare(strings.Join(u.room.seen(), "\n")); got != bare(text) {
				t.Errorf("after %d pieces: %q", at, got)
			}
			if a := answer.Parse(text, true); !strings.HasPrefix(a.Text, u.room.said) {
				t.Errorf("after %d pieces: said %q", at, u.room.said)
			}
		})
	}
}
