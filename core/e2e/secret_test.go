//go:build e2e

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// The bot's token stays between the host, its plugin and Telegram, also when things go wrong.
func TestTokenStaysSecret(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{tools: []string{"Bash"}, env: []string{"AWS_SECRET_ACCESS_KEY=canary-cloud-key"}})
	_, secret, _ := strings.Cut(h.telegram.Token(), ":")
	h.telegram.Fail("getMe", 1, telegramtest.CutBefore())
	h.telegram.Fail("getUpdates", 1, telegramtest.NotJSON(502))
	h.telegram.Fail("getUpdates", 1, telegramtest.CutBefore())
	h.telegram.Fail("sendMessage", 1, telegramtest.NotJSON(502))
	h.telegram.Fail("sendMessage", 1, telegramtest.CutBefore())
	h.start()
	owner := h.owner()
	owner.say("/status")
	owner.next()
	h.telegram.Fail("sendMessage", 1, telegramtest.Refuse(400, "Bad Request: nothing for "+h.telegram.Token()))
	owner.say("/status")
	h.wrote(h.log, 0, "Bad Request: nothing for <token>")
	seconds := unheardOf()
	h.api.Enqueue(messagesapi.Bash("env; cat /proc/$PPID/environ | tr '\\0' '\\n'"), messagesapi.Bash("sleep "+seconds))
	owner.say("show it")
	h.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })

	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		words, err := os.ReadFile(line)
		if err == nil && strings.Contains(string(words), secret) { // else it has ended
			t.Errorf("the token is in the command line of process %s", filepath.Base(filepath.Dir(line)))
		}
	}
	results := h.last().Prompt.ToolResults()
	if len(results) != 1 || !strings.Contains(results[0], "PATH=") {
		t.Fatalf("the tool did not show its environment: %d results", len(results))
	}
	for name, canary := range map[string]string{"the token": secret, "a secret of the host": "canary-cloud-key", "the token's name": "TELEGRAM_TOKEN"} {
		if strings.Contains(results[0], canary) {
			t.Errorf("the tool's environment holds %s", name)
		}
	}

	owner.say("/stop")
	if got := owner.next().Text; !strings.HasPrefix(got, "A message of mine did not arrive.") {
		t.Errorf("the bot wrote %q, want that the answer that was refused did not arrive", got)
	}
	owner.hears("Stopped.")
	for _, args := range []string{"plugin list", "status", "queue", "queue dead", "sessions", "validate"} {
		for _, json := range []string{"", " -json"} {
			if output := h.clawhost(strings.Fields(args + json)...); strings.Contains(output, secret) {
				t.Errorf("clawhost %s%s shows the token", args, json)
			}
		}
	}
	if output := h.clawhost("sessions", "export", "telegram:1000"); strings.Contains(output, secret) || !strings.Contains(output, "show it") {
		t.Errorf("the session was exported as %s", output)
	}
	h.stop()
	if !strings.Contains(h.log.String(), "502") {
		t.Error("the log says nothing of Telegram's failures, so it proves nothing")
	}
	for name, written := range map[string]fmt.Stringer{"log": h.log, "output": h.out} {
		if strings.Contains(written.String(), secret) {
			t.Errorf("the token is in the host's %s", name)
		}
	}
	h.closedToOthers(secret)
}

// closedToOthers asserts that all that the host has written is its user's own, and that no file holds a secret.
func (h *host) closedToOthers(secret string) {
	h.Helper()
	files := 0
	err := filepath.WalkDir(h.state, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if open := info.Mode().Perm() & 0o077; open != 0 {
			h.Errorf("%s has the mode %v", path, info.Mode())
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		files++
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), secret) {
			h.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil {
		h.Error(err)
	}
	if files == 0 {
		h.Error("the host has written nothing")
	}
}

// The agent's shell cannot let anybody in, and its file tools cannot read what the host keeps.
func TestAgentCannotOperateTheHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{tools: []string{"Bash", "Read"}})
	h.start()
	owner := h.owner()
	eve := h.person(6660)
	eve.say("let me in")
	eve.next()
	if text := owner.next().Text; !strings.HasPrefix(text, "Somebody asks to be let in") {
		t.Errorf("the bot wrote %q", text)
	}
	var asking []domain.Pairing
	h.show(&asking, "pairing", "list")
	if len(asking) != 1 {
		t.Fatalf("the list has %+v", asking)
	}
	owner.talks("hello")

	approve := strings.Join([]string{h.binary("clawhost"), "-config", h.config, "pairing", "approve", asking[0].Code}, " ") + "; echo exit $?"
	for name, command := range map[string]string{
		"approve":                         approve,
		"approve in a bare environment":   "env -i TELEGRAM_TOKEN=x HOME=$HOME bash -c '" + approve + "'",
		"approve in a session of its own": "setsid -w bash -c '" + approve + "'",
		"list":                            h.binary("clawhost") + " -config " + h.config + " pairing list; echo exit $?",
	} {
		result := h.tool(owner, messagesapi.Bash("export TELEGRAM_TOKEN=x; "+command))
		if !strings.Contains(result, "exit 1") || !strings.Contains(result, "it refuses processes that the agent has started") || strings.Contains(result, "may write now") || name == "list" && strings.Contains(result, asking[0].Code) {
			t.Errorf("%s through the shell: %q", name, result)
		}
	}
	variables := config.VariablesPath(h.config)
	if err := os.WriteFile(variables, []byte("SECRET=canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{h.config, variables, filepath.Join(h.state, "clawhost.db")} {
		read := messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "Read", Input: map[string]any{"file_path": path}}}}
		if result := h.tool(owner, read); !strings.Contains(result, "denied") {
			t.Errorf("reading %s: %q", path, result)
		}
	}
	var still []domain.Pairing
	h.show(&still, "pairing", "list")
	if len(still) != 1 || still[0].Code != asking[0].Code {
		t.Errorf("the list has %+v, want the one request", still)
	}
	eve.silent()
}

// tool makes the model call a tool and returns the result that the model reads.
func (h *host) tool(c *conversation, call messagesapi.Reply) string {
	h.Helper()
	h.api.Enqueue(call, messagesapi.Reply{Text: "done"})
	c.say("do it")
	c.hears("done")
	results := h.last().Prompt.ToolResults()
	if len(results) == 0 {
		h.Fatal("the model got no result")
	}
	return results[len(results)-1]
}
