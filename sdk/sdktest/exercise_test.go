package sdktest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/clawhost/clawhost/sdk/chat"
)

// judge is a separate test: its failures are recorded, and do not fail the test around it.
type judge struct {
	testing.TB
	ctx context.Context // the test's context

	mu       sync.Mutex
	failed   bool
	said     strings.Builder
	cleanups []func()
}

// verdict tests a channel against a requirement and returns the failures; empty: none. It runs in fake time.
func verdict(t *testing.T, o requirement, s Setup) (findings string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		j := &judge{TB: t, ctx: ctx}
		j.run(func() { o.test(j, s) })
		cancel()
		for len(j.cleanups) > 0 {
			last := j.cleanups[len(j.cleanups)-1]
			j.cleanups = j.cleanups[:len(j.cleanups)-1]
			j.run(last)
		}
		if j.failed {
			findings = j.said.String()
		}
	})
	return findings
}

// run runs a part of the test, which may call Fatal.
func (*judge) run(part func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		part()
	}()
	<-ended
}

func (*judge) Helper() {}

func (j *judge) Context() context.Context { return j.ctx }

func (j *judge) Cleanup(f func()) { j.cleanups = append(j.cleanups, f) }

func (j *judge) Logf(string, ...any) {}

func (j *judge) Failed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

func (j *judge) Errorf(format string, values ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = true
	fmt.Fprintf(&j.said, format+"\n", values...)
}

func (j *judge) Error(values ...any) { j.Errorf("%s", fmt.Sprintln(values...)) }

func (j *judge) Fatalf(format string, values ...any) {
	j.Errorf(format, values...)
	runtime.Goexit()
}

func (j *judge) Fatal(values ...any) { j.Fatalf("%s", fmt.Sprintln(values...)) }

