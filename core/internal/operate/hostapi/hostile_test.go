package hostapi_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// say adds an entry to a session's history that names the session.
func (b *bundle) say(t *testing.T, session string) {
	t.Helper()
	if _, err := b.store.RecordPassive(t.Context(), domain.Passive{
		EventID: chat.EventID(session), Channel: "telegram", Session: session, Transcript: []chat.TranscriptEntry{{Role: chat.User, Text: "in " + session, At: start}},
	}); err != nil {
		t.Fatal(err)
	}
}

// A plugin reaches its own channel and those of its grants, however it writes the name of another one.
// Behaviour: plugin-grants.
func TestForgedChannels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, session := range []string{"telegram:anna", "granted:anna", "main", "cli:main"} {
		b.say(t, session)
	}
	forged := []string{
		"telegram", "reader", "Echo", "ECHO", "echo ", " echo", "echo\x00", "echo\n", "echo:anna", "echo,telegram", "./echo", "*", "%", "_", "еcho", "ｅcho",
		"cli", "main", "peer", "plugin", "cron", strings.Repeat("e", 1000),
	}
	for instance, more := range map[string]string{"echo": "granted", "granted": "telegram"} {
		conn := b.connect(t, instance)
		for _, channel := range append(forged, more) {
			for _, kind := range []pluginv1.ChatKind{pluginv1.ChatKind_CHAT_KIND_DIRECT, pluginv1.ChatKind_CHAT_KIND_GROUP} {
				to := address(channel, "anna")
				_, posted := pluginv1.NewOutboxClient(conn).Post(t.Context(), &pluginv1.PostRequest{IdempotencyKey: "k", Address: to, Text: "hello"})
				_, read := pluginv1.NewSessionsClient(conn).ReadHistory(t.Context(), &pluginv1.ReadHistoryRequest{Address: to, ChatKind: kind})
				stream, err := pluginv1.NewTurnsClient(conn).RunTurn(t.Context(), &pluginv1.RunTurnRequest{IdempotencyKey: "k", Address: to, ChatKind: kind, Prompt: "hello"})
				if err == nil {
					_, err = stream.Recv()
				}
				for what, err := range map[string]error{"post": posted, "read": read, "run a turn": err} {
					if code := status.Code(err); code != codes.PermissionDenied && code != codes.InvalidArgument && code != codes.Internal { // a text that is no UTF-8 is not even sent
						t.Errorf("%s may %s in %q: %v", instance, what, channel, err)
					}
				}
			}
		}
	}
	b.idle(t)
	for _, channel := range append(forged, "granted", "telegram") {
		if got := b.posted(t, channel); len(got) > 0 {
			t.Errorf("posted to %q: %q", channel, got)
		}
	}
}

// No id of a chat or a thread reads another conversation than the one that it names.
// Behaviour: plugin-grants.
func TestForgedChats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own := []string{"echo:anna", "echo:group:club", "echo:group:club:thread:7"}
	for _, session := range append(own, "granted:anna", "telegram:anna", "main", "peer:anna", "cli:main", "echo:main") {
		b.say(t, session)
	}
	client := pluginv1.NewSessionsClient(b.connect(t, "echo"))
	for _, test := range []struct {
		chat, thread string
		kind         pluginv1.ChatKind
		want         string
	}{
		{"anna", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, "echo:anna"},
		{"club", "", pluginv1.ChatKind_CHAT_KIND_GROUP, "echo:group:club"},
		{"club", "7", pluginv1.ChatKind_CHAT_KIND_GROUP, "echo:group:club:thread:7"},
		{"main", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, "echo:main"},
		{"group:club", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{"club:thread:7", "", pluginv1.ChatKind_CHAT_KIND_GROUP, ""},
		{"group%3Aroom", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{"../granted:anna", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{"granted:anna", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{":anna", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{"anna' OR '1'='1", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{"%", "", pluginv1.ChatKind_CHAT_KIND_DIRECT, ""},
		{"club", "7:thread:8", pluginv1.ChatKind_CHAT_KIND_GROUP, ""},
	} {
		for _, before := range []int64{0, math.MaxInt64} {
			response, err := client.ReadHistory(t.Context(), &pluginv1.ReadHistoryRequest{
				Address: &pluginv1.Address{ChatId: test.chat, ThreadId: test.thread}, ChatKind: test.kind, BeforeId: before, Limit: math.MaxUint32,
			})
			var got []string
			for _, e := range response.GetEntries() {
				got = append(got, strings.TrimPrefix(e.GetText(), "in "))
			}
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%s %q %q: %q, %v, want %q", test.kind, test.chat, test.thread, got, err, test.want)
			}
		}
	}
}

// What was said on all channels is for the plugin whose block says so, and no grant is a substitute for that.
// Behaviour: transcripts-older.
func TestForgedTranscripts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 5 {
		b.say(t, "telegram:"+strconv.Itoa(n))
	}
	for instance, want := range map[string]codes.Code{"echo": codes.PermissionDenied, "granted": codes.PermissionDenied, "readers": codes.PermissionDenied, "reader": codes.OK} {
		client := pluginv1.NewSessionsClient(b.connect(t, instance))
		for after, entries := range map[int64]int{0: 5, math.MinInt64: 5, -1: 5, 3: 2, math.MaxInt64: 0} {
			page, err := client.ReadTranscripts(t.Context(), &pluginv1.ReadTranscriptsRequest{AfterId: after, Limit: math.MaxUint32})
			wantCode(t, err, want)
			if err == nil && len(page.GetEntries()) != entries {
				t.Errorf("after %d: %d entries, want %d", after, len(page.GetEntries()), entries)
			}
		}
	}
}

// A plugin gives a turn no more than a day.
func TestTurnsOfAPluginHaveATimeLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "echo")
	for asked, want := range map[time.Duration]time.Duration{math.MaxInt64: 24 * time.Hour, 48 * time.Hour: 24 * time.Hour, time.Minute: time.Minute} {
		request := turn(asked.String())
		request.Timeout = durationpb.New(asked)
		ask(t.Context(), t, conn, request)
		run := b.claim(t)
		if got := run.Head.Message.Timeout; got != want {
			t.Errorf("a turn of %v is given %v, want %v", asked, got, want)
		}
		b.complete(t, run, domain.Completion{State: domain.RunDone})
	}
	request := turn("long")
	request.Timeout = &durationpb.Duration{Seconds: math.MaxInt64, Nanos: math.MaxInt32}
	ask(t.Context(), t, conn, request)
	if got := b.claim(t).Head.Message.Timeout; got != 24*time.Hour {
		t.Errorf("a turn without an end is given %v", got)
	}
}
