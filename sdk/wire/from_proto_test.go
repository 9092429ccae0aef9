package wire_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// good is a valid event; each case breaks one thing.
func good() *pluginv1.Event {
	return wire.EventToProto(chat.Event{
		ID:     "e1",
		Chat:   chat.Chat{ID: "c1", Kind: chat.Group},
		Sender: chat.Sender{ID: "u1"},
		Body:   chat.Message{ID: "m1", Text: "hello"},
	})
}

// Behaviour: message-bounded, chat-unknown-kind.
func TestEventFromProtoRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", wire.MaxID+1)
	tests := map[string]struct {
		field string
		spoil func(*pluginv1.Event)
	}{
		"no event id":      {"event_id", func(e *pluginv1.Event) { e.EventId = "" }},
		"long event id":    {"event_id", func(e *pluginv1.Event) { e.EventId = strings.Repeat("x", 201) }},
		"no chat":          {"chat.id", func(e *pluginv1.Event) { e.Chat.Id = "" }},
		"chat missing":     {"chat.id", func(e *pluginv1.Event) { e.Chat = nil }},
		"long chat id":     {"chat.id", func(e *pluginv1.Event) { e.Chat.Id = long }},
		"no kind":          {"chat.kind", func(e *pluginv1.Event) { e.Chat.Kind = 0 }},
		"unknown kind":     {"chat.kind", func(e *pluginv1.Event) { e.Chat.Kind = 99 }},
		"long parent":      {"chat.parent_id", func(e *pluginv1.Event) { e.Chat.ParentId = long }},
		"long thread":      {"thread_id", func(e *pluginv1.Event) { e.ThreadId = long }},
		"no sender":        {"sender.id", func(e *pluginv1.Event) { e.Sender = nil }},
		"long sender":      {"sender.id", func(e *pluginv1.Event) { e.Sender.Id = long }},
		"many aliases":     {"sender.aliases", func(e *pluginv1.Event) { e.Sender.Aliases = slices.Repeat([]string{"a"}, 33) }},
		"empty alias":      {"sender.aliases", func(e *pluginv1.Event) { e.Sender.Aliases = []string{""} }},
		"impossible time":  {"happened_at", func(e *pluginv1.Event) { e.HappenedAt = &timestamppb.Timestamp{Nanos: -1} }},
		"no body":          {"body", func(e *pluginv1.Event) { e.Body = nil }},
		"broken id":        {"chat.id", func(e *pluginv1.Event) { e.Chat.Id = "\xff" }},
		"long text":        {"message.text", func(e *pluginv1.Event) { e.GetMessage().Text = strings.Repeat("x", wire.MaxText+1) }},
		"long message id":  {"message.id", func(e *pluginv1.Event) { e.GetMessage().Id = long }},
		"much media":       {"message.media", func(e *pluginv1.Event) { e.GetMessage().Media = make([]*pluginv1.Media, 65) }},
		"long media ref":   {"message.media: ref", func(e *pluginv1.Event) { e.GetMessage().Media = []*pluginv1.Media{{Ref: long}} }},
		"negative size":    {"message.media: size", func(e *pluginv1.Event) { e.GetMessage().Media = []*pluginv1.Media{{Size: -1}} }},
		"many mentions":    {"message.mentions", func(e *pluginv1.Event) { e.GetMessage().Mentions = make([]*pluginv1.Mention, 257) }},
		"mention outside":  {"message.mentions", func(e *pluginv1.Event) { e.GetMessage().Mentions = []*pluginv1.Mention{{Offset: 5, Length: 1}} }},
		"mention overflow": {"message.mentions", func(e *pluginv1.Event) { e.GetMessage().Mentions = []*pluginv1.Mention{{Offset: 1, Length: 1<<32 - 1}} }},
		"edit without id":  {"edited.id", func(e *pluginv1.Event) { e.Body = &pluginv1.Event_Edited{} }},
		"edit that mentions outside": {"edited.mentions", func(e *pluginv1.Event) {
			e.Body = &pluginv1.Event_Edited{Edited: &pluginv1.MessageEdited{Id: "m", Text: "x", Mentions: []*pluginv1.Mention{{Offset: 1, Length: 1}}}}
		}},
		"delete without id": {"deleted.id", func(e *pluginv1.Event) { e.Body = &pluginv1.Event_Deleted{Deleted: &pluginv1.MessageDeleted{}} }},
		"reaction to none":  {"reaction.message_id", func(e *pluginv1.Event) { e.Body = &pluginv1.Event_Reaction{Reaction: &pluginv1.Reaction{}} }},
		"long button data": {"button_press.data", func(e *pluginv1.Event) {
			e.Body = &pluginv1.Event_ButtonPress{ButtonPress: &pluginv1.ButtonPress{Data: strings.Repeat("x", wire.MaxData+1)}}
		}},
		"nameless command": {"command.name", func(e *pluginv1.Event) { e.Body = &pluginv1.Event_Command{Command: &pluginv1.NativeCommand{}} }},
		"unknown change": {"member.kind", func(e *pluginv1.Event) {
			e.Body = &pluginv1.Event_Member{Member: &pluginv1.MemberChange{Member: &pluginv1.Sender{Id: "u"}}}
		}},
		"no one joined": {"member.id", func(e *pluginv1.Event) {
			e.Body = &pluginv1.Event_Member{Member: &pluginv1.MemberChange{Kind: pluginv1.MemberChange_KIND_JOINED}}
		}},
		"migrated nowhere": {"migrated.new_chat_id", func(e *pluginv1.Event) { e.Body = &pluginv1.Event_Migrated{} }},
	}
	if _, err := wire.EventFromProto(good()); err != nil {
		t.Fatalf("the event that the cases spoil is refused itself: %v", err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event := good()
			tt.spoil(event)
			_, err := wire.EventFromProto(event)
			if err == nil || !strings.HasPrefix(err.Error(), tt.field+":") {
				t.Errorf("error is %v, want one that names %s", err, tt.field)
			}
		})
	}
}

func TestTypingFromProtoRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", wire.MaxID+1)
	for name, test := range map[string]struct {
		field string
		spoil func(*pluginv1.TypingRequest)
	}{
		"chat missing":   {"chat.id", func(r *pluginv1.TypingRequest) { r.Chat = nil }},
		"long chat":      {"chat.id", func(r *pluginv1.TypingRequest) { r.Chat.Id = long }},
		"unknown kind":   {"chat.kind", func(r *pluginv1.TypingRequest) { r.Chat.Kind = 99 }},
		"long thread":    {"thread_id", func(r *pluginv1.TypingRequest) { r.ThreadId = long }},
		"sender missing": {"sender.id", func(r *pluginv1.TypingRequest) { r.Sender = nil }},
		"many aliases":   {"sender.aliases", func(r *pluginv1.TypingRequest) { r.Sender.Aliases = slices.Repeat([]string{"a"}, 33) }},
		"broken id":      {"sender.id", func(r *pluginv1.TypingRequest) { r.Sender.Id = "\xff" }},
	} {
		r := wire.TypingToProto(chat.Typing{Chat: chat.Chat{ID: "c1", Kind: chat.Group}, Sender: chat.Sender{ID: "u1"}})
		test.spoil(r)
		if _, err := wire.TypingFromProto(r); err == nil || !strings.HasPrefix(err.Error(), test.field+":") {
			t.Errorf("%s: %v, want an error about %s", name, err, test.field)
		}
	}
}

