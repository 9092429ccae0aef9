package core

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/answer"
	"github.com/clawhost/clawhost/core/internal/chunk"
	"github.com/clawhost/clawhost/core/internal/config"
	"github.com/clawhost/clawhost/core/internal/conversation"
	"github.com/clawhost/clawhost/core/internal/crashpoint"
	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/core/internal/outbox"
	"github.com/clawhost/clawhost/core/internal/reply"
	"github.com/clawhost/clawhost/core/internal/stream"
	"github.com/clawhost/clawhost/core/internal/tools"
	"github.com/clawhost/clawhost/core/internal/turn"
	pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"
	"github.com/clawhost/clawhost/sdk/chat"
)

// view is what a run's chat sees of its turn while it goes on, and of its answer.
type view struct {
	host    *Host
	run     *conversation.Turn
	tools   *tools.Turn
	told    told        // by the tools
	typing  *turn.Shown // nil: none
	options stream.Options
	stream  *stream.Stream // nil: nothing is shown while the turn goes on
	outcome stream.Outcome
	spoke   bool // the answer has a first word
}

// view begins to show a run's chat what its turn does.
func (h *Host) view(ctx context.Context, run *conversation.Turn) turn.View {
	v := &view{host: h, run: run, told: told{all: run.Sent}, typing: h.typing(run)}
	v.tools = h.toolsOf(run, v.post)
	v.Restart(ctx)
	return v
}

// Restart begins to show the turn from where the run's earlier attempts have come.
func (v *view) Restart(ctx context.Context) {
	v.options = v.host.streaming(v.run)
	v.options.Told = v.told.has
	if len(v.run.Limits.MediaOut) > 0 {
		v.options.Files = v.ahead
	}
	v.outcome = stream.Outcome{Said: v.run.Said, Begun: v.run.Said != ""}
	if v.options.Mode != stream.Off || v.options.Tools != nil {
		v.stream = stream.Start(ctx, v.options, &surface{host: v.host, run: v.run, stop: v.options.Stop})
		v.host.shows.begin(v.stream, v.options.To)
	}
}

// Progress is told how far the turn is.
func (v *view) Progress(p agent.Progress) {
	if v.typing != nil {
		v.spoke = v.spoke || p.Text != "" && answer.Parse(p.Text, false).Text != ""
		v.typing.Heard(v.spoke)
	}
	if v.stream != nil {
		v.stream.Progress(p)
	}
}

// Tools answers a message that claude sends to the host's tools.
func (v *view) Tools(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	return v.tools.Handle(ctx, message)
}

// Close says that what is left of the answer is on its way.
func (v *view) Close() {
	if v.typing != nil {
		v.typing.End()
	}
}

// End says that the turn is over.
func (v *view) End() turn.Sent {
	sent := turn.Sent{Begun: v.outcome.Begun, Preview: v.run.Preview}
	if v.stream != nil {
		v.host.shows.end(v.stream)
		v.outcome = v.stream.End()
		sent = turn.Sent{Begun: v.outcome.Begun, Preview: v.outcome.Preview, Shown: v.outcome.Shown}
		v.outcome.Preview = 0 // It is for the turn to put to use.
	}
	return sent
}

// Reply returns what the turn brought, as far as the chat does not have it.
func (v *view) Reply(ctx context.Context, r agent.Result) (turn.Reply, error) {
	m := v.run.Message.Message
	if m.Origin == domain.OriginCompact {
		return turn.Reply{Pieces: v.run.Notice(compacted(r))}, nil
	}
	said := answer.Parse(r.Text, true)
	if m.Origin == domain.OriginHeartbeat {
		said = reply.Heartbeat(r.Text)
	}
	files, err := v.files(ctx, said, r.Before)
	if err != nil {
		return turn.Reply{}, err
	}
	return turn.Reply{Pieces: append(v.pieces(said, r, files), files.behind...), Files: files.dealt}, nil
}

// items makes items of an answer, with the files that stand in it: what the session wants to see of the work, then the text, or
// nothing where that is silent, or a word where it is empty.
func (v *view) pieces(said answer.Answer, r agent.Result, files files) []domain.OutboxItem {
	m := v.run.Message.Message
	switch {
	case (said.Silent || v.told.has(said.Text, true)) && v.outcome.Begun:
		return v.options.Rest(answer.Answer{}, v.outcome, stream.Beside{}) // of what was said before
	case said.Silent, v.told.has(said.Text, true):
		return nil
	case said.Text == "" && (len(files.behind) > 0 || files.before):
		return v.options.Rest(said, v.outcome, stream.Beside{})
	case said.Text == "" && (m.Chat.Kind != chat.Direct || m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat):
		if !v.outcome.Begun {
			return nil // nobody waits for it
		}
		return v.options.Rest(said, v.outcome, stream.Beside{})
	case said.Text == "" && len(v.outcome.Whole) == 0:
		said.Text = reply.Empty
	}
	if v.run.Reasoning == "on" && r.Reasoning != "" {
		v.outcome.Before = append(v.outcome.Before, reply.Reasoning(r.Reasoning))
	}
	var heads []string
	if (agent.Profile{PermissionMode: v.run.PermissionMode}).SkipsApproval() && m.Origin == domain.OriginHeartbeat {
		heads = append(heads, turn.BypassNotice(m))
	}
	if r.Continued && !v.outcome.Begun {
		heads = append(heads, reply.Continued)
	}
	// Once, until another model answers: mostly the chosen one, which is tried again at each turn.
	if line := reply.Fallback(r.Fallback); line != "" && r.Model != v.run.Session.Model {
		heads = append(heads, line)
	}
	return v.options.Rest(said, v.outcome, stream.Beside{Head: strings.Join(heads, "\n\n"), Tail: reply.Usage(r, v.run.Usage), Files: files.within})
}

