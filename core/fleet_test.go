package core_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// fleetLease is the lease of the hosts of these tests: long enough for a busy machine, short enough to wait for its end often.
const fleetLease = 4 * time.Second

// hosts are real hosts that share a database and a bot.
type hosts struct {
	*testing.T
	network *telegramtest.Server
	server  *postgrestest.Server
	dsn     string
	agent   string // lines of the block agent
	all     map[string]*fleetHost
}

// fleetHost is a host with a state folder of its own.
type fleetHost struct {
	hosts *hosts
	name  string
	link  *postgrestest.Proxy // its network to the database
	dir   string
	log   *os.File
	cmd   *exec.Cmd
	gone  chan struct{} // closed when the process has ended
}

func newHosts(t *testing.T, server *postgrestest.Server, agent string, names ...string) *hosts {
	t.Helper()
	h := &hosts{T: t, network: telegramtest.New(t), server: server, dsn: server.Database(t), agent: agent, all: map[string]*fleetHost{}}
	for _, name := range names {
		h.all[name] = h.host(name)
	}
	return h
}

// host makes a host, which does not run yet.
func (h *hosts) host(name string) *fleetHost {
	h.Helper()
	// The control socket's path must be short, which the test's own folder is not.
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		h.Fatal(err)
	}
	f := &fleetHost{hosts: h, name: name, link: postgrestest.NewProxy(h.T, h.server), dir: dir}
	bin := crashBinaries(h.T)
	config := fmt.Sprintf(`
state_dir  = %q
plugin_dir = %q
log { level = "debug" }
store {
  driver = "postgres"
  dsn    = %q
  lease  = %q
}
host { name = %q }
agent {
  workspace = %q
  %s
}
claude {
  command = %q
  env     = { CLAUDE_STUB_DELAY_MS = "30" }
}
access { dm = "open" }
inbound { debounce = "0" }
queue {
  mode    = "queue"
  receipt = false
}
plugin "telegram" {
  config {
    token        = %q
    api_endpoint = %q
  }
}
`, filepath.Join(dir, "state"), bin, f.link.DSN(h.dsn), fleetLease, name, filepath.Join(dir, "work"), h.agent, filepath.Join(bin, "claude-stub"), h.network.Token(), h.network.URL())
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config), 0o600); err != nil {
		h.Fatal(err)
	}
	if f.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		if f.running() {
			f.signal(syscall.SIGCONT)
			f.stop()
		}
		if h.Failed() {
			log, _ := os.ReadFile(f.log.Name())
			h.Logf("the end of the log of %s:\n%s", name, log[max(0, len(log)-20000):])
		}
		_ = f.log.Close()
		_ = os.RemoveAll(dir)
	})
	return f
}

// start starts the host. It does not wait for it.
func (f *fleetHost) start() {
	f.hosts.Helper()
	f.cmd = exec.Command(filepath.Join(crashRoot, "clawhost"), "-config", filepath.Join(f.dir, "config.hcl"))
	f.cmd.Env = []string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH")}
	f.cmd.Stdout, f.cmd.Stderr = f.log, f.log
	if err := f.cmd.Start(); err != nil {
		f.hosts.Fatal(err)
	}
	gone, cmd := make(chan struct{}), f.cmd
	f.gone = gone
	go func() { // ends with the host
		_ = cmd.Wait()
		close(gone)
	}()
}

func (f *fleetHost) running() bool {
	if f.cmd == nil {
		return false
	}
	select {
	case <-f.gone:
		return false
	default:
		return true
	}
}

func (f *fleetHost) signal(s syscall.Signal) {
	f.hosts.Helper()
	if err := f.cmd.Process.Signal(s); err != nil {
		f.hosts.Error(err)
	}
}

// kill ends the host as a power failure of its machine does: with its children.
func (f *fleetHost) kill() {
	f.hosts.Helper()
	f.signal(syscall.SIGKILL)
	<-f.gone
}

// stop has the host go down in order.
func (f *fleetHost) stop() {
	f.hosts.Helper()
	f.signal(syscall.SIGTERM)
	<-f.gone
	if code := f.cmd.ProcessState.ExitCode(); code != 0 {
		f.hosts.Errorf("host %s ended with code %d", f.name, code)
	}
}

