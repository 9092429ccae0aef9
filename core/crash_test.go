package core_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The crash test: people write numbered messages in several chats while the host, its plugin and its claude are killed at
// random moments and at named points. Afterwards every message must have been answered once, in order, by the agent and in the
// folder that were chosen for it, in one message or in many, and nothing must have been done without leave. An item whose send had an unknown outcome may be seen again under its own
// key: such repeats are counted.

const (
	crashChats, crashReaders, crashAskers, crashChoosers, crashMovers, crashBeginners = 4, 2, 1, 1, 2, 2
	// drainTime bounds the time to answer all that is left when the killing is over.
	drainTime = 3 * time.Minute
	// killsInARow bounds the kills that a message can see, some of which are two: after ten attempts the host gives it up.
	killsInARow = 4
)

// crashPoints are the places in the host that the test names. See package crashpoint.
var crashPoints = slices.Concat([]string{"accepted", "result", "sent", "early", "answered", "completed"}, seldomPoints)

// seldomPoints are those that a host passes where a process starts. It may pass each only once.
var seldomPoints = []string{"expected", "stocked", "taken"}

// Behaviour: accept-durable, ask-late-words, ask-others, agent-choose, agent-ask, folder.
func TestCrash(t *testing.T) {
	t.Parallel()
	kills := 12
	if long() {
		kills = 150
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	address := freeAddress(t)
	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-echo", points: crashPoints,
		config: fmt.Sprintf(`
inbound { debounce = "0" }
queue { mode = "queue" }
reply {
  stream = "block"
  block {
    min  = 40
    max  = 200
    idle = "0"
  }
}
access {
  owners = ["echo:asker0", "echo:deputy"]
  dm     = "open"
}
approvals {
  to             = ["owners"]
  escalate_after = "0"
}
agent "app" {
  workspace = "~/app"
  open_to   = "everyone"
}
agent "web" {
  workspace = "~/web"
  folders   = ["~/folders/*"]
  open_to   = "everyone"
}
route {
  user  = "echo:folders"
  agent = "web"
}
plugin "echo" {
  config { listen = %q }
}
`, address),
	})
	defer w.close(t)
	for _, name := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(w.dir, "folders", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	persons := []*person{newPerson("folders", address, newFolderMover()), newPerson("deputy", address, newDeputy())}
	for i := range crashMovers {
		persons = append(persons, newPerson(fmt.Sprint("mover", i), address, newAgentMover()))
	}
	for i := range crashChats {
		persons = append(persons, newPerson(fmt.Sprint("chat", i), address, chatty{}))
	}
	for i := range crashBeginners {
		persons = append(persons, newPerson(fmt.Sprint("beginner", i), address, beginner{}))
	}
	for i := range crashReaders {
		persons = append(persons, newPerson(fmt.Sprint("reader", i), address, &reader{}))
	}
	for i := range crashAskers {
		persons = append(persons, newPerson(fmt.Sprint("asker", i), address, newAsker(w.dir)))
	}
	for i := range crashChoosers {
		persons = append(persons, newPerson(fmt.Sprint("chooser", i), address, newChooser()))
	}

	var people sync.WaitGroup
	writing, stopWriting := context.WithCancel(t.Context())
	for _, p := range persons {
		people.Go(func() { p.talk(writing) })
	}
	answered := func() {
		var waiting sync.WaitGroup
		for _, p := range persons {
			waiting.Go(p.await)
		}
		waiting.Wait()
	}
	for n := 0; n < kills && !t.Failed(); n++ {
		if n%killsInARow == 0 {
			w.keepUp(t, answered)
		}
		w.kill(t)
	}
	stopWriting()
	w.keepUp(t, answered)
	for _, p := range persons {
		p.hangUp()
	}
	people.Wait()
	written, repeats := 0, 0
	for _, p := range persons {
		written += p.sent
		repeats += p.repeats
		for _, problem := range p.problems() {
			t.Errorf("%s: %s", p.chat, problem)
		}
	}
	if written == 0 {
		t.Error("nothing was written")
	}
	w.report(t, fmt.Sprintf("%d messages: 0 lost, 0 answered twice, order kept, nothing done without leave", written), repeats)
}

