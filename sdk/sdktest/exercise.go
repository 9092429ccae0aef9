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
	// New is called for each test. It creates a network and the config of a channel that is connected to it, as
	// [Harness.Configure] takes it. Cleanup is registered with t.Cleanup.
	New func(t testing.TB) (Network, any)
	// Prepare, if not nil, is called once for each test, after New, with the state folder that the channel keeps across
	// restarts. A channel that must be paired finds the keys of a paired device there.
	Prepare func(t testing.TB, n Network, stateDir string)
	// Chats are direct chats of the network, each with another person, at least one. Two or more show that chats do not
	// interfere with each other, and that people are distinguished.
	Chats []chat.ID
	// BadConfigs are configs that match the schema, or nearly, and that the channel must refuse with a diagnostic.
	BadConfigs []any
	// Secrets are values of the configs, including the bad ones, that no error or log may contain.
	Secrets []string
	// Never lists the reasons for which the network never refuses a message. For all others it must do so on request.
	Never []chat.Reason
	// Without lists the features that the network does not have. It must show all others.
	Without []Feature
	// Leaks lists functions, as they are named in stacks, in which a library of the channel is known to leave goroutines
	// that cannot be ended. No others may remain.
	Leaks []string

	stateDir string // of the test
}

// Exercise tests a channel against the requirements of the host, one subtest each. Capabilities that a channel does not
// declare are not tested; if it declares one that its network cannot show, the test fails.
func Exercise(t *testing.T, s Setup) {
	t.Helper()
	if s.New == nil || len(s.Chats) == 0 {
		t.Fatal("Setup needs New and Chats")
	}
	for _, o := range s.requirements() {
		t.Run(o.name, func(t *testing.T) { o.test(t, s) })
	}
}

// requirement is one thing that the host relies on.
type requirement struct {
	name  string
	check func(testing.TB, Setup)
}

func (s Setup) requirements() []requirement {
	all := []requirement{
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
		{"reports MaybeDelivered after a broken connection", doubtsCuts},
		{"sends files", sendsFiles},
		{"sends a reply to a missing message", sendsAnswersToNothing},
		{"tells a refusal by its reason", tellsRefusals},
		{"sends polls", sendsPolls},
		{"changes and deletes what it has sent", changes},
		{"shows the commands that it is given", showsCommands},
		{"shows typing", showsTyping},
		{"shows drafts", showsDrafts},
		{"tells who is typing", tellsTypists},
		{"reacts", marks},
		{"pins", pins},
		{"hands over presses of buttons as it does messages", handsOverPresses},
		{"hands over reactions", handsOverReactions},
		{"hands over edits", handsOverRevisions},
		{"hands over deletions", handsOverRetractions},
		{"hands over files", handsOverFiles},
		{"hands over files that are asked about", handsOverAnswered},
		{"tells what was said before", tellsHistory},
		{"lists the members of a group", listsMembers},
		{"keeps groups and direct chats apart", keepsGroups},
		{"keeps threads apart", keepsThreads},
	}
	for reason := chat.Temporary; reason <= chat.Invalid; reason++ {
		if !slices.Contains(s.Never, reason) {
			all = append(all, requirement{"tells a refusal: " + reason.String(), tells(reason)})
		}
	}
	return all
}

// test tests a channel against the requirement.
func (o requirement) test(t testing.TB, s Setup) {
	t.Helper()
	s.stateDir = t.TempDir()
	o.check(t, s)
}

// network creates the network of a test, and the state of a channel that will connect to it.
func (s Setup) network(t testing.TB) (Network, any) {
	t.Helper()
	n, config := s.New(t)
	if s.Prepare != nil {
		s.Prepare(t, n, s.stateDir)
	}
	return n, config
}

// serve serves the channel. When the test ends, logs and errors are searched for secrets, and no goroutine may remain.
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
		h.checkLeaks(s)
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

// connect returns a connected channel that knows its chats, which on some networks takes a message from each.
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

// post sends a text to the first chat and returns the id of the message, for a channel that gives ids: one that edits
// messages, or reports what people do with them.
func (s Setup) post(t testing.TB, h *Harness, text string, buttons ...[]chat.Button) (chat.Address, chat.MessageID) {
	t.Helper()
	receipt, err := h.Send(chat.Outgoing{Key: "key of " + text, To: s.first(), Text: text, Buttons: buttons})
	if err != nil || len(receipt.IDs) != 1 {
		t.Fatalf("send %q: ids %v, %v; want one", text, receipt.IDs, err)
	}
	return s.first(), receipt.IDs[0]
}

// first returns the address of the first chat.
func (s Setup) first() chat.Address { return chat.Address{Channel: Instance, Chat: s.Chats[0]} }

// can reports whether the channel declares a capability, such as "EDIT".
func (h *Harness) can(capability string) bool {
	h.t.Helper()
	return slices.Contains(h.Describe().Capabilities, "CAPABILITY_CHANNEL_"+capability)
}
