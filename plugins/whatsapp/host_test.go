package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
)

// host is a clawhost process with this plugin, and a stand-in for Claude, which echoes what it reads.
type host struct {
	t      *testing.T
	bin    string
	config string
	log    *bytes.Buffer
	end    func()
}

// build makes the binaries and returns their folder.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", bin+string(filepath.Separator),
		"../../core/cmd/clawhost", "../../core/cmd/claude-stub", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the binaries: %v\n%s", err, out)
	}
	if err := os.Rename(filepath.Join(bin, "whatsapp"), filepath.Join(bin, "clawhost-whatsapp")); err != nil {
		t.Fatal(err)
	}
	return bin
}

// newHost writes the config of a host whose owner has a phone number; the settings are in addition to the server's.
func newHost(t *testing.T, bin string, s *whatsapptest.Server, owner, settings string) *host {
	t.Helper()
	// The host's sockets want a short path.
	dir, err := os.MkdirTemp("", "claw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &host{t: t, bin: bin, config: filepath.Join(dir, "config.hcl"), end: func() {}}
	config := fmt.Sprintf(`
state_dir = %q
agent {
  workspace = %q
}
access {
  owners = [%q]
  group %q {}
}
plugin "whatsapp" {
  config {
    test_endpoint   = %q
    test_noise_root = %q
    %s
  }
}
`, filepath.Join(dir, "s"), filepath.Join(dir, "w"), "whatsapp:"+owner, s.Group().String(), s.URL(), s.Root(), settings)
	if err := os.WriteFile(h.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// start starts the host; it is ended by end, and at the test's end.
func (h *host) start() {
	h.t.Helper()
	h.log = &bytes.Buffer{}
	command := exec.Command(filepath.Join(h.bin, "clawhost"), "-config", h.config, "-demo")
	command.Stdout, command.Stderr = h.log, h.log
	if err := command.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := false
	h.end = func() {
		if ended {
			return
		}
		ended = true
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			h.t.Errorf("the host ended with %v\n%s", err, h.log)
		}
	}
	h.t.Cleanup(h.end)
}

// clawhost runs a command of the host's and returns what it prints.
func (h *host) clawhost(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(h.bin, "clawhost"), append(args[:2:2], append([]string{"-config", h.config}, args[2:]...)...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// until runs a command again and again until its output matches.
func (h *host) until(pattern string, args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond) // Another process gives no event.
	defer tick.Stop()
	for {
		out, _ := h.clawhost(ctx, args...)
		if regexp.MustCompile(pattern).MatchString(out) {
			return out
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.t.Fatalf("%v never says %s; last it said:\n%s", args, pattern, out)
		}
	}
}

// login scans the first code that the host shows.
func (h *host) login(s *whatsapptest.Server) {
	h.t.Helper()
	command := exec.CommandContext(h.t.Context(), filepath.Join(h.bin, "clawhost"), "plugin", "login", "-config", h.config, "-json", "whatsapp")
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err := errors.Join(err, command.Start()); err != nil {
		h.t.Fatal(err)
	}
	account := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var event struct {
			Step    struct{ QR string }
			Account string
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			h.t.Fatal(err)
		}
		if account = event.Account; event.Step.QR == "" {
			continue
		}
		if err := s.Scan(h.t.Context(), event.Step.QR); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := command.Wait(); err != nil || account != "+15550000001" {
		h.t.Fatalf("logged in as %q, %v: %s", account, err, &said)
	}
}

// awaitText waits until what a person's phone shows has a line with the text, and returns all that it shows.
func awaitText(t *testing.T, p *whatsapptest.Person, text string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := 1; ; n++ {
		heard, err := p.AwaitHeard(ctx, n)
		shown := display(heard)
		for _, line := range shown {
			if strings.Contains(line, text) {
				return shown
			}
		}
		if err != nil {
			t.Fatalf("no one said %q; the phone shows %q", text, shown)
		}
	}
}

// TestThroughTheHost goes from nothing to answers: of an account for the agent, and of its own.
// Behaviour: networks-names, whatsapp-self, whatsapp-login.
func TestThroughTheHost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds three binaries")
	}
	bin := build(t)
	t.Run("account of its own", func(t *testing.T) {
		t.Parallel()
		ownAccount(t, bin)
	})
	t.Run("chat with oneself", func(t *testing.T) {
		t.Parallel()
		selfChat(t, bin)
	})
}

// selfChat has the account's owner talk to the agent by a prefix, unlink the device, and link it again.
func selfChat(t *testing.T, bin string) {
	s := whatsapptest.New(t)
	h := newHost(t, bin, s, "+15550000001", "self_chat = true\n    prefix = \"claw\"")
	h.start()
	h.until("not paired", "plugin", "list")
	h.login(s)
	h.until("whatsapp +running +", "plugin", "list")
	owner := s.Owner()
	say := func(text string) { owner.SayTo(owner, &waE2E.Message{Conversation: &text}) }

	say("milk, bread")
	say("claw: good morning")
	awaitText(t, owner, "good morning")
	if err := s.Unlink(); err != nil {
		t.Fatal(err)
	}
	h.until("whatsapp +failed .*logged out", "plugin", "list") // Before, it is about to end, which a login would wait for.
	h.login(s)
	h.until("whatsapp +running +", "plugin", "list")
	say("claw, are you there?")
	shown := awaitText(t, owner, "are you there?")
	if err := s.AwaitAcknowledged(t.Context()); err != nil {
		t.Error(err)
	}
	for _, line := range shown {
		if strings.Contains(line, "milk") || strings.Contains(line, "claw:") || strings.Contains(line, "claw,") {
			t.Errorf("the agent got %q", line)
		}
	}
}

// ownAccount has an owner by phone number, a stranger, a group, a file, a change, and a restart in the middle.
func ownAccount(t *testing.T, bin string) {
	s := whatsapptest.New(t)
	h := newHost(t, bin, s, "+15550000002", "")
	h.start()
	h.until("whatsapp +running .*not paired: run `clawhost plugin login whatsapp`", "plugin", "list")
	h.login(s)
	h.until("whatsapp +running +", "plugin", "list")
	anna, bob := s.Person(1), s.Person(2)

	anna.Say("good morning")
	awaitText(t, anna, "good morning")
	bob.Say("let me in")
	awaitText(t, bob, "clawhost pairing approve") // Who is not allowed hears of the pairing, and of nothing else.

	bob.SendGroup(&waE2E.Message{Conversation: proto.String("said among others")})
	anna.SendGroup(&waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
		Text: proto.String("@900000000001 what is new?"), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{"900000000001@lid"}},
	}})
	awaitText(t, anna, "what is new?")
	anna.Send(naming("ask @900000000003", "900000000003@lid"))
	before := len(awaitText(t, anna, "ask @Person 15550000003 (@900000000003)"))
	anna.Send(s.Document([]byte("the content"), "text/plain", "notes.txt"))
	if _, err := anna.AwaitHeard(t.Context(), before+1); err != nil {
		t.Fatal(err)
	}

	anna.Album(types.EmptyJID, s.Image([]byte("one"), "image/png", "both of these"), s.Image([]byte("two"), "image/png", ""))
	awaitText(t, anna, "both of these")

	h.end()
	anna.Say("while nobody listened")
	h.start()
	shown := awaitText(t, anna, "while nobody listened")
	if err := s.AwaitAcknowledged(t.Context()); err != nil {
		t.Error(err)
	}
	answers := map[string]int{}
	for _, line := range shown {
		answers[line]++
		if answers[line] > 1 {
			t.Errorf("%q was said %d times", line, answers[line])
		}
	}
	for _, line := range display(bob.Heard()) {
		if !strings.Contains(line, "pairing") && !strings.Contains(line, "what is new?") {
			t.Errorf("a stranger heard %q", line)
		}
	}
	t.Logf("the plugin has %s resident", h.resident())
}

// resident is the memory of the plugin's process.
func (h *host) resident() string {
	h.t.Helper()
	var plugins []struct {
		Name string
		PID  int
	}
	out := h.until(`"pid": [1-9]`, "plugin", "list", "-json")
	if err := json.Unmarshal([]byte(out), &plugins); err != nil {
		h.t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", plugins[0].PID))
	if err != nil {
		return "an unknown amount"
	}
	found := regexp.MustCompile(`VmRSS:\s*(.*)`).FindSubmatch(status)
	if found == nil {
		return "an unknown amount"
	}
	return string(found[1])
}
