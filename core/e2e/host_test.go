//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// binVariable names the folder of the binaries to be tested: clawhost and its plugins.
const binVariable = "CLAWHOST_BIN"

// ownerID is the person on Telegram who may do everything.
const ownerID = 1000

// host is a whole clawhost in real processes: the binary, its Telegram plugin on a Bot API of the test's own, and the real
// claude CLI on a Messages API of the test's own. It has as many lives as the test starts.
type host struct {
	*testing.T
	ctx      context.Context
	api      *messagesapi.Server
	telegram *telegramtest.Server

	dir, config, state, workspace string

	env     []string
	out     *journal.Journal // stdout of all lives
	log     *journal.Journal // stderr of all lives
	process *exec.Cmd
	exited  chan error // gets what Wait returned
}

// setup is what a test changes of a host.
type setup struct {
	api     messagesapi.Options
	tools   []string          // allowed tools
	claude  map[string]string // more of claude's environment
	env     []string          // more of the host's own environment
	agent   string            // more of the agent block
	limits  string            // more of the claude block
	access  string            // the access block's content, instead of the one owner
	stream  string            // how answers are shown while they are written, instead of not at all
	plugins string            // more blocks
	command string            // what answers, instead of the real claude
	spare   bool              // a spare process waits, as by default
	waits   bool              // messages wait for more, as by default
}