// defects are the ways to violate each requirement, with the expected failure.
var defects = []struct{ requirement, defect, said string }{
	{"describes itself without config", "changes its limits", "the limits with a config differ"},
	{"refuses a bad config with a diagnostic", "takes any config", "bad config 0 gives"},
	{"hands over each message once and acknowledges it", "loses texts", "want the message"},
	{"hands over each message once and acknowledges it", "never acknowledges", ": the message is acknowledged"},
	{"does not acknowledge what the host does not have", "acknowledges early", "acknowledged though the host does not have it"},
	{"does not acknowledge what the host does not have", "acknowledges at its end", "acknowledged by a shutdown"},
	{"does not acknowledge what the host does not have", "mints ids of its own", "the host cannot know it as the same"},
	{"tells people apart", "takes all for one", "is by \"somebody\""},
	{"hands over each message once and acknowledges it", "lives in the past", "h0m0s off"},
	{"keeps the order of each chat", "reorders", "came \"message 19 of chat"},
	{"ends Run with its context and runs again after a restart", "ends slowly", "did not return within 5s"},
	{"ends Run while the host refuses", "does not end while it submits", "did not return within 5s"},
	{"ends Run while the host hangs", "does not end while it submits", "did not return within 5s"},
	{"ends Run while the network is away", "waits for the network alone", "did not return within 5s"},
	{"outlives the network's absence", "is always well", "though the network is down"},
	{"outlives the network's absence", "loses texts", "no event within 10s"},
	{"tells that its account is gone", "gives up for no reason", "reported no state"},
	{"tells that its account is gone", "is always well", "though its account is gone"},
	{"leaves nothing behind after Shutdown", "leaves a goroutine", "are left after Shutdown"},
	{"sends", "leaves a goroutine", "are left after Shutdown"},
	{"sends", "logs the password", "is in a log or an error"},
	{"sends", "sends nothing", ": both messages arrive"},
	{"sends to a person by their id", "knows nobody by their id", "want it sent to their direct chat"},
	{"sends a text as long as its limit in one piece", "cuts texts", "in one piece"},
	{"sends each line of a text", "writes lines as they are", "last seen: [\"first line\"]"},
	{"reports MaybeDelivered after a broken connection", "is too sure", "with MaybeDelivered"},
	{"sends the same key once", "keeps repeats to itself", "must name IdempotentSend"},
	{"sends the same key once", "sends the same key again", "shows"},
	{"sends the same key once", "forgets keys with its life", "shows"},
	{"sends polls", "sends polls in words", "poll 1 arrives"},
	{"sends polls", "sends the same key again", "poll 1 arrives"},
	{"tells what was said before", "remembers the first words", "want it as it was submitted"},
	{"tells what was said before", "takes all for one", "want it as it was submitted"},
	{"lists the members of a group", "lists administrators only", "bob is not among the members"},
	{"lists the members of a group", "lists all at once", "of at most one member come 2"},
	{"lists the members of a group", "knows everybody", "a chat that does not exist has the members"},
	{"sends files", "loses files", ": 1 files arrive"},
	{"sends files", "loses captions", ": 1 files arrive"},
	{"sends files", "takes files of any size", "want a failure: media rejected"},
	{"sends a reply to a missing message", "insists on what it answers", "want it sent"},
	{"tells a refusal by its reason", "knows one reason", "want a failure: forbidden"},
	{"tells a refusal by its reason", "tells the password", "is in a log or an error"},
	{"changes and deletes what it has sent", "edits nothing", ": the edited message is shown"},
	{"changes and deletes what it has sent", "deletes nothing", ": the deleted message is gone"},
	{"changes and deletes what it has sent", "does not look what is gone", "an edit of what is gone"},
	{"shows the commands that it is given", "only adds to its menu", "are in the menu"},
	{"shows typing", "types in secret", ": typing is shown"},
	{"shows drafts", "leaves drafts", "takes the draft's place"},
	{"tells who is typing", "keeps to itself who types", "no hint within 10s that"},
	{"tells who is typing", "takes the chat for the person", "who is typing comes as"},
	{"reacts", "takes no reaction back", ": the reaction is"},
	{"pins", "leaves pins", ": the message is pinned no longer"},
	{"hands over presses of buttons as it does messages", "cuts what buttons say", "with the data as it was sent"},
	{"hands over reactions", "loses emojis", "the reaction"},
	{"hands over edits", "gives all edits of a message one id", "no event within 10s"},
	{"hands over deletions", "tells of another deletion", "the deletion comes as"},
	{"hands over files", "brings no files", "want a message with its caption and one file"},
	{"hands over files", "cuts files", "the host got the file as"},
	{"hands over files", "forgets its tokens", "after a restart the channel fetches the file as"},
	{"hands over files that are asked about", "brings no quoted files", "want a message that quotes one file"},
	{"hands over files that are asked about", "takes quoted files for its own", "want a message that quotes one file"},
	{"hands over files that are asked about", "uploads all that is quoted", "a file that others learn of"},
	{"hands over files that are asked about", "uploads its own", "the channel's own file"},
	{"keeps groups and direct chats apart", "takes groups for direct chats", "the message to the group comes as"},
	{"keeps groups and direct chats apart", "thinks all is for it", "addresses the channel's account"},
	{"keeps groups and direct chats apart", "never thinks it is meant", "that names the channel's account comes as"},
	{"keeps threads apart", "knows no threads", "the message in thread"},
	{"keeps threads apart", "answers beside the thread", ": the answer arrives in the thread"},
	{"tells a refusal: temporary failure", "knows one reason", "want a failure: temporary"},
	{"tells a refusal: rate limited", "names no time", "the limit says to wait 0s"},
	{"tells a refusal: not connected", "knows one reason", "want a failure: not connected"},
	{"tells a refusal: chat not found", "knows one reason", "want a failure: chat not found"},
	{"tells a refusal: forbidden", "is never sure", "refused for good may be delivered"},
	{"tells a refusal: too long", "knows one reason", "want a failure: too long"},
	{"tells a refusal: media rejected", "knows one reason", "want a failure: media rejected"},
	{"tells a refusal: target gone", "knows one reason", "want a failure: target gone"},
	{"tells a refusal: invalid", "knows one reason", "want a failure: invalid"},
}

