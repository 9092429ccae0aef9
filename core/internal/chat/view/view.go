// Package view shows the progress of a run's turn in its chat, and makes the items of its answer.
package view

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/stream"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/text/answer"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Store is what views need of the store.
type Store interface {
	Early(ctx context.Context, run int64, e domain.Early) (preview int64, err error)
	SentItem(ctx context.Context, id int64) (chat.MessageID, time.Time, error)
	OldestUndelivered(ctx context.Context, to chat.Address) (time.Time, error)
	MessageIDs(ctx context.Context, session string) ([]chat.MessageID, error)
}

// Programs get the progress of the turns that they follow. gateway.Gateway implements it.
type Programs interface {
	// Progress takes the progress of the turn of a session's message, by its id for Claude. It does not block.
	Progress(session, message string, p agent.Progress)
}

// Options are the settings and collaborators of views.
type Options struct {
	Store         Store
	Plugins       *plugins.Registry
	Chats         *activity.Chats
	Conversations *conversation.Resolver
	Files         map[string]*outgoing.Files // by the agent's label
	Speaker       *speech.Speaker            // synthesises the speech of answers
	Programs      Programs
	Metrics       *metrics.Metrics // count how long chats wait for the first word; nil: nothing does
}

// Views opens views. It is safe for concurrent use.
type Views struct {
	options  Options
	log      hclog.Logger
	drafts   drafts
	unspoken notified
	lives    lives
}

// New returns what opens views.
func New(options Options, log hclog.Logger) *Views {
	return &Views{options: options, log: log}
}

// For returns the view of a run. It shows nothing before [View.Open].
func (vs *Views) For(run *conversation.Run) *View {
	v := &View{views: vs, run: run, known: known{store: vs.options.Store, run: run, log: vs.log}}
	v.stream = stream.New(v.streaming(), &surface{view: v}, run.Run)
	return v
}

// View is what a run's chat sees of its turn while it runs, and of its answer.
type View struct {
	views  *Views
	run    *conversation.Run
	known  known            // the messages that the agent may name
	typing *activity.Typing // nil: none
	stream *stream.Stream
	spoke  bool         // the answer has begun
	trace  string       // the id of the turn's trace; empty: none is recorded
	seen   atomic.Bool  // the chat was sent a part of the answer, or of the progress
	first  atomic.Int64 // after how many nanoseconds
}

// Open begins to show the turn, until [View.End]. The context is the turn's.
func (v *View) Open(ctx context.Context) {
	v.typing = v.views.options.Chats.Type(v.run)
	v.trace = trace.ID(ctx)
	v.show(ctx)
}

func (v *View) show(ctx context.Context) {
	v.stream.Start(ctx)
	v.views.options.Chats.Begin(v.stream, v.run.Head.Message.Address())
	v.views.lives.begin(v.stream, v.run)
}

// Progress takes the turn's progress. It does not block.
func (v *View) Progress(p agent.Progress) {
	if v.typing != nil {
		v.spoke = v.spoke || p.Text != "" && answer.Parse(p.Text, false).Text != ""
		v.typing.Heard(v.spoke)
	}
	v.stream.Progress(p)
	v.views.options.Programs.Progress(v.run.Session.Key, v.run.Head.UUID, p)
}

// see notes that the chat was sent a part of the answer. The first one of the first attempt is what its writer has waited for.
func (v *View) see() {
	if head := v.run.Head; !v.seen.Swap(true) && head.Attempts == 1 {
		waited := time.Since(head.ReceivedAt)
		v.first.Store(int64(waited))
		v.views.options.Metrics.FirstWord(v.run.Agent.Label, waited, v.trace)
	}
}

// FirstWord returns how long the message has waited until the chat was sent a part of its answer, or of the progress; zero: it was
// not, or by an earlier attempt.
func (v *View) FirstWord() time.Duration { return time.Duration(v.first.Load()) }

// Hold waits until nothing of the turn's texts is being sent, and lets nothing be sent until it is released.
func (v *View) Hold() stream.Held { return v.stream.Hold() }

// Target returns the message to reply to for one that the agent names, as in [answer.Reply]; empty: none.
func (v *View) Target(name string) chat.MessageID { return v.quoting().Target(name, false) }

// Message implements [answer.Messages]: it returns the id of a message that the agent names; empty: none, or several.
func (v *View) Message(name string) chat.MessageID { return v.known.Message(name) }

// End ends what is shown of the turn. It may be called again.
func (v *View) End() {
	v.views.options.Chats.End(v.stream)
	v.views.lives.end(v.stream)
	v.stream.End()
}

// Restart shows the turn again after End: the run is in a new conversation, and nothing that was shown counts any more.
func (v *View) Restart(ctx context.Context) {
	v.stream = v.stream.Again(v.streaming())
	v.show(ctx)
}

// Notice returns the items of a notice in place of the answer. It is called after End.
func (v *View) Notice(items []domain.OutboxItem) []domain.OutboxItem { return v.stream.Replace(items) }

// Left returns the items that leave the shown part of an unfinished answer in the chat. It is called after End.
func (v *View) Left() []domain.OutboxItem {
	if shown := v.stream.Shown(); shown != "" && !v.run.Head.Message.Silent {
		return v.signed(v.stream.ReplaceQuietly(v.run.Notice(shown)))
	}
	return v.stream.ReplaceQuietly(nil)
}

// Close is called last, when the run is completed or has lost its lane.
func (v *View) Close() {
	if v.typing != nil {
		v.typing.End()
	}
}
