package hostapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

func TestSubmit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := pluginv1.NewInboxClient(b.connect(t, "echo"))
	stranger := event("3", "let me in")
	stranger.Sender.Id, stranger.Chat.Id = "eve", "eve"
	old := event("4", "long ago")
	old.HappenedAt = timestamppb.New(start.Add(-2 * time.Hour))
	timeless := event("5", "some time")
	timeless.HappenedAt = nil
	for _, test := range []struct {
		name  string
		event *pluginv1.Event
		want  pluginv1.Verdict
	}{
		{"a message", event("1", "hello"), pluginv1.Verdict_VERDICT_ACCEPTED},
		{"another", event("2", "hello"), pluginv1.Verdict_VERDICT_ACCEPTED},
		{"the first one again", event("1", "hello"), pluginv1.Verdict_VERDICT_DUPLICATE},
		{"a stranger's", stranger, pluginv1.Verdict_VERDICT_REJECTED},
		{"an old one", old, pluginv1.Verdict_VERDICT_REJECTED},
		{"one whose network tells no time", timeless, pluginv1.Verdict_VERDICT_ACCEPTED},
	} {
		response, err := client.Submit(t.Context(), &pluginv1.SubmitRequest{Event: test.event})
		if err != nil || response.GetVerdict() != test.want {
			t.Errorf("%s: %v, %v, want %v", test.name, response, err, test.want)
		}
		if test.want == pluginv1.Verdict_VERDICT_REJECTED && response.GetReason() == "" {
			t.Errorf("%s: rejected without a reason", test.name)
		}
	}
	run := b.claim(t)
	if m := run.Head.Message; m.Channel != "echo" || m.Text != "hello" || run.Session.Key != "echo:anna" {
		t.Errorf("claimed %+v of session %s", m, run.Session.Key)
	}
}

func TestSubmitOfAnInstanceIsItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, instance := range []string{"echo", "granted"} {
		response, err := pluginv1.NewInboxClient(b.connect(t, instance)).Submit(t.Context(), &pluginv1.SubmitRequest{Event: event("1", "hello")})
		if err != nil || response.GetVerdict() != pluginv1.Verdict_VERDICT_ACCEPTED {
			t.Errorf("%s: %v, %v: the same id in another instance is another event", instance, response, err)
		}
		if run := b.claim(t); run.Head.Message.Channel != instance {
			t.Errorf("channel %q, want %q", run.Head.Message.Channel, instance)
		}
	}
}

func TestSubmitRejectsWhatIsMalformed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := pluginv1.NewInboxClient(b.connect(t, "echo"))
	for name, spoil := range map[string]func(*pluginv1.Event) *pluginv1.Event{
		"nothing":            func(*pluginv1.Event) *pluginv1.Event { return nil },
		"no id":              func(e *pluginv1.Event) *pluginv1.Event { e.EventId = ""; return e },
		"a long id":          func(e *pluginv1.Event) *pluginv1.Event { e.EventId = strings.Repeat("i", 201); return e },
		"no chat":            func(e *pluginv1.Event) *pluginv1.Event { e.Chat = nil; return e },
		"an unknown kind":    func(e *pluginv1.Event) *pluginv1.Event { e.Chat.Kind = 99; return e },
		"no sender":          func(e *pluginv1.Event) *pluginv1.Event { e.Sender = nil; return e },
		"no body":            func(e *pluginv1.Event) *pluginv1.Event { e.Body = nil; return e },
		"an impossible time": func(e *pluginv1.Event) *pluginv1.Event { e.HappenedAt = &timestamppb.Timestamp{Nanos: -1}; return e },
		"too much text": func(e *pluginv1.Event) *pluginv1.Event {
			e.GetMessage().Text = strings.Repeat("x", 256<<10+1)
			return e
		},
		"a mention outside": func(e *pluginv1.Event) *pluginv1.Event {
			e.GetMessage().Mentions = []*pluginv1.Mention{{Offset: 4_000_000_000, Length: 4_000_000_000, IsSelf: true}}
			return e
		},
	} {
		response, err := client.Submit(t.Context(), &pluginv1.SubmitRequest{Event: spoil(event("1", "hello"))})
		if err != nil || response.GetVerdict() != pluginv1.Verdict_VERDICT_REJECTED || response.GetReason() == "" {
			t.Errorf("%s: %v, %v", name, response, err)
		}
	}
	b.idle(t)
}

