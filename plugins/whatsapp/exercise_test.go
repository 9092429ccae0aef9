package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// component is the channel, but impatient.
func component() sdk.Component { return observed(&sdk.Env{}, quick()) }

// observed is the channel with another patience; env is what it got from its host.
func observed(got *sdk.Env, p pace) sdk.Component {
	return sdk.NewChannel((*channel)(nil).Limits(0), func(ctx context.Context, env sdk.Env, cfg config) (*channel, error) {
		*got = env
		c, err := open(ctx, env, cfg)
		if err == nil {
			c.pace = p
		}
		return c, err
	})
}

func quick() pace {
	return pace{
		first: 10 * time.Millisecond, last: 100 * time.Millisecond, login: 5 * time.Second, settle: 300 * time.Millisecond,
		look: 50 * time.Millisecond, blip: time.Second, album: time.Minute, albumWhole: time.Minute,
	}
}

func TestMain(m *testing.M) {
	quieten()
	if job := os.Getenv(mortalJob); job != "" {
		if err := die(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	os.Exit(m.Run())
}

func settings(s *whatsapptest.Server) map[string]any {
	return map[string]any{"test_endpoint": s.URL(), "test_noise_root": s.Root()}
}

// blank is a device store that knows no device. To make its tables takes longer than to copy them.
var blank = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "whatsapp")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	store, err := openDevices(context.Background(), folder, waLog.Noop)
	if err == nil {
		err = store.close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(folder, "device.db"))
})

