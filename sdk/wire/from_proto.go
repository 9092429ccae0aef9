package wire

import (
	"cmp"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// AddressFromProto converts an address. The chat is required; the channel may be empty.
func AddressFromProto(p *pluginv1.Address) (chat.Address, error) {
	if err := first(
		id("address.channel", p.GetChannel()),
		requiredID("address.chat_id", p.GetChatId()),
		id("address.thread_id", p.GetThreadId()),
	); err != nil {
		return chat.Address{}, err
	}
	return chat.Address{
		Channel: p.GetChannel(), Chat: chat.ID(p.GetChatId()), Thread: chat.ThreadID(p.GetThreadId()),
	}, nil
}

// ChatFromProto converts a chat. It must have an id and a kind.
func ChatFromProto(p *pluginv1.Chat) (chat.Chat, error) {
	kind, err := KindFromProto(p.GetKind())
	if err := first(requiredID("chat.id", p.GetId()), id("chat.parent_id", p.GetParentId()), err); err != nil {
		return chat.Chat{}, err
	}
	return chat.Chat{
		ID: chat.ID(p.GetId()), Kind: kind, Title: Cut(p.GetTitle(), MaxName), Parent: chat.ID(p.GetParentId()),
	}, nil
}

// SenderFromProto converts a sender. Whether a sender is required depends on the event.
func SenderFromProto(p *pluginv1.Sender) (chat.Sender, error) {
	if err := first(id("sender.id", p.GetId()), count("sender.aliases", len(p.GetAliases()), MaxAliases)); err != nil {
		return chat.Sender{}, err
	}
	for _, a := range p.GetAliases() {
		if err := requiredID("sender.aliases", a); err != nil {
			return chat.Sender{}, err
		}
	}
	return chat.Sender{
		ID:          chat.UserID(p.GetId()),
		Aliases:     each(p.GetAliases(), func(a string) chat.UserID { return chat.UserID(a) }),
		DisplayName: Cut(p.GetDisplayName(), MaxName),
		Username:    Cut(p.GetUsername(), MaxName),
		IsSelf:      p.GetIsSelf(),
		IsBot:       p.GetIsBot(),
	}, nil
}

// CallerFromProto converts a caller. An unknown authority permits nothing.
func CallerFromProto(p *pluginv1.Caller) (chat.Caller, error) {
	address, errAddress := AddressFromProto(p.GetAddress())
	sender, errSender := SenderFromProto(p.GetSender())
	kind, errKind := KindFromProto(p.GetChatKind())
	if len(p.GetSessionKey()) > MaxSession {
		return chat.Caller{}, field("caller.session_key", "longer than %d bytes", MaxSession)
	}
	errFolder := folder("caller.workspace", p.GetWorkspace())
	if err := first(errAddress, errSender, errKind, agent("caller.agent", p.GetAgent()), errFolder); err != nil {
		return chat.Caller{}, err
	}
	authority, _ := authorities.from(p.GetAuthority())
	return chat.Caller{
		Session: p.GetSessionKey(), Address: address, Kind: kind, Sender: sender, Authority: authority,
		Agent: p.GetAgent(), Workspace: p.GetWorkspace(),
	}, nil
}

// agent checks the label of an agent, which may be empty.
func agent(name, label string) error {
	if len(label) > MaxAgent {
		return field(name, "%d bytes, at most %d are allowed", len(label), MaxAgent)
	}
	for _, r := range label {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return field(name, "%q is not a label", label)
		}
	}
	return nil
}

// folder checks the path of a folder, which may be empty.
func folder(name, path string) error {
	switch {
	case path == "":
		return nil
	case len(path) > MaxPath:
		return field(name, "%d bytes, at most %d are allowed", len(path), MaxPath)
	case !filepath.IsAbs(path) || strings.ContainsRune(path, 0):
		return field(name, "not an absolute path")
	}
	return nil
}