// long reports whether the tests take their time, as in "make test-long".
func long() bool { return os.Getenv("CLAWHOST_LONG") != "" }

// crashSeed returns what decides on the kills.
func crashSeed(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CLAWHOST_CRASH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// crashHost is what a crash test chooses of its host.
type crashHost struct {
	plugin string   // the channel's binary
	points []string // where the host kills itself
	config string   // besides what every such host has
	claude string   // the same, of the block claude
}

// crashWorld is a host that is killed and started again.
type crashWorld struct {
	crashHost
	bin, dir    string
	random      *rand.Rand
	host        *exec.Cmd
	gone        chan struct{} // closed when the host has ended
	log         *os.File
	begun       int64 // where this process of the host begins in the log
	killed      map[string]int
	starts      int
	pluginKills int // in this process of the host
}

func newCrashWorld(t *testing.T, random *rand.Rand, of crashHost) *crashWorld {
	t.Helper()
	// The control socket's path must be short, which the test's own folder is not.
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		t.Fatal(err)
	}
	w := &crashWorld{crashHost: of, bin: crashBinaries(t), dir: dir, random: random, killed: map[string]int{}}
	config := fmt.Sprintf(`
state_dir  = %q
plugin_dir = %q
log { level = "debug" }
agent { workspace = %q }
claude {
  command       = %q
  max_processes = 4
  env           = { CLAUDE_STUB_DELAY_MS = "30" }
  %s
}
`, filepath.Join(dir, "state"), w.bin, filepath.Join(dir, "work"), filepath.Join(w.bin, "claude-stub"), of.claude)
	if err := os.WriteFile(filepath.Join(dir, "config.hcl"), []byte(config+of.config), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	return w
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// crashRoot is the folder of the binaries.
var crashRoot string

func TestMain(m *testing.M) { os.Exit(inCrashRoot(m)) }

func inCrashRoot(m *testing.M) int {
	var err error
	if crashRoot, err = os.MkdirTemp("", "crash"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(crashRoot)
	return m.Run()
}

// crashBinaries returns the folder of the real binaries, the host's with its named points.
func crashBinaries(t *testing.T) string {
	t.Helper()
	if err := buildForCrash(); err != nil {
		t.Fatal(err)
	}
	return crashRoot
}

// buildForCrash builds the binaries, once for all tests, and plain, as the shipped ones are.
var buildForCrash = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-tags=crashpoints,grpcnotrace", "-ldflags=-s -w", "-o", crashRoot+string(filepath.Separator),
		"./cmd/clawhost", "./cmd/claude-stub", "../examples/echo", "../plugins/telegram", "../plugins/webhook", "./testdata/board", "./testdata/exchange", "./testdata/ticker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	for _, name := range []string{"echo", "telegram", "webhook", "board", "exchange", "ticker"} {
		if err := os.Rename(filepath.Join(crashRoot, name), filepath.Join(crashRoot, "clawhost-"+name)); err != nil {
			return err
		}
	}
	return nil
})

// start starts the host; point, which may be empty, is where it kills itself.
func (w *crashWorld) start(t *testing.T, point string) {
	t.Helper()
	w.starts++
	w.pluginKills = 0
	info, err := w.log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	w.begun = info.Size()
	w.host = exec.Command(filepath.Join(w.bin, "clawhost"), "-config", filepath.Join(w.dir, "config.hcl"))
	w.host.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "CLAWHOST_CRASH_POINT=" + point}
	w.host.Stdout, w.host.Stderr = w.log, w.log
	if err := w.host.Start(); err != nil {
		t.Fatal(err)
	}
	gone, host := make(chan struct{}), w.host
	w.gone = gone
	go func() { // ends with the host, whose end kill and close wait for
		_ = host.Wait()
		close(gone)
	}()
}

func (w *crashWorld) running() bool {
	select {
	case <-w.gone:
		return false
	default:
		return w.host != nil
	}
}

