package stream_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Whatever happens in a turn, wherever it crashes and resumes, and whichever early sends fail: in the end the chat has each
// text once, in order, in messages that fit. If it also has the beginning of another text in that place, a line separates
// the two and says so.
// Behaviour: answer-once, files-block.
func TestChatHasTheWholeAnswerOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		// What rapid has to know of must not end the bubble.
		var problem string
		var undrawn any
		synctest.Test(t, func(t *testing.T) {
			defer func() { undrawn = recover() }()
			problem = chatHasTheWholeAnswerOnce(t, rt)
		})
		switch {
		case undrawn != nil:
			panic(undrawn)
		case problem != "":
			rt.Fatal(problem)
		}
	})
}

func chatHasTheWholeAnswerOnce(t *testing.T, rt *rapid.T) (problem string) {
	modes := []stream.Mode{stream.Off, stream.Blocks, stream.Preview, stream.Draft}
	o := stream.Options{
		Mode: rapid.SampledFrom(modes).Draw(rt, "mode"), Undrafted: rapid.SampledFrom(modes[:3]).Draw(rt, "undrafted"),
		Rule: chunk.Rule{Limit: chat.TextLimit{Max: rapid.IntRange(60, 300).Draw(rt, "limit"), Unit: chat.Runes}, Paragraphs: rapid.Bool().Draw(rt, "paragraphs")},
		Block: stream.Block{
			Min: rapid.IntRange(0, 100).Draw(rt, "min"), Max: rapid.IntRange(40, 300).Draw(rt, "max"),
			Idle: time.Second, Whole: rapid.Bool().Draw(rt, "whole"),
			At: rapid.SampledFrom([]chunk.Break{chunk.Paragraph, chunk.Line, chunk.Sentence}).Draw(rt, "at"),
		},
		Interval: 300 * time.Millisecond,
	}
	o.Steps = rapid.Bool().Draw(rt, "steps")
	if rapid.Bool().Draw(rt, "told") {
		o.Verbose = "on"
	}
	if rapid.Bool().Draw(rt, "delayed") {
		o.Delay = stream.Delay{Min: 2 * time.Second, Max: 2 * time.Second}
	}
	d := &drawn{T: rt, turn: start(t, o), smooth: true}
	for n := rapid.IntRange(1, 3).Draw(rt, "texts"); n > 0; n-- {
		d.text()
		if n > 1 {
			d.tools()
		}
	}
	d.finish()
	return d.problem()
}

// question is a message that is not of the answer.
const question = "?"

// drawn is a turn as rapid draws it.
type drawn struct {
	*rapid.T
	*turn
	story     []chapter
	used      int // how many tools were
	files     int // how many files were named
	restarted bool
	asked     int  // the last message that asked something
	smooth    bool // nothing fails
}

// chapter is a text of a turn, with what the model wrote in its place before.
type chapter struct {
	drafts []string
	text   string
}

// written draws a text with files in it, each another one.
func (d *drawn) written() string {
	parts := strings.Split(markdown().Draw(d.T, "text"), "\n\n")
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(d.T, "files") {
		d.files++
		at := rapid.IntRange(0, len(parts)).Draw(d.T, "file")
		parts = slices.Insert(parts, at, fmt.Sprintf("MEDIA:/%d", d.files))
	}
	return strings.Join(parts, "\n\n")
}

// text has the model write a text.
func (d *drawn) text() {
	c := chapter{text: d.written()}
	written := 0 // of this text, at most
	for at := 0; at < len(c.text); {
		at = min(len(c.text), at+rapid.IntRange(1, 80).Draw(d.T, "more"))
		d.p.Text, d.p.Complete = c.text[:at], at == len(c.text)
		d.tell()
		written = max(written, at)
		switch rapid.IntRange(0, 19).Draw(d.T, "event") {
		case 0, 1, 2, 3, 4:
			pass(time.Duration(rapid.IntRange(1, 3000).Draw(d.T, "ms")) * time.Millisecond)
		case 5: // The model's stream breaks off, and what it writes then is the same.
			d.p.Text, d.p.Complete, at = "", false, 0
			d.tell()
		case 6: // It is another text.
			if len(c.drafts) < 3 {
				c.drafts = append(c.drafts, c.text[:written])
				c.text = d.written()
				d.p.Text, d.p.Complete, at, written = "", false, 0, 0
				d.tell()
			}
		case 7: // The host crashes, and the turn goes on where it was.
			d.turn = d.again()
			d.restarted, d.smooth = true, false
		case 8: // The turn asks something.
			d.fixture.mu.Lock()
			d.fixture.post(domain.OutboxItem{To: d.options.To, Text: question})
			d.asked = len(d.fixture.pieces)
			d.fixture.mu.Unlock()
			d.stream.Leave()
		case 9, 10, 11:
			d.fixture.mu.Lock()
			d.trouble()
			d.smooth = false
			d.fixture.mu.Unlock()
		}
	}
	d.story = append(d.story, c)
}