// What the host cannot keep it does not have: the plugin must submit it again.
func TestWhatTheHostDoesNotHaveIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*bundle) error{
		"the host is going down": func(b *bundle) error { close(b.closing); return nil },
		"the store fails":        func(b *bundle) error { return b.store.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			conn := b.connect(t, "echo")
			if err := spoil(b); err != nil {
				t.Fatal(err)
			}
			_, err := pluginv1.NewInboxClient(conn).Submit(t.Context(), &pluginv1.SubmitRequest{Event: event("1", "hello")})
			wantCode(t, err, codes.Unavailable)
			if strings.Contains(err.Error(), "sql") || strings.Contains(err.Error(), "database") {
				t.Errorf("the plugin sees an internal error of the host: %v", err)
			}
			_, err = pluginv1.NewOutboxClient(conn).Post(t.Context(), &pluginv1.PostRequest{
				IdempotencyKey: "k", Address: address("", "anna"), Text: "hello",
			})
			wantCode(t, err, codes.Unavailable)
			stream, err := pluginv1.NewTurnsClient(conn).RunTurn(t.Context(), turn("k"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = stream.Recv()
			wantCode(t, err, codes.Unavailable)
		})
	}
}

// Behaviour: message-tool-history, send-no-channel.
func TestPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	echo := pluginv1.NewOutboxClient(b.connect(t, "echo"))
	granted := pluginv1.NewOutboxClient(b.connect(t, "granted"))
	post := func(client pluginv1.OutboxClient, key string, to *pluginv1.Address, text string) (int64, error) {
		response, err := client.Post(t.Context(), &pluginv1.PostRequest{IdempotencyKey: key, Address: to, Text: text})
		return response.GetOutboxId(), err
	}

	if _, err := b.store.Accept(t.Context(), domain.Inbound{EventID: "m", Session: "echo:anna", Lane: domain.TurnLane, Message: domain.Message{
		Channel: "echo", Chat: chat.Chat{ID: "anna", Kind: chat.Direct},
	}}); err != nil {
		t.Fatal(err)
	}
	first, err := post(echo, "key", address("", "anna"), "hello")
	if err != nil || first == 0 {
		t.Fatalf("posted %d, %v", first, err)
	}
	if again, err := post(echo, "key", address("", "anna"), "another text"); err != nil || again != first {
		t.Errorf("the same key posted %d, %v, want %d", again, err, first)
	}
	if other, err := post(granted, "key", address("echo", "anna"), "from afar"); err != nil || other == first {
		t.Errorf("another instance's key posted %d, %v", other, err)
	}
	var said []string
	history, err := b.store.Transcript(t.Context(), "echo:anna", 0, 0)
	for _, e := range history {
		said = append(said, e.Text)
	}
	if diff := cmp.Diff([]string{"echo: hello", "granted: from afar"}, said); err != nil || diff != "" {
		t.Errorf("the history, %v (-want +got):\n%s", err, diff)
	}
	if nothing, err := post(echo, "empty", address("", "anna"), ""); err != nil || nothing != 0 {
		t.Errorf("no text posted %d, %v", nothing, err)
	}
	if _, err := post(echo, "long", address("", "bob"), strings.Repeat("x", 256<<10+5)); err != nil {
		t.Errorf("a long text: %v", err)
	}

	_, err = post(echo, "foreign", address("granted", "anna"), "hello")
	wantCode(t, err, codes.PermissionDenied)
	_, err = post(granted, "foreign", address("telegram", "anna"), "hello")
	wantCode(t, err, codes.PermissionDenied)
	_, err = post(echo, "", address("", "anna"), "hello")
	wantCode(t, err, codes.InvalidArgument)
	_, err = post(echo, strings.Repeat("k", 201), address("", "anna"), "hello")
	wantCode(t, err, codes.InvalidArgument)
	_, err = post(echo, "no chat", address("", ""), "hello")
	wantCode(t, err, codes.InvalidArgument)
	_, err = post(echo, "no address", nil, "hello")
	wantCode(t, err, codes.InvalidArgument)

	hook := pluginv1.NewOutboxClient(b.connect(t, "hook"))
	for _, to := range []*pluginv1.Address{address("", "anna"), address("hook", "anna")} {
		_, err = post(hook, "to itself", to, "hello")
		wantCode(t, err, codes.InvalidArgument)
	}
	if got := b.posted(t, "hook"); len(got) != 0 {
		t.Errorf("posted to what is no channel: %q", got)
	}
	if got := b.posted(t, "granted"); len(got) != 0 {
		t.Errorf("posted to another channel: %q", got)
	}
	if got := b.posted(t, "echo"); len(got) != 2 || got["anna"] != "hello" || len(got["bob"]) != 256<<10 {
		t.Errorf("posted %d texts, to anna %q and %d bytes to bob", len(got), got["anna"], len(got["bob"]))
	}
}

// posted returns the text that is due for each chat of a channel.
func (b *bundle) posted(t *testing.T, channel string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	if due, err := b.store.DeliveriesDue(t.Context(), channel); err != nil || !due {
		return texts
	}
	deliveries, err := b.store.ClaimDeliveries(t.Context(), channel, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deliveries {
		texts[string(d.Item.To.Chat)] = d.Item.Text
	}
	return texts
}
