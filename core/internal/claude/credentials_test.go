package claude_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/credential"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// The key is in no environment and no command line: the process has a token, which is good while it lives.
// Behaviour: api-keys.
func TestKeyStaysInTheHost(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-canary-key"
	api, proxy := newProxy(t, key)
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
	if got := answered(t, proxy, token); got != http.StatusOK {
		t.Errorf("the token of a running process was answered %d", got)
	}
	if err := pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := answered(t, proxy, token); got != http.StatusUnauthorized {
		t.Errorf("the token of a process that has ended was answered %d", got)
	}
}

// newProxy returns an API that takes a key, and a proxy that has it.
func newProxy(t *testing.T, key string) (*messagesapi.Server, *credential.Proxy) {
	t.Helper()
	api := messagesapi.New(messagesapi.Options{Key: key})
	t.Cleanup(api.Close)
	proxy, err := credential.Listen(credential.Options{Keys: []string{key}, Upstream: api.URL()}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	return api, proxy
}

// answered is the status with which a proxy answers a request with a token.
func answered(t *testing.T, proxy *credential.Proxy, token string) int {
	t.Helper()
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

// tokenOf is the token of a process that was started.
func tokenOf(t *testing.T, p domain.Process) string {
	t.Helper()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	if err != nil {
		t.Error(err)
	}
	_, after, _ := strings.Cut(string(env), "\x00ANTHROPIC_API_KEY=")
	token, _, _ := strings.Cut(after, "\x00")
	return token
}

// Each process has a token of its own, which is revoked however it ends, or if it does not begin.
// Behaviour: api-keys.
func TestTokenOfEachProcess(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("without /proc a process's token is not found")
	}
	r := newRig(t)
	_, proxy := newProxy(t, "sk-ant-key")
	r.config.Credentials = proxy
	var tokens []string
	r.processes.started = func(p domain.Process) { tokens = append(tokens, tokenOf(t, p)) }
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
	if len(tokens) != 3 || tokens[0] == tokens[1] || tokens[1] == tokens[2] {
		t.Fatalf("three processes have the tokens %q", tokens)
	}
	if want := fmt.Sprintf("%[1]s\n%[1]s\n%[2]s\n", tokens[0], tokens[1]); string(used) != want {
		t.Errorf("the processes had %q, want %q", used, want)
	}
	for i, token := range tokens {
		if got := answered(t, proxy, token); got != http.StatusUnauthorized {
			t.Errorf("the token of process %d, which has ended, was answered %d", i+1, got)
		}
	}
}