// trouble has the fixture fail in another way, or no more.
func (d *drawn) trouble() {
	switch rapid.SampledFrom([]string{"err", "err", "blind", "late", "old", "refused"}).Draw(d.T, "trouble") {
	case "err":
		d.fixture.err = rapid.SampledFrom([]error{nil, errRefused}).Draw(d.T, "err")
	case "blind":
		d.fixture.blind = rapid.SampledFrom([]error{nil, errRefused}).Draw(d.T, "blind")
	case "late":
		d.fixture.late = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(d.T, "late")
	case "old":
		d.fixture.old = true
	case "refused":
		d.fixture.noDraft = true
	}
}

// tools has the model use tools, one or two at a time.
func (d *drawn) tools() {
	for range rapid.IntRange(1, 2).Draw(d.T, "rounds") {
		n := rapid.IntRange(1, 2).Draw(d.T, "tools")
		for range n {
			d.use(bash("make"))
		}
		pass(time.Duration(rapid.IntRange(0, 4000).Draw(d.T, "ms")) * time.Millisecond)
		for range n {
			d.turn.used()
		}
		d.used += n
	}
}

// problem is what is wrong with the chat when all is over; empty: nothing.
func (d *drawn) problem() string {
	limit := d.options.Rule.Limit.Max
	for _, message := range d.fixture.all {
		if size := chat.Runes.Length(message); size > limit {
			return fmt.Sprintf("%d characters, over %d: %q", size, limit, message)
		}
		if strings.Count(message, "```")%2 != 0 {
			return fmt.Sprintf("a fence is not closed in %q", message)
		}
		if !headed(message) {
			return fmt.Sprintf("a table has no header in %q", message)
		}
	}
	listed := 0
	seen := slices.DeleteFunc(d.fixture.seen(), func(m string) bool {
		n := strings.Count(m, "- Bash")
		listed += n
		return n > 0 || m == question
	})
	if d.options.Verbose == "" && listed > 0 || listed > d.used || d.options.Verbose != "" && listed < d.used && !d.restarted {
		return fmt.Sprintf("%d tools are shown, %d were used:\n%s", listed, d.used, strings.Join(d.fixture.log, "\n"))
	}
	for i, p := range d.fixture.pieces {
		if p.Edits != 0 && p.Text != "" && int(p.Edits) <= d.asked && i >= d.asked && d.smooth {
			return fmt.Sprintf("a text is put before a question:\n%s", strings.Join(d.fixture.log, "\n"))
		}
	}
	shown := strings.Join(seen, "\n")
	for i, c := range d.story {
		for _, m := range answer.Parse(c.text, true).Media {
			if n := strings.Count(shown, "<"+m.Path+">"); n != 1 {
				return fmt.Sprintf("%s was sent %d times:\n%s", m.Path, n, strings.Join(d.fixture.log, "\n"))
			}
		}
		for _, draft := range c.drafts {
			for _, m := range answer.Parse(draft, true).Media {
				if n := strings.Count(shown, "<"+m.Path+">"); n > 1 {
					return fmt.Sprintf("%s was sent %d times:\n%s", m.Path, n, strings.Join(d.fixture.log, "\n"))
				}
			}
		}
		if d.smooth && d.options.Mode == stream.Blocks && d.options.Delay.Max == 0 && len(c.drafts) == 0 && !d.repeats(i) && !strings.Contains(bare(shown), d.placed(i)) {
			return fmt.Sprintf("a file is not in its place:\n%s\nwant\n%s\n%s", shown, d.placed(i), strings.Join(d.fixture.log, "\n"))
		}
	}
	if !d.tells(bare(sentFile.ReplaceAllString(shown, ""))) {
		return fmt.Sprintf("the chat has otherwise:\n%s\nwanted are\n%q\nin mode %d, a restart: %t\n%s",
			shown, d.story, d.options.Mode, d.restarted, strings.Join(d.fixture.log, "\n"))
	}
	return ""
}

// sentFile is a file as it is seen.
var sentFile = regexp.MustCompile("<[^>]*>")

