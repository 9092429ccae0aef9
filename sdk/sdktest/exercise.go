package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Network is what an author writes to have a channel exercised: the network's other end, simulated. Texts name messages:
// the suite never uses one twice. The methods are called from one goroutine at a time; Deliver may be called before the
// channel runs and while none does. A network that is a [MenuNetwork], [EditNetwork], [FailNetwork], [ButtonNetwork] or
// [ReactionNetwork] too has the channel held to more.
type Network interface {
	// Deliver has a person write a message in a chat. It does not wait: the network delivers the message until the channel
	// acknowledges it, as often and to as many lives of the channel as that takes, and the chat's messages in order.
	Deliver(to chat.ID, text string)
	// Acknowledged tells whether the channel has told the network that it need not deliver the message again.
	Acknowledged(text string) bool
	// Sent returns the texts that reached the people of a chat, in order.
	Sent(to chat.ID) []string
	// Refuse has the network refuse what is sent to a chat from now on, and returns the reason that the channel must give.
	Refuse(to chat.ID) chat.Reason
}

// Setup describes a channel to [Exercise].
type Setup struct {
	// Component is the channel.
	Component sdk.Component
	// New is called for each obligation. It makes a network and the config of a channel that is connected to it, as
	// [Harness.Configure] takes it. What must be closed it gives to t.Cleanup.
	New func(t *testing.T) (Network, any)
	// Prepare, if not nil, is called once for each obligation, after New, with the state folder that all lives of the
	// channel in it share. A channel that must be paired finds the keys of a paired device there.
	Prepare func(t *testing.T, n Network, stateDir string)
	// Chats are direct chats of the network, at least one; two or more show that chats do not disturb each other.
	Chats []chat.ID
	// BadConfigs are configs that fit the schema, or nearly, and that the channel must refuse with a diagnostic.
	BadConfigs []any
	// Secrets are values of the configs, the bad ones too, that must not be in any error or log.
	Secrets []string

	stateDir string // of the obligation; empty: a new one for each life
}

// Exercise holds a channel against what the host relies on, one subtest an obligation. It is a first suite: what it does
// not ask for may still be wrong.
func Exercise(t *testing.T, s Setup) {
	t.Helper()
	if s.New == nil || len(s.Chats) == 0 {
		t.Fatal("Setup needs New and Chats")
	}
	for _, obligation := range []struct {
		name  string
		check func(*testing.T, Setup)
	}{
		{"describes itself without config", describes},
		{"refuses a bad config with a diagnostic", refusesBadConfigs},
		{"hands over each message once and acknowledges it", handsOver},
		{"does not acknowledge what the host does not have", keepsUnacknowledged},
		{"keeps the order of each chat", keepsOrder},
		{"ends Run with its context and runs again after a restart", endsRun},
		{"sends", sends},
		{"sends a text as long as its limit in one piece", sendsTheLongest},
		{"sends what is to answer a message that is not there", sendsAnswersToNothing},
		{"tells a refusal by its reason", tellsRefusals},
		{"shows the commands that it is given, if it has a menu", showsCommands},
		{"changes and deletes what it has sent, if it can", changes},
		{"tells each refusal by its reason, if the network has several", tellsEachReason},
		{"hands over presses of buttons as it does messages, if it has any", handsOverPresses},
		{"hands over reactions, if it has any", handsOverReactions},
		{"leaves nothing behind after Shutdown", leavesNothing},
	} {
		t.Run(obligation.name, func(t *testing.T) {
			s := s
			if s.Prepare != nil {
				s.stateDir = t.TempDir()
			}
			obligation.check(t, s)
		})
	}
}

// network makes the network of an obligation and the state of a channel that is to be connected to it.
func (s Setup) network(t *testing.T) (Network, any) {
	t.Helper()
	n, config := s.New(t)
	if s.Prepare != nil {
		s.Prepare(t, n, s.stateDir)
	}
	return n, config
}

// start serves the channel on the network and runs it. Its logs and errors are searched for secrets at the end.
func (s Setup) start(t *testing.T, config any) (*Harness, *Run) {
	t.Helper()
	h := s.serve(t)
	h.Configure(config)
	return h, h.Run()
}

func (s Setup) serve(t *testing.T) *Harness {
	t.Helper()
	h := New(t, s.Component)
	h.StateDir = s.stateDir
	t.Cleanup(func() {
		h.Shutdown()
		for i, secret := range s.Secrets {
			if strings.Contains(h.Logs(), secret) || strings.Contains(h.logs.errors.String(), secret) {
				t.Errorf("secret %d of the setup is in a log or an error", i)
			}
		}
	})
	return h
}