// Behaviour: message-bounded.
func TestEventFromProtoCutsWhatOnlyPeopleRead(t *testing.T) {
	t.Parallel()
	event := good()
	event.Sender.DisplayName = strings.Repeat("ü", 500)
	event.Chat.Title = strings.Repeat("x", 5000)
	event.GetMessage().ReplyTo = &pluginv1.Quote{Text: strings.Repeat("q", wire.MaxQuote+5)}
	event.GetMessage().ThreadStarter = strings.Repeat("s", wire.MaxQuote+5)
	got, err := wire.EventFromProto(event)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("ü", wire.MaxName/2); got.Sender.DisplayName != want {
		t.Errorf("the display name has %d bytes, want %d", len(got.Sender.DisplayName), len(want))
	}
	body := got.Body.(chat.Message)
	if len(got.Chat.Title) != wire.MaxName || len(body.ReplyTo.Text) != wire.MaxQuote || len(body.ThreadStarter) != wire.MaxQuote {
		t.Errorf("title, quote and starter have %d, %d and %d bytes", len(got.Chat.Title), len(body.ReplyTo.Text), len(body.ThreadStarter))
	}
	event.Body = &pluginv1.Event_Command{Command: &pluginv1.NativeCommand{Name: strings.Repeat("c", wire.MaxCommand+1)}}
	if got, err := wire.EventFromProto(event); err != nil || len(got.Body.(chat.NativeCommand).Name) != wire.MaxCommand {
		t.Errorf("the command is %+v, error %v", got.Body, err)
	}
}

