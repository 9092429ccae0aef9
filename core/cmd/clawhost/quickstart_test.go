package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// TestQuickstart types the lines of docs/quickstart.md into a terminal, with a release of which only the binaries are real, and a person
// in Telegram who does what the page says.
//
// Behaviour: quickstart, init-offered, banner.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	telegram := telegramtest.New(t)
	anna := telegram.User(1001)
	s := newShell(t, telegram)
	var typed []string
	for _, line := range lines {
		typed = append(typed, line)
		switch line {
		case "bin/clawhost init":
			s.enter("bin/clawhost")
			s.see(`There is no config file yet\. Make one now\?`)
			s.press("n")
			s.see(`there is no config file: neither `)
			s.see(`READY:1> `)
			s.enter(line + s.loopback)
			s.see(`Which networks, besides the web chat\?`)
			s.press(" \r") // the first, which is telegram
			s.see(`How is the agent called\?`)
			s.press("\r")
			s.see(`In which folder does it work\?`)
			s.press("\r")
			s.see(`the bot's token as BotFather gives it`)
			s.press(telegram.Token() + "\r")
			code := s.see(`send it this code:\s+(\S+)`)
			anna.Send(anna.ID, "/start")
			s.reads(anna, "I am being set up.")
			anna.Send(anna.ID, code)
			s.reads(anna, "You are my owner now.")
			s.see(`\(telegram:1001\) is the owner`)
			s.see(`config\.hcl is written; the tokens are in the file env beside it`)
			if s.see(`(Make it a service now|Next:)`) != "Next:" { // where there is systemd
				s.press("n")
			}
			s.prompt()
		case "bin/clawhost":
			s.enter(line)
			s.see(`clawhost \S+ is ready\.`)
			s.see(`claude +Claude Code \S+, logged in \(claude\.ai\)`)
			s.see(`telegram +(connect\w+)`)
			s.see(`Open webchat:\r?\nhttp://127\.0\.0\.1:\d+/#token=\S+\r?\n`)
			anna.Send(anna.ID, "Hello, Claude!")
			s.reads(anna, "Hello, Claude!")
			s.press("\x03")
			s.prompt()
		default:
			if strings.HasPrefix(line, "TELEGRAM_TOKEN=") {
				line = strings.Replace(line, "123456789:AAF…", telegram.Token(), 1) + s.loopback + " -config other/config.hcl"
			}
			s.enter(line)
			s.prompt()
		}
	}
	for _, want := range []string{"bin/clawhost init", "bin/clawhost"} {
		if !slices.Contains(typed, want) {
			t.Errorf("docs/quickstart.md does not say %q", want)
		}
	}
	config, err := os.ReadFile(filepath.Join(s.home, ".config/clawhost/config.hcl"))
	if err != nil || !bytes.Contains(config, []byte(`owners = ["webchat:local", "telegram:1001"]`)) || bytes.Contains(config, []byte(telegram.Token())) {
		t.Errorf("the config is %v\n%s", err, config)
	}
	for _, name := range []string{"config.hcl", "env"} {
		info, err := os.Stat(filepath.Join(s.home, ".config/clawhost", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want mode 0600", name, info, err)
		}
	}
	if other, err := os.ReadFile(filepath.Join(s.release, "other/config.hcl")); err != nil || !bytes.Contains(other, []byte(`"telegram:1001"`)) {
		t.Errorf("the config that was made without questions is %v\n%s", err, other)
	}
}

// shell is a shell in a pseudo-terminal, on a machine with an unpacked release and a stand-in of npm.
type shell struct {
	*testing.T
	telegram *telegramtest.Server
	home     string
	release  string // the folder of the release, once it is unpacked
	loopback string // what lets init use the stand-in of Telegram
	tty      *os.File
	read     sync.WaitGroup

	mu      sync.Mutex
	screen  []byte // what was shown and not yet seen
	changed chan struct{}
}

// readyPrompt is the shell's prompt, with the exit code of the last command.
const readyPrompt = "READY:$?> "

