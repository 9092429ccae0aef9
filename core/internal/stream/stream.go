package stream

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
)

// Stream shows one turn. Its goroutine runs from [Start] to [Stream.End].
type Stream struct {
	options Options
	nothing bool // nothing of the turn's progress is shown
	surface Surface
	cancel  context.CancelFunc
	news    chan struct{} // buffers one: there is unprocessed progress
	ended   chan struct{}

	mu     sync.Mutex
	latest agent.Progress
	gone   atomic.Bool // the draft may be no longer visible
	behind atomic.Bool // something else of the turn was sent after the preview
	paused atomic.Int32

	// The goroutine owns the fields below until ended is closed. The first two change only while it also holds sending.

	sending chan struct{} // buffers one: a lock
	sent
	done int // the steps that were processed

	cutter *cutter
	silent bool   // nothing more is sent early
	stored string // what the store has as said

	tools   []agent.ToolUse // used, but not shown yet
	toolsAt time.Time       // when the first of them ended
	blockAt time.Time       // no block is sent before
	written string          // the current text
	making  answer.Answer   // its parsed form
	since   time.Time       // when it last changed

	shown   string // by the preview or the draft
	shownAt time.Time
	running map[agent.ToolUse]time.Time // since when they run
}

// sent is what was sent of a turn's texts.
type sent struct {
	said    string   // of the current text
	files   int      // how many of its files were taken
	anew    bool     // something was sent that the current text does not continue
	begun   bool     // anything was sent
	whole   []string // texts before the answer that were sent completely
	preview int64
}

// Start begins to show a turn. The context is the turn's: nothing is sent after it is done.
func Start(ctx context.Context, o Options, surface Surface) *Stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &Stream{
		options: o, nothing: !o.Shows(), surface: surface, cancel: cancel,
		news: make(chan struct{}, 1), ended: make(chan struct{}), sending: make(chan struct{}, 1),
		sent:   sent{said: o.Said, begun: o.Said != "", preview: o.PreviewID},
		cutter: o.cutter(o.Said != ""), stored: o.Said,
		since:   time.Now(),
		running: map[agent.ToolUse]time.Time{},
	}
	go s.run(ctx)
	return s
}

// Progress takes the turn's progress. It does not block; only the latest counts.
func (s *Stream) Progress(p agent.Progress) {
	s.mu.Lock()
	idle := s.nothing || s.options.tooShort(s.latest, p)
	s.latest = p
	s.mu.Unlock()
	if !idle {
		s.poke()
	}
}

// Redraw notes that a draft may be no longer visible, because something was sent after it: it is shown again. It does
// not block.
func (s *Stream) Redraw() {
	s.gone.Store(true)
	s.poke()
}

// Leave notes that something of the turn was sent that is not part of the answer, such as a question. The preview is
// deleted, and a new one follows for the rest of the text. It does not block.
func (s *Stream) Leave() {
	s.behind.Store(true)
	s.poke()
}

// Pause notes that the turn waits for people: no tool is shown as running until Resume has been called as often. It
// does not block.
func (s *Stream) Pause() {
	s.paused.Add(1)
	s.poke()
}

// Resume notes that the turn continues after a Pause.
func (s *Stream) Resume() {
	s.paused.Add(-1)
	s.poke()
}

func (s *Stream) poke() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// End stops the stream, waits for it, and returns what it has sent of the turn's latest progress.
func (s *Stream) End() Outcome {
	s.cancel()
	<-s.ended
	return s.outcome(s.progress())
}

func (s *Stream) progress() agent.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

func (s *Stream) run(ctx context.Context) {
	defer close(s.ended)
	defer s.leave(ctx) // An answer to the question does not keep the preview before it.
	updating, cancelUpdates := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelUpdates()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastUpdateTimeout, cancelUpdates) })
	defer stop()
	for ctx.Err() == nil {
		p := s.progress()
		now := time.Now()
		if p.Text != s.written {
			s.written, s.making, s.since = p.Text, answer.Parse(p.Text, false), now
			if s.surface.Sent(s.making.Text, false) {
				s.making = answer.Answer{}
			}
		}
		s.sending <- struct{}{}
		s.leave(ctx) // Here, because what held the stream may have sent something.
		next := s.send(ctx, p)
		<-s.sending
		next = soonest(next, s.show(ctx, updating, p))
		if len(p.Text) > longText {
			// Whatever arrived meanwhile is processed together.
			if !wait(ctx, nil, now.Add(pace)) {
				return
			}
		}
		if !wait(ctx, s.news, next) {
			return
		}
	}
}

// Hold calls f while none of the turn's texts is sent. f may ask whether the stream has sent a text before a tool, or a
// part of it, so that the chat gets the rest too. Spaces are ignored.
func (s *Stream) Hold(f func(has func(text string) bool) error) error {
	s.sending <- struct{}{}
	defer func() { <-s.sending }()
	return f(s.has)
}

func (s *Stream) has(text string) bool {
	words := strings.Fields(text)
	is := func(sent string) bool { return slices.Equal(strings.Fields(sent), words) }
	if slices.ContainsFunc(s.whole, is) {
		return true
	}
	p := s.progress()
	for _, step := range p.Done[s.dealt(p):] {
		if step.Tool.Name == "" {
			return textOf(step).begun(s.said) && is(answer.Parse(step.Text, true).Text)
		}
	}
	return false
}

// wait returns when there is news or at the given time, the zero time meaning never; false: the context is done.
func wait(ctx context.Context, news <-chan struct{}, until time.Time) bool {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-news:
	case <-alarm:
	}
	return true
}

// soonest returns the earlier time; the zero time is never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// outcome returns what was sent, and what was not, of an ended turn.
func (s *Stream) outcome(p agent.Progress) Outcome {
	sent := s.sent
	var before []string
	tools := append([]agent.ToolUse(nil), s.tools...)
	tell := func() {
		if len(tools) > 0 {
			before = append(before, toolList(tools, s.options.Verbose))
			tools = nil
		}
	}
	for _, step := range p.Done[s.dealt(p):] {
		if step.Tool.Name != "" {
			if s.options.listsTools() {
				tools = append(tools, step.Tool)
			}
			continue
		}
		t := textOf(step)
		if rest := sent.left(t.Answer); s.sendsSteps(sent, t) && rest != "" {
			tell()
			before = append(before, rest)
			sent.said, sent.anew, sent.begun = t.Text, false, true
		}
		sent.finish(t)
	}
	tell()
	shown := ""
	if s.shown != "" {
		shown = s.growing()
	}
	return Outcome{
		Shown: shown,
		Said:  sent.said, Preview: sent.preview, Restart: sent.anew, Begun: sent.begun,
		Whole: sent.whole, Before: before,
	}
}

// dealt returns how many of the steps were processed. Another attempt of the turn begins at zero.
func (s *Stream) dealt(p agent.Progress) int {
	if s.done > len(p.Done) {
		return 0
	}
	return s.done
}