// adopt fills a state folder with the store of a paired device, in place of one that was paired with another server.
func adopt(t testing.TB, s *whatsapptest.Server, folder string) {
	t.Helper()
	path := filepath.Join(folder, "device.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		tables, err := blank()
		if err := errors.Join(err, os.WriteFile(path, tables, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	store, err := openDevices(t.Context(), folder, waLog.Noop)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := store.GetAllDevices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range earlier {
		if err := device.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	device := store.NewDevice()
	if err := errors.Join(s.Adopt(t.Context(), device), store.close()); err != nil {
		t.Fatal(err)
	}
}

// fakeNetwork is a loopback WhatsApp as the conformance suite sees it.
type fakeNetwork struct {
	t      testing.TB
	server *whatsapptest.Server

	mu  sync.Mutex
	ids map[string]types.MessageID // by text
}

func newNetwork(t testing.TB) *fakeNetwork {
	n := &fakeNetwork{t: t, server: whatsapptest.New(t), ids: map[string]types.MessageID{}}
	n.server.Person(1)
	n.server.Person(2)
	return n
}

func (n *fakeNetwork) person(to chat.ID) *whatsapptest.Person {
	for _, number := range []int{1, 2} {
		if p := n.server.Person(number); chat.ID(p.LID.String()) == to {
			return p
		}
	}
	panic("there is no " + to)
}

func (n *fakeNetwork) Deliver(to chat.ID, text string) {
	n.note(text, n.send(to, &waE2E.Message{Conversation: proto.String(text)}))
}

// Type waits until the account is online, as that of a running channel soon is.
func (n *fakeNetwork) Type(in chat.ID) {
	if err := n.server.AwaitPresence(context.Background(), "available"); err != nil || !n.person(in).Type(types.EmptyJID, true) {
		panic("the account is not online")
	}
}

func (n *fakeNetwork) note(text string, id types.MessageID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[text] = id
}

func (n *fakeNetwork) idOf(text string) types.MessageID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ids[text]
}

func (n *fakeNetwork) Acknowledged(text string) bool {
	return n.server.Acknowledged(n.idOf(text))
}

// Sent is what a phone shows.
func (n *fakeNetwork) Sent(to chat.ID) []string { return display(n.heard(to)) }

// heard is what has come to a phone in a chat.
func (n *fakeNetwork) heard(to chat.ID) []whatsapptest.Heard {
	person := n.server.Person(1)
	if to != n.Group() {
		person = n.person(to)
	}
	return slices.DeleteFunc(person.Heard(), func(h whatsapptest.Heard) bool {
		return (h.Chat == n.server.Group()) != (to == n.Group())
	})
}

func (n *fakeNetwork) Polls(to chat.ID) []chat.Poll {
	var polls []chat.Poll
	for _, h := range n.heard(to) {
		if p := h.Message.GetPollCreationMessage(); p != nil && !h.Again {
			poll := chat.Poll{Question: p.GetName(), Multiple: p.GetSelectableOptionsCount() != 1}
			for _, o := range p.GetOptions() {
				poll.Options = append(poll.Options, o.GetOptionName())
			}
			polls = append(polls, poll)
		}
	}
	return polls
}

func (n *fakeNetwork) Attach(to chat.ID, caption string, f sdktest.File) {
	m := n.server.Document(f.Content, f.MIMEType, f.Name)
	m.DocumentMessage.Caption = &caption
	n.note(caption, n.send(to, m))
}

// send has a person of a chat write in it.
func (n *fakeNetwork) send(to chat.ID, m *waE2E.Message) types.MessageID {
	if to == n.Group() {
		return n.server.Person(1).SendGroup(m)
	}
	return n.person(to).Send(m)
}

func (n *fakeNetwork) Answer(to chat.ID, answered, text string, asked bool) {
	in := n.server.Group()
	if to != n.Group() {
		in = n.person(to).LID
	}
	for _, m := range n.server.Messages(in) {
		if m.Text != answered {
			continue
		}
		answer := n.server.Answer(m, text)
		if asked {
			answer.ExtendedTextMessage.Text = proto.String("@900000000001 " + text)
			answer.ExtendedTextMessage.ContextInfo.MentionedJID = []string{"900000000001@lid"}
		}
		n.send(to, answer)
	}
}

func (n *fakeNetwork) Files(to chat.ID) []string {
	var files []string
	for _, h := range n.heard(to) {
		if h.Message.Conversation != nil || h.Message.ExtendedTextMessage != nil {
			continue
		}
		content, err := h.File()
		if err != nil {
			n.t.Fatal(err)
		}
		files = append(files, string(content))
	}
	return files
}

func (n *fakeNetwork) Typed(to chat.ID) bool {
	now, cancel := context.WithCancel(n.t.Context())
	cancel()
	return n.server.AwaitTyping(now, n.person(to).LID, "composing") == nil
}

func (n *fakeNetwork) Mark(to chat.ID, id chat.MessageID) string {
	plain, _, err := parseMessage(id)
	if err != nil {
		n.t.Fatal(err)
	}
	mark := ""
	for _, h := range n.heard(to) {
		if reaction := h.Message.GetReactionMessage(); reaction.GetKey().GetID() == plain {
			mark = reaction.GetText()
		}
	}
	return mark
}

func (n *fakeNetwork) Revise(to chat.ID, text, changed string) {
	n.person(to).Edit(n.idOf(text), changed)
}

func (n *fakeNetwork) Retract(to chat.ID, text string) { n.person(to).Delete(n.idOf(text)) }

func (n *fakeNetwork) Group() chat.ID { return chatID(n.server.Group()) }

func (n *fakeNetwork) Members() ([]chat.UserID, bool) {
	return []chat.UserID{chat.UserID(n.server.Person(1).LID.String()), "900000000001@lid"}, false
}

func (n *fakeNetwork) Mention(text string) {
	n.server.Person(1).SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("@900000000001 " + text), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"900000000001@lid"}},
	}})
}

func (n *fakeNetwork) Revoke() {
	if err := n.server.Unlink(); err != nil {
		n.t.Fatal(err)
	}
}

// display is what a phone shows of what it heard: edited, and without what was deleted.
func display(heard []whatsapptest.Heard) []string {
	texts := map[types.MessageID]string{}
	var order []types.MessageID
	for _, h := range heard {
		m := h.Message
		if edited := m.GetEditedMessage().GetMessage(); edited != nil {
			m = edited
		}
		change := m.GetProtocolMessage()
		switch {
		case m.GetReactionMessage() != nil:
		case change == nil:
			texts[h.ID] = h.Text()
			order = append(order, h.ID)
		case change.GetType() == waE2E.ProtocolMessage_REVOKE:
			order = slices.DeleteFunc(order, func(id types.MessageID) bool { return id == change.GetKey().GetID() })
		default:
			texts[change.GetKey().GetID()] = h.Text()
		}
	}
	list := []string{}
	for _, id := range order {
		list = append(list, texts[id])
	}
	return list
}

