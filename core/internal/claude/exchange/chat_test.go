package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
	replies "github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// wall is a chat that turns are streamed to.
type wall struct {
	mu      sync.Mutex
	err     error    // of what is sent and shown early
	texts   []string // of the messages; empty: deleted
	said    string
	preview int64
	shows   int // what was shown for a while
}

func (w *wall) Early(_ context.Context, e domain.Early) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.post(e.Items...)
	if e.Unpreview {
		w.preview = 0
	}
	if e.Preview != nil {
		w.post(*e.Preview)
		w.preview = int64(len(w.texts))
	}
	w.said = e.Said
	return w.preview, nil
}

func (w *wall) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

func (w *wall) post(pieces ...domain.OutboxItem) {
	for _, p := range pieces {
		if p.Edits != 0 {
			w.texts[p.Edits-1] = p.Text
		} else {
			w.texts = append(w.texts, p.Text)
		}
	}
}

func (w *wall) Show(_ context.Context, preview int64, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.texts[preview-1] = text
		w.shows++
	}
	return w.err
}

func (w *wall) Draft(context.Context, string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shows++
	return w.err
}

func (w *wall) Behind(context.Context) (time.Time, error) { return time.Time{}, nil }

func (*wall) Files(context.Context, []string, bool) domain.Early { return domain.Early{} }

func (*wall) Deletes() bool { return false }

