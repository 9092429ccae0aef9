package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// environment returns a plugin's environment.
func environment(t *testing.T) (sdk.Env, *sdktest.Harness) {
	t.Helper()
	return environmentAt(t, false)
}

// environmentAt returns a plugin's environment at a host, which may be an older one.
func environmentAt(t *testing.T, older bool) (sdk.Env, *sdktest.Harness) {
	t.Helper()
	var env sdk.Env
	h := sdktest.New(t, sdk.Service(func(_ context.Context, e sdk.Env, _ struct{}) (struct{}, error) {
		env = e
		return struct{}{}, nil
	}))
	h.Before = older
	h.Configure(nil)
	return env, h
}

func TestEnvNamesTheInstance(t *testing.T) {
	t.Parallel()
	env, h := environment(t)
	if info, err := os.Stat(env.StateDir); env.Instance != sdktest.Instance || err != nil || !info.IsDir() {
		t.Errorf("instance %q, state folder %q: %v", env.Instance, env.StateDir, err)
	}
	env.Log.Info("hello", "port", 7)
	if !strings.Contains(h.Logs(), `"@message":"hello"`) || !strings.Contains(h.Logs(), `"port":7`) {
		t.Errorf("the log is %s", h.Logs())
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	env, _ := environment(t)
	ctx := t.Context()
	if _, _, err := env.State.Get(ctx, "a"); !errors.Is(err, sdk.ErrNotFound) {
		t.Errorf("an absent key gives %v", err)
	}
	first, err := env.State.Put(ctx, "a", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if value, revision, err := env.State.Get(ctx, "a"); string(value) != "1" || revision != first || err != nil {
		t.Errorf("Get gives %q, %d, %v", value, revision, err)
	}
	second, err := env.State.PutIf(ctx, "a", []byte("2"), first)
	if err != nil || second == first {
		t.Errorf("PutIf gives %d, %v", second, err)
	}
	if _, err := env.State.PutIf(ctx, "a", []byte("3"), first); !errors.Is(err, sdk.ErrConflict) {
		t.Errorf("PutIf with an old revision gives %v", err)
	}
	if _, err := env.State.PutIf(ctx, "b", nil, 0); err != nil {
		t.Errorf("PutIf for an absent key gives %v", err)
	}
	if _, err := env.State.PutIf(ctx, "b", nil, 0); !errors.Is(err, sdk.ErrConflict) {
		t.Errorf("PutIf as if the key were absent gives %v", err)
	}
	if _, err := env.State.Put(ctx, "c", make([]byte, 2<<20)); err == nil {
		t.Error("a value of 2 MiB was taken")
	}
	if keys, err := env.State.List(ctx, "", "a"); !cmp.Equal(keys, []string{"b"}) || err != nil {
		t.Errorf("List gives %v, %v", keys, err)
	}
	if err := errors.Join(env.State.Delete(ctx, "a"), env.State.Delete(ctx, "a")); err != nil {
		t.Errorf("Delete gives %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := env.State.Get(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended Get gives %v", err)
	}
}

func TestMedia(t *testing.T) {
	t.Parallel()
	env, _ := environment(t)
	ctx := t.Context()
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	stored, err := env.Media.Upload(ctx, chat.Media{Kind: chat.Image, MIMEType: "image/png", FileName: "a.png"}, bytes.NewReader(content))
	want := chat.Media{Ref: stored.Ref, Kind: chat.Image, MIMEType: "image/png", FileName: "a.png", Size: int64(len(content))}
	if err != nil || stored.Ref == "" || stored != want {
		t.Fatalf("Upload gives %+v, %v", stored, err)
	}
	got, r, err := env.Media.Download(ctx, stored.Ref)
	if err != nil || got != want {
		t.Fatalf("Download gives %+v, %v", got, err)
	}
	if back, err := io.ReadAll(r); !bytes.Equal(back, content) || err != nil {
		t.Errorf("%d bytes came back, %v", len(back), err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := env.Media.Download(ctx, "nothing"); !errors.Is(err, sdk.ErrNotFound) {
		t.Errorf("a ref that is not there gives %v", err)
	}
	large := io.LimitReader(zeros{}, 100<<20)
	_, err = env.Media.Upload(ctx, chat.Media{Kind: chat.File}, large)
	if refused, ok := errors.AsType[*sdk.RefusedError](err); !ok || !strings.HasPrefix(refused.Reason, "is larger than ") || sdk.FileProblem(err) != refused.Reason {
		t.Errorf("a file beyond the limit gives %v", err)
	}
	// An incomplete download must not be stored as a complete file.
	for _, broken := range []error{io.ErrUnexpectedEOF, errors.New("connection reset")} {
		r := io.MultiReader(strings.NewReader("half of"), iotest.ErrReader(broken))
		if _, err := env.Media.Upload(ctx, chat.Media{Kind: chat.File}, r); !errors.Is(err, broken) || sdk.FileProblem(err) != "could not be fetched" {
			t.Errorf("a reader that breaks off gives %v", err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestOutboxTurnsAndHistory(t *testing.T) {
	t.Parallel()
	env, h := environment(t)
	ctx := t.Context()
	to := chat.Address{Channel: "telegram", Chat: "1", Thread: "2"}
	if err := errors.Join(env.Outbox.Post(ctx, "k", to, "hello"), env.Outbox.Post(ctx, "k", to, "hello")); err != nil {
		t.Error(err)
	}
	if got := h.Host.Posts(); !cmp.Equal(got, []sdktest.Post{{Key: "k", To: to, Post: sdk.Post{Text: "hello"}}}) {
		t.Errorf("posted %+v", got)
	}
	if err := env.Outbox.Post(ctx, "k2", chat.Address{}, "hello"); err == nil {
		t.Error("a post without a chat was taken")
	}

	turn := sdk.Turn{Key: "t", To: to, Kind: chat.Group, Prompt: "what is new?", Deliver: true, Timeout: time.Minute, Untrusted: true}
	h.Host.OnTurn(func(_ context.Context, got sdk.Turn) (string, error) {
		if !cmp.Equal(got, turn) {
			t.Errorf("the host was asked for %+v", got)
		}
		return "nothing", nil
	})
	if answer, err := env.Turns.Run(ctx, turn); answer != "nothing" || err != nil {
		t.Errorf("the turn gives %q, %v", answer, err)
	}
	h.Host.OnTurn(func(context.Context, sdk.Turn) (string, error) { return "", errors.New("out of credit") })
	_, err := env.Turns.Run(ctx, turn)
	if failed, ok := errors.AsType[*sdk.TurnError](err); !ok || failed.Message != "out of credit" {
		t.Errorf("a failed turn gives %v", err)
	}

	asked := make(chan string, 1)
	answered := make(chan struct{})
	h.Host.OnTurn(func(_ context.Context, got sdk.Turn) (string, error) {
		asked <- got.Key
		<-answered
		return "late", nil
	})
	if err := env.Turns.Begin(ctx, turn); err != nil {
		t.Errorf("a turn that takes its time begins with %v", err)
	}
	if got := <-asked; got != "t" {
		t.Errorf("the host was asked for the turn %q", got)
	}
	close(answered)
	h.Host.OnTurn(nil)
	if err := env.Turns.Begin(ctx, turn); err == nil {
		t.Error("a host that takes no turns has begun one")
	}

	entries := []chat.TranscriptEntry{
		{ID: 1, Role: chat.User, Text: "hi", At: time.Unix(100, 0).UTC()},
		{ID: 2, Role: chat.Assistant, Text: "hello", At: time.Unix(101, 0).UTC()},
		{ID: 3, Role: chat.System, Text: "reset", At: time.Unix(102, 0).UTC()},
	}
	h.Host.AddHistory(entries...)
	if got, err := env.History.Read(ctx, to, chat.Group, 2, 0); !cmp.Equal(got, entries[1:]) || err != nil {
		t.Errorf("the newest two are %v, %v", got, err)
	}
	if got, err := env.History.Read(ctx, to, chat.Group, 0, 3); !cmp.Equal(got, entries[:2]) || err != nil {
		t.Errorf("those before the third are %v, %v", got, err)
	}
}

// An older host would run an untrusted turn with an owner's authority, so it is not asked.
// Behaviour: turn-untrusted.
func TestAnOlderHostRunsNoUntrustedTurn(t *testing.T) {
	t.Parallel()
	env, h := environmentAt(t, true)
	h.Host.OnTurn(func(_ context.Context, got sdk.Turn) (string, error) {
		if got.Untrusted {
			t.Errorf("the host was asked for %+v", got)
		}
		return "done", nil
	})
	turn := sdk.Turn{Key: "t", To: chat.Address{Channel: "telegram", Chat: "1"}, Kind: chat.Direct, Prompt: "hello", Untrusted: true}
	if _, err := env.Turns.Run(t.Context(), turn); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Run gives %v", err)
	}
	if err := env.Turns.Begin(t.Context(), turn); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Begin gives %v", err)
	}
	turn.Untrusted = false
	if answer, err := env.Turns.Run(t.Context(), turn); answer != "done" || err != nil {
		t.Errorf("a trusted turn gives %q, %v", answer, err)
	}
}
