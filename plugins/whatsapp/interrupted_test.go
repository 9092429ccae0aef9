package main

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/proto/waWeb"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// silent is a host that gives no answer to a text the first time.
type silent struct {
	*unsteady
	text  string
	takes bool // it takes the text all the same
	asked chan struct{}
}

func (h *silent) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	m, _ := e.Body.(chat.Message)
	select {
	case <-h.asked:
		return h.unsteady.Submit(ctx, e)
	default:
	}
	if m.Text != h.text {
		return h.unsteady.Submit(ctx, e)
	}
	if h.takes {
		if _, err := h.unsteady.Submit(ctx, e); err != nil {
			return 0, err
		}
	}
	close(h.asked)
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestInterruptedMessageIsOvertaken and comes to the host all the same, once, wherever it was when the plugin was killed or
// its connection broke. A group's message brings its sender's key in a part of its own, and a later one's passes it.
// Behaviour: whatsapp-overtaken.
func TestInterruptedMessageIsOvertaken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		torn         bool // the plugin has the sender's key and not the message
		takes        bool // the host has taken the message, and was to say so
		cut          bool // the connection breaks; else the plugin is killed
		again, known int  // how often the sender is asked for it, and how often the host knows it already
	}{
		{"killed with the key alone", true, false, false, 1, 0},
		{"cut with the key alone", true, false, true, 1, 0},
		{"killed before the host had it", false, false, false, 0, 0},
		{"killed after the host had it", false, true, false, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := whatsapptest.New(t)
			folder := t.TempDir()
			adopt(t, s, folder)
			in := &silent{newUnsteady(1, 0), "", test.takes, make(chan struct{})}
			if test.torn {
				s.Tear()
			} else {
				in.text = "first"
			}
			m := newMortal(t, in, s, folder)
			m.start()
			anna := s.Person(1)
			anna.Say("hello")
			in.await(t, 1)
			say := func(text string) types.MessageID {
				return anna.SendGroup(&waE2E.Message{Conversation: proto.String(text)})
			}
			first := say("first")
			if test.torn {
				if err := s.AwaitTorn(ctx, first); err != nil {
					t.Fatal(err)
				}
			} else {
				<-in.asked
			}
			s.Keep(first)
			if test.cut {
				s.Cut()
			} else {
				m.end(killed)
				m.start()
			}
			second := say("second")
			if err := s.AwaitUnacknowledged(ctx, 1); err != nil || !s.Acknowledged(second) || s.Acknowledged(first) {
				t.Fatalf("the second message does not overtake the first: %v", err)
			}
			s.LetGo(first)
			if err := s.AwaitAcknowledged(ctx); err != nil {
				t.Fatalf("a message is not acknowledged: %v", err)
			}
			m.end(inOrder)
			in.mu.Lock()
			defer in.mu.Unlock()
			got := slices.Sorted(slices.Values(in.texts[chatID(s.Group())]))
			if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
				t.Errorf("all is acknowledged, and the host has (-want +got):\n%s", diff)
			}
			if s.Retries() != test.again || in.again != test.known {
				t.Errorf("the sender was asked %d times, the host was told again %d times", s.Retries(), in.again)
			}
		})
	}
}

// TestWhatThePhoneSendsAgainIsKept until the host takes it: the library acknowledges it whatever the handler says.
// Behaviour: whatsapp-ack.
func TestWhatThePhoneSendsAgainIsKept(t *testing.T) {
	t.Parallel()
	l := start(t)
	refused := make(chan struct{}, 100)
	l.Host.OnSubmit(func(ctx context.Context, e chat.Event) (chat.Verdict, error) {
		refused <- struct{}{}
		return sdktest.Unavailable(ctx, e)
	})
	unread, err := proto.Marshal(&waWeb.WebMessageInfo{
		Key: &waCommon.MessageKey{
			RemoteJID: proto.String(l.anna.LID.String()), FromMe: proto.Bool(false), ID: proto.String("3AUNREAD"),
		},
		Message: &waE2E.Message{Conversation: proto.String("read me")}, MessageTimestamp: proto.Uint64(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	owner := l.server.Owner()
	id := owner.SayTo(owner, &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE.Enum(),
		PeerDataOperationRequestResponseMessage: &waE2E.PeerDataOperationRequestResponseMessage{
			PeerDataOperationRequestType: waE2E.PeerDataOperationRequestType_PLACEHOLDER_MESSAGE_RESEND.Enum(),
			StanzaID:                     proto.String("3AREQUEST"),
			PeerDataOperationResult: []*waE2E.PeerDataOperationRequestResponseMessage_PeerDataOperationResult{{
				PlaceholderMessageResendResponse: &waE2E.PeerDataOperationRequestResponseMessage_PeerDataOperationResult_PlaceholderMessageResendResponse{
					WebMessageInfoBytes: unread,
				},
			}},
		},
	}})
	<-refused
	l.run.Stop()
	if l.server.Acknowledged(id) {
		t.Fatal("it is acknowledged, and the host has not taken it")
	}
	l.Host.OnSubmit(nil)
	l.Run()
	if e, m := l.next(); m.Text != "read me" || e.Chat.ID != l.direct.Chat {
		t.Errorf("came %+v", e)
	}
	if err := l.server.AwaitAcknowledged(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestWhatCannotBeReadAtTheEndComesAgain: the key of a reaction's second encryption is read from the store, which fails once the
// channel ends.
// Behaviour: whatsapp-ack.
func TestWhatCannotBeReadAtTheEndComesAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	adopt(t, whatsapptest.New(t), folder)
	devices, err := openDevices(t.Context(), folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	defer devices.close()
	device, err := devices.device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &channel{recent: newRecent(), log: slog.New(slog.DiscardHandler), pace: quick()}
	client := whatsmeow.NewClient(device, nil)
	reaction := &events.Message{
		Info: types.MessageInfo{ID: "3A", MessageSource: types.MessageSource{
			Chat: types.NewJID("2", types.HiddenUserServer), Sender: types.NewJID("2", types.HiddenUserServer),
			SenderAlt: types.NewJID("1555", types.DefaultUserServer),
		}},
		Message: &waE2E.Message{EncReactionMessage: &waE2E.EncReactionMessage{
			TargetMessageKey: &waCommon.MessageKey{ID: proto.String("3B"), FromMe: proto.Bool(true)},
		}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &line{channel: c, in: &tray{}, ctx: ctx, read: inbound{channel: c}, albums: newAlbums(drawer{}, c.pace)}
	if !l.handle(client, cancel, reaction) {
		t.Error("a reaction whose key is not known comes forever")
	}
	cancel()
	if l.handle(client, cancel, reaction) {
		t.Error("a reaction that the end left unread is acknowledged")
	}
}
