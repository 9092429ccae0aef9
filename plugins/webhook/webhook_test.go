package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

// testSecret is the secret of the hook "github".
const testSecret = "It's a Secret to Everybody"

// secretOf returns the secret of a hook of testConfig.
func secretOf(hook string) string {
	if hook == "github" {
		return testSecret
	}
	return testSecret + " at " + hook
}

// fakeHost is the host of a server: it takes turns, once for a key, and keeps state.
type fakeHost struct {
	mu     sync.Mutex
	turns  []sdk.Turn
	calls  int   // of Begin
	full   error // of Begin
	broken error // of PutIf
	races  int   // how many calls of PutIf find that another process was faster
	state  map[string][]byte
	writes uint64
}

// Begin implements turns.
func (f *fakeHost) Begin(_ context.Context, t sdk.Turn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.full != nil {
		return f.full
	}
	for _, known := range f.turns {
		if known.Key == t.Key {
			return nil
		}
	}
	f.turns = append(f.turns, t)
	return nil
}

// fakeState is what the plugin uses of the state of a host.
type fakeState struct {
	sdk.State

	host *fakeHost
}

// Get implements sdk.State.
func (f fakeState) Get(_ context.Context, key string) ([]byte, uint64, error) {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	value, ok := f.host.state[key]
	if !ok {
		return nil, 0, sdk.ErrNotFound
	}
	return bytes.Clone(value), f.host.writes, nil
}

// PutIf implements sdk.State.
func (f fakeState) PutIf(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	f.host.mu.Lock()
	defer f.host.mu.Unlock()
	if f.host.broken != nil {
		return 0, f.host.broken
	}
	if f.host.races > 0 {
		f.host.races--
		return 0, sdk.ErrConflict
	}
	if _, ok := f.host.state[key]; ok && revision != f.host.writes || !ok && revision != 0 {
		return 0, sdk.ErrConflict
	}
	f.host.writes++
	f.host.state[key] = bytes.Clone(value)
	return f.host.writes, nil
}

// rig is a server with its host.
type rig struct {
	*server
	host *fakeHost
	logs *bytes.Buffer
}

func testConfig() config {
	return config{Listen: "127.0.0.1:0", MaxBody: 1 << 20, Hooks: map[string]hookConfig{
		"github": {Form: "github", Secret: sdk.NewSecret(testSecret), To: "telegram:group:-1001"},
		"other":  {Form: "github", Secret: sdk.NewSecret(secretOf("other")), To: "telegram:group:-1001", Events: []string{"issues.opened", "push"}},
		"plain":  {Form: "plain", Secret: sdk.NewSecret(secretOf("plain")), To: "telegram:1001"},
	}}
}

func newRig(t testing.TB, c config) *rig {
	t.Helper()
	return newRigAt(t, c, &fakeHost{state: map[string][]byte{}})
}

// newRigAt is another process of the plugin at a host.
func newRigAt(t testing.TB, c config, host *fakeHost) *rig {
	t.Helper()
	hooks, err := c.hooks()
	if err != nil {
		t.Fatal(err)
	}
	logs := &bytes.Buffer{}
	env := sdk.Env{Log: slog.New(slog.NewTextHandler(logs, nil)), State: fakeState{host: host}}
	s := newServer(env, nil, c.MaxBody, hooks)
	s.turns = host
	return &rig{s, host, logs}
}

// send serves a request and returns its answer.
func (r *rig) send(request *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.serve(context.Background(), w, request)
	return w
}

// gives serves a request and checks the status and what the answer contains.
func (r *rig) gives(t *testing.T, request *http.Request, status int, text string) {
	t.Helper()
	if w := r.send(request); w.Code != status || !strings.Contains(w.Body.String(), text) {
		t.Errorf("%s %s is answered with %d %q, want %d %q", request.Method, request.URL, w.Code, w.Body, status, text)
	}
}

// begun fails unless so many turns have begun.
func (r *rig) begun(t *testing.T, want int) {
	t.Helper()
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	if got := len(r.host.turns); got != want {
		t.Fatalf("%d turns have begun, want %d: %+v", got, want, r.host.turns)
	}
}

// ofGitHub is a signed request in GitHub's form.
func ofGitHub(hook, event, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/"+hook, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Github-Event", event)
	r.Header.Set("X-Github-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sign([]byte(secretOf(hook)), []byte(body))))
	return r
}

// ofPlain is a signed request in the plain form.
func ofPlain(hook, id, body string, at time.Time) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/"+hook, strings.NewReader(body))
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", stamp)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sign([]byte(secretOf(hook)), []byte(id+"."+stamp+"."+body))))
	return r
}

var errTest = errors.New("the host is closing")
