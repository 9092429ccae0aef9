package wire

import (
	"errors"
	"math"
	"slices"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// AddressToProto converts an address.
func AddressToProto(a chat.Address) *pluginv1.Address {
	return &pluginv1.Address{Channel: a.Channel, ChatId: string(a.Chat), ThreadId: string(a.Thread)}
}

// ChatToProto converts a chat.
func ChatToProto(c chat.Chat) *pluginv1.Chat {
	return &pluginv1.Chat{Id: string(c.ID), Kind: kinds[c.Kind], Title: Repair(c.Title), ParentId: string(c.Parent)}
}

// SenderToProto converts a sender.
func SenderToProto(s chat.Sender) *pluginv1.Sender {
	return &pluginv1.Sender{
		Id:          string(s.ID),
		Aliases:     ids(s.Aliases),
		DisplayName: Repair(s.DisplayName),
		Username:    Repair(s.Username),
		IsSelf:      s.IsSelf,
		IsBot:       s.IsBot,
	}
}

// CallerToProto converts a caller.
func CallerToProto(c chat.Caller) *pluginv1.Caller {
	return &pluginv1.Caller{
		SessionKey: c.Session,
		Address:    AddressToProto(c.Address),
		ChatKind:   kinds[c.Kind],
		Sender:     SenderToProto(c.Sender),
		Authority:  authorities[c.Authority],
		Agent:      c.Agent,
		Workspace:  Repair(c.Workspace),
	}
}

// EventToProto converts an event. A nil body gives an event without a body, which FromProto refuses.
func EventToProto(e chat.Event) *pluginv1.Event {
	p := &pluginv1.Event{
		EventId:     string(e.ID),
		Chat:        ChatToProto(e.Chat),
		ThreadId:    string(e.Thread),
		ThreadApart: e.Isolated,
		Sender:      SenderToProto(e.Sender),
		HappenedAt:  timestamp(e.At),
	}
	switch b := e.Body.(type) {
	case chat.Message:
		p.Body = &pluginv1.Event_Message{Message: MessageToProto(b)}
	case chat.Edited:
		p.Body = &pluginv1.Event_Edited{Edited: &pluginv1.MessageEdited{
			Id: string(b.ID), Text: Repair(b.Text), Mentions: each(b.Mentions, mentionToProto),
		}}
	case chat.Deleted:
		p.Body = &pluginv1.Event_Deleted{Deleted: &pluginv1.MessageDeleted{Id: string(b.ID)}}
	case chat.Reaction:
		p.Body = &pluginv1.Event_Reaction{Reaction: &pluginv1.Reaction{
			MessageId: string(b.MessageID), Emoji: Repair(b.Emoji),
		}}
	case chat.ButtonPress:
		p.Body = &pluginv1.Event_ButtonPress{ButtonPress: &pluginv1.ButtonPress{
			MessageId: string(b.MessageID), Data: b.Data,
		}}
	case chat.NativeCommand:
		p.Body = &pluginv1.Event_Command{Command: &pluginv1.NativeCommand{Name: b.Name, Args: Repair(b.Args)}}
	case chat.StopRequest:
		p.Body = &pluginv1.Event_Stop{Stop: &pluginv1.StopRequest{}}
	case chat.MemberChange:
		kind := pluginv1.MemberChange_KIND_LEFT
		if b.Joined {
			kind = pluginv1.MemberChange_KIND_JOINED
		}
		p.Body = &pluginv1.Event_Member{Member: &pluginv1.MemberChange{Kind: kind, Member: SenderToProto(b.Member)}}
	case chat.Migrated:
		p.Body = &pluginv1.Event_Migrated{Migrated: &pluginv1.ChatMigrated{NewChatId: string(b.To)}}
	}
	return p
}

// TypingToProto converts a hint that a person is typing.
func TypingToProto(t chat.Typing) *pluginv1.TypingRequest {
	return &pluginv1.TypingRequest{
		Chat: ChatToProto(t.Chat), ThreadId: string(t.Thread), Sender: SenderToProto(t.Sender), Stopped: t.Stopped,
	}
}

// MessageToProto converts a message.
func MessageToProto(m chat.Message) *pluginv1.Message {
	p := &pluginv1.Message{
		Id:            string(m.ID),
		Text:          Repair(m.Text),
		Media:         each(m.Media, MediaToProto),
		Mentions:      each(m.Mentions, mentionToProto),
		MentionsSelf:  m.MentionsSelf,
		ThreadStarter: Cut(m.ThreadStarter, MaxQuote),
	}
	if q := m.ReplyTo; q != nil {
		p.ReplyTo = &pluginv1.Quote{
			Id: string(q.ID), SenderName: Repair(q.SenderName), Text: Cut(q.Text, MaxQuote), IsSelf: q.IsSelf,
			Media: each(q.Media, MediaToProto),
		}
	}
	if f := m.Forwarded; f != nil {
		p.Forwarded = &pluginv1.Forward{From: Repair(f.From), SentAt: timestamp(f.At)}
	}
	return p
}

func mentionToProto(m chat.Mention) *pluginv1.Mention {
	return &pluginv1.Mention{
		Offset: unsigned(m.Offset), Length: unsigned(m.Length), UserId: string(m.User),
		IsSelf: m.IsSelf, Name: Repair(m.Name),
	}
}

// MediaToProto converts a file's description.
func MediaToProto(m chat.Media) *pluginv1.Media {
	return &pluginv1.Media{
		Ref:      string(m.Ref),
		Kind:     mediaKinds[m.Kind],
		MimeType: Repair(m.MIMEType),
		FileName: Repair(m.FileName),
		Size:     m.Size,
		Problem:  Repair(m.Problem),
		Token:    Repair(string(m.Token)),
	}
}

// FileErrorToProto converts the reason why a channel did not provide a file. An error that is neither a [*chat.FileError]
// nor a [*chat.Failure] is temporary.
func FileErrorToProto(err error) *pluginv1.FetchFailure {
	p := &pluginv1.FetchFailure{Message: Cut(err.Error(), MaxDetail), NoRoom: noSpace(err)}
	if f, ok := errors.AsType[*chat.FileError](err); ok {
		p.Problem, p.RetryAfter, p.NoRoom = Cut(f.Problem, MaxName), duration(f.RetryAfter), p.GetNoRoom() || f.NoSpace
	} else if f, ok := errors.AsType[*chat.Failure](err); ok {
		p.RetryAfter = duration(f.RetryAfter)
	}
	return p
}

// noSpace reports whether an error is a temporary lack of this machine's resources.
func noSpace(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}, func(want error) bool {
		return errors.Is(err, want)
	})
}

