//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// What the CLI takes for a command or a file when a person types it does nothing when it comes from a chat: the model
// gets the letters, and the session stays what it was.
func TestChatTextIsInert(t *testing.T) {
	t.Parallel()
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	content, _, _ := strings.Cut(string(passwd), "\n")

	for name, text := range map[string]string{
		"command":                 "/clear",
		"command on a later line": "hello\n/clear",
		"compact":                 "/compact forget it all",
		"file":                    "@/etc/passwd",
		"file in a sentence":      "see @/etc/passwd please",
		"both":                    "/clear @/etc/passwd",
		"file after a line break": "look\n@\"/etc/passwd\"",
		"shell":                   "!cat /etc/passwd",
		"memory":                  "# remember this",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, nil)
			pool := r.pool()
			r.run(pool, r.turn("my number is 4711"))
			r.run(pool, r.turn(text))
			r.remembers("my number is 4711")

			last := r.asked(asks(text))
			if got := last.Prompt.LastUserText(); got != prompt(text) {
				t.Errorf("the model got %q, want %q", got, prompt(text))
			}
			for _, request := range r.api.Messages() {
				if strings.Contains(string(request.Body), content) {
					t.Errorf("%v holds the file's content", request)
				}
			}
			if got := r.transcripts(); len(got) != 1 || got[0] != r.session+".jsonl" {
				t.Errorf("transcripts = %q, want that of session %s alone", got, r.session)
			}
			r.run(pool, r.turn("which number?"))
			r.remembers("my number is 4711")
		})
	}
}

// The switch that keeps files out holds by itself, where a text is not put into an envelope.
func TestFileMentionWithoutEnvelope(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	secret := filepath.Join(r.config.Workspace, "secret")
	if err := os.WriteFile(secret, []byte("canary-content"), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := r.turn("")
	turn.Prompt = "@" + secret
	r.run(r.pool(), turn)
	for _, request := range r.api.Messages() {
		if strings.Contains(string(request.Body), "canary-content") {
			t.Errorf("%v holds the file's content", request)
		}
	}
}

// transcripts lists the files of the CLI's sessions.
func (r *rig) transcripts() []string {
	r.Helper()
	found, err := filepath.Glob(filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "projects", "*", "*.jsonl"))
	if err != nil {
		r.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// A tool that the configuration does not allow is denied, and the model gets the reason.
func TestDeniedTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, func(c *runner) { c.AllowedTools = nil })
	r.api.Enqueue(messagesapi.Bash("touch was-here"), messagesapi.Reply{Text: "I may not"})
	if got := r.run(r.pool(), r.turn("touch it")).Text; got != "I may not" {
		t.Errorf("answer = %q", got)
	}
	requests := r.api.Messages()
	results := requests[len(requests)-1].Prompt.ToolResults()
	if len(results) != 1 || !strings.Contains(results[0], "not allowed") {
		t.Errorf("the model got %q, want why it may not", results)
	}
	if _, err := os.Stat(filepath.Join(r.config.Workspace, "was-here")); !os.IsNotExist(err) {
		t.Errorf("the denied tool ran (%v)", err)
	}
}

// The tools' environment holds nothing of the host's own.
func TestToolEnvironmentHasNoSecretOfTheHost(t *testing.T) {
	t.Setenv("TELEGRAM_TOKEN", "canary-telegram-token")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-cloud-key")
	r := newRig(t, messagesapi.Options{}, nil)
	r.api.Enqueue(messagesapi.Bash("env; cat /proc/$PPID/environ | tr '\\0' '\\n'"), messagesapi.Reply{Text: "seen"})
	r.run(r.pool(), r.turn("show it"))

	requests := r.api.Messages()
	results := requests[len(requests)-1].Prompt.ToolResults()
	if len(results) != 1 || !strings.Contains(results[0], "PATH=") {
		t.Fatalf("the tool did not show its environment: %d results", len(results))
	}
	for name := range strings.Lines(results[0]) {
		name, value, _ := strings.Cut(name, "=")
		if strings.Contains(value, "canary-telegram") || strings.Contains(value, "canary-cloud") {
			t.Errorf("the tool sees %s of the host", name)
		}
	}
}