// TestEachObligationIsHeld checks that a channel without a defect passes each requirement, and that one with a defect fails
// it.
// Behaviour: file-fetch, file-quoted, networks-owner-by-id.
func TestEachObligation(t *testing.T) {
	t.Parallel()
	for _, o := range setupWith("").requirements() {
		t.Run(o.name, func(t *testing.T) {
			if said := verdict(t, o, setupWith("")); said != "" {
				t.Errorf("without a defect: %s", said)
			}
			tried := 0
			for _, s := range defects {
				if s.requirement != o.name {
					continue
				}
				tried++
				if said := verdict(t, o, setupWith(s.defect)); !strings.Contains(said, s.said) {
					t.Errorf("what %s gives %q, want it to say %q", s.defect, said, s.said)
				}
			}
			if tried == 0 {
				t.Error("nothing shows that this can fail")
			}
		})
	}
}

// TestWhatIsNotShown: a channel fails if its network cannot show what the channel declares.
func TestWhatIsNotShown(t *testing.T) {
	t.Parallel()
	blind := setupWith("")
	build := blind.New
	blind.New = func(t testing.TB) (Network, any) {
		n, config := build(t)
		return struct{ Network }{n}, config
	}
	shownByAll := []string{
		"describes", "refuses a bad", "hands over each", "does not acknowledge", "keeps the order", "ends Run with its context",
		"ends Run while the host", "leaves nothing", "sends", "sends a text", "sends the same", "sends what", "tells a refusal by", "tells people apart", "tells what",
	}
	for _, o := range blind.requirements() {
		needs := !slices.ContainsFunc(shownByAll, func(begin string) bool { return strings.HasPrefix(o.name, begin) }) || o.name == "sends files" || o.name == "sends polls"
		if said := verdict(t, o, blind); strings.Contains(said, "its Network must be a sdktest.") != needs || needs != (said != "") {
			t.Errorf("%s: %q", o.name, said)
		}
	}
}

// TestWithout lists features that the setup excludes: they are not tested, but the network must not have them.
func TestWithout(t *testing.T) {
	t.Parallel()
	all := []Feature{Absences, Accounts, Groups, Threads, Reactions, Edits, Deletions, Answers, Typists, Cuts}
	with, without := setupWith(""), setupWith("")
	with.Without, without.Without = all, all
	build := without.New
	without.New = func(t testing.TB) (Network, any) {
		n, config := build(t)
		return struct{ Network }{n}, config
	}
	contradictions := 0
	for _, o := range with.requirements() {
		if said := verdict(t, o, with); said != "" {
			contradictions++
			if !strings.Contains(said, "the setup says that the network is without") || verdict(t, o, without) != "" {
				t.Errorf("%s: %s", o.name, said)
			}
		}
	}
	if want := len(all) + 1; contradictions != want { // two requirements are about absences
		t.Errorf("%d requirements find the contradiction, want %d", contradictions, want)
	}
}

// TestWithoutIDs: a network needs message ids only for what is done with messages later.
func TestWithoutIDs(t *testing.T) {
	t.Parallel()
	needs := []string{"changes and deletes what it has sent", "pins", "hands over presses of buttons as it does messages", "hands over reactions"}
	s := setupWith("gives no ids")
	for _, o := range s.requirements() {
		if said := verdict(t, o, s); (said != "") != slices.Contains(needs, o.name) {
			t.Errorf("%s: %q", o.name, said)
		}
	}
}

// TestWithoutALimitOfTexts: a channel that names no limit is given texts of any length.
func TestWithoutALimitOfTexts(t *testing.T) {
	t.Parallel()
	s := setupWith("has no limit of texts")
	for _, o := range s.requirements() {
		if said := verdict(t, o, s); said != "" {
			t.Errorf("%s: %s", o.name, said)
		}
	}
}

// TestNever requests no refusal that the network never makes, and all others.
func TestNever(t *testing.T) {
	t.Parallel()
	s := setupWith("")
	all := len(s.requirements())
	s.Never = []chat.Reason{chat.TooLong, chat.Invalid}
	rest := s.requirements()
	if len(rest) != all-2 || slices.ContainsFunc(rest, func(o requirement) bool { return strings.HasSuffix(o.name, "too long") }) {
		t.Errorf("%d of %d requirements are left", len(rest), all)
	}
}

func TestExercise(t *testing.T) {
	t.Parallel()
	Exercise(t, setupWith(""))
}