func describes(t *testing.T, s Setup) {
	h := s.serve(t)
	first := h.Describe()
	if first.Name == "" || first.Version == "" || !slices.Contains(first.Capabilities, "CAPABILITY_CHANNEL") {
		t.Errorf("the description is %+v", first)
	}
	if second := h.Describe(); !reflect.DeepEqual(first, second) {
		t.Errorf("the second description differs from the first: %+v, %+v", second, first)
	}
	if len(first.Schema) > 0 {
		schema := &jsonschema.Schema{}
		if err := json.Unmarshal(first.Schema, schema); err != nil {
			t.Fatalf("the config's schema is no JSON Schema: %v", err)
		}
		if _, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
			t.Errorf("the config's schema is not valid: %v", err)
		}
		if schema.Type != "object" {
			t.Errorf("the config's schema is of type %q, want object", schema.Type)
		}
	}
	for _, kind := range []chat.Kind{chat.Direct, chat.Group, chat.Broadcast} {
		if limits := h.Limits(kind); limits.Text.Max <= 0 {
			t.Errorf("the text limit in a %s chat is %+v; every network has one", kind, limits.Text)
		}
	}
}

func refusesBadConfigs(t *testing.T, s Setup) {
	configs := slices.Clone(s.BadConfigs)
	configs = append(configs, `{"no_channel_has_such_an_attribute": true}`, `[]`, `{`)
	for i, config := range configs {
		h := s.serve(t)
		diagnostics, err := h.TryConfigure(config)
		if err != nil || len(diagnostics) == 0 {
			t.Errorf("bad config %d gives %v, %v, want a diagnostic", i, diagnostics, err)
		}
	}
}

func handsOver(t *testing.T, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	network.Deliver(s.Chats[0], "a message")
	e := h.NextEvent()
	if m, ok := e.Body.(chat.Message); !ok || m.Text != "a message" {
		t.Errorf("the event is %+v, want the message", e.Body)
	}
	if e.Chat.ID != s.Chats[0] || e.Chat.Kind != chat.Direct || e.Sender.ID == "" || e.Sender.IsSelf {
		t.Errorf("the event comes from chat %+v and sender %+v, want the direct chat %s and a person", e.Chat, e.Sender, s.Chats[0])
	}
	eventually(t, "the message is acknowledged", func() bool { return network.Acknowledged("a message") })
	// What has come before must not come again under another id.
	network.Deliver(s.Chats[0], "another message")
	if m, ok := h.NextEvent().Body.(chat.Message); !ok || m.Text != "another message" {
		t.Errorf("after the first message came %+v, want the second", m)
	}
}

func keepsUnacknowledged(t *testing.T, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	h.Host.OnSubmit(Unavailable)
	network.Deliver(s.Chats[0], "held back")
	h.awaitHost("the event is submitted twice", func() bool { return len(h.Host.submitted) >= 2 })
	if network.Acknowledged("held back") {
		t.Error("the message is acknowledged though the host does not have it")
	}
	refused := h.Host.Submissions()[0]
	h.Shutdown()
	if network.Acknowledged("held back") {
		t.Error("the message is acknowledged by a shutdown, though the host does not have it")
	}
	// The next life.
	h, _ = s.start(t, config)
	e := h.NextEvent()
	if m, ok := e.Body.(chat.Message); !ok || m.Text != "held back" {
		t.Fatalf("after the restart came %+v, want the message that was held back", e.Body)
	}
	if e.ID != refused.ID {
		t.Errorf("the message came as event %q and again as %q: the host cannot know it as the same", refused.ID, e.ID)
	}
	eventually(t, "the message is acknowledged", func() bool { return network.Acknowledged("held back") })
}

func keepsOrder(t *testing.T, s Setup) {
	network, config := s.network(t)
	const messages = 20
	for n := range messages {
		for i, id := range s.Chats {
			network.Deliver(id, fmt.Sprintf("message %d of chat %d", n, i))
		}
	}
	h, _ := s.start(t, config)
	next := map[chat.ID]int{}
	for range messages * len(s.Chats) {
		e := h.NextEvent()
		m, _ := e.Body.(chat.Message)
		want := fmt.Sprintf("message %d of chat %d", next[e.Chat.ID], slices.Index(s.Chats, e.Chat.ID))
		if m.Text != want {
			t.Fatalf("chat %s: came %q, want %q", e.Chat.ID, m.Text, want)
		}
		next[e.Chat.ID]++
	}
}

func endsRun(t *testing.T, s Setup) {
	network, config := s.network(t)
	h, run := s.start(t, config)
	network.Deliver(s.Chats[0], "before")
	h.NextEvent()
	run.Stop()
	h.Shutdown()
	h, _ = s.start(t, config)
	network.Deliver(s.Chats[0], "after")
	for {
		// The first message may come once more, if its acknowledgement was cut off; this host has not seen it.
		if m, ok := h.NextEvent().Body.(chat.Message); ok && m.Text == "after" {
			return
		}
	}
}

// connect makes sure that the channel is connected and knows its chats, for a network may need a message for that.
func (s Setup) connect(t *testing.T) (Network, *Harness) {
	t.Helper()
	network, config := s.network(t)
	h, _ := s.start(t, config)
	for i, id := range s.Chats {
		network.Deliver(id, fmt.Sprintf("hello from chat %d", i))
		h.NextEvent()
	}
	return network, h
}

