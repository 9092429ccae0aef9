package hostapi_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// turn asks for a turn in the chat with anna on the instance's own channel.
func turn(key string) *pluginv1.RunTurnRequest {
	return &pluginv1.RunTurnRequest{
		IdempotencyKey: key, Address: address("", "anna"), ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT, Prompt: "what is new?",
	}
}

// asked is a turn that was asked for and is queued.
type asked struct {
	grpc.ServerStreamingClient[pluginv1.RunTurnResponse]
	position uint32
}

func ask(ctx context.Context, t *testing.T, conn *grpc.ClientConn, request *pluginv1.RunTurnRequest) asked {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	stream, err := pluginv1.NewTurnsClient(conn).RunTurn(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	response, err := stream.Recv()
	if err != nil || response.GetQueued() == nil {
		t.Fatalf("%v, %v, want queued", response, err)
	}
	return asked{stream, response.GetQueued().GetPosition()}
}

// result returns the result of the turn.
func (a asked) result(t *testing.T) *pluginv1.TurnResult {
	t.Helper()
	response, err := a.Recv()
	if err != nil || response.GetResult() == nil {
		t.Fatalf("%v, %v, want a result", response, err)
	}
	return response.GetResult()
}

func (b *bundle) complete(t *testing.T, run *domain.Run, c domain.Completion) {
	t.Helper()
	if err := b.store.Complete(t.Context(), run.ID, c); err != nil {
		t.Fatal(err)
	}
}

func TestRunTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "echo")
	request := turn("key")
	request.Timeout = durationpb.New(time.Minute)
	first := ask(t.Context(), t, conn, request)
	second := ask(t.Context(), t, conn, turn("other"))
	if first.position != 0 || second.position != 1 {
		t.Errorf("positions %d and %d, want 0 and 1", first.position, second.position)
	}

	run := b.claim(t)
	m := run.Head.Message
	if m.Text != "what is new?" || !m.Silent || m.Timeout != time.Minute || m.Authority != chat.Owner || run.Session.Key != "echo:anna" {
		t.Errorf("the turn is %+v of session %s", m, run.Session.Key)
	}
	while := ask(t.Context(), t, conn, turn("key")) // asked again while it runs
	b.complete(t, run, domain.Completion{State: domain.RunDone, Answer: "nothing"})
	for _, a := range []asked{first, while, ask(t.Context(), t, conn, turn("key"))} { // and again when it is over
		if result := a.result(t); result.GetText() != "nothing" || result.GetError() != "" {
			t.Errorf("result %v", result)
		}
	}

	b.complete(t, b.claim(t), domain.Completion{State: domain.RunFailed, Error: "for the log", Answer: "I could not"})
	if result := second.result(t); result.GetError() != "I could not" || result.GetText() != "" {
		t.Errorf("result %v", result)
	}
	b.idle(t)
}

// Behaviour: turn-untrusted.
func TestRunTurnOfAnUntrustedText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	request := turn("key")
	request.Untrusted = true
	ask(t.Context(), t, b.connect(t, "echo"), request)
	run := b.claim(t)
	m := run.Head.Message
	if want := (chat.Sender{DisplayName: "echo", IsBot: true}); !cmp.Equal(m.Sender, want) || m.Authority != chat.Other || run.Session.Key != "echo:anna" {
		t.Errorf("the turn is %+v of session %s", m, run.Session.Key)
	}
}

func TestRunTurnTellsWhatEndedIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "echo")
	for want, completion := range map[string]domain.Completion{
		"cancelled":   {State: domain.RunCancelled},
		"for the log": {State: domain.RunFailed, Error: "for the log"},
	} {
		a := ask(t.Context(), t, conn, turn(want))
		b.complete(t, b.claim(t), completion)
		if result := a.result(t); result.GetError() != want {
			t.Errorf("result %v, want the error %q", result, want)
		}
	}
}

func TestRunTurnInAnotherChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	request := turn("key")
	request.Address, request.ChatKind, request.Deliver = address("echo", "club"), pluginv1.ChatKind_CHAT_KIND_GROUP, true
	request.Address.ThreadId = "7"
	a := ask(t.Context(), t, b.connect(t, "granted"), request)
	run := b.claim(t)
	if m := run.Head.Message; m.Channel != "echo" || m.Silent || m.Thread != "7" || run.Session.Key != "echo:group:club:thread:7" {
		t.Errorf("the turn is %+v of session %s", m, run.Session.Key)
	}
	b.complete(t, run, domain.Completion{State: domain.RunDone, Answer: "hello"})
	a.result(t)
	// The same key of another instance is another turn.
	ask(t.Context(), t, b.connect(t, "echo"), request)
	b.claim(t)
}

func TestRunTurnRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := pluginv1.NewTurnsClient(b.connect(t, "echo"))
	for name, test := range map[string]struct {
		spoil func(*pluginv1.RunTurnRequest)
		want  codes.Code
	}{
		"no key":          {func(r *pluginv1.RunTurnRequest) { r.IdempotencyKey = "" }, codes.InvalidArgument},
		"a long key":      {func(r *pluginv1.RunTurnRequest) { r.IdempotencyKey = strings.Repeat("k", 201) }, codes.InvalidArgument},
		"no prompt":       {func(r *pluginv1.RunTurnRequest) { r.Prompt = "" }, codes.InvalidArgument},
		"a long prompt":   {func(r *pluginv1.RunTurnRequest) { r.Prompt = strings.Repeat("p", 256<<10+1) }, codes.InvalidArgument},
		"no chat":         {func(r *pluginv1.RunTurnRequest) { r.Address = nil }, codes.InvalidArgument},
		"no kind":         {func(r *pluginv1.RunTurnRequest) { r.ChatKind = 0 }, codes.InvalidArgument},
		"another channel": {func(r *pluginv1.RunTurnRequest) { r.Address.Channel = "granted" }, codes.PermissionDenied},
	} {
		request := turn("key")
		test.spoil(request)
		stream, err := client.RunTurn(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = stream.Recv(); err == nil {
			t.Errorf("%s: the turn was taken", name)
		}
		wantCode(t, err, test.want)
	}
	b.idle(t)

	// A plugin that is not a channel can have turns, but nothing is delivered to it.
	client = pluginv1.NewTurnsClient(b.connect(t, "hook"))
	request := turn("key")
	request.Deliver = true
	stream, err := client.RunTurn(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.InvalidArgument)
	b.idle(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request.Deliver = false
	if _, err := client.RunTurn(ctx, request); err != nil {
		t.Fatal(err)
	}
	b.claim(t)
}

func TestRunTurnEndsWithTheHostAndWithTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "echo")
	ctx, cancel := context.WithCancel(t.Context())
	left := ask(ctx, t, conn, turn("left"))
	cancel()
	_, err := left.Recv()
	wantCode(t, err, codes.Canceled)
	stays := ask(t.Context(), t, conn, turn("stays"))
	close(b.closing)
	_, err = stays.Recv()
	wantCode(t, err, codes.Unavailable)
	// Both turns are still there for the next process.
	b.claim(t)
	if lanes, err := b.store.Lanes(t.Context()); err != nil || len(lanes) != 1 || lanes[0].Waiting != 1 {
		t.Errorf("lanes %+v, %v", lanes, err)
	}
}

func TestReadHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var entries []chat.TranscriptEntry
	for i := range 250 {
		entries = append(entries, chat.TranscriptEntry{Role: chat.User, Text: strings.Repeat("x", i), At: start})
	}
	if _, err := b.store.RecordPassive(t.Context(), domain.Passive{EventID: "said", Channel: "echo", Session: "echo:anna", Transcript: entries}); err != nil {
		t.Fatal(err)
	}
	own, granted := pluginv1.NewSessionsClient(b.connect(t, "echo")), pluginv1.NewSessionsClient(b.connect(t, "granted"))
	read := func(client pluginv1.SessionsClient, of *pluginv1.Address, limit uint32, before int64) ([]*pluginv1.TranscriptEntry, error) {
		response, err := client.ReadHistory(t.Context(), &pluginv1.ReadHistoryRequest{
			Address: of, ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT, Limit: limit, BeforeId: before,
		})
		return response.GetEntries(), err
	}
	for name, test := range map[string]struct {
		limit       uint32
		before      int64
		first, last int // lengths of the texts
	}{
		"the newest":      {0, 0, 200, 249},
		"a few":           {3, 0, 247, 249},
		"too many":        {4_000_000_000, 0, 50, 249},
		"an earlier page": {3, 4, 0, 2},
	} {
		got, err := read(own, address("", "anna"), test.limit, test.before)
		if err != nil || len(got) != test.last-test.first+1 {
			t.Errorf("%s: %d entries, %v, want %d", name, len(got), err, test.last-test.first+1)
			continue
		}
		if first, last := len(got[0].GetText()), len(got[len(got)-1].GetText()); first != test.first || last != test.last {
			t.Errorf("%s: entries %d to %d, want %d to %d", name, first, last, test.first, test.last)
		}
	}
	if got, err := read(own, address("", "nobody"), 0, 0); err != nil || len(got) != 0 {
		t.Errorf("nobody's history: %v, %v", got, err)
	}
	if got, err := read(granted, address("echo", "anna"), 1, 0); err != nil || len(got) != 1 {
		t.Errorf("with a grant: %v, %v", got, err)
	}
	if got, err := read(granted, address("", "anna"), 1, 0); err != nil || len(got) != 0 {
		t.Errorf("the chat of the same name on its own channel: %v, %v", got, err)
	}
	_, err := read(own, address("granted", "anna"), 0, 0)
	wantCode(t, err, codes.PermissionDenied)
	_, err = read(own, address("", ""), 0, 0)
	wantCode(t, err, codes.InvalidArgument)
}

