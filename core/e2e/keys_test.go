//go:build e2e

package e2e

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// The API's keys stay in the host: claude works with a token in their place. A key that is refused is skipped, and a
// failure that no key helps with is reported as it is without the proxy.
// Behaviour: api-keys.
func TestKeysStayInTheHost(t *testing.T) {
	t.Parallel()
	const refused = "sk-ant-e2e-canary-refused"
	var locked atomic.Bool
	h := newHost(t, setup{
		api: messagesapi.Options{Answer: func(messagesapi.Prompt) (messagesapi.Reply, bool) {
			return messagesapi.Unauthorized(), locked.Load()
		}},
		tools:  []string{"Bash"},
		claude: map[string]string{"ANTHROPIC_API_KEY": ""},
		limits: "retries = 0\napi_keys = [env(\"FIRST_KEY\"), env(\"SECOND_KEY\")]",
		env:    []string{"FIRST_KEY=" + refused, "SECOND_KEY=" + key},
	})
	h.start()
	owner := h.owner()
	owner.talks("hello")
	if !strings.Contains(h.log.String(), "an API key was refused and is suspended: key=1 of=2 cause=auth") {
		t.Error("the log does not tell of the key that is refused")
	}
	shown := h.tool(owner, messagesapi.Bash("env; cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'"))
	if !strings.Contains(shown, "ANTHROPIC_API_KEY=sk-clawhost-") || !strings.Contains(shown, "ANTHROPIC_BASE_URL=http://127.0.0.1:") {
		t.Errorf("the tool sees no token, so it proves nothing: %d bytes", len(shown))
	}
	h.api.Enqueue(messagesapi.Overloaded(), messagesapi.Overloaded(), messagesapi.Overloaded())
	owner.say("too much")
	owner.hears("Claude's servers are overloaded. Send your message again in a few minutes.")
	locked.Store(true)
	owner.say("locked out")
	if got, want := owner.next().Text, "Claude is not logged in, or its key is not accepted. Ask the operator to log in to Claude again, then send your message again."; !strings.HasPrefix(got, want) {
		t.Errorf("the bot wrote %q, want %q", got, want)
	}
	locked.Store(false)
	owner.talks("and now?")
	h.remembers("hello")
	h.stop()
	for _, secret := range []string{key, refused} {
		for name, text := range map[string]string{"tools' sight": shown, "log": h.log.String(), "output": h.out.String()} {
			if strings.Contains(text, secret) {
				t.Errorf("a key is in the %s", name)
			}
		}
		h.closedToOthers(secret)
	}
	for _, r := range h.api.Requests() {
		if strings.Contains(string(r.Body), "SECOND_KEY") {
			t.Error("the model knows the key's variable")
		}
	}
}

// While the model is overloaded another one answers, and the chat is notified once, until the model itself has answered again.
// Behaviour: fallback-told.
func TestFallbackIsReportedOnce(t *testing.T) {
	t.Parallel()
	var busy atomic.Bool
	busy.Store(true)
	h := newHost(t, setup{
		limits: `
  model           = "sonnet"
  fallback_models = ["haiku"]
  api_keys        = [` + encoded(key) + `]`,
		claude: map[string]string{"ANTHROPIC_API_KEY": ""},
		api: messagesapi.Options{Answer: func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
			return messagesapi.Overloaded(), busy.Load() && strings.Contains(p.Model, "sonnet")
		}},
	})
	h.start()
	owner := h.owner()
	notices := func(text string, want bool) {
		t.Helper()
		owner.say(text)
		got := owner.next().Text
		line, _, found := strings.Cut(got, "\n\n")
		if !strings.HasSuffix(got, text) || found != want || want && (!strings.HasPrefix(line, "The model sonnet-") || !strings.Contains(line, " is overloaded; haiku-") || !strings.HasSuffix(line, " answered.")) {
			t.Errorf("%q was answered %q", text, got)
		}
	}
	notices("one", true)
	notices("two", false)
	h.stop()
	h.start()
	notices("three", false)
	busy.Store(false)
	notices("four", false)
	busy.Store(true)
	notices("five", true)
	owner.silent()
}
