// Package prompt writes what Claude reads: the prompt of a turn, the messages that join it, and the system prompt.
package prompt

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/session"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/media/extract"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/media/outgoing"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Options are what prompts are built with. The maps are by the agents' labels.
type Options struct {
	System   *config.Derived[map[string]*agent.Prompter]
	Bringer  *files.Bringer             // fetches the files of messages
	Reader   *extract.Reader            // has programs transcribe voice messages and fetch links
	Inbound  map[string]*files.Inbound  // put files where the agent can read them
	Pictures *files.Store               // nil: Claude gets only the paths of pictures
	Outgoing map[string]*outgoing.Files // make the folders whose files are sent with answers
	Channels *plugins.Registry
}

// Prompt is what Claude reads of a run.
type Prompt struct {
	Text     string
	Pictures []agent.Picture // that Claude is shown with the text, which names their paths
	Unheard  bool            // a voice message in it is not transcribed, because no program for that is installed
}

// Unusable is a run without anything for Claude: its messages are only files, and none of them could be fetched.
type Unusable struct {
	Reply string // the chat's notice
	Event string // the note for the session's next turn
}

// Error implements error.
func (*Unusable) Error() string { return "no file could be fetched" }

// Builder builds prompts. It is safe for concurrent use.
type Builder struct {
	options Options
	log     hclog.Logger
	unshown atomic.Value // a string: the files that are not shown to the agent, as the log has them
}

// New returns a builder.
func New(options Options, log hclog.Logger) *Builder {
	return &Builder{options: options, log: log}
}

// Build returns a run's prompt once the files that it needs are there and programs have read them. Its error is that of an ended
// context, an [*Unusable], or an [*agent.Failure] if files are unavailable for now.
func (b *Builder) Build(ctx context.Context, run *conversation.Run, added []string) (Prompt, error) {
	head := run.Head.Message
	if head.Origin == domain.OriginCompact {
		return Prompt{Text: strings.TrimSpace("/compact " + strings.Join(strings.Fields(head.Text), " "))}, nil
	}
	fetching, files := trace.Start(ctx, "files")
	messages, err := b.options.Bringer.Bring(fetching, b.options.Inbound[run.Agent.Label], run.All()...)
	files.End(err)
	if err != nil {
		return Prompt{}, err
	}
	if err := unusable(messages); err != nil {
		return Prompt{}, err
	}
	reading, voice := trace.Start(ctx, "voice and links")
	read, err := b.options.Reader.Read(reading, messages...)
	voice.End(err)
	if err != nil {
		return Prompt{}, err
	}
	t := envelope.Content{Context: added}
	shown := &pictures{from: b.options.Pictures}
	t.Messages, t.Collected = b.messages(ctx, run.Conversation, messages, read, shown)
	t.Messages[0].Previous = run.PreviousAt
	if !run.Session.ClaudeStarted {
		t.Starter = run.Session.Starter
		t.Untrusted = about(head)
		t.Outgoing = b.outgoing(run)
	}
	for _, n := range run.Notes {
		switch n.Kind {
		case domain.NoteEvent:
			t.Events = append(t.Events, envelope.Event{At: n.At, Text: n.Text})
		case domain.NoteHint:
			t.Hints = append(t.Hints, n.Text)
		case domain.NoteHistory:
			t.History = append(t.History, envelope.Entry{ID: n.MessageID, At: n.At, Sender: n.Sender, Text: n.Text})
		case domain.NoteOverflow:
			t.Dropped += n.Count
			t.Overflow = append(t.Overflow, n.Text)
		}
	}
	slices.SortStableFunc(t.History, func(a, b envelope.Entry) int { return a.At.Compare(b.At) })
	if summary := b.channelSummary(run); summary != "" {
		t.Events = append(t.Events, envelope.Event{At: run.Head.ReceivedAt, Text: summary})
	}
	return Prompt{Text: envelope.Compose(t, run.Zone), Pictures: shown.list, Unheard: unheard(read)}, nil
}

// outgoing makes the folder whose files are sent with a conversation's answers; "": its chat accepts none.
func (b *Builder) outgoing(run *conversation.Run) string {
	if len(run.Limits.MediaOut) == 0 {
		return ""
	}
	folder, err := b.options.Outgoing[run.Agent.Label].Open(run.Head.ClaudeSession)
	if err != nil {
		b.log.Warn("the folder of outgoing files cannot be created", "session", run.Session.Key, "error", err)
	}
	if folder != "" && run.Folder != "" {
		return filepath.Join(run.Agent.Workspace, folder)
	}
	return folder
}

// unusable returns a [*Unusable] if the messages are only files and none of them could be fetched.
func unusable(messages []domain.Queued) error {
	var files []chat.Media
	text := ""
	for _, q := range messages {
		text += q.Message.Text
		files = append(files, q.Message.Media...)
	}
	if reply, event, missing := envelope.Missing(text, files); missing {
		return &Unusable{Reply: reply, Event: event}
	}
	return nil
}

