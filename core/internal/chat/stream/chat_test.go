package stream_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/core/internal/text/chunk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// fixture is a chat with an outbox that is empty at once, and the store's note of what was sent.
type fixture struct {
	begun time.Time
	to    chat.Address
	err   error // of Early, Show and Draft
	blind error // of Behind
	late  time.Duration
	slow  time.Duration // how long Behind takes
	old   bool          // the preview is too old to be edited

	noDraft bool // drafts are refused
	deletes bool // previews can be deleted

	mu      sync.Mutex
	log     []string // what happened, each with its time
	all     []string // what could be seen, ever
	pieces  []domain.OutboxItem
	said    string
	preview int64
	files   []string // that were sent early
}

func (r *fixture) Early(_ context.Context, e domain.Early) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	for _, p := range e.Items {
		r.post(p)
	}
	if e.Unpreview {
		r.preview = 0
	}
	if e.Preview != nil {
		r.post(*e.Preview)
		r.preview, r.old = int64(len(r.pieces)), false
	}
	if len(e.Items) == 0 && e.Preview == nil {
		r.note("said %q", e.Said)
	}
	if e.Sent != nil {
		r.files = append(r.files, e.Sent.Files...)
	}
	r.said = e.Said
	return r.preview, nil
}

// post sends a piece, whose id is its place.
func (r *fixture) post(p domain.OutboxItem) {
	r.pieces, r.all = append(r.pieces, p), append(r.all, p.Text)
	text := p.Text
	if p.ReplyTo != "" {
		text = fmt.Sprintf("(to %s) %s", p.ReplyTo, text)
	}
	for _, row := range p.Buttons {
		for _, b := range row {
			text += " <" + b.Label + ">"
		}
	}
	switch {
	case p.Kept && p.Edits == 0:
		r.note("preview %d: %s", len(r.pieces), text)
	case p.Kept:
		r.note("preview %d in the place of %d: %s", len(r.pieces), p.Edits, text)
	case p.Edits == 0 && len(p.Media) > 0:
		r.note("file: %s", file(p))
	case len(p.Media) > 0:
		r.note("file in the place of %d: %s", p.Edits, file(p))
	case p.Edits == 0:
		r.note("send: %s", text)
	case p.Text == "":
		r.note("delete %d", p.Edits)
	default:
		r.note("settle %d: %s", p.Edits, text)
	}
}

// file is how the files of a piece are seen.
func file(p domain.OutboxItem) (seen string) {
	for _, m := range p.Media {
		seen += "<" + m.FileName + ">"
	}
	return seen
}

// Files takes files that were not sent yet.
func (r *fixture) Files(_ context.Context, paths []string, _ bool) (e domain.Early) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := domain.SentByTool{}
	piece := domain.OutboxItem{To: r.to}
	for _, path := range paths {
		if !slices.Contains(r.files, path) {
			sent.Files, piece.Media = append(sent.Files, path), append(piece.Media, chat.Media{FileName: path})
		}
	}
	if len(sent.Files) == 0 {
		return e
	}
	return domain.Early{Items: []domain.OutboxItem{piece}, Sent: &sent}
}

// Deletes implements [stream.Surface].
func (r *fixture) Deletes() bool { return r.deletes }

func (r *fixture) Show(_ context.Context, preview int64, text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.old {
		return stream.ErrLate
	}
	r.all = append(r.all, text)
	r.note("show %d: %s", preview, text)
	return r.err
}

func (r *fixture) Draft(_ context.Context, text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noDraft {
		r.note("no draft: %s", text)
		return stream.ErrRefused
	}
	r.all = append(r.all, text)
	r.note("draft: %s", text)
	return r.err
}

func (r *fixture) Behind(ctx context.Context) (time.Time, error) {
	time.Sleep(r.slow)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := stdcmp.Or(r.blind, ctx.Err()); err != nil || r.late == 0 {
		return time.Time{}, err
	}
	return time.Now().Add(-r.late), nil
}

func (r *fixture) note(format string, args ...any) {
	at := time.Since(r.begun).Truncate(100 * time.Millisecond)
	r.log = append(r.log, fmt.Sprintf("%v ", at)+fmt.Sprintf(format, args...))
}

