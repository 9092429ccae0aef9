package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// inbox is a host that takes down what it is given.
type inbox struct {
	mu      sync.Mutex
	changed chan struct{}
	refuse  int // how many submits fail from now on; negative: all
	events  []chat.Event
	refused []chat.EventID
	reports []string
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{})} }

func (i *inbox) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	defer i.notify()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refuse != 0 {
		i.refuse--
		i.refused = append(i.refused, e.ID)
		return 0, errors.New("the host is gone")
	}
	i.events = append(i.events, e)
	return chat.Accepted, ctx.Err()
}

// Typing is for channels of other networks: bots of Telegram do not learn who types.
func (*inbox) Typing(chat.Typing) {}

func (i *inbox) Report(s chat.State, detail string) { i.ReportURL(s, detail, "") }

func (i *inbox) ReportURL(s chat.State, detail, _ string) {
	defer i.notify()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reports = append(i.reports, fmt.Sprintf("%v: %s", s, detail))
}

func (i *inbox) notify() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.changed)
	i.changed = make(chan struct{})
}

// patience bounds each wait of a test for the next change.
const patience = 30 * time.Second

func (i *inbox) await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for {
		i.mu.Lock()
		done, changed := condition(), i.changed
		i.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-time.After(patience): // since the last change
			i.mu.Lock()
			defer i.mu.Unlock()
			t.Fatalf("waiting for %s: events %v, reports %q", what, i.events, i.reports)
		}
	}
}