// TestMentionsAreWholeCharacters checks that a mention that is empty, or that divides a character, is left out.
// Behaviour: text-mentions.
func TestMentionsAreWholeCharacters(t *testing.T) {
	t.Parallel()
	m, err := wire.MessageFromProto(&pluginv1.Message{Text: "é @bot é", Mentions: []*pluginv1.Mention{
		{Offset: 1, Length: 3}, {Offset: 3, Length: 0}, {Offset: 3, Length: 4}, {Offset: 3, Length: 6}, {Offset: 8, Length: 2},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []chat.Mention{{Offset: 3, Length: 4}, {Offset: 8, Length: 2}}; !slices.Equal(m.Mentions, want) {
		t.Errorf("the mentions are %+v, want %+v", m.Mentions, want)
	}
}

// TestQuotedFilesCountWithTheOthers: the limit on files includes those of the quote.
// Behaviour: file-quoted.
func TestQuotedFilesCountWithTheOthers(t *testing.T) {
	t.Parallel()
	files := func(n int) []*pluginv1.Media {
		list := make([]*pluginv1.Media, n)
		for i := range list {
			list[i] = &pluginv1.Media{}
		}
		return list
	}
	for _, tt := range []struct {
		own, quoted int
		want        string
	}{
		{4, wire.MaxMedia - 4, ""},
		{4, wire.MaxMedia - 3, "message.media with those of message.reply_to:"},
		{0, wire.MaxMedia + 1, "message.reply_to.media:"},
	} {
		_, err := wire.MessageFromProto(&pluginv1.Message{Media: files(tt.own), ReplyTo: &pluginv1.Quote{Media: files(tt.quoted)}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%d and %d files: the error is %v, want %q", tt.own, tt.quoted, err, tt.want)
		}
	}
	bad := &pluginv1.Message{ReplyTo: &pluginv1.Quote{Media: []*pluginv1.Media{{Size: -1}}}}
	if _, err := wire.MessageFromProto(bad); err == nil || !strings.HasPrefix(err.Error(), "message.reply_to.media:") {
		t.Errorf("a quoted file of a negative size: %v", err)
	}
}

func TestUnknownValuesTakeTheLeast(t *testing.T) {
	t.Parallel()
	limits, err := wire.LimitsFromProto(&pluginv1.GetCapabilitiesResponse{
		Text: &pluginv1.TextLimit{Max: 10, Unit: 99}, Markup: 99, Draft: 99, TypingTtl: &durationpb.Duration{Seconds: -1},
	})
	want := chat.Limits{Text: chat.TextLimit{Max: 10, Unit: chat.Bytes}, Markup: chat.Plain, Draft: chat.NoDraft}
	if err != nil || limits.Text != want.Text || limits.Markup != want.Markup || limits.Draft != want.Draft || limits.TypingTTL != 0 {
		t.Errorf("limits are %+v, %v", limits, err)
	}
	spec, err := wire.CommandSpecFromProto(&pluginv1.CommandSpec{Name: "roll", LeastAuthority: 99})
	if err != nil || spec.MinAuthority != chat.Owner {
		t.Errorf("an unknown least authority gives %v, %v, want the owner's", spec.MinAuthority, err)
	}
	failure, _ := errors.AsType[*chat.Failure](wire.FailureFromProto(&pluginv1.Failure{Reason: 99}))
	if failure.Reason != chat.Temporary || !failure.MaybeDelivered {
		t.Errorf("an unknown failure is %+v, want a temporary one with unknown outcome", failure)
	}
	media, err := wire.MediaFromProto(&pluginv1.Media{Kind: 99})
	if err != nil || media.Kind != chat.File {
		t.Errorf("an unknown kind of media is a %v, %v", media.Kind, err)
	}
	for _, name := range []string{"", "Roll", "ro ll", "/roll", strings.Repeat("r", 33), "röll"} {
		if _, err := wire.CommandSpecFromProto(&pluginv1.CommandSpec{Name: name}); err == nil {
			t.Errorf("the command name %q was taken", name)
		}
	}
}

func TestButtonsAreBounded(t *testing.T) {
	t.Parallel()
	if _, err := wire.ButtonsFromProto(make([]*pluginv1.ButtonRow, wire.MaxButtons+1)); err == nil {
		t.Error("many empty rows were taken")
	}
	row := &pluginv1.ButtonRow{Buttons: slices.Repeat([]*pluginv1.Button{{Label: "x"}}, wire.MaxButtons+1)}
	if _, err := wire.ButtonsFromProto([]*pluginv1.ButtonRow{row}); err == nil {
		t.Error("a row with many buttons was taken")
	}
}

// TestBrokenTextStaysSendable checks that invalid UTF-8 neither breaks the message nor moves its mentions.
func TestBrokenTextStaysSendable(t *testing.T) {
	t.Parallel()
	event := chat.Event{
		ID: "e1", Chat: chat.Chat{ID: "c1", Kind: chat.Group}, Sender: chat.Sender{ID: "u1"},
		Body: chat.Message{Text: "\xff\xfe hi @bot", Mentions: []chat.Mention{{Offset: 6, Length: 4, IsSelf: true}}},
	}
	p := wire.EventToProto(event)
	if _, err := proto.Marshal(p); err != nil {
		t.Fatalf("the message cannot be sent: %v", err)
	}
	got, err := wire.EventFromProto(p)
	if err != nil {
		t.Fatal(err)
	}
	m := got.Body.(chat.Message)
	if r := m.Mentions[0]; m.Text != "?? hi @bot" || m.Text[r.Offset:r.Offset+r.Length] != "@bot" {
		t.Errorf("text %q, mention %q", m.Text, m.Text[r.Offset:r.Offset+r.Length])
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "valid") {
			s = rapid.String().Draw(t, "text")
		}
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got := wire.Cut(s, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q", s, limit, got)
		}
		if utf8.ValidString(s) && (!strings.HasPrefix(s, got) || len(s) <= limit && got != s || len(s) > limit && len(got) < limit-3) {
			t.Fatalf("Cut(%q, %d) = %q loses too much", s, limit, got)
		}
	})
}

// FuzzEventFromProto decodes arbitrary bytes as an event: nothing panics, and an accepted event is within every limit and
// survives a round trip unchanged.
func FuzzEventFromProto(f *testing.F) {
	for _, body := range []chat.Body{
		chat.Message{ID: "m", Text: "hi @bot", Mentions: []chat.Mention{{Offset: 3, Length: 4}}, Media: []chat.Media{{Kind: chat.Image}}},
		chat.Edited{ID: "m", Text: "@bot x", Mentions: []chat.Mention{{Length: 4, IsSelf: true}}},
		chat.MemberChange{Joined: true, Member: chat.Sender{ID: "u"}},
		chat.NativeCommand{Name: "new"},
	} {
		raw, err := proto.Marshal(wire.EventToProto(chat.Event{
			ID: "e", Chat: chat.Chat{ID: "c", Kind: chat.Direct}, Sender: chat.Sender{ID: "u"}, Body: body,
		}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := &pluginv1.Event{}
		if proto.Unmarshal(raw, p) != nil {
			return
		}
		event, err := wire.EventFromProto(p)
		if err != nil {
			return
		}
		if event.ID == "" || len(event.ID) > chat.MaxEventID || event.Chat.ID == "" || event.Body == nil {
			t.Fatalf("taken: %+v", event)
		}
		if m, ok := event.Body.(chat.Message); ok {
			if len(m.Text) > wire.MaxText || len(m.Media) > wire.MaxMedia || len(m.Mentions) > wire.MaxMentions {
				t.Fatalf("a message beyond the bounds was taken: %d, %d, %d", len(m.Text), len(m.Media), len(m.Mentions))
			}
			for _, r := range m.Mentions {
				_ = m.Text[r.Offset : r.Offset+r.Length]
			}
		}
		again, err := wire.EventFromProto(wire.EventToProto(event))
		if err != nil {
			t.Fatalf("what was taken is refused the second time: %v", err)
		}
		if !proto.Equal(wire.EventToProto(event), wire.EventToProto(again)) {
			t.Fatal("what was taken changes the second time")
		}
	})
}

// TestTokensAreBounded: senders may choose a token's content, and must not lose a message for it.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	for token, taken := range map[string]bool{"": true, "t": true, strings.Repeat("x", chat.MaxFileToken): true, strings.Repeat("x", chat.MaxFileToken+1): false, "\xff": false} {
		m, err := wire.MediaFromProto(&pluginv1.Media{Token: token})
		if err != nil || (m.Token == chat.FileToken(token)) != taken || (m.Problem == "") != taken {
			t.Errorf("a token of %d bytes comes as %+v, %v", len(token), m, err)
		}
		_, _, err = wire.FetchFileFromProto(&pluginv1.FetchFileRequest{Token: token, MaxBytes: 1})
		if (err == nil) != (taken && token != "") {
			t.Errorf("a request by a token of %d bytes: %v", len(token), err)
		}
	}
	if _, _, err := wire.FetchFileFromProto(&pluginv1.FetchFileRequest{Token: "t"}); err == nil {
		t.Error("a request for no bytes was taken")
	}
}

// TestWhyAFileWasNotFetched: a lack of this machine's resources is recognised, however deeply it is wrapped.
// Behaviour: file-retry.
func TestWhyAFileWasNotFetched(t *testing.T) {
	t.Parallel()
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for _, tt := range []struct {
		err  error
		want chat.FileError
	}{
		{errors.New("cut off"), chat.FileError{}},
		{fmt.Errorf("download: %w", full), chat.FileError{NoSpace: true}},
		{&chat.FileError{Err: full}, chat.FileError{NoSpace: true}},
		{&chat.FileError{NoSpace: true}, chat.FileError{NoSpace: true}},
		{&chat.FileError{Problem: "is gone", RetryAfter: time.Minute}, chat.FileError{Problem: "is gone", RetryAfter: time.Minute}},
		{&chat.Failure{Reason: chat.RateLimited, RetryAfter: time.Minute}, chat.FileError{RetryAfter: time.Minute}},
	} {
		got, ok := errors.AsType[*chat.FileError](wire.FileErrorFromProto(wire.FileErrorToProto(tt.err)))
		if !ok || got.Err == nil || got.Problem != tt.want.Problem || got.RetryAfter != tt.want.RetryAfter || got.NoSpace != tt.want.NoSpace {
			t.Errorf("%v came back as %+v", tt.err, got)
		}
	}
}