func newShell(t *testing.T, telegram *telegramtest.Server) *shell {
	t.Helper()
	home := t.TempDir()
	name := "clawhost_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	s := &shell{
		T: t, telegram: telegram, home: home, release: filepath.Join(home, name), changed: make(chan struct{}, 1),
		loopback: " -set telegram.api_endpoint=" + telegram.URL() + " -set webchat.listen=127.0.0.1:0",
	}
	s.pack(name)
	programs := filepath.Join(home, "programs")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	claude := fmt.Sprintf(`#!/bin/sh
case "$1 $2" in
"auth login") touch "$HOME/login" && echo 'You are logged in.' ;;
"auth status") if [ -e "$HOME/login" ]; then echo '{"loggedIn": true, "authMethod": "claude.ai"}'; else echo '{"loggedIn": false}'; exit 1; fi ;;
*) exec %q "$@" ;;
esac
`, filepath.Join(s.release, "bin", "claude-stub"))
	npm := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = 'install -g @anthropic-ai/claude-code' ] && cp %[1]q/.claude %[1]q/claude\n", programs)
	for name, text := range map[string]string{".claude": claude, "npm": npm} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("bash is not installed")
	}
	command := exec.Command(bash, "--norc", "--noprofile", "-i")
	command.Dir = home
	command.Env = []string{
		"HOME=" + home, "PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin", "TERM=xterm-256color", "PS1=" + readyPrompt, "PS2=", "LANG=C.UTF-8",
	}
	if s.tty, err = pty.StartWithSize(command, &pty.Winsize{Rows: 50, Cols: 200}); err != nil {
		t.Fatal(err)
	}
	s.read.Go(s.show)
	t.Cleanup(func() {
		_ = command.Process.Kill() // with its terminal, all that runs in it gets SIGHUP
		_ = command.Wait()
		_ = s.tty.Close()
		s.read.Wait()
	})
	s.see(`READY:0> `)
	return s
}

// pack makes the archive of a release.
func (s *shell) pack(name string) {
	s.Helper()
	if runtime.GOOS != "linux" {
		s.Skip("the page is about Linux")
	}
	bin := s.TempDir()
	err := buildInto(bin, []string{"core/cmd/clawhost", "core/cmd/claude-stub", "plugins/telegram", "plugins/webchat", "plugins/memory"})
	if err != nil {
		s.Fatal(err)
	}
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		s.Fatal(err)
	}
	files := tar.NewWriter(compressed)
	entries, err := os.ReadDir(bin)
	for _, e := range entries {
		var text []byte
		if text, err = os.ReadFile(filepath.Join(bin, e.Name())); err != nil {
			break
		}
		header := &tar.Header{Name: name + "/bin/" + e.Name(), Mode: 0o755, Size: int64(len(text))}
		if err = files.WriteHeader(header); err != nil {
			break
		}
		if _, err = files.Write(text); err != nil {
			break
		}
	}
	if err = errors.Join(err, files.Close(), compressed.Close()); err == nil {
		// The page is about amd64; the binaries are this machine's.
		err = os.WriteFile(filepath.Join(s.home, "clawhost_1.2.3_linux_amd64.tar.gz"), packed.Bytes(), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// show keeps what the terminal shows, until it is closed.
func (s *shell) show() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.tty.Read(buffer)
		s.mu.Lock()
		s.screen = append(s.screen, buffer[:n]...)
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil && (errors.Is(err, io.EOF) || errors.Is(err, fs.ErrClosed) || n == 0) {
			return
		}
	}
}

// enter types a line.
func (s *shell) enter(line string) {
	s.Helper()
	s.Log(line)
	s.press(line + "\r")
}

// press types keys.
func (s *shell) press(keys string) {
	s.Helper()
	if _, err := io.WriteString(s.tty, keys); err != nil {
		s.Fatal(err)
	}
}

// escapes are the sequences that move a terminal's cursor and colour its text.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])`)

// see waits until the terminal shows a text, and returns its first group. What was shown before it is not seen again.
func (s *shell) see(pattern string) string {
	s.Helper()
	looked := regexp.MustCompile(pattern)
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		plain := escapes.ReplaceAll(s.screen, nil)
		at := looked.FindSubmatchIndex(plain)
		if at != nil {
			s.screen = slices.Clone(plain[at[1]:])
			s.mu.Unlock()
			if len(at) > 2 {
				return string(plain[at[2]:at[3]])
			}
			return ""
		}
		s.mu.Unlock()
		select {
		case <-s.changed:
		case <-deadline.C:
			s.Fatalf("the terminal never shows %q, but\n%s", pattern, plain)
		}
	}
}

// prompt waits for the end of a command, which must have succeeded.
func (s *shell) prompt() {
	s.Helper()
	if code := s.see(`READY:(\d+)> `); code != "0" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Fatalf("the command exits with %s:\n%s", code, s.screen)
	}
}

// reads waits until a person reads a message of the bot's.
func (s *shell) reads(person *telegramtest.User, text string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	if _, err := s.telegram.AwaitMessage(ctx, person.ID, func(m telegramtest.Message) bool {
		return m.From == s.telegram.Bot().ID && strings.Contains(m.Text, text)
	}); err != nil {
		s.Fatalf("nobody sends %q: %v; the messages are %+v", text, err, s.telegram.Messages(person.ID))
	}
}
