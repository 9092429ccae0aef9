package wire_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// filler fills every field of a value with something that is not zero and, as far as the kind allows, differs from
// every other field's value.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000, int64(f.n)).UTC()))
		return
	case time.Duration:
		v.SetInt(int64(f.n) * int64(time.Millisecond))
		return
	case chat.Kind, chat.Authority, chat.MediaKind, chat.Role, chat.Unit:
		v.SetInt(int64(f.n%2) + 2)
		return
	case chat.Markup, chat.Draft:
		v.SetInt(2)
		return
	case chat.Reason:
		v.SetInt(int64(chat.TargetGone))
		return
	case chat.Mention:
		// A range must be inside the text.
		v.Set(reflect.ValueOf(chat.Mention{Offset: 1, Length: 2, User: chat.UserID(fmt.Sprint("user", f.n)), IsSelf: true, Name: fmt.Sprint("name", f.n)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text%d", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
			if v.Type().Field(i).Name == "Workspace" {
				v.Field(i).SetString("/" + v.Field(i).String()) // it must be absolute
			}
		}
	case reflect.Interface:
		// An event's body; each type has its own test.
	default:
		panic("no way to fill a " + v.Type().String())
	}
}

// filled returns a T whose fields are all set.
func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	f := &filler{}
	f.fill(reflect.ValueOf(&v).Elem())
	return v
}

// unset lists the fields of a protocol message, including nested ones, that are not set: a field that was added to the
// protocol and forgotten in the conversion is one. Of a oneof one field suffices.
func unset(m protoreflect.Message, path string) (missing []string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + "." + string(f.Name())
		if !m.Has(f) {
			if options, ok := f.Options().(*descriptorpb.FieldOptions); ok && options.GetDeprecated() {
				continue
			}
			if f.ContainingOneof() == nil || m.WhichOneof(f.ContainingOneof()) == nil {
				missing = append(missing, name)
			}
			continue
		}
		if f.Message() == nil || f.IsMap() || f.Message().ParentFile().Package() == "google.protobuf" {
			continue
		}
		if f.IsList() {
			list := m.Get(f).List()
			for j := range list.Len() {
				missing = append(missing, unset(list.Get(j).Message(), name)...)
			}
			continue
		}
		missing = append(missing, unset(m.Get(f).Message(), name)...)
	}
	return missing
}

// there checks a conversion and its inverse.
func there[C any, P proto.Message](t *testing.T, value C, to func(C) P, from func(P) (C, error)) {
	t.Helper()
	p := to(value)
	for _, name := range unset(p.ProtoReflect(), string(p.ProtoReflect().Descriptor().Name())) {
		t.Errorf("%s is not set though the value is full", name)
	}
	raw, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	received := p.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(raw, received); err != nil {
		t.Fatal(err)
	}
	got, err := from(received.(P))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value, got); diff != "" {
		t.Errorf("the value changed on its way (-sent +received):\n%s", diff)
	}
}

// Behaviour: session-thread-own.
func TestRoundTripKeepsEveryField(t *testing.T) {
	t.Parallel()
	there(t, filled[chat.Address](t), wire.AddressToProto, wire.AddressFromProto)
	there(t, filled[chat.Chat](t), wire.ChatToProto, wire.ChatFromProto)
	there(t, filled[chat.Sender](t), wire.SenderToProto, wire.SenderFromProto)
	there(t, filled[chat.Caller](t), wire.CallerToProto, wire.CallerFromProto)
	type entry struct {
		Agent, Session string
		Entry          chat.TranscriptEntry
	}
	there(t, filled[entry](t),
		func(e entry) *pluginv1.SessionEntry { return wire.SessionEntryToProto(e.Agent, e.Session, e.Entry) },
		func(p *pluginv1.SessionEntry) (entry, error) {
			label, session, e, err := wire.SessionEntryFromProto(p)
			return entry{label, session, e}, err
		})
	there(t, filled[chat.Typing](t), wire.TypingToProto, wire.TypingFromProto)
	there(t, filled[chat.Media](t), wire.MediaToProto, wire.MediaFromProto)
	there(t, filled[chat.Outgoing](t), wire.OutgoingToProto, wire.OutgoingFromProto)
	there(t, filled[chat.Receipt](t), wire.ReceiptToProto, wire.ReceiptFromProto)
	there(t, filled[chat.Limits](t), wire.LimitsToProto, wire.LimitsFromProto)
	there(t, filled[chat.TranscriptEntry](t), wire.TranscriptEntryToProto, wire.TranscriptEntryFromProto)
	there(t, filled[chat.CommandSpec](t), wire.CommandSpecToProto, wire.CommandSpecFromProto)
}

func TestRoundTripOfEveryBody(t *testing.T) {
	t.Parallel()
	for _, body := range []chat.Body{
		filled[chat.Message](t),
		filled[chat.Edited](t),
		filled[chat.Deleted](t),
		filled[chat.Reaction](t),
		filled[chat.ButtonPress](t),
		filled[chat.NativeCommand](t),
		chat.StopRequest{},
		filled[chat.MemberChange](t),
		chat.MemberChange{Joined: false, Member: filled[chat.Sender](t)},
		filled[chat.Migrated](t),
	} {
		t.Run(fmt.Sprintf("%T", body), func(t *testing.T) {
			t.Parallel()
			event := filled[chat.Event](t)
			event.Body = body
			there(t, event, wire.EventToProto, wire.EventFromProto)
		})
	}
}