// kill lets the world go on for a moment and then kills something of it.
func (w *crashWorld) kill(t *testing.T) {
	t.Helper()
	if w.host == nil || !w.running() {
		w.start(t, "")
	}
	switch choice := w.random.IntN(10); {
	case choice < 4, choice < 6 && w.pluginKills == 3: // five quick deaths would park the plugin
		w.pause(time.Duration(w.random.IntN(700)) * time.Millisecond)
		w.killHost(t, "host")
	case choice < 6:
		w.pause(time.Duration(w.random.IntN(700)) * time.Millisecond)
		w.pluginKills++
		w.killChild(w.plugin)
	case choice < 8:
		w.pause(time.Duration(w.random.IntN(700)) * time.Millisecond)
		w.killChild("claude-stub")
	default:
		w.killHost(t, "host before a point")
		point, passes := w.points[w.random.IntN(len(w.points))], 6
		if slices.Contains(seldomPoints, point) {
			passes = 1
		}
		w.start(t, fmt.Sprintf("%d:%s", 1+w.random.IntN(passes), point))
		select {
		case <-w.gone:
			w.killed["host at "+point]++
		case <-time.After(20 * time.Second):
			t.Errorf("the point %s was not passed", point)
			w.killHost(t, "host")
		}
	}
}

// pause returns after d, or when the host has ended by itself.
func (w *crashWorld) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.gone:
	}
}

func (w *crashWorld) killHost(t *testing.T, as string) {
	t.Helper()
	if err := w.host.Process.Kill(); err == nil {
		w.killed[as]++
	}
	<-w.gone
}

// killChild kills the host's children of this name, if there are any at the moment.
func (w *crashWorld) killChild(name string) {
	for _, pid := range childrenOf(w.host.Process.Pid, name) {
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			w.killed[name]++
		}
	}
}

// childrenOf are the children of a process whose command has a name in it.
func childrenOf(parent int, name string) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(children)) {
			command, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && strings.Contains(string(bytes.SplitN(command, []byte{0}, 2)[0]), name) {
				list = append(list, pid)
			}
		}
	}
	return list
}

// ready reports whether this process of the host has logged that it works.
func (w *crashWorld) ready(t *testing.T) bool {
	t.Helper()
	log, err := os.ReadFile(w.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(log[w.begun:], []byte(" clawhost: ready: "))
}

// keepUp keeps a host running until wait returns.
func (w *crashWorld) keepUp(t *testing.T, wait func()) {
	t.Helper()
	if !w.running() {
		w.start(t, "")
	}
	wait()
	if !w.running() {
		t.Errorf("the host ended by itself: %s", w.host.ProcessState)
		w.showLog(t)
	}
}

// end has the host go down in order, once it has begun to work: a signal ends a program that has just started.
func (w *crashWorld) end(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(drainTime); w.running() && !w.ready(t); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the host is not ready")
		}
	}
	if !w.running() {
		return
	}
	if err := w.host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	<-w.gone
	if code := w.host.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the host ended with code %d", code)
	}
}

func (w *crashWorld) close(t *testing.T) {
	t.Helper()
	w.end(t)
	w.log.Close()
	if t.Failed() {
		w.showLog(t)
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Error(err)
	}
}

// showLog prints the end of the host's log.
func (w *crashWorld) showLog(t *testing.T) {
	t.Helper()
	log, err := os.ReadFile(w.log.Name())
	if err != nil {
		t.Error(err)
	}
	t.Logf("the end of the host's log:\n%s", log[max(0, len(log)-20000):])
}

// report prints what was killed, and the results of the messages.
func (w *crashWorld) report(t *testing.T, outcome string, repeats int) {
	t.Helper()
	kinds := slices.Sorted(maps.Keys(w.killed))
	total := 0
	for i, kind := range kinds {
		total += w.killed[kind]
		kinds[i] = fmt.Sprintf("%d %s", w.killed[kind], kind)
	}
	if t.Failed() {
		outcome = "some went wrong, of " + outcome
	}
	t.Logf("%d kills (%s), %d starts; %s; %d sends whose outcome was unknown were repeated",
		total, strings.Join(kinds, ", "), w.starts, outcome, repeats)
}