// owner returns the host that runs the channel, and another one, while no host has taken it over from another.
func (h *hosts) owner() (owner, other *fleetHost) {
	h.Helper()
	const is = "clawhost.telegram: connected"
	for late := time.Now().Add(time.Minute); time.Now().Before(late); {
		for _, f := range h.all {
			log, err := os.ReadFile(f.log.Name())
			if err != nil {
				h.Fatal(err)
			}
			if f.running() && bytes.Contains(log, []byte(is)) {
				owner = f
			} else {
				other = f
			}
		}
		if owner != nil {
			return owner, other
		}
		<-time.After(20 * time.Millisecond)
	}
	h.Fatal("no host runs the channel")
	return nil, nil
}

// answers waits for the answer to a message.
func (h *hosts) answers(user *telegramtest.User, text string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	user.Post(telegramtest.Post{Chat: user.ID, Text: text})
	_, err := h.network.AwaitMessage(ctx, user.ID, func(m telegramtest.Message) bool {
		return m.From == h.network.Bot().ID && strings.HasPrefix(m.Text, "echo: ") && strings.HasSuffix(m.Text, text)
	})
	if err != nil {
		h.Fatalf("%q is not answered: %v", text, err)
	}
}

// gets waits for a message of the bot that contains a text.
func (h *hosts) gets(user *telegramtest.User, text string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	_, err := h.network.AwaitMessage(ctx, user.ID, func(m telegramtest.Message) bool {
		return m.From == h.network.Bot().ID && strings.Contains(m.Text, text)
	})
	if err != nil {
		h.Fatalf("nothing with %q comes: %v", text, err)
	}
}

// Two hosts have one bot: the one that has its channel dies, and the other one goes on.
func TestTheHostWithTheChannelDies(t *testing.T) {
	t.Parallel()
	h := newHosts(t, postgrestest.Shared(t), "", "a", "b")
	for _, f := range h.all {
		f.start()
	}
	anna := h.network.User(1)
	h.answers(anna, "one")
	owner, other := h.owner()
	h.answers(anna, "two")
	owner.kill()
	h.answers(anna, "three")
	owner.start()
	h.answers(anna, "four")
	other.stop()
	h.answers(anna, "five")
}

// The turn is on one host and the channel on another: people see no difference.
func TestATurnOnAnotherHostThanItsChannel(t *testing.T) {
	t.Parallel()
	h := newHosts(t, postgrestest.Shared(t), `runs_on = ["b"]`, "a", "b")
	h.all["a"].start()
	if owner, _ := h.owner(); owner.name != "a" {
		t.Fatalf("%s runs the channel", owner.name)
	}
	h.all["b"].start()
	anna := h.network.User(1)
	h.answers(anna, "hello")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	anna.Send(0, `[[stub {"answer": "`+strings.Repeat("word ", 60)+`end", "token_delay_ms": 40}]] count`)
	if _, err := h.network.AwaitDraft(ctx, anna.ID, func(d telegramtest.Draft) bool { return strings.Contains(d.Text, "word word") }); err != nil {
		t.Errorf("the answer is not shown while it is written: %v", err)
	}
	h.gets(anna, "word end")

	file := bytes.Repeat([]byte("0123456789abcde\n"), 40_000)
	anna.Post(telegramtest.Post{
		Text: `[[stub {"tool": "find . -name '*.txt' -exec cksum {} +", "say": "sum $OUTPUT"}]] read it`, Media: "document", File: file, FileName: "numbers.txt", MIMEType: "text/plain",
	})
	h.gets(anna, fmt.Sprintf(" %d ", len(file)))

	anna.Send(0, `[[stub {"tool": "mkdir -p charts; seq 100000 > charts/may.txt", "answer": "May:\nMEDIA:charts/may.txt"}]] chart`)
	m, err := h.network.AwaitMessage(ctx, anna.ID, func(m telegramtest.Message) bool { return m.Media != "" && m.From == h.network.Bot().ID })
	if err != nil {
		t.Errorf("no file comes: %v", err)
	} else if !bytes.HasSuffix(m.File, []byte("\n100000\n")) {
		t.Errorf("a file of %d bytes comes", len(m.File))
	}

	anna.Send(0, `[[stub {"hang": "stream"}]] wait`)
	if _, err := h.network.AwaitDraft(ctx, anna.ID, func(telegramtest.Draft) bool { return true }); err != nil {
		t.Errorf("nothing is shown of a turn: %v", err)
	}
	anna.Send(0, "/stop")
	h.gets(anna, "topped")
	anna.Send(0, "/status")
	h.gets(anna, "Claude")
}