func TestRoundTripOfFailure(t *testing.T) {
	t.Parallel()
	for reason := chat.Temporary; reason <= chat.Invalid; reason++ {
		for _, sent := range []*chat.Failure{
			{Reason: reason, MaybeDelivered: true, RetryAfter: time.Minute, Err: errors.New("what the network said")},
			{Reason: reason},
		} {
			got, ok := errors.AsType[*chat.Failure](wire.FailureFromProto(wire.FailureToProto(fmt.Errorf("send: %w", sent))))
			if !ok || got.Reason != sent.Reason || got.MaybeDelivered != sent.MaybeDelivered ||
				got.RetryAfter != sent.RetryAfter || got.Error() != sent.Error() {
				t.Errorf("%+v came back as %+v", sent, got)
			}
		}
	}
	if err := wire.FailureFromProto(wire.FailureToProto(nil)); err != nil {
		t.Errorf("no failure came back as %v", err)
	}
	plain, _ := errors.AsType[*chat.Failure](wire.FailureFromProto(wire.FailureToProto(errors.New("cut off"))))
	if plain == nil || plain.Reason != chat.Temporary || !plain.MaybeDelivered {
		t.Errorf("an untyped error came back as %+v, want a temporary failure with unknown outcome", plain)
	}
}

// TestEnumerationsAreComplete checks the tables against the protocol: each value except the unspecified one has a distinct
// value in package chat, and survives a round trip.
func TestEnumerationsAreComplete(t *testing.T) {
	t.Parallel()
	enum[pluginv1.ChatKind](t, wire.KindFromProto, wire.KindToProto)
	enum[pluginv1.Verdict](t, wire.VerdictFromProto, wire.VerdictToProto)
	enum[pluginv1.ChannelState](t, wire.StateFromProto, wire.StateToProto)
	enum[pluginv1.Authority](t, func(a pluginv1.Authority) (chat.Authority, error) {
		c, err := wire.CallerFromProto(&pluginv1.Caller{
			Address: &pluginv1.Address{ChatId: "c"}, ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT, Authority: a,
		})
		return c.Authority, err
	}, func(a chat.Authority) pluginv1.Authority {
		return wire.CallerToProto(chat.Caller{Authority: a}).GetAuthority()
	})
	enum[pluginv1.MediaKind](t, func(k pluginv1.MediaKind) (chat.MediaKind, error) {
		m, err := wire.MediaFromProto(&pluginv1.Media{Kind: k})
		return m.Kind, err
	}, func(k chat.MediaKind) pluginv1.MediaKind { return wire.MediaToProto(chat.Media{Kind: k}).GetKind() })
	enum[pluginv1.Role](t, func(r pluginv1.Role) (chat.Role, error) {
		e, err := wire.TranscriptEntryFromProto(&pluginv1.TranscriptEntry{Role: r})
		return e.Role, err
	}, func(r chat.Role) pluginv1.Role {
		return wire.TranscriptEntryToProto(chat.TranscriptEntry{Role: r}).GetRole()
	})
	enum[pluginv1.Reason](t, func(r pluginv1.Reason) (chat.Reason, error) {
		f, _ := errors.AsType[*chat.Failure](wire.FailureFromProto(&pluginv1.Failure{Reason: r}))
		return f.Reason, nil
	}, func(r chat.Reason) pluginv1.Reason { return wire.FailureToProto(&chat.Failure{Reason: r}).GetReason() })
	enum[pluginv1.TextLimit_Unit](t, func(u pluginv1.TextLimit_Unit) (chat.Unit, error) {
		l, err := wire.LimitsFromProto(&pluginv1.GetCapabilitiesResponse{Text: &pluginv1.TextLimit{Max: 1, Unit: u}})
		return l.Text.Unit, err
	}, func(u chat.Unit) pluginv1.TextLimit_Unit {
		return wire.LimitsToProto(chat.Limits{Text: chat.TextLimit{Max: 1, Unit: u}}).GetText().GetUnit()
	})
	enum[pluginv1.Markup](t, func(m pluginv1.Markup) (chat.Markup, error) {
		l, err := wire.LimitsFromProto(&pluginv1.GetCapabilitiesResponse{Markup: m})
		return l.Markup, err
	}, func(m chat.Markup) pluginv1.Markup { return wire.LimitsToProto(chat.Limits{Markup: m}).GetMarkup() })
	enum[pluginv1.DraftKind](t, func(d pluginv1.DraftKind) (chat.Draft, error) {
		l, err := wire.LimitsFromProto(&pluginv1.GetCapabilitiesResponse{Draft: d})
		return l.Draft, err
	}, func(d chat.Draft) pluginv1.DraftKind { return wire.LimitsToProto(chat.Limits{Draft: d}).GetDraft() })
}

func enum[P protoreflect.Enum, C comparable](t *testing.T, from func(P) (C, error), to func(C) P) {
	t.Helper()
	var zero P
	values := zero.Descriptor().Values()
	for i := range values.Len() {
		number := values.Get(i).Number()
		if number == 0 {
			continue
		}
		p := zero.Type().New(number).(P)
		c, err := from(p)
		if err != nil {
			t.Errorf("%s: %v", values.Get(i).Name(), err)
		}
		if back := to(c); back.Number() != number {
			t.Errorf("%s came back as %d", values.Get(i).Name(), back.Number())
		}
	}
}
