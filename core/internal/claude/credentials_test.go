package claude_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/credential"
	"github.com/clawhost/clawhost/core/internal/messagesapi"
)

// The key is in no environment and no command line: the process has a token, which is good while it lives.
// Behaviour: api-keys.
func TestKeyStaysInTheHost(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-canary-key"
	api := messagesapi.New(messagesapi.Options{Key: key})
	t.Cleanup(api.Close)
	proxy, err := credential.Listen(credential.Options{Keys: []string{key}, Upstream: api.URL()}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	r := newRig(t)
	r.config.Credentials = proxy
	r.config.Env["ANTHROPIC_BASE_URL"] = api.URL()
	r.config.Env["NO_PROXY"] = "intranet.test"
	pool := r.pool()
	r.ask(pool, r.turn(directive(map[string]any{"tool": "env -0 > env; cat /proc/$PPID/environ >> env; cat /proc/$PPID/cmdline > line"})))

	data, err := os.ReadFile(filepath.Join(r.config.Workspace, "env"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(filepath.Join(r.config.Workspace, "line"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data)+string(line), key) {
		t.Error("the process was given the key")
	}
	values := map[string][]string{}
	for pair := range strings.SplitSeq(string(data), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = append(values[name], value)
	}
	token := values["ANTHROPIC_API_KEY"][0]
	for name, want := range map[string]string{
		"ANTHROPIC_API_KEY": token, "ANTHROPIC_BASE_URL": proxy.URL(), "NO_PROXY": "intranet.test,127.0.0.1", "no_proxy": "intranet.test,127.0.0.1",
	} {
		// Once of the tool, and once of claude.
		if got := values[name]; len(got) != 2 || got[0] != want || got[1] != want {
			t.Errorf("%s = %q, want %q twice", name, got, want)
		}
	}
	if token == "" || strings.Contains(string(line), token) {
		t.Errorf("the token is %q, and the command line %q", token, line)
	}
	ask := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, proxy.URL()+"/v1/messages", strings.NewReader(`{"messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", token)
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if got := ask(); got != http.StatusOK {
		t.Errorf("the token of a running process was answered %d", got)
	}
	if err := pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != http.StatusUnauthorized {
		t.Errorf("the token of a process that has ended was answered %d", got)
	}
}

// issued counts tokens.
type issued struct {
	mu      sync.Mutex
	given   int
	revoked map[string]bool
}

func (i *issued) URL() string { return "http://127.0.0.1:1" }

func (i *issued) Issue() (string, func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.given++
	token := fmt.Sprint("token ", i.given)
	return token, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.revoked[token] = true
	}
}

// Each process has a token of its own, which is revoked however it ends, or if it does not begin.
// Behaviour: api-keys.
func TestTokenOfEachProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tokens := &issued{revoked: map[string]bool{}}
	r.config.Credentials = tokens
	pool := r.pool()
	say := directive(map[string]any{"tool": `echo "$ANTHROPIC_API_KEY" >> tokens`})
	r.ask(pool, r.turn(say))
	r.ask(pool, r.turn(say))
	if _, err := pool.Run(t.Context(), r.turn(directive(map[string]any{"crash": "answer"}))); err == nil {
		t.Error("a process that crashed has answered")
	}
	r.ask(pool, r.turn(say))
	r.processes.fail = errors.New("no disk")
	other := r.turn("hello")
	other.Session, other.Started = uuid.NewString(), false
	_, err := pool.Run(t.Context(), other)
	r.wantClass(err, agent.Unavailable)
	r.processes.fail = nil
	if err := pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	used, err := os.ReadFile(filepath.Join(r.config.Workspace, "tokens"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "token 1\ntoken 1\ntoken 2\n"; string(used) != want {
		t.Errorf("the processes had %q, want %q", used, want)
	}
	if tokens.given != 3 || len(tokens.revoked) != 3 {
		t.Errorf("%d tokens were given and %d revoked, want 3", tokens.given, len(tokens.revoked))
	}
}