func sends(t *testing.T, s Setup) {
	network, h := s.connect(t)
	for i, id := range s.Chats {
		want := []string{fmt.Sprintf("first to chat %d", i), fmt.Sprintf("second to chat %d", i)}
		for n, text := range want {
			out := chat.Outgoing{Key: fmt.Sprintf("key-%d-%d", i, n), To: chat.Address{Channel: Instance, Chat: id}, Text: text}
			if _, err := h.Send(out); err != nil {
				t.Fatalf("send to %s: %v", id, err)
			}
		}
		eventually(t, "both messages arrive, in order", func() bool { return slices.Equal(network.Sent(id), want) })
	}
}

func sendsTheLongest(t *testing.T, s Setup) {
	network, h := s.connect(t)
	limit := h.Limits(chat.Direct).Text
	// One, two and four bytes; one, one and two UTF-16 units.
	for _, character := range []rune{'x', 'ü', '🦀'} {
		size := map[chat.Unit]int{
			chat.Bytes: utf8.RuneLen(character), chat.Runes: 1, chat.UTF16: utf16.RuneLen(character),
		}[limit.Unit]
		times := limit.Max / size
		text := strings.Repeat(string(character), times)
		out := chat.Outgoing{Key: fmt.Sprintf("long-%x", character), To: chat.Address{Channel: Instance, Chat: s.Chats[0]}, Text: text}
		if _, err := h.Send(out); err != nil {
			t.Fatalf("send %d times %q: %v", times, character, err)
		}
		eventually(t, fmt.Sprintf("%d times %q arrive in one piece", times, character), func() bool {
			return slices.Contains(network.Sent(s.Chats[0]), text)
		})
	}
}

// sendsAnswersToNothing: an agent writes down the id that it answers, and may err.
func sendsAnswersToNothing(t *testing.T, s Setup) {
	network, h := s.connect(t)
	for i, id := range []chat.MessageID{
		"999999", "-5", "0", "1234567890123456789", "18446744073709551616", "3EB0C767D71D8F0B1A2C", "the last one", "/", "\"}",
	} {
		text := fmt.Sprintf("answer %d", i)
		out := chat.Outgoing{Key: fmt.Sprintf("answer-%d", i), To: chat.Address{Channel: Instance, Chat: s.Chats[0]}, Text: text, ReplyTo: id}
		if _, err := h.Send(out); err != nil {
			t.Errorf("an answer to %q: %v; want it sent, as an answer to nothing", id, err)
			continue
		}
		eventually(t, fmt.Sprintf("an answer to %q arrives", id), func() bool { return slices.Contains(network.Sent(s.Chats[0]), text) })
	}
}

func tellsRefusals(t *testing.T, s Setup) {
	network, h := s.connect(t)
	want := network.Refuse(s.Chats[0])
	_, err := h.Send(chat.Outgoing{Key: "refused", To: chat.Address{Channel: Instance, Chat: s.Chats[0]}, Text: "refused"})
	failure, ok := errors.AsType[*chat.Failure](err)
	if !ok || failure.Reason != want {
		t.Errorf("a refused message gives %v, want a failure: %s", err, want)
	}
	_, err = h.Send(chat.Outgoing{Key: "nowhere", To: chat.Address{Channel: Instance, Chat: "there is no such chat"}, Text: "x"})
	if failure, ok := errors.AsType[*chat.Failure](err); !ok || failure.MaybeDelivered {
		t.Errorf("a message to a chat that does not exist gives %v, want a failure that says it was not delivered", err)
	}
	if status.Code(err) == codes.Internal {
		t.Errorf("the channel broke: %v", err)
	}
}

func leavesNothing(t *testing.T, s Setup) {
	network, config := s.network(t)
	h, _ := s.start(t, config)
	network.Deliver(s.Chats[0], "a message")
	h.NextEvent()
	h.Shutdown()
	var left string
	for range polls(t) {
		if left = goroutines(h.label); left == "" {
			return
		}
	}
	t.Errorf("goroutines of the channel are left after Shutdown:\n%s", left)
}

// goroutines returns the stacks of the goroutines that bear the label.
func goroutines(label string) string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	var mine []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, label) {
			mine = append(mine, stack)
		}
	}
	return strings.Join(mine, "\n\n")
}

// awaitHost waits for something of the host; done is called with its lock held.
func (h *Harness) awaitHost(what string, done func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if err := h.Host.await(ctx, done); err != nil {
		h.t.Fatalf("waited in vain until %s", what)
	}
}

// eventually waits for something of the network, which gives no sign when it changes.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range polls(t) {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// polls yields at once, and then again and again while the harness is patient.
func polls(t *testing.T) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		deadline := time.After(patience)
		for n := 0; yield(n); n++ {
			select {
			case <-ticker.C:
			case <-deadline:
				return
			case <-t.Context().Done():
				return
			}
		}
	}
}
