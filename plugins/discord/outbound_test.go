package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/network"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newHarness(t *testing.T, states *ledgers) *sdktest.Harness {
	return sdktest.New(t, component(states))
}

// newChannel is a channel that does not run.
func newChannel(t *testing.T, s *discordtest.Server) *channel {
	t.Helper()
	c, err := open(t.Context(), sdk.Env{Log: quiet()}, config{Token: sdk.NewSecret(s.Token()), TestEndpoint: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.rest.close)
	return c
}

func TestSend(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.User("7", "anna")
	s.Channel("900", "901", "general")
	s.Thread("901", "902", "a thread")
	c := newChannel(t, s)
	asked := s.Say("902", "7", "well?")
	out := chat.Outgoing{
		Key: "k1", To: chat.Address{Chat: "901", Thread: "902"}, Text: "**yes**, @everyone <@7>", ReplyTo: chat.MessageID(asked), Silent: true,
	}
	first, err := c.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Send(t.Context(), out)
	if err != nil || !cmp.Equal(first, second) {
		t.Errorf("the same key gives %v, %v, %v", first, second, err)
	}
	got := s.Replies("902")
	if !got[0].NoPreviews {
		t.Error("links get previews")
	}
	if len(got) != 1 || got[0].Text != out.Text || got[0].ReplyTo != asked || !got[0].Silent || len(got[0].Nonce) > 25 {
		t.Fatalf("sent %+v", got)
	}
	if got[0].Mentions == nil || len(got[0].Mentions) != 0 {
		t.Errorf("the message may ping %v", got[0].Mentions)
	}
	out.Key = "k2"
	s.Remove(asked)
	if _, err := c.Send(t.Context(), out); err != nil {
		t.Errorf("an answer to what is gone: %v", err)
	}
	if len(s.Replies("902")) != 2 || len(s.Replies("901")) != 0 {
		t.Error("another key is not another message of the thread")
	}
}

func TestEditDeleteReactType(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.User("7", "anna")
	s.Direct("7", "70")
	c, to := newChannel(t, s), chat.Address{Chat: "70"}
	asked := chat.MessageID(s.Say("70", "7", "hello"))
	receipt, err := c.Send(t.Context(), chat.Outgoing{To: to, Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Edit(t.Context(), to, receipt.IDs[0], "hello", nil); err != nil || s.Replies("70")[0].Text != "hello" {
		t.Errorf("edit: %v", err)
	}
	if err := c.Edit(t.Context(), to, receipt.IDs[0], "|a|b|\n|-|-|", nil); err != nil || s.Replies("70")[0].Text != "```\na  b\n─  ─\n```" {
		t.Errorf("edit to a table: %v, %q", err, s.Replies("70")[0].Text)
	}
	for _, emoji := range []string{"👀", "✅", ""} {
		if err := c.React(t.Context(), to, asked, emoji); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Get(string(asked)).Reactions, " "); got != emoji {
			t.Errorf("the reactions are %q, want %q", got, emoji)
		}
	}
	for _, active := range []bool{true, false} {
		if err := c.Typing(t.Context(), to, active); err != nil || s.Typings("70") != 1 {
			t.Errorf("typing %t: %v, %d signals", active, err, s.Typings("70"))
		}
	}
	for range 2 {
		if err := c.Delete(t.Context(), to, receipt.IDs[0]); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	gone, _ := errors.AsType[*chat.Failure](c.Edit(t.Context(), to, receipt.IDs[0], "too late", nil))
	if gone == nil || gone.Reason != chat.TargetGone {
		t.Errorf("edit of a deleted message: %v", gone)
	}
}

// A restarted bot does not remember its reactions to a message, and the host sets one reaction.
// Behaviour: reaction.
func TestReactionsOfAPreviousProcess(t *testing.T) {
	t.Parallel()
	for _, emoji := range []string{"👍", "✍", "tea:12", ""} {
		s := discordtest.New(t)
		s.User("7", "anna")
		s.Direct("7", "70")
		to, asked := chat.Address{Chat: "70"}, chat.MessageID(s.Say("70", "7", "hello"))
		s.React(string(asked), "7", "🎉", true)
		s.Fail("DELETE", "🎉", 1, discordtest.Refuse(403, 50013, "Missing Permissions"))
		for _, put := range []string{"✍", "tea:12"} { // by two lives that did not know of one another
			path := "channels/70/messages/" + string(asked) + "/reactions/" + url.PathEscape(put) + "/@me"
			if err := newChannel(t, s).rest.call(t.Context(), "PUT reaction", http.MethodPut, path, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := newChannel(t, s).React(t.Context(), to, asked, emoji); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Get(string(asked)).Reactions, " "); got != emoji {
			t.Errorf("the reactions are %q, want %q", got, emoji)
		}
	}
}

// What came of a reaction that failed is not known: the next one asks.
func TestReactionThatFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, part string }{{"GET", "/messages/"}, {"DELETE", "👀"}, {"PUT", "👍"}} {
		s := discordtest.New(t)
		s.User("7", "anna")
		s.Direct("7", "70")
		to, asked := chat.Address{Chat: "70"}, chat.MessageID(s.Say("70", "7", "hello"))
		if err := newChannel(t, s).React(t.Context(), to, asked, "👀"); err != nil {
			t.Fatal(err)
		}
		again := newChannel(t, s)
		s.Fail(c.method, c.part, 1, discordtest.Refuse(403, 50013, "Missing Permissions"))
		if err := again.React(t.Context(), to, asked, "👍"); err == nil {
			t.Errorf("%s %s fails, and no one is notified", c.method, c.part)
		}
		if err := again.React(t.Context(), to, asked, "✅"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Get(string(asked)).Reactions, " "); got != "✅" {
			t.Errorf("after %s %s failed the reactions are %q", c.method, c.part, got)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		fault     discordtest.Fault
		want      chat.Failure
		delivered bool
	}{
		{"too many requests", discordtest.TooManyRequests(150 * time.Millisecond), chat.Failure{Reason: chat.RateLimited, RetryAfter: 150 * time.Millisecond}, false},
		{"too many, says a proxy", discordtest.NotJSON(429), chat.Failure{Reason: chat.RateLimited}, false},
		{"no access", discordtest.Refuse(403, 50001, "Missing Access"), chat.Failure{Reason: chat.Forbidden}, false},
		{"no direct messages", discordtest.Refuse(403, 50007, "Cannot send messages to this user"), chat.Failure{Reason: chat.Forbidden}, false},
		{"thread archived", discordtest.Refuse(400, 50083, "Thread is archived"), chat.Failure{Reason: chat.Forbidden}, false},
		{"channel gone", discordtest.Refuse(404, 10003, "Unknown Channel"), chat.Failure{Reason: chat.ChatNotFound}, false},
		{"message gone", discordtest.Refuse(404, 10008, "Unknown Message"), chat.Failure{Reason: chat.TargetGone}, false},
		{"anything else", discordtest.Refuse(400, 50035, "Invalid Form Body"), chat.Failure{Reason: chat.Invalid}, false},
		{"token revoked", discordtest.Refuse(401, 0, "401: Unauthorized"), chat.Failure{Reason: chat.NotConnected}, false},
		{"Discord broken", discordtest.Refuse(500, 0, "oops"), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"gateway broken", discordtest.NotJSON(502), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"a login page", discordtest.NotJSON(200), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"a redirect", discordtest.NotJSON(302), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"cut before", discordtest.CutBefore(), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, false},
		{"cut after", discordtest.CutAfter(), chat.Failure{Reason: chat.Temporary, MaybeDelivered: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := discordtest.New(t)
			s.Direct("7", "70")
			ch := newChannel(t, s)
			s.Fail(http.MethodPost, "/messages", 1, c.fault)
			out := chat.Outgoing{Key: "k", To: chat.Address{Chat: "70"}, Text: "hello"}
			_, err := ch.Send(t.Context(), out)
			got, ok := errors.AsType[*chat.Failure](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(c.want, *got, cmpopts.IgnoreFields(chat.Failure{}, "Err")); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if delivered := len(s.Replies("70")) > 0; delivered != c.delivered {
				t.Errorf("delivered: %t", delivered)
			}
			if strings.Contains(err.Error(), s.Token()) || strings.Contains(err.Error(), s.URL()) {
				t.Errorf("the error says too much: %v", err)
			}
			network.Pause(t.Context(), got.RetryAfter)
			if _, err := ch.Send(t.Context(), out); err != nil || len(s.Replies("70")) != 1 {
				t.Errorf("the next try: %v, %d messages", err, len(s.Replies("70")))
			}
		})
	}
}

func TestFailuresBeforeDiscord(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.Direct("7", "70")
	c := newChannel(t, s)
	for _, test := range []struct {
		name string
		out  chat.Outgoing
		want chat.Reason
	}{
		{"too long", chat.Outgoing{To: chat.Address{Chat: "70"}, Text: strings.Repeat("x", 2001)}, chat.TooLong},
		{"no text", chat.Outgoing{To: chat.Address{Chat: "70"}, Text: " \n"}, chat.Invalid},
		{"no channel's id", chat.Outgoing{To: chat.Address{Chat: "70/../71"}, Text: "x"}, chat.ChatNotFound},
		{"no thread's id", chat.Outgoing{To: chat.Address{Chat: "70", Thread: "@me"}, Text: "x"}, chat.ChatNotFound},
		{"a file without bytes", chat.Outgoing{To: chat.Address{Chat: "70"}, Text: "x", Media: []chat.Media{{Kind: chat.File}}}, chat.MediaRejected},
		{"a file that is too large", chat.Outgoing{To: chat.Address{Chat: "70"}, Media: []chat.Media{{Ref: "r", Size: maxUpload + 1}}}, chat.MediaRejected},
	} {
		_, err := c.Send(t.Context(), test.out)
		if f, ok := errors.AsType[*chat.Failure](err); !ok || f.Reason != test.want || f.MaybeDelivered {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestOnlyDiscordIsAsked: an attachment's address comes from outside.
func TestOnlyDiscordIsAsked(t *testing.T) {
	t.Parallel()
	r, err := newREST("no-token-of-anybody", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"http://discord.com/x", "https://127.0.0.1/x", "https://discord.com.example/x", "https://cdn.discordapp.com:444/x"} {
		_, err := r.file(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), "not a host of Discord") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for address, ok := range map[string]bool{
		"wss://gateway.discord.gg": true, "wss://gateway-us-east1-b.discord.gg/": true,
		"ws://gateway.discord.gg": false, "wss://discord.gg.example": false, "ws://127.0.0.1:1/gateway": false, "wss://evildiscord.gg": false,
	} {
		if _, err := gatewayAddress(r.transport, address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestTables are shown as code, unless the message would become too long by it.
func TestTables(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	short := "|" + strings.Repeat("x", 500) + "|y|\n|-|-|\n|a|b|\n\n"
	long := short + strings.Repeat("z", textLimit.Max-len(short))
	for text, want := range map[string]string{
		"|a|b|\n|-|-|\n|1|2|\n|3|4|": "```\na  b\n─  ─\n1  2\n3  4\n```",
		long:                         long,
	} {
		receipt, err := f.host.Send(chat.Outgoing{Key: text[:20], To: chat.Address{Chat: "70"}, Text: text})
		if err != nil || len(receipt.IDs) != 1 {
			t.Fatalf("sent %v, %v", receipt, err)
		}
		if got := f.server.Get(string(receipt.IDs[0])).Text; got != want {
			t.Errorf("Discord shows %q, want %q", got, want)
		}
	}
}

// TestPeopleByTheirIDs: who has never written is known by their own id, and has a direct channel once it is asked for.
// Behaviour: networks-owner-by-id.
func TestPeopleByTheirIDs(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	s.User("9", "cleo")
	to, reason := chat.Address{Chat: "9"}, func(err error) chat.Reason {
		f, _ := errors.AsType[*chat.Failure](err)
		if f == nil {
			t.Fatalf("got %v", err)
		}
		return f.Reason
	}
	c := newChannel(t, s)
	s.Fail("POST", "/users/@me/channels", 1, discordtest.TooManyRequests(0))
	if _, err := c.Send(t.Context(), chat.Outgoing{Key: "k", To: to, Text: "hello"}); reason(err) != chat.RateLimited {
		t.Errorf("a direct channel that is refused for now gives %v", err)
	}
	receipt, err := c.Send(t.Context(), chat.Outgoing{Key: "k", To: to, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	direct := s.DirectOf("9")
	if sent := s.Replies(direct); len(sent) != 1 || sent[0].ID != string(receipt.IDs[0]) || sent[0].Text != "hello" {
		t.Fatalf("cleo has %+v, the receipt is %+v", sent, receipt)
	}
	for range 2 { // The second life has to find the channel again.
		if err := errors.Join(
			c.Edit(t.Context(), to, receipt.IDs[0], "hello, cleo", nil),
			c.React(t.Context(), to, receipt.IDs[0], "👍"),
			c.Typing(t.Context(), to, true),
		); err != nil {
			t.Error(err)
		}
		c = newChannel(t, s)
	}
	if m := s.Get(string(receipt.IDs[0])); m.Text != "hello, cleo" || m.Edits != 2 || len(m.Reactions) != 1 || s.Typings(direct) != 2 {
		t.Errorf("cleo has %+v, and was shown typing %d times", m, s.Typings(direct))
	}
	if err := c.Delete(t.Context(), to, receipt.IDs[0]); err != nil || len(s.Replies(direct)) != 0 {
		t.Errorf("delete: %v, and cleo has %+v", err, s.Replies(direct))
	}
	for _, nobody := range []chat.ID{"77", discordtest.BotID} {
		if _, err := c.Send(t.Context(), chat.Outgoing{To: chat.Address{Chat: nobody}, Text: "x"}); reason(err) != chat.ChatNotFound {
			t.Errorf("to %s: %v", nobody, err)
		}
	}
	s.Forbid(direct)
	if _, err := c.Send(t.Context(), chat.Outgoing{To: to, Text: "x"}); reason(err) != chat.Forbidden {
		t.Errorf("to a person who takes no messages: %v", err)
	}
}