// EventFromProto converts an event. Its error names the first invalid fields; such an event is permanently invalid.
func EventFromProto(p *pluginv1.Event) (chat.Event, error) {
	if n := len(p.GetEventId()); n == 0 || n > chat.MaxEventID {
		return chat.Event{}, field("event_id", "%d bytes, 1 to %d are allowed", n, chat.MaxEventID)
	}
	where, errChat := ChatFromProto(p.GetChat())
	sender, errSender := SenderFromProto(p.GetSender())
	at, errAt := timeFrom("happened_at", p.GetHappenedAt())
	body, errBody := bodyFrom(p)
	if err := first(
		id("event_id", p.GetEventId()), errChat, id("thread_id", p.GetThreadId()), errSender, errAt, errBody,
	); err != nil {
		return chat.Event{}, err
	}
	switch body.(type) {
	case chat.Message, chat.ButtonPress, chat.NativeCommand, chat.StopRequest:
		// Permissions for these depend on the sender.
		if sender.ID == "" {
			return chat.Event{}, field("sender.id", "empty")
		}
	}
	return chat.Event{
		ID: chat.EventID(p.GetEventId()), Chat: where, Thread: chat.ThreadID(p.GetThreadId()), Isolated: p.GetThreadApart(),
		Sender: sender, At: at, Body: body,
	}, nil
}

// TypingFromProto converts a hint that a person is typing. The person must have an id.
func TypingFromProto(p *pluginv1.TypingRequest) (chat.Typing, error) {
	where, errChat := ChatFromProto(p.GetChat())
	sender, errSender := SenderFromProto(p.GetSender())
	if err := first(
		errChat, id("thread_id", p.GetThreadId()), errSender, requiredID("sender.id", string(sender.ID)),
	); err != nil {
		return chat.Typing{}, err
	}
	return chat.Typing{Chat: where, Thread: chat.ThreadID(p.GetThreadId()), Sender: sender, Stopped: p.GetStopped()}, nil
}

func bodyFrom(p *pluginv1.Event) (chat.Body, error) {
	switch b := p.GetBody().(type) {
	case *pluginv1.Event_Message:
		return MessageFromProto(b.Message)
	case *pluginv1.Event_Edited:
		s, errText := text("edited.text", b.Edited.GetText())
		mentions, errMentions := mentionsFrom("edited.mentions", b.Edited.GetMentions(), s)
		return chat.Edited{ID: chat.MessageID(b.Edited.GetId()), Text: s, Mentions: mentions},
			first(requiredID("edited.id", b.Edited.GetId()), errText, errMentions)
	case *pluginv1.Event_Deleted:
		return chat.Deleted{ID: chat.MessageID(b.Deleted.GetId())}, requiredID("deleted.id", b.Deleted.GetId())
	case *pluginv1.Event_Reaction:
		return chat.Reaction{MessageID: chat.MessageID(b.Reaction.GetMessageId()), Emoji: Repair(b.Reaction.GetEmoji())},
			first(requiredID("reaction.message_id", b.Reaction.GetMessageId()), id("reaction.emoji", b.Reaction.GetEmoji()))
	case *pluginv1.Event_ButtonPress:
		var tooLong error
		if len(b.ButtonPress.GetData()) > MaxData {
			tooLong = field("button_press.data", "longer than %d bytes", MaxData)
		}
		return chat.ButtonPress{MessageID: chat.MessageID(b.ButtonPress.GetMessageId()), Data: Repair(b.ButtonPress.GetData())},
			first(id("button_press.message_id", b.ButtonPress.GetMessageId()), tooLong)
	case *pluginv1.Event_Command:
		args, err := text("command.args", b.Command.GetArgs())
		return chat.NativeCommand{Name: Cut(b.Command.GetName(), MaxCommand), Args: args},
			first(requiredID("command.name", b.Command.GetName()), err)
	case *pluginv1.Event_Stop:
		return chat.StopRequest{}, nil
	case *pluginv1.Event_Member:
		return memberFrom(b.Member)
	case *pluginv1.Event_Migrated:
		return chat.Migrated{To: chat.ID(b.Migrated.GetNewChatId())}, requiredID("migrated.new_chat_id", b.Migrated.GetNewChatId())
	default:
		return nil, field("body", "missing, or of an unknown kind")
	}
}

func memberFrom(p *pluginv1.MemberChange) (chat.Body, error) {
	member, err := SenderFromProto(p.GetMember())
	if err != nil {
		return nil, field("member", "%w", err)
	}
	switch p.GetKind() {
	case pluginv1.MemberChange_KIND_JOINED:
		return chat.MemberChange{Joined: true, Member: member}, requiredID("member.id", string(member.ID))
	case pluginv1.MemberChange_KIND_LEFT:
		return chat.MemberChange{Member: member}, requiredID("member.id", string(member.ID))
	default:
		return nil, field("member.kind", "%d is not known", p.GetKind())
	}
}