// Remove has the account's owner delete a message of the channel's on the phone, and waits until the channel knows.
func (n *fakeNetwork) Remove(to chat.ID, id chat.MessageID) {
	revocation := n.server.Owner().SayTo(n.person(to), &waE2E.Message{ProtocolMessage: &waE2E.ProtocolMessage{
		Type: waE2E.ProtocolMessage_REVOKE.Enum(), Key: &waCommon.MessageKey{FromMe: proto.Bool(true), ID: proto.String(string(id))},
	}})
	if err := n.server.AwaitAcknowledged(n.t.Context()); err != nil || !n.server.Acknowledged(revocation) {
		n.t.Fatalf("the deletion on the phone was not taken: %v", err)
	}
}

func (n *fakeNetwork) React(to chat.ID, id chat.MessageID, emoji string) {
	n.person(to).Send(&waE2E.Message{ReactionMessage: &waE2E.ReactionMessage{
		Key: &waCommon.MessageKey{FromMe: proto.Bool(false), ID: proto.String(string(id))}, Text: proto.String(emoji),
	}})
}

func (n *fakeNetwork) Leave() { n.server.Down() }

func (n *fakeNetwork) Return() { n.server.Up() }

func (n *fakeNetwork) Fail(to chat.ID, reason chat.Reason) bool {
	switch reason {
	case chat.NotConnected:
		n.server.Down()
		return n.server.AwaitTurnedAway(n.t.Context()) == nil
	case chat.MediaRejected:
		n.server.BreakMedia(http.StatusUnsupportedMediaType)
		return true
	}
	code, ok := map[chat.Reason]int{
		chat.Temporary: 500, chat.RateLimited: 429, chat.ChatNotFound: 404, chat.Forbidden: 403, chat.TooLong: 413, chat.Invalid: 400,
	}[reason]
	n.person(to).Refuse(code)
	return ok
}

func (n *fakeNetwork) Refuse(to chat.ID) chat.Reason {
	n.person(to).Refuse(403)
	return chat.Forbidden
}

func TestExercise(t *testing.T) {
	t.Parallel()
	hurried := quick()
	hurried.blip = 200 * time.Millisecond // The suite sends without a connection to see that it fails.
	sdktest.Exercise(t, sdktest.Setup{
		Component: observed(&sdk.Env{}, hurried),
		New: func(t testing.TB) (sdktest.Network, any) {
			n := newNetwork(t)
			config := settings(n.server)
			config["show_online"] = true // otherwise it does not see who types
			return n, config
		},
		Prepare: func(t testing.TB, n sdktest.Network, stateDir string) { adopt(t, n.(*fakeNetwork).server, stateDir) },
		Chats:   []chat.ID{"900000000002@lid", "900000000003@lid"},
		Never:   []chat.Reason{chat.TargetGone},                   // What is answered need not be there.
		Without: []sdktest.Feature{sdktest.Threads, sdktest.Cuts}, // The library sends again by itself.
		BadConfigs: []any{
			map[string]any{"test_endpoint": "http://whatsapp.example", "test_noise_root": "00"},
			map[string]any{"test_endpoint": "http://localhost:1"},
			map[string]any{"test_noise_root": "00"},
			map[string]any{"read_receipts": "yes"},
			map[string]any{"prefix": " claw"},
			map[string]any{"proxy": "whatsapp-proxy-password@nowhere"},
			map[string]any{"proxy": "gopher://u:whatsapp-proxy-password@127.0.0.1"},
		},
		// What arrives in the moment in which a connection ends is not read any more, and the library waits for that.
		Leaks:   []string{"go.mau.fi/whatsmeow/socket.(*FrameSocket).frameComplete"},
		Secrets: []string{"whatsapp-proxy-password", "whatsapptest-media-auth-0123456789"},
	})
}
