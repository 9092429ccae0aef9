// Package inbox accepts events: it decides whether an event is for the agent, to which session and lane it belongs, and
// responds once it is durable.
package inbox

import (
	"context"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/crashpoint"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/interpret"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/claude/sessions"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/reaction"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/text/normalise"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Starter starts what the turn of a message needs while the message waits for more of its writer. early.Starter implements it.
type Starter interface {
	// Expect notes that a message was accepted in a session, or is being written. It never blocks.
	Expect(session string, m domain.Message)
}

// Options are the settings and collaborators of an inbox.
type Options struct {
	Commands  *command.Registry
	Questions *permission.Approvals
	Observers *hook.Observers
	Reactions *reaction.Reactor
	Chats     *activity.Chats
	Owners    *notice.Owners
	Sessions  *sessions.Sessions // of Claude Code
	Early     Starter
	Debounce  *debounce.Judge
	Turns     *dispatch.Dispatcher // those of this process, for how long messages wait for more
	Zone      *time.Location
	Metrics   *metrics.Metrics // count the events; nil: nothing does
}

// Inbox accepts events.
type Inbox struct {
	*Intake
	options  Options
	refusals refusals
}

// New returns an inbox that stores events by an intake.
func New(intake *Intake, options Options) *Inbox {
	return &Inbox{Intake: intake, options: options}
}

// Outcome is the result of an event.
type Outcome struct {
	Verdict chat.Verdict
	Reason  string // why it was rejected, for the plugin's log
	Session string // accepted or a duplicate: the session key
	Waiting int    // accepted: messages before it in its lane
	Number  int64  // accepted: by which it is named while it waits
	running bool   // accepted: a turn runs before it
	behind  bool   // accepted: it waits for others, and is not steered into what runs
}

// Submit accepts a channel's event. After an error the host does not have the event.
func (in *Inbox) Submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	outcome, err := in.submit(ctx, channel, e)
	in.options.Metrics.Message(channel, outcome.Verdict, err)
	crashpoint.Pass("accepted") // The event is durable, the plugin does not know it yet.
	return outcome, err
}

func (in *Inbox) submit(ctx context.Context, channel string, e chat.Event) (Outcome, error) {
	if e.At.IsZero() {
		e.At = in.now() // the network sent no time
	}
	switch body := e.Body.(type) {
	case chat.Edited:
		return in.edit(ctx, channel, e, body)
	case chat.Deleted:
		return in.delete(ctx, channel, e, body)
	case chat.Migrated:
		return in.move(ctx, channel, e, body)
	}
	message, ok := normalise.Event(channel, e)
	if !ok {
		return rejected("this kind of event is not used"), nil
	}
	if in.tooOld(channel, e) {
		return rejected("older than inbound.max_age"), nil
	}
	a, err := in.authorise(ctx, e, message)
	if err != nil {
		return Outcome{}, err
	}
	switch a.access.Action {
	case access.Let, access.RecordPassive:
		a, intent, err := in.interpret(ctx, a)
		if err != nil {
			return Outcome{}, err
		}
		to := in.route(a, intent)
		if err := in.resume(ctx, a, to.inbound); err != nil {
			return Outcome{}, err
		}
		return in.accept(ctx, a, to)
	case access.Pair:
		return in.pair(ctx, a)
	default:
		in.log.Debug("an event was refused", "channel", channel, "event", e.ID, "reason", a.access.Reason)
		in.refusals.advise(in.log, channel, e, a.access.Reason, in.now())
		return rejected(a.access.Reason), nil
	}
}

// interpret returns what a message asks for, and the message as one to the agent that it asks.
func (in *Inbox) interpret(ctx context.Context, a arrival) (arrival, interpret.Intent, error) {
	intent, err := in.read(ctx, a)
	asks, ok := intent.(interpret.Ask)
	if err != nil || !ok {
		return a, intent, err
	}
	if !in.conversations.MayChoose(in.conversations.Agent(asks.Agent), in.caller(a)) {
		return a, interpret.Commands{List: []domain.Command{asks.Command}}, nil // whose answer says so
	}
	a.message.Named = true
	a, err = in.to(ctx, a, asks.Agent)
	return a, asks.Then, err
}

// read returns what a message asks for.
func (in *Inbox) read(ctx context.Context, a arrival) (interpret.Intent, error) {
	language := interpret.Language{
		Commands: in.options.Commands, Agent: a.name.Agent(), Agents: in.conversations, Names: a.settings.Access.MentionPatterns, Resets: a.settings.Session.ResetTriggers,
	}
	var asked permission.Asked
	switch a.event.Body.(type) {
	case chat.ButtonPress:
		return language.Press(a.message), nil
	case chat.Message: // An edit answers nothing.
		var to chat.MessageID
		if a.message.ReplyTo != nil {
			to = a.message.ReplyTo.ID
		}
		var err error
		if asked, err = in.options.Questions.Asked(ctx, in.caller(a), to); err != nil {
			return nil, err
		}
	}
	if a.access.Action == access.RecordPassive {
		return language.ReadPassive(a.message, asked), nil
	}
	return language.Read(a.message, a.access.Addressed, asked), nil
}

func rejected(reason string) Outcome {
	return Outcome{Verdict: chat.Rejected, Reason: reason}
}
