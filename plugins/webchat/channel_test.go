package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

func TestSubmitsWhatTheUserSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.NewString()
	if status, got := b.post(t, id, "hello"); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	want := chat.Event{
		ID:     chat.EventID("wc:" + id),
		Chat:   chat.Chat{ID: "local", Kind: chat.Direct},
		Sender: chat.Sender{ID: "local", DisplayName: "You"},
		At:     b.host.events[0].At,
		Body:   chat.Message{ID: chat.MessageID(id), Text: "hello"},
	}
	if diff := cmp.Diff([]chat.Event{want}, b.host.events); diff != "" {
		t.Error(diff)
	}
}

func TestSendTwiceUnderOneKeyShowsOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	out := chat.Outgoing{Key: "7", To: local, Text: "once"}
	first, err := b.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	b.stop()
	b = start(t, b.dir, nil)
	third, err := b.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]chat.Receipt{first, first}, []chat.Receipt{second, third}); diff != "" {
		t.Error(diff)
	}
	messages, _ := b.history(t, "")
	if diff := cmp.Diff([]string{"agent  <p>once</p>"}, describeAll(messages)); diff != "" {
		t.Error(diff)
	}
}

// Which of several agents has written a message stays with it.
// Behaviour: agent-shown.
func TestTheAgentOfAMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	receipt, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: local, Text: "first", Agent: "server"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Edit(t.Context(), local, receipt.IDs[0], "second", nil); err != nil {
		t.Fatal(err)
	}
	b.send(t, "mine alone")
	b.stop()
	b = start(t, b.dir, nil)
	messages, _ := b.history(t, "")
	var by []string
	for _, m := range messages {
		by = append(by, m.Agent+": "+m.Text)
	}
	if diff := cmp.Diff([]string{"server: second", ": mine alone"}, by); diff != "" {
		t.Error(diff)
	}
}

func TestEditAndDelete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows := [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	receipt, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: local, Text: "first", Buttons: rows})
	if err != nil {
		t.Fatal(err)
	}
	stream := b.events(t, 1)
	if err := b.Edit(t.Context(), local, receipt.IDs[0], "second", nil); err != nil {
		t.Fatal(err)
	}
	if got := stream.message(); got != "agent  <p>second</p>" {
		t.Errorf("after the edit: %q", got)
	}
	if messages, _ := b.history(t, ""); len(messages) != 1 || messages[0].Buttons != nil || !messages[0].Edited {
		t.Errorf("after the edit: %+v", messages)
	}
	if err := b.Delete(t.Context(), local, receipt.IDs[0]); err != nil {
		t.Fatal(err)
	}
	if got := stream.message(); got != "agent  deleted" {
		t.Errorf("after the deletion: %q", got)
	}
	b.stop()
	if kept, err := os.ReadFile(filepath.Join(b.dir, "messages.jsonl")); err != nil || !strings.Contains(string(kept), `"deleted":true`) {
		t.Errorf("the journal: %s, %v", kept, err)
	}
}

func TestRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "mine")
	mine := b.host.events[0].Body.(chat.Message).ID
	gone := b.send(t, "gone")
	if err := b.Delete(t.Context(), local, gone); err != nil {
		t.Fatal(err)
	}
	elsewhere := chat.Address{Chat: "other"}
	nowhere := chat.Address{Chat: "local", Thread: chat.ThreadID(uuid.NewString())}
	tests := map[string]struct {
		err  func() error
		want chat.Reason
	}{
		"send elsewhere": {func() error {
			_, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: elsewhere, Text: "a"})
			return err
		}, chat.ChatNotFound},
		"send to an odd thread": {func() error {
			_, err := b.Send(t.Context(), chat.Outgoing{Key: "1", To: chat.Address{Chat: "local", Thread: "1"}, Text: "a"})
			return err
		}, chat.ChatNotFound},
		"draft in no thread":     {func() error { return b.Draft(t.Context(), nowhere, 1, "a") }, chat.ChatNotFound},
		"edit in another thread": {func() error { return b.Edit(t.Context(), nowhere, gone, "a", nil) }, chat.ChatNotFound},
		"react to nothing":       {func() error { return b.React(t.Context(), local, "m99", "👍") }, chat.TargetGone},
		"react with a text":      {func() error { return b.React(t.Context(), local, mine, strings.Repeat("👍", 9)) }, chat.Invalid},
		"delete the user's":      {func() error { return b.Delete(t.Context(), local, mine) }, chat.TargetGone},
		"edit nothing":           {func() error { return b.Edit(t.Context(), local, "m99", "a", nil) }, chat.TargetGone},
		"edit the user's":        {func() error { return b.Edit(t.Context(), local, mine, "a", nil) }, chat.TargetGone},
		"edit the deleted":       {func() error { return b.Edit(t.Context(), local, gone, "a", nil) }, chat.TargetGone},
		"edit elsewhere":         {func() error { return b.Edit(t.Context(), elsewhere, gone, "a", nil) }, chat.ChatNotFound},
		"delete the deleted":     {func() error { return b.Delete(t.Context(), local, gone) }, chat.TargetGone},
		"typing elsewhere":       {func() error { return b.Typing(t.Context(), elsewhere, true) }, chat.ChatNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var failure *chat.Failure
			if err := test.err(); !errors.As(err, &failure) || failure.Reason != test.want || failure.MaybeDelivered {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestReaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say(t, "mine")
	mine := b.host.events[0].Body.(chat.Message).ID
	for _, emoji := range []string{"👀", "👍", ""} {
		if err := b.React(t.Context(), local, mine, emoji); err != nil {
			t.Fatal(err)
		}
		b.stop()
		b = start(t, b.dir, nil)
		if messages, _ := b.history(t, ""); messages[0].Reaction != emoji || messages[0].Text != "mine" {
			t.Errorf("after %q: %+v", emoji, messages)
		}
	}
}

func TestTypingAndDraft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stream := b.events(t, 0)
	to := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	to(b.Typing(t.Context(), local, true))
	if got := stream.live(); got.Typing <= 0 || got.Typing > typingTTL.Milliseconds() || got.Draft != 0 {
		t.Errorf("typing: %+v", got)
	}
	to(b.Draft(t.Context(), local, 1, ""))
	if got := stream.live(); got.Draft <= 0 || got.HTML != "" || got.Typing <= 0 {
		t.Errorf("an empty draft: %+v", got)
	}
	to(b.Draft(t.Context(), local, 1, "one *two*\n\n```go\nfmt."))
	want := "<p>one <em>two</em></p>\n<pre><code class=\"language-go\">fmt.\n</code></pre>\n"
	if got := stream.live(); got.HTML != want || got.Draft > draftTTL.Milliseconds() {
		t.Errorf("a draft: %+v", got)
	}
	// A page that connects later gets the draft, and the message ends it: the message is sent first.
	if got := b.events(t, 0).live(); got.HTML != want {
		t.Errorf("a page that comes later gets %+v", got)
	}
	b.send(t, "done")
	if got := stream.message(); got != "agent  <p>done</p>" {
		t.Errorf("the message: %s", got)
	}
	if got := stream.live(); got != (liveView{}) {
		t.Errorf("after the message: %+v", got)
	}
	if got := b.events(t, 1).live(); got != (liveView{}) {
		t.Errorf("a page that comes after that gets %+v", got)
	}
	// It is over too where the agent stops writing and says nothing.
	to(b.Draft(t.Context(), local, 2, "never mind"))
	stream.live()
	to(b.Typing(t.Context(), local, false))
	if got := stream.live(); got != (liveView{}) {
		t.Errorf("after the typing: %+v", got)
	}
}

