package stream

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/text/answer"
)

// Stream shows one turn, and finishes its answer. Its goroutine runs from [Stream.Start] to [Stream.End].
type Stream struct {
	*sent
	options Options
	surface Surface
	cancel  context.CancelFunc
	news    chan struct{} // buffers one: there is unprocessed progress
	ended   chan struct{} // nil: it was not started

	mu     sync.Mutex
	latest agent.Progress
	gone   atomic.Bool // the draft may be no longer visible
	behind atomic.Bool // something else of the turn was sent after the preview
	paused atomic.Int32

	waitedMu sync.Mutex
	waitsAt  time.Time     // since when the turn waits for people, if it is paused
	waited   time.Duration // for how long it has, before

	// The goroutine owns the fields below until ended is closed. The first changes only while it also holds sending.

	done   int // the steps that were processed
	cutter *cutter
	silent bool // nothing more is sent early

	tools   []agent.ToolUse // used, but not shown yet
	toolsAt time.Time       // when the first of them ended
	blockAt time.Time       // no block is sent before
	written string          // the current text
	making  answer.Answer   // its parsed form
	since   time.Time       // when it last changed

	over    bool     // End has set the fields below
	remains string   // the part of an unfinished text that the chat was shown
	before  []string // what must be sent before the answer, as Markdown

	shown   string // by the preview or the draft
	shownAt time.Time
	running map[agent.ToolUse]time.Time // since when they run
}

// New returns the stream of a run's turn, which shows nothing before Start. It continues after what earlier attempts have sent.
func New(o Options, surface Surface, run *domain.Run) *Stream {
	return newStream(o, surface, newSent(run))
}

func newStream(o Options, surface Surface, sent *sent) *Stream {
	return &Stream{
		sent: sent, options: o, surface: surface, cutter: o.cutter(sent.begun), cancel: func() {},
		news: make(chan struct{}, 1), since: time.Now(), running: map[agent.ToolUse]time.Time{},
	}
}

// Again returns the stream of the same run in a new conversation: nothing that was sent of its texts counts any more. It is called
// after End.
func (s *Stream) Again(o Options) *Stream {
	s.texts = texts{}
	again := newStream(o, s.surface, s.sent)
	again.waited = s.Waited()
	return again
}

// Start begins to show the turn, if anything is shown. The context is the turn's: nothing is sent after it is done.
func (s *Stream) Start(ctx context.Context) {
	if !s.options.Shows() {
		return
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended = make(chan struct{})
	go s.run(ctx)
}

// Progress takes the turn's progress. It does not block; only the latest counts.
func (s *Stream) Progress(p agent.Progress) {
	s.mu.Lock()
	idle := s.ended == nil || s.options.tooShort(s.latest, p)
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
	s.waitedMu.Lock()
	if s.paused.Add(1) == 1 {
		s.waitsAt = time.Now()
	}
	s.waitedMu.Unlock()
	s.poke()
}

// Resume notes that the turn continues after a Pause.
func (s *Stream) Resume() {
	s.waitedMu.Lock()
	if s.paused.Add(-1) == 0 {
		s.waited += time.Since(s.waitsAt)
	}
	s.waitedMu.Unlock()
	s.poke()
}

// Waited returns for how long the turn has waited for people.
func (s *Stream) Waited() time.Duration {
	s.waitedMu.Lock()
	defer s.waitedMu.Unlock()
	if s.paused.Load() > 0 {
		return s.waited + time.Since(s.waitsAt)
	}
	return s.waited
}

func (s *Stream) poke() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// End stops the stream and waits for it. It may be called again.
func (s *Stream) End() {
	s.cancel()
	if s.ended != nil {
		<-s.ended
	}
	if s.over {
		return
	}
	s.over = true
	if s.shown != "" {
		s.remains = s.growing()
	}
	s.before = s.unsent()
}

// Latest returns the progress that was taken last.
func (s *Stream) Latest() agent.Progress {
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
		p := s.Latest()
		now := time.Now()
		if p.Text != s.written {
			s.written, s.making, s.since = p.Text, answer.Parse(p.Text, false), now
			if s.ByTool(s.making.Text, false) {
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

// Hold waits until nothing of the turn's texts is being sent, and lets nothing be sent until Release.
func (s *Stream) Hold() Held {
	s.sending <- struct{}{}
	return Held{s}
}

func (s *Stream) has(text string) bool {
	words := strings.Fields(text)
	is := func(sent string) bool { return slices.Equal(strings.Fields(sent), words) }
	if slices.ContainsFunc(s.whole, is) {
		return true
	}
	p := s.Latest()
	for _, step := range p.Done[s.processed(p):] {
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

// processed returns how many of the steps were processed. Another attempt of the turn begins at zero.
func (s *Stream) processed(p agent.Progress) int {
	if s.done > len(p.Done) {
		return 0
	}
	return s.done
}
