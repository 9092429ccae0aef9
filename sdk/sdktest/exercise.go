package sdktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Setup describes a channel to [Exercise].
type Setup struct {
	// Component is the channel.
	Component sdk.Component
	// New is called for each obligation. It makes a network and the config of a channel that is connected to it, as
	// [Harness.Configure] takes it. What must be closed it gives to t.Cleanup.
	New func(t testing.TB) (Network, any)
	// Prepare, if not nil, is called once for each obligation, after New, with the state folder that all lives of the
	// channel in it share. A channel that must be paired finds the keys of a paired device there.
	Prepare func(t testing.TB, n Network, stateDir string)
	// Chats are direct chats of the network, each with another person, at least one; two or more show that chats do not disturb
	// each other, and that people are told apart.
	Chats []chat.ID
	// BadConfigs are configs that fit the schema, or nearly, and that the channel must refuse with a diagnostic.
	BadConfigs []any
	// Secrets are values of the configs, the bad ones too, that must not be in any error or log.
	Secrets []string
	// Never are the reasons for which the network never refuses a message. For all others it must, to order.
	Never []chat.Reason
	// Without are the features that the network does not have. All others it must show.
	Without []Feature
	// Leaks are functions, named as stacks name them, in which a library of the channel's is known to leave goroutines that
	// nobody can end. No other may be left.
	Leaks []string

	stateDir string // of the obligation
}

// Exercise holds a channel against what the host relies on, one subtest an obligation. What a channel does not say it can is
// not asked of it; what it says and its network cannot show is an error.
func Exercise(t *testing.T, s Setup) {
	t.Helper()
	if s.New == nil || len(s.Chats) == 0 {
		t.Fatal("Setup needs New and Chats")
	}
	for _, o := range s.obligations() {
		t.Run(o.name, func(t *testing.T) { o.hold(t, s) })
	}
}

// obligation is one thing that the host relies on.
type obligation struct {
	name  string
	check func(testing.TB, Setup)
}

func (s Setup) obligations() []obligation {
	all := []obligation{
		{"describes itself without config", describes},
		{"refuses a bad config with a diagnostic", refusesBadConfigs},
		{"hands over each message once and acknowledges it", handsOver},
		{"does not acknowledge what the host does not have", keepsUnacknowledged},
		{"tells people apart", tellsPeopleApart},
		{"keeps the order of each chat", keepsOrder},
		{"ends Run with its context and runs again after a restart", endsRun},
		{"ends Run while the host refuses", endsRunRefused},
		{"ends Run while the host hangs", endsRunHanging},
		{"ends Run while the network is away", endsRunAway},
		{"outlives the network's absence", outlivesAbsence},
		{"tells that its account is gone", tellsRevocation},
		{"leaves nothing behind after Shutdown", leavesNothing},
		{"sends", sends},
		{"sends to a person by their id", sendsToPeople},
		{"sends a text as long as its limit in one piece", sendsTheLongest},
		{"sends each line of a text", sendsLines},
		{"sends the same key once", sendsOnce},
		{"is not sure of what was cut off", doubtsCuts},
		{"sends files", sendsFiles},
		{"sends what is to answer a message that is not there", sendsAnswersToNothing},
		{"tells a refusal by its reason", tellsRefusals},
		{"changes and deletes what it has sent", changes},
		{"shows the commands that it is given", showsCommands},
		{"shows typing", showsTyping},
		{"shows drafts", showsDrafts},
		{"reacts", marks},
		{"hands over presses of buttons as it does messages", handsOverPresses},
		{"hands over reactions", handsOverReactions},
		{"hands over edits", handsOverRevisions},
		{"hands over deletions", handsOverRetractions},
		{"hands over files", handsOverFiles},
		{"hands over files that are asked about", handsOverAnswered},
		{"keeps groups and direct chats apart", keepsGroups},
		{"keeps threads apart", keepsThreads},
	}
	for reason := chat.Temporary; reason <= chat.Invalid; reason++ {
		if !slices.Contains(s.Never, reason) {
			all = append(all, obligation{"tells a refusal: " + reason.String(), tells(reason)})
		}
	}
	return all
}

// hold holds a channel to the obligation.
func (o obligation) hold(t testing.TB, s Setup) {
	t.Helper()
	s.stateDir = t.TempDir()
	o.check(t, s)
}

// network makes the network of an obligation and the state of a channel that is to be connected to it.
func (s Setup) network(t testing.TB) (Network, any) {
	t.Helper()
	n, config := s.New(t)
	if s.Prepare != nil {
		s.Prepare(t, n, s.stateDir)
	}
	return n, config
}

// serve serves the channel. At the end its logs and errors are searched for secrets, and nothing of it may be left.
func (s Setup) serve(t testing.TB) *Harness {
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
		h.left(s)
	})
	return h
}

// start serves the channel on the network and runs it.
func (s Setup) start(t testing.TB, config any) (*Harness, *Run) {
	t.Helper()
	h := s.serve(t)
	h.Configure(config)
	return h, h.Run()
}

// connect makes sure that the channel is connected and knows its chats, for a network may need a message for that.
func (s Setup) connect(t testing.TB) (Network, *Harness) {
	t.Helper()
	network, config := s.network(t)
	return network, s.meet(t, network, config)
}

// meet runs the channel on the network until it knows its chats.
func (s Setup) meet(t testing.TB, n Network, config any) *Harness {
	t.Helper()
	h, _ := s.start(t, config)
	for i, id := range s.Chats {
		n.Deliver(id, fmt.Sprintf("hello from chat %d", i))
		h.NextEvent()
	}
	return h
}

// say sends a text to the first chat.
func (s Setup) say(t testing.TB, h *Harness, text string) {
	t.Helper()
	key := "key-" + strings.Join(strings.Fields(text), "-")
	if _, err := h.Send(chat.Outgoing{Key: key, To: s.first(), Text: text}); err != nil {
		t.Fatalf("send %q: %v", text, err)
	}
}

// post sends a text to the first chat and returns the id of the message, for a channel that gives ids: one that changes
// messages, or hands over what people do with them.
func (s Setup) post(t testing.TB, h *Harness, text string, buttons ...[]chat.Button) (chat.Address, chat.MessageID) {
	t.Helper()
	receipt, err := h.Send(chat.Outgoing{Key: "key of " + text, To: s.first(), Text: text, Buttons: buttons})
	if err != nil || len(receipt.IDs) != 1 {
		t.Fatalf("send %q: ids %v, %v; want one", text, receipt.IDs, err)
	}
	return s.first(), receipt.IDs[0]
}

// first is the address of the first chat.
func (s Setup) first() chat.Address { return chat.Address{Channel: Instance, Chat: s.Chats[0]} }

// can tells whether the channel describes itself with a capability, such as "EDIT".
func (h *Harness) can(capability string) bool {
	h.t.Helper()
	return slices.Contains(h.Describe().Capabilities, "CAPABILITY_CHANNEL_"+capability)
}