// A page of long entries is cut to what a message may hold, from its old end.
func TestReadHistoryIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var entries []chat.TranscriptEntry
	for range 40 {
		entries = append(entries, chat.TranscriptEntry{Role: chat.Assistant, Text: strings.Repeat("y", 256<<10), At: start})
	}
	entries = append(entries, chat.TranscriptEntry{Role: chat.User, Text: "the newest", At: start})
	if _, err := b.store.RecordPassive(t.Context(), domain.Passive{EventID: "said", Channel: "echo", Session: "echo:anna", Transcript: entries}); err != nil {
		t.Fatal(err)
	}
	response, err := pluginv1.NewSessionsClient(b.connect(t, "echo")).ReadHistory(t.Context(), &pluginv1.ReadHistoryRequest{
		Address: address("", "anna"), ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT, Limit: 200,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := response.GetEntries()
	if len(got) != 3 || got[2].GetText() != "the newest" {
		t.Errorf("%d entries, the last %.20q, want the newest 3", len(got), got[len(got)-1].GetText())
	}
}

// Each turn that a plugin waits for keeps a call open, and there are only so many calls.
func TestTurnsOfAPluginAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	turns := pluginv1.NewTurnsClient(b.connect(t, "echo"))
	for n := range 101 {
		stream, err := turns.RunTurn(t.Context(), &pluginv1.RunTurnRequest{
			IdempotencyKey: strconv.Itoa(n), Address: address("", "anna"), ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT, Prompt: "hi",
		})
		if err == nil {
			_, err = stream.Recv()
		}
		if want := map[bool]codes.Code{true: codes.OK, false: codes.ResourceExhausted}[n < 100]; status.Code(err) != want {
			t.Fatalf("turn %d: %v, want %v", n+1, err, want)
		}
	}
}

// What was said before is for plugins whose block says so, in pages that a message can hold.
// Behaviour: transcripts-older.
func TestReadTranscripts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n, session := range []string{"echo:anna", "agent:server:granted:ben", "echo:anna"} {
		entries := slices.Repeat([]chat.TranscriptEntry{{Role: chat.User, Text: strings.Repeat("x", 256<<10), At: start}}, 100)
		if _, err := b.store.RecordPassive(t.Context(), domain.Passive{EventID: chat.EventID(strconv.Itoa(n)), Channel: "echo", Session: session, Transcript: entries}); err != nil {
			t.Fatal(err)
		}
	}
	for _, instance := range []string{"echo", "granted"} {
		_, err := pluginv1.NewSessionsClient(b.connect(t, instance)).ReadTranscripts(t.Context(), &pluginv1.ReadTranscriptsRequest{})
		wantCode(t, err, codes.PermissionDenied)
	}
	reader := pluginv1.NewSessionsClient(b.connect(t, "reader"))
	var after int64
	found := map[string]int{}
	for {
		page, err := reader.ReadTranscripts(t.Context(), &pluginv1.ReadTranscriptsRequest{AfterId: after, Limit: 4_000_000_000})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.GetEntries()) == 0 {
			break
		}
		if len(page.GetEntries()) > 3 {
			t.Errorf("a page of %d entries", len(page.GetEntries()))
		}
		for _, e := range page.GetEntries() {
			if e.GetEntry().GetId() <= after {
				t.Fatalf("entry %d follows %d", e.GetEntry().GetId(), after)
			}
			after = e.GetEntry().GetId()
			found[e.GetAgent()+" "+e.GetSessionKey()]++
		}
	}
	if found["main echo:anna"] != 200 || found["server agent:server:granted:ben"] != 100 {
		t.Errorf("found are %v", found)
	}
	if page, err := reader.ReadTranscripts(t.Context(), &pluginv1.ReadTranscriptsRequest{Limit: 3}); err != nil || len(page.GetEntries()) != 3 {
		t.Errorf("a limited page: %v, %v", len(page.GetEntries()), err)
	}
}