// What the user said is on disk before the host is asked: a plugin that dies in that moment hands it over when it starts
// again, before anything newer.
func TestHandsOverMessagesOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 3)
	dir := t.TempDir()
	b := start(t, dir, func(ctx context.Context, _ chat.Event) (chat.Verdict, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	var answered []chan int
	for i := range 3 {
		status := make(chan int, 1)
		answered = append(answered, status)
		stream := b.events(t, int64(i))
		go func() {
			got, _ := b.post(t, uuid.NewString(), fmt.Sprint(i))
			status <- got
		}()
		if got := stream.message(); got != fmt.Sprintf("user pending %d", i) {
			t.Fatalf("got %q", got)
		}
	}
	<-asked
	b.stop()
	for _, status := range answered {
		if got := <-status; got != 503 {
			t.Errorf("while the host is not there: %d", got)
		}
	}
	b = start(t, dir, nil)
	b.say(t, "3")
	if diff := cmp.Diff([]string{"0", "1", "2", "3"}, b.host.texts()); diff != "" {
		t.Error(diff)
	}
}

// Whoever waits for an address learns that it is taken, also if the time is over in the middle of an attempt.
func TestATakenAddressIsCalledSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tries := 0
		err := insist(ctx, syscall.EADDRINUSE, func() error {
			if tries++; tries < 3 {
				return syscall.EADDRINUSE
			}
			<-ctx.Done()
			return fmt.Errorf("ask: %w", ctx.Err())
		})
		if !errors.Is(err, syscall.EADDRINUSE) || tries != 3 {
			t.Errorf("after %d attempts: %v", tries, err)
		}
	})
}

func TestBadConfigIsRefused(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	tests := map[string]struct{ listen, token, want string }{
		"all addresses": {":7080", "", "not a loopback address"},
		"any":           {"0.0.0.0:7080", "", "not a loopback address"},
		"any v6":        {"[::]:7080", "", "not a loopback address"},
		"a network's":   {"192.168.1.5:7080", "", "not a loopback address"},
		"a name":        {"example.org:7080", "", "not a loopback address"},
		"no port":       {"127.0.0.1", "", "is not an address"},
		"a named port":  {"127.0.0.1:http", "", "is not a port"},
		"a large port":  {"127.0.0.1:70000", "", "is not a port"},
		"taken":         {taken.Addr().String(), "", "address already in use: stop what listens there, or set listen to another port"},
		"short token":   {"127.0.0.1:0", "hunter2", "16 to 256"},
		"odd token":     {"127.0.0.1:0", "hunter2&hunter2#hunter2", "16 to 256"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := sdk.Env{Log: slog.New(slog.DiscardHandler), StateDir: t.TempDir()}
			cfg := config{Listen: test.listen, Token: sdk.NewSecret(test.token)}
			err := cfg.Check()
			if err == nil {
				_, err = open(t.Context(), env, cfg)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if test.token != "" && strings.Contains(err.Error(), test.token) {
				t.Errorf("the error holds the token: %v", err)
			}
			// What was opened is let go: the folder can be used again.
			c, err := open(t.Context(), env, config{Listen: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTwoNeverShareAFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	env := sdk.Env{Log: slog.New(slog.DiscardHandler), StateDir: b.dir}
	if _, err := open(ctx, env, config{Listen: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "another web chat") {
		t.Fatalf("got %v", err)
	}
}

// A killed host's successor starts the plugin while its previous process is still ending.
func TestWaitsForItsPredecessor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	env := sdk.Env{Log: slog.New(slog.DiscardHandler), StateDir: b.dir}
	opened := make(chan error, 1)
	go func() {
		c, err := open(t.Context(), env, config{Listen: strings.TrimPrefix(b.base, "http://")})
		if err == nil {
			err = c.Stop(t.Context())
		}
		opened <- err
	}()
	b.stop()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

func TestKeepsItsToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.stop()
	again := start(t, b.dir, nil)
	if again.token != b.token || len(b.token) != 43 {
		t.Errorf("tokens of %d and %d bytes, or not the same", len(b.token), len(again.token))
	}
	for _, name := range []string{"token", "messages.jsonl", "lock"} {
		info, err := os.Stat(filepath.Join(b.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
	again.stop()
	if err := os.WriteFile(filepath.Join(b.dir, "token"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t.Context(), sdk.Env{Log: slog.New(slog.DiscardHandler), StateDir: b.dir}, config{Listen: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), "contains no token") {
		t.Errorf("an empty token file: %v", err)
	}
}