// unheard reports whether no program for a voice message is installed.
func unheard(read map[string]extract.Read) bool {
	for _, r := range read {
		if r.Unheard {
			return true
		}
	}
	return false
}

// messages returns what a run answers: one burst, or several that were collected.
func (b *Builder) messages(
	ctx context.Context, c *conversation.Conversation, queued []domain.Queued, read map[string]extract.Read, shown *pictures,
) (list []envelope.Message, collected bool) {
	for _, q := range queued {
		list = append(list, b.message(ctx, c, q, read, shown))
		collected = collected || q.Burst != queued[0].Burst
	}
	return list, collected
}

// Steered returns the prompt of a message that joins a running turn of a conversation. After an error the message and all later
// ones wait for their own turn.
func (b *Builder) Steered(ctx context.Context, c *conversation.Conversation, q domain.Queued) (Prompt, error) {
	messages, err := b.options.Bringer.Bring(ctx, b.options.Inbound[c.Agent.Label], q)
	if err != nil {
		return Prompt{}, err
	}
	read, err := b.options.Reader.Read(ctx, messages...)
	if err != nil {
		return Prompt{}, err
	}
	shown := &pictures{from: b.options.Pictures}
	said := envelope.Content{Messages: []envelope.Message{b.message(ctx, c, messages[0], read, shown)}}
	return Prompt{Text: envelope.Compose(said, c.Zone), Pictures: shown.list, Unheard: unheard(read)}, nil
}

// message returns a message as Claude reads it, with the results of the programs that read it.
func (b *Builder) message(
	ctx context.Context, c *conversation.Conversation, q domain.Queued, read map[string]extract.Read, shown *pictures,
) envelope.Message {
	m := q.Message
	e := envelope.Message{
		Host:    m.Origin == domain.OriginFlush || m.Origin == domain.OriginHeartbeat || m.Origin == domain.OriginJob,
		Channel: m.Channel, Chat: m.Chat, Sender: m.Sender, ID: m.ID, SentAt: m.SentAt, Text: m.Text, Beside: m.Beside,
		Forwarded: m.Forwarded, ReplyTo: m.ReplyTo, Burst: q.Burst,
	}
	if m.Pressed != nil {
		e.Pressed = m.Pressed.Number
	}
	if age, limit := time.Since(m.SentAt), c.Settings.Inbound.MaxAge; limit > 0 && age > limit {
		e.Late = age
	}
	known := read[q.UUID]
	e.Media = b.attachments(ctx, c, m.Channel, m.Media, known, shown)
	if m.ReplyTo != nil {
		e.Quoted = b.attachments(ctx, c, m.Channel, m.ReplyTo.Media, known, shown)
	}
	e.Pages = known.Pages
	return e
}

// attachments describe files as the prompt shows them to Claude.
func (b *Builder) attachments(
	ctx context.Context, c *conversation.Conversation, channel string, files []chat.Media, known extract.Read, shown *pictures,
) (list []envelope.Attachment) {
	for _, file := range files {
		a := b.attachment(ctx, c, channel, file)
		a.Shown = a.Path != "" && shown.add(channel, a.Media)
		a.Transcript = known.Transcripts[file.Ref]
		list = append(list, a)
	}
	return list
}

// attachment puts a file where the agent can read it. A file for which that fails is described too.
func (b *Builder) attachment(ctx context.Context, c *conversation.Conversation, channel string, m chat.Media) envelope.Attachment {
	if m.Ref == "" {
		return envelope.Attachment{Media: m}
	}
	shown, path, err := b.options.Inbound[c.Agent.Label].Show(ctx, channel, m)
	if err != nil {
		b.log.Warn("a file cannot be shown to the agent", "channel", channel, "error", err)
	}
	return envelope.Attachment{Media: shown, Path: path}
}

// pictures are those that Claude is shown with one prompt.
type pictures struct {
	from *files.Store // nil: there are none
	list []agent.Picture
}

// add adds a file, and reports whether Claude is shown it.
func (p *pictures) add(channel string, file chat.Media) bool {
	if p.from == nil || len(p.list) == agent.MaxPictures {
		return false
	}
	picture, ok := p.from.Picture(channel, file)
	if ok {
		p.list = append(p.list, picture)
	}
	return ok
}

// about returns what the network says of a chat in which a conversation begins.
func about(m domain.Message) []string {
	if m.Chat.Kind == chat.Direct {
		return nil
	}
	facts := []string{"chat id: " + string(m.Chat.ID)}
	if m.Chat.Title != "" {
		facts = append(facts, "chat title: "+m.Chat.Title)
	}
	if m.Thread != "" {
		facts = append(facts, "thread id: "+string(m.Thread))
	}
	return facts
}

// channelSummary describes the state of the channels to a new conversation that all direct chats share; "" in any
// other.
func (b *Builder) channelSummary(run *conversation.Run) string {
	name, err := session.Parse(run.Session.Key)
	if err != nil || name.With(session.MainAgent) != (session.Name{}) || run.Session.ClaudeStarted {
		return ""
	}
	return "Channels: " + strings.Join(b.options.Channels.Channels(), ", ") + "."
}