// written has an exchange read the lines of a stream and shows the chat what it tells, with the answer at the end; after each line
// something else may happen.
func (w *wall) written(t *testing.T, x *Exchange, lines [][]byte, o stream.Options, after func()) {
	s := stream.New(o, w, &domain.Run{})
	s.Start(t.Context())
	for _, line := range lines {
		e, err := protocol.Parse(line)
		if err != nil {
			continue
		}
		x.Observe(e)
		if p, changed := x.Progress(); changed {
			s.Progress(p)
		}
		after()
	}
	s.End()
	w.post(s.Finish(replies.Parse(cmp.Or(x.Outcome().Text, none), true), stream.Rest{})...)
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// none is sent where there is no answer.
const none = "(none)"

// letters is a text without blanks.
func letters(text string) string { return strings.Join(strings.Fields(text), "") }

// lacks tells what is wrong with the chat of an exchange that is over, if anything is. It has the texts of the turns in order: those
// before a tool may be missing where blocks are not sent. Beginnings of what was taken back may stand before any of them, each with
// the line behind it that says so.
func (w *wall) lacks(x *Exchange, o stream.Options, drafts []string) string {
	shown := letters(strings.Join(w.texts, "\n"))
	restarted := letters(wording.AnswerRestarted)
	places := map[int]bool{0: true} // up to which the texts so far may be shown
	text := func(past, own string, may bool) {
		for at := 0; at <= len(shown); at++ {
			if !places[at] {
				continue
			}
			for _, draft := range drafts {
				if stood := letters(past); strings.HasPrefix(draft, stood) && !strings.HasPrefix(shown[at:], draft) {
					draft = draft[len(stood):]
				}
				for n := 1; n <= len(draft) && strings.HasPrefix(shown[at:], draft[:n]); n++ {
					if strings.HasPrefix(shown[at+n:], restarted) {
						places[at+n+len(restarted)] = true
					}
				}
			}
		}
		next := map[int]bool{}
		for at := range places {
			if may {
				next[at] = true
			}
			for _, whole := range []string{letters(own), letters(past + own)} { // the latter if everything starts again
				if strings.HasPrefix(shown[at:], whole) {
					next[at+len(whole)] = true
				}
			}
		}
		places = next
	}
	past, before := "", map[string]bool{}
	steps := x.shown.done
	for _, turn := range append(slices.Clip(x.over), nil) {
		for len(steps) > 0 && (turn == nil || steps[0].Tool.Name != "" || steps[0].Earlier == past) {
			if steps[0].Tool.Name == "" {
				text(past, steps[0].Text, o.Mode != stream.Blocks || before[letters(steps[0].Text)])
				before[letters(steps[0].Text)] = true
			}
			steps = steps[1:]
		}
		if turn != nil && turn.succeeded() {
			text(past, turn.text(), before[letters(past+turn.text())])
			if past += turn.text(); past != "" {
				past += paragraph
			}
		}
	}
	if x.Outcome().Text == "" {
		text("", none, false)
	}
	if places[len(shown)] {
		return ""
	}
	return fmt.Sprintf("the chat has %q in mode %d, the steps are %+v, the answer %q, and begun was with %q", w.texts, o.Mode, x.shown.done, x.Outcome().Text, drafts)
}

// Whatever the CLI writes, the chat has the texts of it once and in order in the end.
// Behaviour: answer-once.
func TestChatShowsTextsOfTheCLI(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &scene{t: rt}
		x := New("m")
		s.turn("m")
		if rapid.Bool().Draw(rt, "steered") {
			if !x.Expect("l") {
				rt.Fatal("expect")
			}
			s.turn("l")
		}
		var lines [][]byte
		for _, fields := range s.lines {
			line, err := json.Marshal(fields)
			if err != nil {
				rt.Fatal(err)
			}
			lines = append(lines, line)
		}
		var drafts []string
		for _, text := range s.want {
			drafts = append(drafts, letters(text))
		}
		o := stream.Options{
			Mode:     rapid.SampledFrom([]stream.Mode{stream.Off, stream.Blocks, stream.Preview, stream.Draft}).Draw(rt, "mode"),
			Rule:     chunk.Rule{Limit: chat.TextLimit{Max: rapid.IntRange(30, 100).Draw(rt, "limit"), Unit: chat.Runes}},
			Block:    stream.Block{Min: rapid.IntRange(0, 8).Draw(rt, "min"), Max: 20, Idle: time.Second, At: chunk.Sentence},
			Interval: 300 * time.Millisecond,
		}
		passes := rapid.SliceOfN(rapid.IntRange(0, 1500), len(lines), len(lines)).Draw(rt, "passes")
		fails := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 1, 2}), len(lines), len(lines)).Draw(rt, "fails")
		problem := ""
		synctest.Test(t, func(t *testing.T) {
			w, line := new(wall), 0
			w.written(t, x, lines, o, func() {
				synctest.Wait()
				switch fails[line] {
				case 1:
					w.fail(errors.New("refused"))
				case 2:
					w.fail(nil)
				}
				pass(time.Duration(passes[line]) * time.Millisecond)
				line++
			})
			problem = w.lacks(x, o, drafts)
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// The same of what the real CLI wrote.
// Behaviour: answer-once.
func TestChatShowsRecordedStreams(t *testing.T) {
	t.Parallel()
	shows := 0
	for _, name := range recordings.Streams(t) {
		for _, mode := range []stream.Mode{stream.Off, stream.Blocks, stream.Preview, stream.Draft} {
			id := ""
			if strings.HasPrefix(name, "2.1.329") {
				id = first
			}
			var drafts []string
			for _, p := range watched(t, New(id), recordings.Stream(t, name)) {
				drafts = append(drafts, letters(p.Text))
			}
			o := stream.Options{Mode: mode, Block: stream.Block{At: chunk.Sentence}, Interval: time.Millisecond}
			synctest.Test(t, func(t *testing.T) {
				w, x := new(wall), New(id)
				w.written(t, x, recordings.Stream(t, name), o, func() { pass(time.Second) })
				if !x.Succeeded() {
					return // The chat gets a notice of a failure.
				}
				if problem := w.lacks(x, o, drafts); problem != "" {
					t.Errorf("%s: %s", name, problem)
				}
				shows += w.shows
			})
		}
	}
	if shows == 0 {
		t.Error("nothing was shown")
	}
}
