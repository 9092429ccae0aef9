package hostapi_test

import (
	"io"
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

// A turn may have a context, files, an agent and a conversation of its plugin's own.
// Behaviour: plugin-conversation, turn-context.
func TestARichTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "granted")
	file, err := upload(t.Context(), t, conn, header(&pluginv1.Media{Kind: pluginv1.MediaKind_MEDIA_KIND_FILE, FileName: "a.txt"}), chunk([]byte("tea")))
	if err != nil {
		t.Fatal(err)
	}
	request := turn("key")
	request.Address = address("echo", "anna")
	request.Context, request.Conversation, request.Media = "They say: obey.", "standup-1", []*pluginv1.Media{file}
	first := ask(t.Context(), t, conn, request)
	run := b.claim(t)
	m := run.Head.Message
	if run.Session.Key != "plugin:granted/standup-1:echo:anna" || m.Beside != "They say: obey." || !m.Apart || m.Channel != "echo" || len(m.Media) != 1 {
		t.Fatalf("the turn is %+v of session %s", m, run.Session.Key)
	}
	// The file is the chat's now, and the prompt's even if the plugin asks again after it has lost its own.
	_, content, err := b.kept.Open(t.Context(), "echo", m.Media[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if text, err := io.ReadAll(content); err != nil || string(text) != "tea" || m.Media[0].FileName != "a.txt" {
		t.Errorf("the file is %+v with %q, %v", m.Media[0], text, err)
	}
	request.Media[0].Ref = "lost"
	again := ask(t.Context(), t, conn, request)
	b.complete(t, run, domain.Completion{State: domain.RunDone, Answer: "noted"})
	for _, a := range []asked{first, again} {
		if result := a.result(t); result.GetText() != "noted" {
			t.Errorf("result %v", result)
		}
	}

	client := pluginv1.NewTurnsClient(conn)
	for name, spoil := range map[string]func(*pluginv1.RunTurnRequest){
		"a long context":           func(r *pluginv1.RunTurnRequest) { r.Context = strings.Repeat("x", 64<<10+1) },
		"an odd conversation":      func(r *pluginv1.RunTurnRequest) { r.Conversation = "a/b" },
		"a long conversation":      func(r *pluginv1.RunTurnRequest) { r.Conversation = strings.Repeat("x", 65) },
		"an agent that is not one": func(r *pluginv1.RunTurnRequest) { r.Agent = "nobody" },
		"too many files":           func(r *pluginv1.RunTurnRequest) { r.Media = make([]*pluginv1.Media, 11) },
		"a file without a ref": func(r *pluginv1.RunTurnRequest) {
			r.Media = []*pluginv1.Media{{Kind: pluginv1.MediaKind_MEDIA_KIND_FILE}}
		},
	} {
		request := turn(name)
		request.Address = address("echo", "anna")
		spoil(request)
		stream, err := client.RunTurn(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = stream.Recv(); err == nil {
			t.Errorf("%s: the turn was taken", name)
		}
		wantCode(t, err, codes.InvalidArgument)
	}
	lost := turn("other")
	lost.Address, lost.Media = address("echo", "anna"), []*pluginv1.Media{{Ref: "lost", Kind: pluginv1.MediaKind_MEDIA_KIND_FILE}}
	stream, err := client.RunTurn(t.Context(), lost)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.NotFound)
	b.idle(t)
}

// A message of a plugin may have files, and buttons for its own commands only.
// Behaviour: plugin-buttons.
func TestARichPost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn := b.connect(t, "granted")
	file, err := upload(t.Context(), t, conn, header(&pluginv1.Media{Kind: pluginv1.MediaKind_MEDIA_KIND_FILE, FileName: "a.txt"}), chunk([]byte("tea")))
	if err != nil {
		t.Fatal(err)
	}
	client := pluginv1.NewOutboxClient(conn)
	post := func(key string, data ...string) error {
		request := &pluginv1.PostRequest{IdempotencyKey: key, Address: address("echo", "anna"), Text: "agree?", Media: attached(file)}
		for _, d := range data {
			request.Buttons = append(request.Buttons, &pluginv1.ButtonRow{Buttons: []*pluginv1.Button{{Label: "L", Data: d}}})
		}
		_, err := client.Post(t.Context(), request)
		return err
	}
	for _, data := range [][]string{{"/stop"}, {"/note yes", "/new"}, {"note yes"}, {"/bash rm"}, {""}, {"/nothing"}, {"press:abc:0"}} {
		wantCode(t, post("refused", data...), codes.InvalidArgument)
	}
	if err := post("key", "/note yes", "/note no"); err != nil {
		t.Fatal(err)
	}
	ds, err := b.store.ClaimDeliveries(t.Context(), "echo", 10)
	if err != nil || len(ds) != 1 {
		t.Fatalf("%d are due, %v", len(ds), err)
	}
	want := [][]chat.Button{{{Label: "L", Data: "/note yes"}}, {{Label: "L", Data: "/note no"}}}
	if diff := cmp.Diff(want, ds[0].Item.Buttons); ds[0].Item.Text != "agree?" || diff != "" {
		t.Errorf("posted %+v (-want +got):\n%s", ds[0].Item, diff)
	}
	if err := b.store.Delivered(t.Context(), ds[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	if ds, err = b.store.ClaimDeliveries(t.Context(), "echo", 10); err != nil || len(ds) != 1 || len(ds[0].Item.Media) != 1 {
		t.Errorf("the file: %+v, %v", ds, err)
	}
	// What is refused leaves no copies.
	before := len(b.files(t))
	if _, err := client.Post(t.Context(), &pluginv1.PostRequest{
		IdempotencyKey: "half", Address: address("echo", "anna"), Media: []*pluginv1.Media{file, {Ref: "lost", Kind: pluginv1.MediaKind_MEDIA_KIND_FILE}},
	}); err == nil || len(b.files(t)) != before {
		t.Errorf("one of two files: %v, and %d files are there, want %d", err, len(b.files(t)), before)
	}
	// The same again posts nothing, also if the files are not there any more.
	file.Ref = "lost"
	if err := post("key", "/note yes"); err != nil {
		t.Errorf("again: %v", err)
	}
	wantCode(t, post("lost", "/note yes"), codes.NotFound)
	file = nil
	// More buttons than fit are left out, and the text stays.
	if err := b.store.Delivered(t.Context(), ds[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	if err := post("many", "/note 1", "/note 2", "/note 3", "/note 4", "/note 5", "/note 6", "/note 7"); err != nil {
		t.Fatal(err)
	}
	if ds, err = b.store.ClaimDeliveries(t.Context(), "echo", 10); err != nil || len(ds) != 1 || ds[0].Item.Text != "agree?" || ds[0].Item.Buttons != nil {
		t.Errorf("too many buttons: %+v, %v", ds, err)
	}
}

// Behaviour: wake-up.
func TestWakeUpsOfAnInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	own := pluginv1.NewWakeUpsClient(b.connect(t, "waker"))
	for name, test := range map[string]struct {
		client pluginv1.WakeUpsClient
		key    string
		at     *timestamppb.Timestamp
		want   codes.Code
	}{
		"no key":          {own, "", timestamppb.New(start), codes.InvalidArgument},
		"a long key":      {own, strings.Repeat("k", 201), timestamppb.New(start), codes.InvalidArgument},
		"no time":         {own, "k", nil, codes.InvalidArgument},
		"an odd time":     {own, "k", &timestamppb.Timestamp{Seconds: 1 << 62}, codes.InvalidArgument},
		"before 1970":     {own, "k", timestamppb.New(time.Unix(-1, 0)), codes.InvalidArgument},
		"it has no waker": {pluginv1.NewWakeUpsClient(b.connect(t, "hook")), "k", timestamppb.New(start), codes.FailedPrecondition},
	} {
		_, err := test.client.WakeAt(t.Context(), &pluginv1.WakeAtRequest{Key: test.key, At: test.at})
		if err == nil {
			t.Errorf("%s: taken", name)
		}
		wantCode(t, err, test.want)
	}
	for _, key := range []string{"kept", "cancelled"} {
		if _, err := own.WakeAt(t.Context(), &pluginv1.WakeAtRequest{Key: key, At: timestamppb.New(start)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := own.CancelWakeUp(t.Context(), &pluginv1.CancelWakeUpRequest{Key: "cancelled"}); err != nil {
		t.Fatal(err)
	}
	if w, err := b.store.DueWakeUp(t.Context(), "waker"); err != nil || w.Key != "kept" || !w.At.Equal(start) {
		t.Errorf("due is %+v, %v", w, err)
	}
}

// attached is a list of one file; none for nil.
func attached(file *pluginv1.Media) []*pluginv1.Media {
	if file == nil {
		return nil
	}
	return []*pluginv1.Media{file}
}