// MessageFromProto converts a message.
func MessageFromProto(p *pluginv1.Message) (chat.Message, error) {
	content, errText := text("message.text", p.GetText())
	media, errMedia := mediaFrom("message.media", p.GetMedia())
	mentions, errMentions := mentionsFrom("message.mentions", p.GetMentions(), content)
	if err := first(id("message.id", p.GetId()), errText, errMedia, errMentions); err != nil {
		return chat.Message{}, err
	}
	m := chat.Message{
		ID:            chat.MessageID(p.GetId()),
		Text:          content,
		Media:         media,
		Mentions:      mentions,
		MentionsSelf:  p.GetMentionsSelf(),
		ThreadStarter: Cut(p.GetThreadStarter(), MaxQuote),
	}
	if q := p.GetReplyTo(); q != nil {
		quoted, err := mediaFrom("message.reply_to.media", q.GetMedia())
		if err := first(
			id("message.reply_to.id", q.GetId()), err,
			count("message.media with those of message.reply_to", len(media)+len(quoted), MaxMedia),
		); err != nil {
			return chat.Message{}, err
		}
		m.ReplyTo = &chat.Quote{
			ID:         chat.MessageID(q.GetId()),
			SenderName: Cut(q.GetSenderName(), MaxName),
			Text:       Cut(q.GetText(), MaxQuote),
			IsSelf:     q.GetIsSelf(),
			Media:      quoted,
		}
	}
	if f := p.GetForwarded(); f != nil {
		at, err := timeFrom("message.forwarded.sent_at", f.GetSentAt())
		if err != nil {
			return chat.Message{}, err
		}
		m.Forwarded = &chat.Forward{From: Cut(f.GetFrom(), MaxName), At: at}
	}
	return m, nil
}

// mentionsFrom converts the mentions of a text. It leaves out those that are not a range of whole characters.
func mentionsFrom(name string, list []*pluginv1.Mention, text string) ([]chat.Mention, error) {
	if err := count(name, len(list), MaxMentions); err != nil {
		return nil, err
	}
	var out []chat.Mention
	for _, p := range list {
		if uint64(p.GetOffset())+uint64(p.GetLength()) > uint64(len(text)) {
			return nil, field(name, "a range ends outside the text")
		}
		if err := id(name+".user_id", p.GetUserId()); err != nil {
			return nil, err
		}
		begin, end := int(p.GetOffset()), int(p.GetOffset())+int(p.GetLength())
		if begin == end || !utf8.RuneStart(text[begin]) || end < len(text) && !utf8.RuneStart(text[end]) {
			continue
		}
		out = append(out, chat.Mention{
			Offset: begin, Length: end - begin, User: chat.UserID(p.GetUserId()), IsSelf: p.GetIsSelf(),
			Name: Cut(p.GetName(), MaxName),
		})
	}
	return out, nil
}