// placed is how a text is seen with its files, but those at its end.
func (d *drawn) placed(i int) string {
	a := answer.Parse(d.story[i].text, true)
	var b strings.Builder
	at := 0
	for _, m := range a.Media {
		if m.At < len(a.Text) || i < len(d.story)-1 {
			b.WriteString(a.Text[at:m.At] + "\n<" + m.Path + ">\n")
			at = m.At
		}
	}
	return bare(b.String() + a.Text[at:])
}

// visible is what is bare of a text in the chat.
func visible(text string, over bool) string { return bare(answer.Parse(text, over).Text) }

// repeats reports whether a text was said before.
func (d *drawn) repeats(i int) bool {
	return slices.ContainsFunc(d.story[:i], func(before chapter) bool { return visible(before.text, true) == visible(d.story[i].text, true) })
}

// tells reports whether what is shown are the texts of the turn.
func (d *drawn) tells(shown string) bool {
	places := map[int]bool{0: true} // up to which the texts so far may be shown
	for i, c := range d.story {
		last := i == len(d.story)-1
		past := map[int]bool{}
		brokenOff := c.drafts
		if !last && d.restarted {
			brokenOff = append(slices.Clip(brokenOff), c.text) // What was left of it went with the host.
		}
		for _, draft := range brokenOff {
			for place := range places {
				maps.Copy(past, restarts(shown, place, visible(draft, false)))
			}
			maps.Copy(places, past)
		}
		whole := map[int]bool{}
		if d.repeats(i) || !last && (d.options.Mode != stream.Blocks && !d.options.Steps || d.restarted) {
			maps.Copy(whole, places)
		}
		for place := range places {
			if text := visible(c.text, true); strings.HasPrefix(shown[place:], text) {
				whole[place+len(text)] = true
			}
		}
		places = whole
	}
	return places[len(shown)]
}

// restarts returns where a text may go on of which a beginning is shown, with the line that says so behind it.
func restarts(shown string, place int, text string) map[int]bool {
	places := map[int]bool{}
	for n := 0; n < len(text) && place+n < len(shown) && text[n] == shown[place+n]; n++ {
		if restarted := bare(wording.AnswerRestarted); strings.HasPrefix(shown[place+n+1:], restarted) {
			places[place+n+1+len(restarted)] = true
		}
	}
	return places
}

// again is the turn in the host's next process: a new stream with the state of the store.
func (u *turn) again() *turn {
	u.stream.End()
	u.fixture.mu.Lock()
	defer u.fixture.mu.Unlock()
	again := begin(u.t, u.options, u.fixture, &domain.Run{Said: u.fixture.said, Preview: u.fixture.preview})
	again.p, again.before = agent.Progress{Text: u.p.Text, Complete: u.p.Complete}, u.before
	return again
}

// markdown makes a text of paragraphs, code and tables.
func markdown() *rapid.Generator[string] {
	paragraph := rapid.StringMatching(`([a-z]{1,9}[.,]? ){1,20}[a-z]{1,9}[.]?`)
	code := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`\t?[a-z(){};]{1,30}`), 1, 12), func(lines []string) string {
		return "```go\n" + strings.Join(lines, "\n") + "\n```"
	})
	table := rapid.Map(rapid.SliceOfN(rapid.StringMatching(`\|r[a-z.]{0,9}\|([a-z]{1,9} ){0,5}[a-z]\|`), 1, 12), func(rows []string) string {
		return "|H|-|\n|-|-|\n" + strings.Join(rows, "\n")
	})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(paragraph, paragraph, code, table), 1, 6), func(blocks []string) string {
		return strings.Join(blocks, "\n\n")
	})
}

// headed reports whether the header of markdown's tables stands over every row of one.
func headed(message string) bool {
	over := false
	for line := range strings.Lines(message) {
		switch {
		case strings.HasPrefix(line, "|H"):
			over = true
		case strings.TrimSpace(line) == "":
			over = false
		case strings.HasPrefix(line, "|r") && !over:
			return false
		}
	}
	return true
}

// bare returns a text without blanks, the lines of fences and the headers of tables.
func bare(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "|H") && !strings.HasPrefix(line, "|-") {
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
			if got := bare(strings.Join(u.fixture.seen(), "\n")); got != bare(text) {
				t.Errorf("after %d pieces: %q", at, got)
			}
			if a := answer.Parse(text, true); !strings.HasPrefix(a.Text, u.fixture.said) {
				t.Errorf("after %d pieces: said %q", at, u.fixture.said)
			}
		})
	}
}