// streaming is how a run's turn is streamed.
func (h *Host) streaming(run *conversation.Turn) stream.Options {
	m := run.Message.Message
	settings, limits := run.Settings.Reply, run.Limits
	speaker := reply.Speaker{Model: run.Model, Effort: run.Effort, Name: run.Agent, Channel: m.Channel}
	o := stream.Options{
		To: m.Address(), Rule: run.Rule(), Block: block(settings.Block),
		Interval: limits.Edit.MinInterval, Prefix: reply.Prefix(settings.Prefix, speaker), Said: run.Said, PreviewID: run.Preview,
	}
	if limits.Replies {
		o.Quoting = answer.Quoting{Mode: settings.ReplyTo, Current: answered(run)}
	}
	if m.Silent || m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat || m.Origin == domain.OriginCompact {
		return o
	}
	if live, ok := h.supervisor.Get(m.Channel); ok {
		edits, drafts := live.Has(pluginv1.Capability_CAPABILITY_CHANNEL_EDIT), live.Has(pluginv1.Capability_CAPABILITY_CHANNEL_DRAFT)
		drafts = drafts && h.drafts.taken(live, place{m.Channel, m.Chat.Kind})
		o.Mode = stream.Choose(settings.Stream, limits, edits, drafts)
		o.Undrafted = stream.Choose(settings.Stream, limits, edits, false)
	}
	if run.Verbose == "on" || run.Verbose == "full" {
		o.Tools = func(used []agent.ToolUse) string { return reply.Tools(used, run.Verbose) }
	}
	o.Reasoning, o.Listens = run.Reasoning == "stream", run.Listening
	if limits.Buttons.Rows > 0 && limits.Buttons.Columns > 0 && m.Authority >= chat.Authorised { // who may not use commands may not stop
		o.Stop = [][]chat.Button{{{Label: "⏹ Stop", Data: "/stop"}}}
	}
	if d := settings.HumanDelay; d.Max > 0 {
		o.Delay = func() time.Duration { return d.Min + rand.N(d.Max-d.Min+1) }
	}
	return o
}

// answered is the message that a run's answer is a reply to: the last that it answers, as far as the network knows them by ids.
func answered(run *conversation.Turn) chat.MessageID {
	for _, m := range slices.Backward(run.More) {
		if m.Message.ID != "" {
			return m.Message.ID
		}
	}
	return run.Message.Message.ID
}

// block is when a part of an answer is sent.
func block(b config.Block) stream.Block {
	at := chunk.Paragraph
	switch b.BreakOn {
	case "newline":
		at = chunk.Line
	case "sentence":
		at = chunk.Sentence
	}
	return stream.Block{Min: b.Min, Max: b.Max, Idle: b.Idle, At: at, Whole: b.FlushAt == "message_end"}
}

// surface is the chat that a run's turn is shown in.
type surface struct {
	host    *Host
	run     *conversation.Turn
	stop    [][]chat.Button
	preview int64
	message chat.MessageID // what the preview has become; empty: not known yet
	sentAt  time.Time
}

// transientCall bounds a change of what is shown: the next one has more to show.
const transientCall = 5 * time.Second

// Early sends something for good.
func (s *surface) Early(ctx context.Context, e domain.Early) (preview int64, err error) {
	preview, err = s.host.store.Early(ctx, s.run.ID, e)
	crashpoint.Pass("early") // A part of the answer is durable, the rest is not there yet.
	return preview, err
}

// errNotSent is returned for a preview that is still on its way.
var errNotSent = errors.New("the preview was not sent yet")

// Show changes the text of a preview that was sent.
func (s *surface) Show(ctx context.Context, preview int64, text string) error {
	if s.preview != preview {
		s.preview, s.message = preview, ""
	}
	if s.message == "" {
		var err error
		if s.message, s.sentAt, err = s.host.store.SentItem(ctx, preview); err != nil {
			return errNotSent
		}
	}
	to := s.run.Message.Message.Address()
	if outbox.Late(s.sentAt, s.host.editWindow(to.Channel)) {
		return stream.ErrLate
	}
	live, ok := s.host.supervisor.Get(to.Channel)
	if !ok {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, transientCall)
	defer cancel()
	return live.Edit(ctx, to, s.message, text, s.stop)
}

// editWindow is how long a channel's network edits a message, in the kind of chat where that is shortest; zero: without end.
func (h *Host) editWindow(channel string) (window time.Duration) {
	for _, kind := range []chat.Kind{chat.Direct, chat.Group, chat.Broadcast} {
		if w := h.conversations.Limits(channel, kind).Edit.Window; w > 0 && (window == 0 || w < window) {
			window = w
		}
	}
	return window
}

// Draft shows the text as the network's own draft.
func (s *surface) Draft(ctx context.Context, text string) error {
	to := s.run.Message.Message.Address()
	live, ok := s.host.supervisor.Get(to.Channel)
	if !ok {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, transientCall)
	defer cancel()
	if err := live.Draft(ctx, to, s.run.ID, text); err != nil {
		return s.host.drafts.judge(live, place{to.Channel, s.run.Message.Message.Chat.Kind}, err)
	}
	return nil
}

// Behind returns since when something waits for being sent to the chat.
func (s *surface) Behind(ctx context.Context) (time.Time, error) {
	return s.host.store.OldestUndelivered(ctx, s.run.Message.Message.Address())
}