// newHost writes a config. The host has yet to be started; it ends with the test.
func newHost(t *testing.T, s setup) *host {
	t.Helper()
	s.api.Key = key
	api := messagesapi.New(s.api)
	t.Cleanup(api.Close)
	telegram, err := telegramtest.Start(telegramtest.Options{Token: fmt.Sprintf("4242:canary-%016x-%016x", rand.Uint64(), rand.Uint64())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(telegram.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	dir := t.TempDir()
	h := &host{
		T: t, ctx: ctx, api: api, telegram: telegram, dir: dir,
		config: filepath.Join(dir, "config.hcl"), state: filepath.Join(dir, "state"), workspace: filepath.Join(dir, "work"),
		env: append([]string{
			"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "TELEGRAM_TOKEN=" + telegram.Token(),
		}, s.env...),
		out: &journal.Journal{}, log: &journal.Journal{},
	}
	if err := os.WriteFile(h.config, []byte(h.hcl(s)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if h.process != nil {
			h.stop()
		}
		if t.Failed() {
			t.Logf("the host's log:\n%s", h.log)
		}
	})
	return h
}

// hcl is the config file. The bot's token comes from the environment, as in the shipped one.
func (h *host) hcl(s setup) string {
	env := map[string]string{
		"HOME": h.dir, "CLAUDE_CONFIG_DIR": filepath.Join(h.dir, "claude"),
		"ANTHROPIC_BASE_URL": h.api.URL(), "ANTHROPIC_API_KEY": key,
	}
	maps.Copy(env, s.claude)
	if s.access == "" {
		s.access = fmt.Sprintf(`owners = ["telegram:%d"]`, ownerID)
	}
	if s.tools == nil {
		s.tools = []string{}
	}
	if s.stream == "" {
		s.stream = "off"
	}
	spare, debounce := "0", "0"
	if s.spare {
		spare = "auto"
	}
	if s.waits {
		debounce = "auto"
	}
	return fmt.Sprintf(`
state_dir = %s
log {
  level = "debug"
}
agent {
  workspace = %s
  timezone  = "utc"
  %s
}
claude {
  command       = %s
  allowed_tools = %s
  env           = %s
  spare         = %q
  %s
}
access {
  %s
}
inbound {
  debounce = %q
}
queue {
  mode    = "queue"
  receipt = false
}
reply {
  stream = %s
}
plugin "telegram" {
  config {
    token        = env("TELEGRAM_TOKEN")
    api_endpoint = %s
  }
}
%s
`, encoded(h.state), encoded(h.workspace), s.agent, encoded(cmp.Or(s.command, os.Getenv(cliVariable))), encoded(s.tools), encoded(env), spare, s.limits, s.access, debounce,
		encoded(s.stream), encoded(h.telegram.URL()), s.plugins)
}

// encoded is a value in the config file, whose literals are those of JSON.
func encoded(value any) string {
	text, _ := json.Marshal(value) // strings, and lists and maps of them, always encode
	return string(text)
}

// start starts a process of the host and waits until it works.
func (h *host) start() {
	h.Helper()
	before := h.log.Mark()
	h.process = exec.Command(h.binary("clawhost"), "-config", h.config)
	h.process.Env, h.process.Stdout, h.process.Stderr = h.env, h.out, h.log
	h.exited = make(chan error, 1)
	if err := h.process.Start(); err != nil {
		h.Fatal(err)
	}
	go func(process *exec.Cmd, exited chan<- error) { exited <- process.Wait() }(h.process, h.exited)
	h.wrote(h.log, before, ": ready:")
}

func (h *host) binary(name string) string { return filepath.Join(os.Getenv(binVariable), name) }

// stop has the host go down in order.
func (h *host) stop() {
	h.Helper()
	if err := h.process.Process.Signal(syscall.SIGTERM); err != nil {
		h.Errorf("stop the host: %v", err)
	}
	if err := h.wait(); err != nil {
		h.Errorf("the host ended with %v", err)
	}
	if left := h.claudes(); len(left) != 0 {
		h.Errorf("claude processes outlived the host's orderly end: %v", left)
	}
}

// kill ends the host as a crash of the machine would, but for its children, which are on their own.
func (h *host) kill() {
	h.Helper()
	if err := h.process.Process.Kill(); err != nil {
		h.Fatalf("kill the host: %v", err)
	}
	_ = h.wait() // the signal is no news
}

// crash ends the host and its claude at once. Left alone, claude would take the host's end for a no to what it asks.
func (h *host) crash() {
	h.Helper()
	claude := h.claude()
	if err := syscall.Kill(claude, syscall.SIGSTOP); err != nil {
		h.Fatal(err)
	}
	h.kill()
	if err := syscall.Kill(claude, syscall.SIGKILL); err != nil {
		h.Fatal(err)
	}
}

// wait returns how the host ended. One that does not end by itself is killed.
func (h *host) wait() error {
	h.Helper()
	process := h.process
	h.process = nil
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case err := <-h.exited:
		return err
	case <-ctx.Done():
		h.Errorf("the host (%d) does not end", process.Process.Pid)
		_ = process.Process.Kill()
		return <-h.exited
	}
}

// clawhost runs a command of the binary and returns its output.
func (h *host) clawhost(args ...string) string {
	h.Helper()
	output, err := h.command(args...).CombinedOutput()
	if err != nil {
		h.Fatalf("clawhost %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// command is a command of the binary, yet to be run.
func (h *host) command(args ...string) *exec.Cmd {
	command := exec.CommandContext(h.ctx, h.binary("clawhost"), append([]string{"-config", h.config}, args...)...)
	command.Env = h.env
	return command
}

// show runs a command of the binary that prints JSON.
func (h *host) show(into any, args ...string) {
	h.Helper()
	if err := json.Unmarshal([]byte(h.clawhost(append(args, "-json")...)), into); err != nil {
		h.Fatalf("clawhost %s -json: %v", strings.Join(args, " "), err)
	}
}

// claudes are the claude processes of the host, by their working folder.
func (h *host) claudes() []int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
	var pids []int
	for _, line := range lines {
		words, err := os.ReadFile(line)
		if err != nil || !strings.Contains(string(words), "\x00--input-format\x00") {
			continue // it is another process, or has ended
		}
		if folder, err := os.Readlink(filepath.Join(filepath.Dir(line), "cwd")); err == nil && folder == h.workspace {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(line))) // by the pattern it is a number
			pids = append(pids, pid)
		}
	}
	return pids
}

// claude is the only claude process of the host.
func (h *host) claude() int {
	h.Helper()
	pids := h.claudes()
	if len(pids) != 1 {
		h.Fatalf("claude processes = %v, want one", pids)
	}
	return pids[0]
}

// asked waits until the model is asked something that fits.
func (h *host) asked(fits func(messagesapi.Request) bool) messagesapi.Request {
	h.Helper()
	request, err := h.api.Await(h.ctx, fits)
	if err != nil {
		h.Fatalf("the model was not asked: %v; it was asked %v", err, h.api.Messages())
	}
	return request
}

// last is the newest request.
func (h *host) last() messagesapi.Request {
	h.Helper()
	requests := h.api.Messages()
	if len(requests) == 0 {
		h.Fatal("the model was never asked")
	}
	return requests[len(requests)-1]
}

// poll waits for something that only looking again can tell, because it happens in a foreign process.
func (h *host) poll(what string, happened func() bool) {
	h.Helper()
	poll(h.ctx, h.T, what, happened)
}
