// Package posting sends, edits and deletes what the agent asks for by its tool message.
package posting

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Store keeps what is posted.
type Store interface {
	Session(ctx context.Context, key string) (domain.Session, error)
	PostByTool(ctx context.Context, run int64, p domain.ToolPost) (number int64, err error)
	ChangeByTool(ctx context.Context, run int64, c domain.ToolChange) error
	SentBySession(ctx context.Context, session, channel string, in chat.ID, id chat.MessageID) (bool, error)
	AgentMessage(ctx context.Context, session string, number int64) (domain.AgentMessage, error)
}

// Options are the collaborators of a poster.
type Options struct {
	Store         Store
	Plugins       *plugins.Registry
	Chats         *activity.Chats
	Conversations *conversation.Resolver
	Intake        *inbox.Intake
	Files         map[string]*outgoing.Files // by the agent's label
}

// Poster posts for turns. It is safe for concurrent use.
type Poster struct {
	options Options
	log     hclog.Logger
}

// New returns a poster.
func New(options Options, log hclog.Logger) *Poster { return &Poster{options, log} }

// For returns the outbox of a run's tools. The view is that of the run.
func (p *Poster) For(run *conversation.Run, v *view.View) tools.Outbox {
	return &posts{p, run, v}
}

// posts are what the agent of a run posts.
type posts struct {
	*Poster
	run  *conversation.Run
	view *view.View
}

// Post implements [tools.Outbox].
func (o *posts) Post(ctx context.Context, p tools.Post) (number int64, err error) {
	if err := o.options.Plugins.CheckChannel(p.To.Channel); err != nil {
		return 0, tools.Refusal(err.Error())
	}
	key, err := o.options.Intake.Session(ctx, "", p.To, chat.Chat{ID: p.To.Chat, Kind: p.Kind})
	if err != nil {
		return 0, err
	}
	known, err := o.options.Store.Session(ctx, key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return 0, err
	}
	known.Key = key
	to := o.options.Conversations.Session(o.options.Conversations.Caller(key, p.To, p.Kind), known)
	if to.Send == "deny" {
		return 0, tools.Refusal(wording.SendingOff)
	}
	own := p.To == p.Caller.Address
	token := p.Key.String()
	token = token[max(0, len(token)-tokenSize):]
	rows, labels, err := buttons(to.Limits.Buttons, p.To.Channel, token, p.Buttons)
	if err != nil {
		return 0, err
	}
	if p.Poll != nil {
		if to.Limits.Polls.Check(*p.Poll) != nil {
			return 0, tools.Polls(p.To.Channel, to.Limits.Polls)
		}
		p.Text = wording.Poll(*p.Poll)
	}
	posted, said := domain.ToolPost{Key: p.Key, From: elsewhere(p)}, domain.SentByTool{Text: p.Text}
	if len(p.Media) > 0 {
		wanted := outgoing.Wanted{
			Channel: p.To.Channel, Folder: o.run.Folder, Paths: p.Media, Named: true,
			Private: p.Caller.Authority == chat.Owner && p.Kind == chat.Direct, Limits: to.Limits.MediaOut,
		}
		if own {
			wanted.Session = o.run.Head.ClaudeSession
		}
		found, err := o.options.Files[o.run.Agent.Label].Collect(ctx, wanted)
		if err != nil {
			o.log.Warn("a tool cannot send files for now", "error", err)
			return 0, tools.Refusal("This machine has no space for files at the moment. Try again later.")
		}
		if len(found.Problems) > 0 {
			return 0, tools.Refusal(strings.Join(found.Problems, " "))
		}
		posted.Items = []domain.OutboxItem{{To: p.To, Media: found.Media}}
		posted.Files, said.Files = found.Files, found.Sent
	}
	text := o.options.Conversations.Notice(p.To, p.Kind, p.Text)
	switch {
	case p.Poll != nil:
		text = []domain.OutboxItem{{To: p.To, Text: p.Text, Poll: p.Poll}}
	case len(text) > 0:
		text[len(text)-1].Buttons = rows
	}
	domain.SignedBy(o.run.Author, text)
	domain.SignedBy(o.run.Author, posted.Items)
	if !own {
		posted.Items = append(text, posted.Items...)
		return o.options.Store.PostByTool(ctx, o.run.ID, posted)
	}
	held := o.view.Hold()
	defer held.Release()
	if len(rows) > 0 || p.Poll != nil || !held.Has(p.Text) {
		posted.Items = append(text, posted.Items...)
	}
	if len(posted.Items) == 0 {
		return 0, nil
	}
	if p.Reply != "" {
		posted.Items[0].ReplyTo = o.view.Target(p.Reply)
	}
	posted.Sent, posted.Numbered, posted.Token, posted.Labels = &said, true, token, labels
	if number, err = o.options.Store.PostByTool(ctx, o.run.ID, posted); err != nil {
		return 0, err
	}
	held.Add(said, posted.Files)
	o.options.Chats.Leave(p.To)
	return number, nil
}

// elsewhere is the note for another session about what the agent sends to its chat.
func elsewhere(p tools.Post) domain.Elsewhere {
	to := ""
	if p.To == p.Caller.Address {
		if to = session.PeoplesOf(p.Caller.Session); to == p.Caller.Session {
			return domain.Elsewhere{}
		}
	}
	said := p.Text
	for _, path := range p.Media {
		said = strings.TrimSpace(said + "\n<file:" + filepath.Base(path) + ">")
	}
	return domain.SentElsewhere(p.Caller.Session, to, said)
}
