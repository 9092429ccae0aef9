package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// patience bounds each wait for a host, far above the usual time.
const patience = 60 * time.Second

// setup describes a host.
type setup struct {
	plugins   []string          // echo, webchat and clock, and those in blocks
	blocks    map[string]string // the config of further plugins
	reply     string            // the block of the same name
	telemetry string            // the block of the same name
	processes int               // claude.max_processes
	claude    string            // more of the block of the same name
	command   string            // of claude; empty: the stub
	env       map[string]string // variables of claude
	traced    bool              // the stub records when it reads messages and writes results
	usual     bool              // the config's defaults decide which messages are answered, and how long they wait for others
}

// rig is a folder with a config file, in which hosts run one after the other.
type rig struct {
	bin     string
	dir     string
	address string // of the echo channel
}

// newRig creates a folder for hosts. Its path is short, because the paths of sockets are limited.
func newRig(bin string, s setup) (*rig, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	r := &rig{bin: bin, dir: dir}
	for _, sub := range []string{"home", "work"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return r, r.configure(s)
}

// configure writes the config file of the next host.
func (r *rig) configure(s setup) error {
	text, err := r.config(s)
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("config.hcl"), []byte(text), 0o600)
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) remove() { _ = os.RemoveAll(r.dir) }

// config writes a host's config. Omitted values are the defaults.
func (r *rig) config(s setup) (string, error) {
	command := cmp.Or(s.command, filepath.Join(r.bin, "claude-stub"))
	env := fmt.Sprintf("HOME = %q, CLAUDE_CONFIG_DIR = %q", r.path("home"), r.path("home/.claude"))
	if s.traced {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		command = self
		env += fmt.Sprintf(", %s = %q", traceVariable, r.path("trace"))
	}
	for name, value := range s.env {
		env += fmt.Sprintf(", %s = %q", name, value)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "state_dir  = %q\nplugin_dir = %q\nlog { format = \"json\" }\nagent { workspace = %q }\n",
		r.path("state"), r.bin, r.path("work"))
	fmt.Fprintf(&b, "claude {\n  command = %q\n  env = { %s }\n  max_processes = %d\n  %s\n}\n", command, env, s.processes, s.claude)
	fmt.Fprintf(&b, "access {\n  dm = \"open\"\n  groups = \"open\"\n  require_mention = %t\n}\n", s.usual)
	if !s.usual {
		b.WriteString("inbound { debounce = \"0\" }\nqueue { mode = \"queue\" }\n")
	}
	if s.reply != "" {
		fmt.Fprintf(&b, "reply { %s }\n", s.reply)
	}
	if s.telemetry != "" {
		fmt.Fprintf(&b, "telemetry {\n  %s\n}\n", s.telemetry)
	}
	for _, name := range s.plugins {
		listen := s.blocks[name]
		if listen == "" && name != "clock" {
			address, err := freeAddress()
			if err != nil {
				return "", err
			}
			listen = fmt.Sprintf("listen = %q", address)
			if name == "echo" {
				r.address = address
			}
		}
		fmt.Fprintf(&b, "plugin %q {\n  config {\n    %s\n  }\n}\n", name, listen)
	}
	return b.String(), nil
}

// freeAddress is an unused loopback address.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// host is a running clawhost.
type host struct {
	rig  *rig
	cmd  *exec.Cmd
	took time.Duration // from exec to "ready" in its log
	logs chan struct{} // closed at the end of its log

	terminate func() error // asks it once to shut down: a second request would drop everything
}

// start starts a host and waits until it is ready. The end of ctx stops it.
func (r *rig) start(ctx context.Context) (*host, error) {
	log, err := os.OpenFile(r.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	h := &host{rig: r, cmd: exec.Command(filepath.Join(r.bin, "clawhost"), "-config", r.path("config.hcl")), logs: make(chan struct{})}
	h.terminate = sync.OnceValue(func() error { return h.cmd.Process.Signal(syscall.SIGTERM) })
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for this program only, which stops the host
	stderr, err := h.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = h.terminate() })
	ready := make(chan time.Time, 1)
	go func() {
		defer close(h.logs)
		defer log.Close()
		watch(stderr, log, ready)
	}()
	select {
	case at := <-ready:
		h.took = at.Sub(began)
		return h, nil
	case <-h.logs:
		err = fmt.Errorf("the host ended before it was ready")
	case <-time.After(patience):
		err = fmt.Errorf("the host is not ready after %s", patience)
	}
	h.kill()
	return nil, fmt.Errorf("%w; the end of its log:\n%s", err, r.tail())
}

// watch copies a log and reports when the host is ready.
func watch(from io.Reader, to io.Writer, ready chan<- time.Time) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		at := time.Now()
		var entry struct {
			Message string `json:"@message"`
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Message == "ready" {
			ready <- at
		}
		fmt.Fprintln(to, lines.Text())
	}
}

// tail is the end of the host's log.
func (r *rig) tail() string {
	const bytes = 4000
	text, _ := os.ReadFile(r.path("log"))
	return string(text[max(0, len(text)-bytes):])
}

// stop shuts the host down in order.
func (h *host) stop() error {
	if err := h.terminate(); err != nil {
		return err
	}
	select {
	case <-h.logs:
	case <-time.After(patience):
		h.kill()
		return fmt.Errorf("the host did not go down for %s; the end of its log:\n%s", patience, h.rig.tail())
	}
	if err := h.cmd.Wait(); err != nil {
		return fmt.Errorf("the host did not go down well: %w; the end of its log:\n%s", err, h.rig.tail())
	}
	return nil
}

// kill kills the host like kill -9, and leaves its children running.
func (h *host) kill() {
	_ = h.cmd.Process.Kill()
	<-h.logs
	_ = h.cmd.Wait()
}

// plugins returns the processes of the host's plugins by name.
func (h *host) plugins(ctx context.Context) (map[string]int, error) {
	list, err := admin.NewClient(filepath.Join(h.rig.path("state"), "clawhost.sock")).Plugins(ctx)
	if err != nil {
		return nil, fmt.Errorf("list plugins: %w", err)
	}
	pids := map[string]int{}
	for _, p := range list {
		if p.PID == 0 {
			return nil, fmt.Errorf("the plugin %s does not run: %s %s", p.Name, p.State, p.Detail)
		}
		pids[p.Name] = p.PID
	}
	return pids, nil
}
