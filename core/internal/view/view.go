// Package view shows the progress of a run's turn in its chat, and makes the items of its answer.
package view

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/plugins"
	"github.com/clawhost/clawhost/core/internal/remote"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/core/internal/turn"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Store is what views need of the store.
type Store interface {
	Early(ctx context.Context, run int64, e domain.Early) (preview int64, err error)
	SentItem(ctx context.Context, id int64) (chat.MessageID, time.Time, error)
	OldestUndelivered(ctx context.Context, to chat.Address) (time.Time, error)
	Session(ctx context.Context, key string) (domain.Session, error)
	PostByTool(ctx context.Context, run int64, p domain.ToolPost) (number int64, err error)
	ChangeByTool(ctx context.Context, run int64, c domain.ToolChange) error
	SentBySession(ctx context.Context, session, channel string, in chat.ID, id chat.MessageID) (bool, error)
	MessageIDs(ctx context.Context, session string) ([]chat.MessageID, error)
	AgentMessage(ctx context.Context, session string, number int64) (domain.AgentMessage, error)
}

// Sessions knows the sessions of chats.
type Sessions interface {
	// Session returns the key of a chat's session. A direct chat may be named by the id of its person.
	Session(ctx context.Context, channel string, c chat.Chat, thread chat.ThreadID) (string, error)
}

// Files collects the files that the agent sends.
type Files interface {
	Collect(ctx context.Context, w media.Wanted) (media.Collected, error)
}

// Speaker synthesises the speech of answers.
type Speaker interface {
	Speak(ctx context.Context, m domain.Message, text string, limits []chat.MediaLimit) (chat.Media, error)
}

// Followed passes the progress of turns on to programs. follow.Turns implements it.
type Followed interface {
	// Progress takes the progress of the turn of a session's message, by its id for Claude. It does not block.
	Progress(session, message string, p agent.Progress)
}

// Tools are the host's tools.
type Tools interface {
	// Turn returns the server of tools for a turn.
	Turn(id string, caller chat.Caller, outbox tools.Outbox) *tools.Turn
}

// Options are the settings and collaborators of views.
type Options struct {
	Store         Store
	Plugins       *plugins.Registry
	Chats         *Chats
	Conversations *conversation.Resolver
	Sessions      Sessions
	Tools         Tools
	Files         Files
	Speaker       Speaker
	Followed      Followed
}

// Views opens views. It is safe for concurrent use.
type Views struct {
	options  Options
	log      hclog.Logger
	drafts   drafts
	unspoken notified
}

// New returns what opens views.
func New(options Options, log hclog.Logger) *Views {
	return &Views{options: options, log: log}
}

// Open begins to show a run's turn in its chat.
func (vs *Views) Open(ctx context.Context, run *conversation.Turn) turn.View {
	v := &view{views: vs, run: run, known: known{store: vs.options.Store, run: run, log: vs.log}, sent: sent{all: run.Sent}, typing: vs.options.Chats.typing(run)}
	v.tools = vs.options.Tools.Turn(run.Head.UUID, run.Caller, v)
	v.Restart(ctx)
	return v
}

// view is what a run's chat sees of its turn while it runs, and of its answer.
type view struct {
	views   *Views
	run     *conversation.Turn
	tools   *tools.Turn
	known   known   // the messages that the agent may name
	sent    sent    // by the tools
	typing  *typing // nil: none
	options stream.Options
	stream  *stream.Stream // nil: nothing is shown while the turn runs
	outcome stream.Outcome
	spoke   bool // the answer has begun
}

// Restart implements [turn.View].
func (v *view) Restart(ctx context.Context) {
	v.options = v.views.streaming(v.run)
	v.options.Quoting.Known = &v.known
	v.outcome = stream.Outcome{Said: v.run.Said, Begun: v.run.Said != ""}
	if v.options.Shows() {
		v.stream = stream.Start(ctx, v.options, &surface{view: v})
		v.views.options.Chats.begin(v.stream, v.options.To)
	}
}

// Progress implements [turn.View].
func (v *view) Progress(p agent.Progress) {
	if v.typing != nil {
		v.spoke = v.spoke || p.Text != "" && answer.Parse(p.Text, false).Text != ""
		v.typing.heard(v.spoke)
	}
	if v.stream != nil {
		v.stream.Progress(p)
	}
	v.views.options.Followed.Progress(v.run.Session.Key, v.run.Head.UUID, p)
}

// Tools implements [turn.View].
func (v *view) Tools() agent.ToolServer { return v.tools }

// Close implements [turn.View].
func (v *view) Close() {
	if v.typing != nil {
		v.typing.end()
	}
}

// End implements [turn.View].
func (v *view) End() turn.Sent {
	sent := turn.Sent{Begun: v.outcome.Begun, Preview: v.run.Preview}
	if v.stream != nil {
		v.views.options.Chats.end(v.stream)
		v.outcome = v.stream.End()
		sent = turn.Sent{Begun: v.outcome.Begun, Preview: v.outcome.Preview, Shown: v.outcome.Shown}
		if sent.Preview != 0 {
			live, running := v.views.options.Plugins.Get(v.run.Head.Message.Channel)
			sent.Deletable = running && live.Can(remote.Delete)
		}
		v.outcome.Preview = 0 // The turn gives it to an item.
	}
	return sent
}