// seen is what stands in the chat.
func (r *fixture) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts, messages := make([]string, len(r.pieces)), make([]int, len(r.pieces))
	for i, p := range r.pieces {
		messages[i] = i
		if p.Edits != 0 {
			messages[i] = messages[p.Edits-1]
		}
		texts[messages[i]] = p.Text + file(p)
	}
	var seen []string
	for _, text := range texts {
		if text != "" {
			seen = append(seen, text)
		}
	}
	return seen
}

// turn is a turn as it goes on.
type turn struct {
	t       testing.TB
	fixture *fixture
	options stream.Options
	stream  *stream.Stream
	p       agent.Progress
	before  []string // the texts before the answer
}

func start(t testing.TB, o stream.Options) *turn {
	if o.To == (chat.Address{}) {
		o.To = chat.Address{Channel: "c", Chat: "1"}
	}
	if o.Rule.Limit.Max == 0 {
		o.Rule.Limit = chat.TextLimit{Max: 2000, Unit: chat.Runes}
	}
	if o.Block.At == 0 {
		o.Block.At = chunk.Paragraph
	}
	r := &fixture{begun: time.Now(), to: o.To}
	o.Files = true
	return begin(t, o, r, &domain.Run{})
}

// begin begins a turn of a run.
func begin(t testing.TB, o stream.Options, r *fixture, run *domain.Run) *turn {
	u := &turn{t: t, fixture: r, options: o, stream: stream.New(o, r, run)}
	u.stream.Start(t.Context())
	return u
}

// resume has the turn be another attempt of a run.
func (u *turn) resume(said string, preview int64) {
	u.stream.End()
	u.fixture.said, u.fixture.preview = said, preview
	u.stream = stream.New(u.options, u.fixture, &domain.Run{Said: said, Preview: preview})
	u.stream.Start(u.t.Context())
}

// sendByTool has the agent send a text by a tool.
func (u *turn) sendByTool(text string) {
	held := u.stream.Hold()
	defer held.Release()
	held.Add(domain.SentByTool{Text: text}, nil)
}

func (u *turn) tell() {
	u.stream.Progress(u.p)
	synctest.Wait()
}

// write adds to the text being written, a moment after another.
func (u *turn) write(texts ...string) {
	for _, text := range texts {
		u.p.Text += text
		u.p.Complete = false
		u.tell()
		pass(100 * time.Millisecond)
	}
}

func (u *turn) complete() {
	u.p.Complete = true
	u.tell()
}

// use has a tool begin, behind the text.
func (u *turn) use(tool agent.ToolUse) {
	if u.p.Text != "" {
		u.p.Done = append(u.p.Done, agent.Step{Text: u.p.Text})
		u.before = append(u.before, u.p.Text)
	}
	u.p.Text, u.p.Complete = "", false
	u.p.Running = append([]agent.ToolUse{}, append(u.p.Running, tool)...)
	u.tell()
}

// plan has the list of what is to do change.
func (u *turn) plan(list ...domain.Todo) {
	u.p.Todos = list
	u.tell()
}

// used has the oldest tool end.
func (u *turn) used() {
	u.p.Done = append(u.p.Done, agent.Step{Tool: u.p.Running[0]})
	u.p.Running = u.p.Running[1:]
	u.tell()
}

// finish ends the turn with the text as its answer.
func (u *turn) finish() {
	u.stream.End()
	a := answer.Parse(u.p.Text, true)
	var within []stream.Placed
	var behind []domain.OutboxItem
	place := func(a answer.Answer, end int) {
		for _, m := range a.Media {
			taken := u.fixture.Files(u.t.Context(), []string{m.Path}, false)
			switch {
			case taken.Items == nil:
			case m.At < end:
				within = append(within, stream.Placed{At: m.At, Media: taken.Items[0].Media})
			default:
				behind = append(behind, taken.Items...)
			}
		}
	}
	for _, text := range u.before {
		place(answer.Parse(text, true), 0)
	}
	place(a, len(a.Text))
	for _, p := range u.stream.Finish(a, stream.Rest{Files: within, Behind: behind}) {
		u.fixture.post(p)
	}
}

func (u *turn) happened(want ...string) {
	u.t.Helper()
	u.fixture.mu.Lock()
	defer u.fixture.mu.Unlock()
	if diff := cmp.Diff(want, u.fixture.log); diff != "" {
		u.t.Error(diff)
	}
}

// pass lets time pass: in a bubble, a timer that alone is waited for.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var errRefused = errors.New("refused")

func bash(summary string) agent.ToolUse { return agent.ToolUse{Name: "Bash", Summary: summary} }

const tea = "One boils water.\n\nThen waits."