func (i *inbox) awaitTexts(t *testing.T, want ...string) {
	t.Helper()
	i.await(t, fmt.Sprintf("%d messages", len(want)), func() bool { return len(i.events) >= len(want) })
	i.mu.Lock()
	defer i.mu.Unlock()
	var got []string
	for _, e := range i.events {
		got = append(got, e.Body.(chat.Message).Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
}

func (i *inbox) awaitReport(t *testing.T, want string) {
	t.Helper()
	i.await(t, want, func() bool { return len(i.reports) > 0 && i.reports[len(i.reports)-1] == want })
}

// quick is a pace at which tests wait for nothing but the server.
func quick() pace {
	return pace{poll: 50 * time.Second, grace: 15 * time.Second, least: time.Millisecond, first: time.Millisecond, longest: 4 * time.Millisecond, album: time.Millisecond}
}

func newChannel(t *testing.T, s *telegramtest.Server) *channel {
	t.Helper()
	c, err := open(t.Context(), sdk.Env{Log: slog.New(slog.DiscardHandler)}, config{Token: sdk.NewSecret(s.Token()), APIEndpoint: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	c.pace = quick()
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// run runs a channel; stop ends it and returns what Run returned.
func run(t *testing.T, c *channel, in sdk.Inbox) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, in) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return stop
}

func TestReceivesInOrder(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	anna.Send(0, "before the start")
	c := newChannel(t, s)
	if err := c.Health(t.Context()); err == nil {
		t.Error("healthy before it is connected")
	}
	stop := run(t, c, in)
	in.awaitTexts(t, "before the start")
	anna.Send(0, "while it polls")
	anna.Send(0, "and again")
	in.awaitTexts(t, "before the start", "while it polls", "and again")
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
	if err := stop(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if diff := cmp.Diff([]string{"connecting: ", "connected: as @claw_bot"}, in.reports); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestRefusedSubmitComesAgain is the promise that no message is lost: what the host did not take stays with Telegram.
func TestRefusedSubmitComesAgain(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	anna := s.User(7)
	anna.Send(0, "one")
	anna.Send(0, "two")
	in.refuse = -1
	stop := run(t, newChannel(t, s), in)
	in.await(t, "refusals", func() bool { return len(in.refused) >= 3 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if s.Pending() != 2 {
		t.Fatalf("%d updates wait, want both: one was confirmed that no one took", s.Pending())
	}
	for _, id := range in.refused {
		if id != in.refused[0] {
			t.Errorf("went on to %s although %s was refused", id, in.refused[0])
		}
	}
	// Another process: it begins without an offset.
	in.refuse = 1
	run(t, newChannel(t, s), in)
	in.awaitTexts(t, "one", "two")
	if in.events[0].ID != in.refused[0] {
		t.Errorf("came again as %s, was %s", in.events[0].ID, in.refused[0])
	}
}

// TestCrashAfterSubmit: what was submitted and not confirmed comes again under the same id, by which the host knows it.
func TestCrashAfterSubmit(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.User(7).Send(0, "one")
	// The confirmation is in the poll after the message's; that one never comes to its effect.
	s.Fail("getUpdates", 1, telegramtest.Slow(0))
	s.Fail("getUpdates", 1<<30, telegramtest.CutBefore())
	stop := run(t, newChannel(t, s), in)
	in.awaitTexts(t, "one")
	s.Down()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	s.Heal()
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	run(t, newChannel(t, s), in)
	in.awaitTexts(t, "one", "one")
	if in.events[0].ID != in.events[1].ID {
		t.Errorf("ids %s and %s", in.events[0].ID, in.events[1].ID)
	}
}

// Behaviour: networks-faults.
func TestTroubleIsReportedAndPasses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, report string
		order        func(*telegramtest.Server)
	}{
		{
			"two pollers", "disconnected: another program polls for this bot's updates; stop it or create a separate bot for it",
			func(s *telegramtest.Server) {
				s.Fail("getUpdates", 1, telegramtest.Refuse(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"))
			},
		},
		{
			"too many requests", "disconnected: getUpdates: 429 Too Many Requests: retry after 0",
			func(s *telegramtest.Server) { s.Fail("getUpdates", 1, telegramtest.TooManyRequests(0)) },
		},
		{
			"a proxy in between", "disconnected: getUpdates: api_endpoint did not answer like a Bot API server (HTTP 502)",
			func(s *telegramtest.Server) { s.Fail("getUpdates", 1, telegramtest.NotJSON(502)) },
		},
		{
			"an answer without end", "disconnected: getUpdates: read response: the response is too long",
			func(s *telegramtest.Server) { s.Fail("getUpdates", 1, telegramtest.Endless()) },
		},
		{
			"half an answer", "disconnected: getUpdates: read response: unexpected EOF",
			func(s *telegramtest.Server) { s.Fail("getUpdates", 1, telegramtest.CutWithin()) },
		},
		{
			"Telegram broken", "disconnected: getUpdates: 500 Internal Server Error",
			func(s *telegramtest.Server) {
				s.Fail("getUpdates", 1, telegramtest.Refuse(500, "Internal Server Error"))
			},
		},
		{
			"trouble at the start", "connecting: getMe: 500 Internal Server Error",
			func(s *telegramtest.Server) { s.Fail("getMe", 3, telegramtest.Refuse(500, "Internal Server Error")) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, in := telegramtest.New(t), newInbox()
			c.order(s)
			run(t, newChannel(t, s), in)
			s.User(7).Send(0, "hello")
			in.awaitTexts(t, "hello")
			in.awaitReport(t, "connected: as @claw_bot")
			seen := false
			for _, report := range in.reports {
				seen = seen || report == c.report
			}
			if !seen {
				t.Errorf("reports %q lack %q", in.reports, c.report)
			}
		})
	}
}

func TestServerIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	s.Down()
	run(t, newChannel(t, s), in)
	in.await(t, "a refused connection", func() bool { return len(in.reports) > 1 })
	s.User(7).Send(0, "hello")
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	in.awaitTexts(t, "hello")
}

func TestAnotherPollerIsEnded(t *testing.T) {
	t.Parallel()
	s, first, second := telegramtest.New(t), newInbox(), newInbox()
	run(t, newChannel(t, s), first)
	first.awaitReport(t, "connected: as @claw_bot")
	stop := run(t, newChannel(t, s), second)
	first.await(t, "the conflict", func() bool { return len(first.reports) > 2 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	first.awaitReport(t, "connected: as @claw_bot")
}

func TestWebhookIsDropped(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	api := newAPI(s.Token(), s.URL())
	defer api.close()
	setWebhook := func() {
		if _, err := api.call(t.Context(), "setWebhook", map[string]string{"url": "https://hook.example"}); err != nil {
			t.Fatal(err)
		}
	}
	setWebhook()
	run(t, newChannel(t, s), in)
	s.User(7).Send(0, "at the start")
	in.awaitTexts(t, "at the start")
	setWebhook()
	s.User(7).Send(0, "later")
	in.awaitTexts(t, "at the start", "later")
	said := "disconnected: another program has set a webhook for this bot; it was removed. Stop that program or create a separate bot for it"
	in.await(t, said, func() bool { return slices.Contains(in.reports, said) })
	in.awaitReport(t, "connected: as @claw_bot")
}

// TestARemovedWebhookIsLogged, for whoever relied on it. Where there was none nothing is.
func TestARemovedWebhookIsLogged(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]int{"https://hook.example": 1, "": 0} {
		s := telegramtest.New(t)
		api := newAPI(s.Token(), s.URL())
		defer api.close()
		if _, err := api.call(t.Context(), "setWebhook", map[string]string{"url": url}); err != nil {
			t.Fatal(err)
		}
		h := sdktest.New(t, component())
		h.Configure(map[string]any{"token": s.Token(), "api_endpoint": s.URL()})
		h.Run()
		s.User(7).Send(0, "hello")
		h.NextEvent()
		h.Shutdown()
		if n := strings.Count(h.Logs(), "webhook"); n != want {
			t.Errorf("webhook %q: logged %d times:\n%s", url, n, h.Logs())
		}
	}
}

func TestBadTokenEndsRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault telegramtest.Fault
		when  string
	}{
		{"unknown", telegramtest.Refuse(401, "Unauthorized"), "getMe"},
		{"none at all", telegramtest.Refuse(404, "Not Found"), "getMe"},
		{"revoked", telegramtest.Refuse(401, "Unauthorized"), "getUpdates"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := telegramtest.New(t)
			s.Fail(c.when, 1, c.fault)
			if err := newChannel(t, s).Run(t.Context(), newInbox()); !errors.Is(err, sdk.ErrBadCredentials) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestStopEndsALongPoll would hang for the 50 seconds of the poll.
func TestStopEndsALongPoll(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	stop := run(t, newChannel(t, s), in)
	if err := s.AwaitPoll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// TestUnreadableUpdates are acknowledged, or they would come forever.
func TestUnreadableUpdates(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	run(t, newChannel(t, s), in)
	s.Push("message", map[string]any{"message_id": "a word", "chat": 5})
	s.Push("message", map[string]any{"message_id": 5, "chat": map[string]any{"id": 7, "type": "private"}, "new_chat_title": "x"})
	s.Push("poll", map[string]any{"id": "5"})
	s.User(7).Send(0, "hello")
	in.awaitTexts(t, "hello")
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEmptyPollDropsTheOffset: after a week without updates Telegram may begin again with a smaller id.
func TestEmptyPollDropsTheOffset(t *testing.T) {
	t.Parallel()
	s, in := telegramtest.New(t), newInbox()
	c := newChannel(t, s)
	c.pace.poll = 0 // The server answers at once, so the guard's pace is seen too.
	run(t, c, in)
	s.User(7).Send(0, "hello")
	in.awaitTexts(t, "hello")
	if err := s.AwaitConfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := len(s.Calls("getUpdates"))
	calls, err := s.AwaitCalls(t.Context(), "getUpdates", n+2)
	if err != nil {
		t.Fatal(err)
	}
	if offset := calls[len(calls)-1].Params["offset"]; offset != "" {
		t.Errorf("after an empty poll the offset is still %s", offset)
	}
}