// OutgoingToProto converts a message to send.
func OutgoingToProto(o chat.Outgoing) *pluginv1.SendMessageRequest {
	return &pluginv1.SendMessageRequest{
		IdempotencyKey: o.Key,
		Address:        AddressToProto(o.To),
		Text:           Repair(o.Text),
		Media:          each(o.Media, MediaToProto),
		ReplyToId:      string(o.ReplyTo),
		Buttons:        ButtonsToProto(o.Buttons),
		Silent:         o.Silent,
		Poll:           pollToProto(o.Poll),
		Agent:          o.Agent,
	}
}

func pollToProto(p *chat.Poll) *pluginv1.Poll {
	if p == nil {
		return nil
	}
	return &pluginv1.Poll{Question: Repair(p.Question), Options: each(p.Options, Repair), Multiple: p.Multiple, Anonymous: p.Anonymous}
}

// ButtonsToProto converts rows of buttons.
func ButtonsToProto(rows [][]chat.Button) []*pluginv1.ButtonRow {
	return each(rows, func(row []chat.Button) *pluginv1.ButtonRow {
		return &pluginv1.ButtonRow{Buttons: each(row, func(b chat.Button) *pluginv1.Button {
			return &pluginv1.Button{Label: Repair(b.Label), Data: b.Data}
		})}
	})
}

// ReceiptToProto converts a receipt.
func ReceiptToProto(r chat.Receipt) *pluginv1.Sent { return &pluginv1.Sent{MessageIds: ids(r.IDs)} }