func mediaFrom(name string, list []*pluginv1.Media) ([]chat.Media, error) {
	if err := count(name, len(list), MaxMedia); err != nil {
		return nil, err
	}
	var out []chat.Media
	for _, p := range list {
		m, err := MediaFromProto(p)
		if err != nil {
			return nil, field(name, "%w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

// MediaFromProto converts a file's description. An unknown kind becomes File.
func MediaFromProto(p *pluginv1.Media) (chat.Media, error) {
	if err := id("ref", p.GetRef()); err != nil {
		return chat.Media{}, err
	}
	if p.GetSize() < 0 {
		return chat.Media{}, field("size", "negative")
	}
	m := chat.Media{
		Ref:      chat.MediaRef(p.GetRef()),
		Kind:     mediaKindFrom(p.GetKind()),
		MIMEType: Cut(p.GetMimeType(), MaxName),
		FileName: Cut(p.GetFileName(), MaxName),
		Size:     p.GetSize(),
		Problem:  Cut(p.GetProblem(), MaxName),
		Token:    chat.FileToken(p.GetToken()),
	}
	if token("token", p.GetToken()) != nil { // on some networks senders choose its content, and must not lose the message for that
		m.Token = ""
		m.Problem = cmp.Or(m.Problem, "could not be fetched")
	}
	return m, nil
}

// FetchFileFromProto converts a request for a file.
func FetchFileFromProto(p *pluginv1.FetchFileRequest) (of chat.FileToken, most int64, err error) {
	if p.GetToken() == "" {
		return "", 0, field("token", "empty")
	}
	if p.GetMaxBytes() <= 0 {
		return "", 0, field("max_bytes", "not positive")
	}
	return chat.FileToken(p.GetToken()), p.GetMaxBytes(), token("token", p.GetToken())
}

// FileErrorFromProto converts the reason why a channel did not provide a file.
func FileErrorFromProto(p *pluginv1.FetchFailure) error {
	f := &chat.FileError{Problem: Cut(p.GetProblem(), MaxName), RetryAfter: durationFrom(p.GetRetryAfter()), NoSpace: p.GetNoRoom()}
	if p.GetMessage() != "" {
		f.Err = errors.New(Cut(p.GetMessage(), MaxDetail))
	}
	return f
}

// token checks a file's token, which may be empty.
func token(name, value string) error {
	switch {
	case len(value) > chat.MaxFileToken:
		return field(name, "%d bytes, at most %d are allowed", len(value), chat.MaxFileToken)
	case !utf8.ValidString(value):
		return field(name, "not UTF-8")
	}
	return nil
}

func mediaKindFrom(p pluginv1.MediaKind) chat.MediaKind {
	if kind, ok := mediaKinds.from(p); ok {
		return kind
	}
	return chat.File
}

// KindFromProto converts a kind of chat, which is required.
func KindFromProto(p pluginv1.ChatKind) (chat.Kind, error) {
	kind, ok := kinds.from(p)
	if !ok {
		return 0, field("chat.kind", "%d is not known", p)
	}
	return kind, nil
}

// VerdictFromProto converts a verdict.
func VerdictFromProto(p pluginv1.Verdict) (chat.Verdict, error) {
	verdict, ok := verdicts.from(p)
	if !ok {
		return 0, field("verdict", "%d is not known", p)
	}
	return verdict, nil
}

// CommandSpecFromProto converts the description of a command and checks its name. An unknown minimum authority becomes the
// owner's, so that a newer plugin's restriction is not lost on an older host.
func CommandSpecFromProto(p *pluginv1.CommandSpec) (chat.CommandSpec, error) {
	if !ValidCommandName(p.GetName()) {
		return chat.CommandSpec{}, field("command.name", "%q is not made of 1 to %d lower-case letters, digits and underscores",
			Cut(p.GetName(), 2*MaxCommand), MaxCommand)
	}
	s := chat.CommandSpec{Name: p.GetName(), Usage: Cut(p.GetUsage(), MaxName), Summary: Cut(p.GetSummary(), MaxName)}
	if p.GetLeastAuthority() != pluginv1.Authority_AUTHORITY_UNSPECIFIED {
		s.MinAuthority = chat.Owner
		if least, ok := authorities.from(p.GetLeastAuthority()); ok {
			s.MinAuthority = least
		}
	}
	return s, nil
}

// ValidCommandName reports whether a command may have this name: 1 to 32 lower-case ASCII letters, digits and underscores.
func ValidCommandName(name string) bool {
	if name == "" || len(name) > MaxCommand {
		return false
	}
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return true
}

// SessionEntryFromProto converts an entry with its session and the label of the session's agent.
func SessionEntryFromProto(p *pluginv1.SessionEntry) (label, session string, e chat.TranscriptEntry, err error) {
	e, errEntry := TranscriptEntryFromProto(p.GetEntry())
	if err := first(errEntry, agent("agent", p.GetAgent())); err != nil {
		return "", "", chat.TranscriptEntry{}, err
	}
	return p.GetAgent(), p.GetSessionKey(), e, nil
}

// TranscriptEntryFromProto converts an entry of a session's history.
func TranscriptEntryFromProto(p *pluginv1.TranscriptEntry) (chat.TranscriptEntry, error) {
	role, ok := roles.from(p.GetRole())
	if !ok {
		return chat.TranscriptEntry{}, field("entry.role", "%d is not known", p.GetRole())
	}
	at, err := timeFrom("entry.at", p.GetAt())
	if err != nil {
		return chat.TranscriptEntry{}, err
	}
	return chat.TranscriptEntry{ID: p.GetId(), Role: role, Text: Cut(p.GetText(), MaxEntry), At: at}, nil
}

func timeFrom(name string, p *timestamppb.Timestamp) (time.Time, error) {
	if p == nil {
		return time.Time{}, nil
	}
	if err := p.CheckValid(); err != nil {
		return time.Time{}, field(name, "%w", err)
	}
	return p.AsTime(), nil
}

// durationFrom returns zero for an invalid duration.
func durationFrom(p *durationpb.Duration) time.Duration {
	if p == nil || !p.IsValid() {
		return 0
	}
	return max(0, p.AsDuration())
}

// signed clamps n to what an int holds on every platform.
func signed(n uint32) int { return int(min(n, math.MaxInt32)) }
