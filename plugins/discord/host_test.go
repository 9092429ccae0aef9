package main

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
)

// realHost is clawhost as people run it, with the plugin's binary and a stand-in for claude.
type realHost struct {
	t   *testing.T
	dir string
	*discordtest.Server

	command *exec.Cmd
	log     *hostLog
}

// hostLog keeps what a host says.
type hostLog struct {
	mu    sync.Mutex
	text  strings.Builder
	ready chan struct{}
}

func (l *hostLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if strings.Contains(l.text.String(), ": ready:") {
		select {
		case <-l.ready:
		default:
			close(l.ready)
		}
	}
	return len(p), nil
}

func (l *hostLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// buildHost builds the binaries into a folder.
func buildHost(t *testing.T, bin string) {
	t.Helper()
	for name, of := range map[string]string{"clawhost": "core/cmd/clawhost", "claude": "core/cmd/claude-stub", "clawhost-discord": "plugins/discord"} {
		command := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(bin, name), "github.com/clawhost/clawhost/"+of)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", of, err, out)
		}
	}
	// The go command takes the test's result from its cache unless it has seen the test open what has changed.
	for _, dir := range []string{"core", "plugins/discord", "proto", "sdk"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (h *realHost) start() {
	h.t.Helper()
	h.command = exec.Command(filepath.Join(h.dir, "bin", "clawhost"), "-config", filepath.Join(h.dir, "config.hcl"))
	h.command.Dir = h.dir
	h.command.Env = []string{"HOME=" + h.dir, "PATH=" + filepath.Join(h.dir, "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + h.dir, "DISCORD_TOKEN=" + h.Token(), "DISCORD_URL=" + h.URL()}
	h.log = &hostLog{ready: make(chan struct{})}
	h.command.Stdout, h.command.Stderr = h.log, h.log
	if err := h.command.Start(); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	select {
	case <-h.log.ready:
	case <-ctx.Done():
		h.t.Fatalf("the host is not ready:\n%s", h.log)
	}
}

func (h *realHost) stop(by os.Signal) {
	h.t.Helper()
	if err := h.command.Process.Signal(by); err != nil {
		h.t.Fatal(err)
	}
	_ = h.command.Wait()
	if strings.Contains(h.log.String(), h.Token()) {
		h.t.Error("the token is in the host's log")
	}
}

// answers waits for a message of the bot's that has a text, and returns it.
func (h *realHost) answers(channel, text string) discordtest.Message {
	h.t.Helper()
	var found discordtest.Message
	h.Await(h.t, fmt.Sprintf("the bot says %q in %s", text, channel), func() bool {
		list := h.Replies(channel)
		i := slices.IndexFunc(list, func(m discordtest.Message) bool { return strings.Contains(m.Text, text) })
		if i >= 0 {
			found = list[i]
		}
		return i >= 0
	})
	return found
}

// says counts the bot's messages with a text.
func (h *realHost) says(channel, text string) (n int) {
	for _, m := range h.Replies(channel) {
		n += strings.Count(m.Text, text)
	}
	return n
}

const realConfig = `
log { level = "debug" }
inbound { debounce = "0" }
queue { debounce = "0" }
reply { stream = "preview" }
access {
  owners = ["discord:7"]
  dm     = "open"
  groups = "open"
}
plugin "discord" {
  config {
    token         = env("DISCORD_TOKEN")
    test_endpoint = env("DISCORD_URL")
  }
}
`

// TestRealHost has people talk to the plugin's binary under the real host: a message, a mention, files both ways, an answer
// that is edited while it is written, a permission by button, a command of the menu, and restarts in the middle.
func TestRealHost(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "dc") // The path of a host's socket has little room.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	buildHost(t, filepath.Join(dir, "bin"))
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(realConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &realHost{t: t, dir: dir, Server: discordtest.New(t)}
	h.User("7", "anna")
	h.Direct("70")
	h.Channel("900", "901", "general")
	h.Thread("901", "902", "plans")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the host said:\n%s\nthe bot said:\n%+v", h.log, h.Replies("70"))
		}
		_ = h.command.Process.Kill()
		_ = h.command.Wait()
	})
	h.start()
	h.Await(t, "the bot is there", h.Online)
	h.Await(t, "the menu is there", func() bool {
		return slices.ContainsFunc(h.Commands(), func(c discordtest.Command) bool { return c.Name == "status" })
	})
	idle := h.memory()

	h.Say("70", "7", `[[stub {"answer": "hello Anna"}]]`)
	h.answers("70", "hello Anna")
	h.Say("901", "7", "nothing for the bot")
	h.Say("901", "7", `<@4242> [[stub {"answer": "hello all"}]]`)
	h.answers("901", "hello all")
	h.Say("902", "7", `<@4242> [[stub {"answer": "hello thread"}]]`)
	h.answers("902", "hello thread")
	if n := len(h.Replies("901")); n != 1 {
		t.Errorf("the bot said %d times something in the channel, want once: %+v", n, h.Replies("901"))
	}

	h.Say("70", "7", `[[stub {"say": "told $PROMPT"}]]`, discordtest.WithFile("tea.gif", "image/gif", []byte("GIF89a!!!!!!!")))
	h.answers("70", "<media:image")
	h.Say("70", "7", `[[stub {"tool": "printf tea > $HOME/clawhost/tea.txt", "answer": "here it is\nMEDIA:tea.txt"}]]`)
	h.answers("70", "here it is")
	h.Await(t, "the file comes", func() bool {
		return slices.ContainsFunc(h.Replies("70"), func(m discordtest.Message) bool {
			return len(m.Files) == 1 && m.Files[0].Name == "tea.txt" && string(m.Files[0].Content) == "tea"
		})
	})
	long := strings.Repeat("word ", 40) + "last"
	h.Say("70", "7", `[[stub {"answer": "`+long+`", "token_delay_ms": 100}]]`)
	if m := h.answers("70", "last"); m.Edits == 0 || h.says("70", "last") != 1 {
		t.Errorf("the long answer was edited %d times, and came %d times", m.Edits, h.says("70", "last"))
	}

	h.Say("70", "7", `[[stub {"tool": "true", "ask": true, "answer": "it was allowed"}]]`)
	pressed := h.press("70", "Once")
	h.answers("70", "it was allowed")
	if a := answered(t, h.Server, pressed); a.Type != 6 {
		t.Errorf("the press was answered by %+v", a)
	}
	if a := answered(t, h.Server, h.Use("70", "7", "status", "")); a.Type != 4 {
		t.Errorf("the command was answered by %+v", a)
	}
	h.answers("70", "claude")

	for n, by := range []os.Signal{syscall.SIGTERM, os.Kill} {
		for i := range 3 {
			h.Say("70", "7", fmt.Sprintf(`[[stub {"answer": "before %d.%d."}]]`, n, i))
		}
		h.stop(by)
		for i := range 3 {
			h.Say("70", "7", fmt.Sprintf(`[[stub {"answer": "meanwhile %d.%d."}]]`, n, i))
		}
		h.start()
		for i := range 3 {
			h.answers("70", fmt.Sprintf("meanwhile %d.%d.", n, i))
		}
	}
	h.stop(syscall.SIGTERM)
	for n := range 2 {
		for i := range 3 {
			if got := h.says("70", fmt.Sprintf("meanwhile %d.%d.", n, i)); got != 1 {
				t.Errorf("what was said meanwhile %d.%d was answered %d times", n, i, got)
			}
		}
	}
	t.Logf("the idle plugin took %d KiB", idle)
}

// press waits for a button with a word on it and has Anna press it.
func (h *realHost) press(channel, word string) string {
	h.t.Helper()
	message, data := "", ""
	h.Await(h.t, "there is a button with "+word, func() bool {
		for _, m := range h.Replies(channel) {
			for _, b := range m.Buttons {
				if strings.Contains(b.Label, word) {
					message, data = m.ID, b.Data
				}
			}
		}
		return message != ""
	})
	return h.Press(message, "7", data)
}

// memory is what the plugin's process has in memory, in KiB.
func (h *realHost) memory() (kib int) {
	h.t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range list {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		parent, size := 0, 0
		for lines := bufio.NewScanner(file); lines.Scan(); {
			_, _ = fmt.Sscanf(lines.Text(), "PPid: %d", &parent)
			_, _ = fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &size)
		}
		file.Close()
		if parent == h.command.Process.Pid {
			kib = max(kib, size)
		}
	}
	return kib
}