// FailureToProto converts the error of a channel's method. Nil stays nil; an error that is not a [*chat.Failure] is
// temporary with an unknown outcome.
func FailureToProto(err error) *pluginv1.Failure {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*chat.Failure](err)
	if !ok {
		f = &chat.Failure{Reason: chat.Temporary, MaybeDelivered: true, Err: err}
	}
	p := &pluginv1.Failure{Reason: reasons[f.Reason], Delivery: pluginv1.Delivery_DELIVERY_NOT_DELIVERED}
	if f.MaybeDelivered {
		p.Delivery = pluginv1.Delivery_DELIVERY_UNKNOWN
	}
	if f.RetryAfter > 0 {
		p.RetryAfter = durationpb.New(f.RetryAfter)
	}
	if f.Err != nil {
		p.Message = Cut(f.Err.Error(), MaxDetail)
	}
	return p
}

// LimitsToProto converts a channel's limits in one kind of chat.
func LimitsToProto(l chat.Limits) *pluginv1.GetCapabilitiesResponse {
	p := &pluginv1.GetCapabilitiesResponse{
		Text:           textLimit(l.Text),
		Markup:         markups[l.Markup],
		TypingTtl:      duration(l.TypingTTL),
		Draft:          drafts[l.Draft],
		Replies:        l.Replies,
		MediaIn:        each(l.MediaIn, mediaLimit),
		MediaOut:       each(l.MediaOut, mediaLimit),
		IdempotentSend: l.IdempotentSend,
	}
	if l.Edit != (chat.EditLimits{}) {
		p.Edit = &pluginv1.EditLimits{Window: duration(l.Edit.Window), MinInterval: duration(l.Edit.MinInterval)}
	}
	if l.Buttons != (chat.ButtonLimits{}) {
		p.Buttons = &pluginv1.ButtonLimits{
			Rows:      unsigned(l.Buttons.Rows),
			Columns:   unsigned(l.Buttons.Columns),
			DataBytes: unsigned(l.Buttons.DataBytes),
		}
	}
	if l.Polls.Options > 0 {
		p.Polls = &pluginv1.PollLimits{
			Options: unsigned(l.Polls.Options), Question: textLimit(l.Polls.Question), Option: textLimit(l.Polls.Option),
			Anonymous: l.Polls.Anonymous,
		}
	}
	return p
}

// KindToProto converts a kind of chat.
func KindToProto(k chat.Kind) pluginv1.ChatKind { return kinds[k] }

// VerdictToProto converts a verdict.
func VerdictToProto(v chat.Verdict) pluginv1.Verdict { return verdicts[v] }

// StateToProto converts a connection's state.
func StateToProto(s chat.State) pluginv1.ChannelState { return states[s] }

// CommandSpecToProto converts the description of a command.
func CommandSpecToProto(s chat.CommandSpec) *pluginv1.CommandSpec {
	return &pluginv1.CommandSpec{
		Name: s.Name, Usage: Repair(s.Usage), Summary: Repair(s.Summary), LeastAuthority: authorities[s.MinAuthority],
	}
}

// SessionEntryToProto converts an entry with its session and the label of the session's agent.
func SessionEntryToProto(label, session string, e chat.TranscriptEntry) *pluginv1.SessionEntry {
	return &pluginv1.SessionEntry{Agent: label, SessionKey: session, Entry: TranscriptEntryToProto(e)}
}

// TranscriptEntryToProto converts an entry of a session's history.
func TranscriptEntryToProto(e chat.TranscriptEntry) *pluginv1.TranscriptEntry {
	return &pluginv1.TranscriptEntry{Id: e.ID, Role: roles[e.Role], Text: Repair(e.Text), At: timestamp(e.At)}
}

func textLimit(l chat.TextLimit) *pluginv1.TextLimit {
	if l.Max <= 0 {
		return nil
	}
	return &pluginv1.TextLimit{Max: unsigned(l.Max), Unit: units[l.Unit]}
}

func mediaLimit(l chat.MediaLimit) *pluginv1.MediaLimit {
	return &pluginv1.MediaLimit{Kind: mediaKinds[l.Kind], MaxBytes: l.MaxBytes}
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func duration(d time.Duration) *durationpb.Duration {
	if d <= 0 {
		return nil
	}
	return durationpb.New(d)
}

// unsigned clamps n to what the wire can carry. A negative number becomes the largest, which every check refuses.
func unsigned(n int) uint32 {
	if n < 0 || n > math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(n)
}

func ids[S ~string](list []S) []string {
	return each(list, func(s S) string { return string(s) })
}

func each[F, T any](list []F, convert func(F) T) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}
