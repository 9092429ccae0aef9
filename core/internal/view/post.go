package view

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/media"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/core/internal/wording"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Post implements [tools.Outbox].
func (v *view) Post(ctx context.Context, p tools.Post) (number int64, err error) {
	vs := v.views
	if !vs.options.Plugins.IsChannel(p.To.Channel) {
		return 0, tools.Refusal("There is no channel " + p.To.Channel + ".")
	}
	key, err := vs.options.Sessions.Session(ctx, p.To.Channel, chat.Chat{ID: p.To.Chat, Kind: p.Kind}, p.To.Thread)
	if err != nil {
		return 0, err
	}
	known, err := vs.options.Store.Session(ctx, key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return 0, err
	}
	known.Key = key
	to := vs.options.Conversations.Session(chat.Caller{Session: key, Address: p.To, Kind: p.Kind}, known)
	if to.Send == "deny" {
		return 0, tools.Refusal(wording.SendingOff)
	}
	own := p.To == p.Caller.Address
	token := p.Key[max(0, len(p.Key)-tokenSize):]
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
		wanted := media.Wanted{
			Channel: p.To.Channel, Paths: p.Media, Named: true,
			Private: p.Caller.Authority == chat.Owner && p.Kind == chat.Direct, Limits: to.Limits.MediaOut,
		}
		if own {
			wanted.Session = v.run.Head.ClaudeSession
		}
		found, err := vs.options.Files.Collect(ctx, wanted)
		if err != nil {
			vs.log.Warn("a tool cannot send files for now", "error", err)
			return 0, tools.Refusal("This machine has no space for files at the moment. Try again later.")
		}
		if len(found.Problems) > 0 {
			return 0, tools.Refusal(strings.Join(found.Problems, " "))
		}
		posted.Items = []domain.OutboxItem{{To: p.To, Media: found.Media}}
		posted.Files, said.Files = found.Files, found.Sent
	}
	text := vs.options.Conversations.Notice(p.To, p.Kind, p.Text)
	switch {
	case p.Poll != nil:
		text = []domain.OutboxItem{{To: p.To, Text: p.Text, Poll: p.Poll}}
	case len(text) > 0:
		text[len(text)-1].Buttons = rows
	}
	if !own {
		posted.Items = append(text, posted.Items...)
		return vs.options.Store.PostByTool(ctx, v.run.ID, posted)
	}
	err = v.hold(func(has func(string) bool) error {
		if len(rows) > 0 || p.Poll != nil || !has(p.Text) {
			posted.Items = append(text, posted.Items...)
		}
		if len(posted.Items) == 0 {
			return nil
		}
		if p.Reply != "" {
			posted.Items[0].ReplyTo = v.options.Quoting.Target(p.Reply, false)
		}
		posted.Sent, posted.Numbered, posted.Token, posted.Labels = &said, true, token, labels
		number, err = vs.options.Store.PostByTool(ctx, v.run.ID, posted)
		if err == nil {
			v.sent.add(said, posted.Files)
			vs.options.Chats.leave(p.To)
		}
		return err
	})
	return number, err
}

// hold calls f while nothing is streamed. f may ask whether a text was sent.
func (v *view) hold(f func(has func(text string) bool) error) error {
	if v.stream == nil {
		return f(func(string) bool { return false })
	}
	return v.stream.Hold(f)
}

// elsewhere is the note for another chat's session about what the agent sends there.
func elsewhere(p tools.Post) domain.Elsewhere {
	if p.To == p.Caller.Address {
		return domain.Elsewhere{}
	}
	said := p.Text
	for _, path := range p.Media {
		said = strings.TrimSpace(said + "\n<file:" + filepath.Base(path) + ">")
	}
	return domain.Elsewhere{
		Session: p.Caller.Session, Said: chat.TranscriptEntry{Role: chat.Assistant, Text: said},
		Note: "From another conversation you have sent to this chat: " + said,
	}
}
