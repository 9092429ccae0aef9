package supervisor_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// behaviour is the variable that makes the test binary a plugin, and says of what sort.
const behaviour = "SUPERVISOR_TEST_PLUGIN"

// TestMain is the plugin when the supervisor starts it.
func TestMain(m *testing.M) {
	switch kind := os.Getenv(behaviour); kind {
	case "":
		os.Exit(m.Run())
	case "exit":
		fmt.Fprintln(os.Stderr, "panic: no more")
		os.Exit(3)
	case "mute":
		fmt.Fprintln(os.Stderr, "I say nothing")
		<-time.After(time.Hour)
	case "chatter":
		fmt.Println("hello, I am no plugin")
		select {}
	case "quitter":
		fmt.Print("half a line")
		os.Exit(4)
	case "future":
		fmt.Println("1|2|unix|/nowhere|grpc|")
		select {}
	case "foreign":
		serveForeign()
	case "flood":
		serveFlood()
	case "ticker":
		sdk.Serve("ticker", "1.2.3", sdk.Service(openTicker, sdk.CommandSpec{Name: "pid", Usage: "/pid", Summary: "Answers the process's id."}))
	case "host":
		os.Exit(hostThatStarts())
	default:
		sdk.Serve("test", "1.2.3", component(kind))
	}
}

type settings struct {
	Word string `json:"word" default:"hello"`
}

// talker is a channel that does as its kind says.
type talker struct {
	kind string
	env  sdk.Env
	word string
}

// Check refuses a word.
func (s settings) Check() error {
	if s.Word == "worse" {
		return sdk.ConfigError("word", errors.New("is worse"))
	}
	return nil
}

func component(kind string) sdk.Component {
	return sdk.NewChannel(chat.Limits{Text: chat.TextLimit{Max: 7, Unit: chat.Runes}}, func(_ context.Context, env sdk.Env, s settings) (*talker, error) {
		if s.Word == "bad" {
			return nil, sdk.ConfigError("word", errors.New("is bad"))
		}
		return &talker{kind: kind, env: env, word: s.Word}, nil
	})
}

func (c *talker) Run(ctx context.Context, in sdk.Inbox) error {
	if c.kind != "listen" {
		in.ReportURL(chat.Connected, "here", "http://127.0.0.1/#token=secret")
	}
	switch c.kind {
	case "listen":
		listener, err := c.env.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		_, taken := c.env.Listen(ctx, "tcp", listener.Addr().String())
		in.ReportURL(chat.Connected, fmt.Sprint("taken: ", errors.Is(taken, syscall.EADDRINUSE)), "http://"+listener.Addr().String()+"/")
		context.AfterFunc(ctx, func() { listener.Close() })
		for {
			conn, err := listener.Accept()
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(conn, os.Getpid())
			conn.Close()
		}
	case "stumble":
		_, err := in.Submit(ctx, chat.Event{
			ID: "1", Chat: chat.Chat{ID: "c", Kind: chat.Direct}, Sender: chat.Sender{ID: "u"}, At: time.Unix(1, 0), Body: chat.Message{Text: "hi"},
		})
		_, upload := c.env.Media.Upload(ctx, chat.Media{Kind: chat.File}, strings.NewReader("bytes"))
		in.Report(chat.Connected, fmt.Sprintf("%v; %v", err, upload))
	case "die":
		go panic("I die young") // beyond what the sdk recovers
		select {}
	case "credentials":
		in.Report(chat.Connecting, "")
		in.Report(chat.Disconnected, "no route")
		return fmt.Errorf("the network says no: %w", sdk.ErrBadCredentials)
	case "endless":
		line := strings.Repeat("x", 100) + "\n"
		for range 20 {
			fmt.Fprint(os.Stderr, strings.Repeat(line, 5000), strings.Repeat(`{"@message":"structured","@level":"info"}`+"\n", 5000))
		}
		in.Report(chat.Connected, "said all")
	case "noise":
		in.ReportURL(chat.Connected, "\x1b[2J\u009b2J", "http://127.0.0.1/\x1b]0;title\a\n\u009b2J\u202e")
		for _, line := range []string{
			`{"@message":1}`, `{"@message":"structured","@level":"warn","n":{"deep":[1,2]},"wait":1500000000,"stack":"one\n\ttwo\u009b\n2026-01-01T00:00:00Z"}`, `{"@level":{}}`, `{`, `[]`, `null`,
			strings.Repeat("x", 1<<20), "\x00\x1b[31mred\u2028line", "\u009b31mred again \u202eenil", "forged\r2026-01-01T00:00:00Z [ERROR] other: line",
		} {
			fmt.Fprintln(os.Stderr, line)
		}
	}
	<-ctx.Done()
	return nil
}

func (c *talker) Send(_ context.Context, out chat.Outgoing) (chat.Receipt, error) {
	switch out.Text {
	case "exit":
		os.Exit(5)
	case "demo":
		return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(strconv.FormatBool(c.env.Demo))}}, nil
	case "env":
		var names []string
		for _, v := range os.Environ() {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, name)
		}
		return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(strings.Join(names, " "))}}, nil
	}
	return chat.Receipt{IDs: []chat.MessageID{chat.MessageID(c.word)}}, nil
}

// records notes what processes are recorded.
type records struct {
	mu    sync.Mutex
	full  int // number of further records that fail because the disk is full
	live  []int
	early []int // forgotten while they lived
}

func (r *records) RecordProcess(_ context.Context, p domain.Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full > 0 {
		r.full--
		return fmt.Errorf("keep it: %w", syscall.ENOSPC)
	}
	r.live = append(r.live, p.PID)
	return nil
}

func (r *records) DeleteProcess(_ context.Context, pid int, started uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if process.Alive(pid, started) {
		r.early = append(r.early, pid)
	}
	r.live = slices.DeleteFunc(r.live, func(p int) bool { return p == pid })
	return nil
}

func (r *records) pids() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.live)
}

// fixture is a running supervisor.
type fixture struct {
	*supervisor.Supervisor
	*plugins.Registry
	records records
	failed  chan string
	runs    chan string // of those that were failed
	opened  chan string
	stop    func()
	log     *journal.Journal

	register func(instance string, server *grpc.Server)
}

// Register offers the services that the test chose, Accept accepts all, and the others keep what the operator hears.
func (r *fixture) Register(instance string, server *grpc.Server) { r.register(instance, server) }

func (r *fixture) Accept(string, remote.Description) error { return nil }

func (r *fixture) Opened(name, url string) { r.opened <- name + " " + url }

// follow keeps which plugins have failed, and which run again, until ctx ends.
func (r *fixture) follow(ctx context.Context) {
	known := map[string]bool{}
	for {
		changed := r.Changed()
		for _, s := range r.List() {
			switch failed := s.Failure != nil; {
			case failed && !known[s.Name]:
				r.failed <- s.Name + ": " + s.Failure.Why + ": " + s.Failure.Advice
			case !failed && known[s.Name] && s.State == plugins.Running:
				r.runs <- s.Name
			}
			known[s.Name] = s.Failure != nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// panickingInbox and panickingMedia are services of the host that fail unexpectedly.
type (
	panickingInbox struct {
		pluginv1.UnimplementedInboxServer
	}
	panickingMedia struct {
		pluginv1.UnimplementedMediaStoreServer
	}
)

func (panickingInbox) Submit(context.Context, *pluginv1.SubmitRequest) (*pluginv1.SubmitResponse, error) {
	panic("an event that was not expected")
}

func (panickingMedia) Upload(grpc.ClientStreamingServer[pluginv1.UploadRequest, pluginv1.UploadResponse]) error {
	panic("a file that was not expected")
}

// spec is the test binary as a plugin of a kind.
func spec(t *testing.T, kind string) *config.Plugin {
	t.Helper()
	return configured(t, kind, `word = "hi"`)
}

// configured is the test binary as a plugin of a kind, with its own config and more attributes of the block.
func configured(t *testing.T, kind, own string, attributes ...string) *config.Plugin {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.hcl")
	text := fmt.Sprintf("plugin %q {\n  source = %q\n  env = { %s = %q }\n  config {\n%s\n  }\n%s\n}\n",
		kind, self, behaviour, kind, own, strings.Join(attributes, "\n"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, func(name string) (string, bool) { return "/home/test", name == "HOME" })
	if err != nil {
		t.Fatal(err)
	}
	return c.Plugins[0]
}

func begin(t *testing.T, specs ...*config.Plugin) *fixture {
	t.Helper()
	return beginWith(t, panicking, specs...)
}

// panicking are the services that panic.
func panicking(_ string, s *grpc.Server) {
	pluginv1.RegisterInboxServer(s, panickingInbox{})
	pluginv1.RegisterMediaStoreServer(s, panickingMedia{})
}

// beginWith begins with services of the host.
func beginWith(t *testing.T, register func(string, *grpc.Server), specs ...*config.Plugin) *fixture {
	t.Helper()
	r := &fixture{register: register}
	r.begin(t, supervisor.Options{Plugins: plugins.New(specs)})
	return r
}

// begin fills in the options and has the supervisor work until the test ends.
func (r *fixture) begin(t *testing.T, options supervisor.Options) {
	t.Helper()
	// The sockets' paths must be short, which the test's own folder is not.
	sockets, err := os.MkdirTemp("", "claw")
	if err != nil {
		t.Fatal(err)
	}
	r.failed, r.runs, r.opened, r.log = make(chan string, 10), make(chan string, 10), make(chan string, 100), &journal.Journal{}
	options.HostVersion, options.StateDir, options.SocketDir = "test", t.TempDir(), sockets
	options.Processes = &r.records
	options.Grace, options.Backoff = 5*time.Second, 10*time.Millisecond
	r.Registry = options.Plugins
	r.Supervisor = supervisor.New(options, hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Debug}))
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { r.Run(ctx, r) })
	done.Go(func() { r.follow(ctx) })
	r.stop = func() { cancel(); done.Wait() }
	t.Cleanup(func() {
		r.stop()
		if left := r.records.pids(); len(left) != 0 {
			t.Errorf("processes %v are still recorded", left)
		}
		if len(r.records.early) != 0 {
			t.Errorf("processes %v were forgotten before they ended", r.records.early)
		}
		if err := os.RemoveAll(sockets); err != nil {
			t.Error(err)
		}
	})
	if err := r.Settled(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// await returns the plugin once it runs with another pid than before.
func (r *fixture) await(t *testing.T, name string, before int) *plugins.Plugin {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var live *plugins.Plugin
	r.poll(t, name+" runs with another pid", func() bool {
		var err error
		if live, err = r.Await(ctx, name); err != nil {
			t.Fatalf("%v; %+v\n%s", err, r.List(), r.log)
		}
		return r.status(name).PID != before
	})
	return live
}

// patience bounds each wait of a test. It is long, because processes start slowly on a machine that is busy.
const patience = 30 * time.Second

// poll waits for what gives no event.
func (r *fixture) poll(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !happened() {
		select {
		case <-ticker.C:
		case <-late.C:
			t.Fatalf("did not happen: %s; %+v\n%s", what, r.List(), r.log)
		}
	}
}

// next is what the supervisor tells next.
func (r *fixture) next(t *testing.T, changes <-chan string) string {
	t.Helper()
	select {
	case text := <-changes:
		return text
	case <-time.After(patience):
		t.Fatalf("nothing is told; %+v\n%s", r.List(), r.log)
		return ""
	}
}

func (r *fixture) status(name string) plugins.Status {
	list := r.List()
	return list[slices.IndexFunc(list, func(s plugins.Status) bool { return s.Name == name })]
}

func send(t *testing.T, live *plugins.Plugin, text string) (string, error) {
	t.Helper()
	receipt, err := live.Send(t.Context(), chat.Outgoing{Key: "k", To: chat.Address{Channel: live.Name, Chat: "c"}, Text: text})
	if err != nil {
		return "", err
	}
	return string(receipt.IDs[0]), nil
}

// Behaviour: demo-shown.
func TestAPluginIsToldWhetherAStandInAnswers(t *testing.T) {
	t.Parallel()
	for _, demo := range []bool{true, false} {
		r := &fixture{register: panicking}
		r.begin(t, supervisor.Options{Plugins: plugins.New([]*config.Plugin{spec(t, "well")}), Demo: demo})
		live, ok := r.Get("well")
		if !ok {
			t.Fatalf("not running: %+v", r.List())
		}
		if told, err := send(t, live, "demo"); err != nil || told != strconv.FormatBool(demo) {
			t.Errorf("it is told %q, %v; want %v", told, err, demo)
		}
	}
}

func TestAPluginRunsAndEndsInOrder(t *testing.T) {
	t.Setenv("CANARY", "not for plugins")
	r := begin(t, spec(t, "well"))
	live, ok := r.Get("well")
	if !ok {
		t.Fatalf("not running: %+v", r.List())
	}
	if word, err := send(t, live, "hello"); err != nil || word != "hi" {
		t.Errorf("sent %q, %v", word, err)
	}
	if limits, ok := r.Limits("well", chat.Group); !ok || limits.Text.Max != 7 {
		t.Errorf("limits %+v, %v", limits, ok)
	}
	if env, err := send(t, live, "env"); err != nil || strings.Contains(env, "CANARY") || strings.Contains(env, "HOME") {
		t.Errorf("the plugin's environment is %q, %v", env, err)
	}
	if s := r.status("well"); s.State != plugins.Running || s.Version != "1.2.3" || !slices.Equal(s.Kinds, []string{"channel"}) {
		t.Errorf("status %+v", s)
	}
	if url := r.next(t, r.opened); url != "well http://127.0.0.1/#token=secret" {
		t.Errorf("opened %q", url)
	}
	if strings.Contains(r.log.String(), "token=secret") {
		t.Error("the url is in the log")
	}
	pid := r.status("well").PID
	if pid == 0 {
		t.Error("the status has no pid")
	}
	r.stop()
	if _, err := process.StartTime(pid); err == nil {
		t.Error("the process lives on")
	}
	if s := r.status("well"); s.State != plugins.Stopped {
		t.Errorf("status %+v", s)
	}
}

func TestADeathDisturbsNoOther(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "well"), func() *config.Plugin { p := spec(t, "well"); p.Label = "other"; return p }())
	live, _ := r.Get("well")
	other, _ := r.Get("other")
	before := r.status("well").PID
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, other, "hello"); err != nil {
		t.Errorf("the other plugin: %v", err)
	}
	again := r.await(t, "well", before)
	if _, err := send(t, again, "hello"); err != nil {
		t.Error(err)
	}
	if _, err := send(t, live, "hello"); err == nil {
		t.Error("the dead process answers")
	}
	if s := r.status("well"); s.Restarts != 1 {
		t.Errorf("status %+v", s)
	}
}

func TestAPanicInAServiceOfTheHostIsTheCallsError(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "stumble"))
	detail := ""
	r.poll(t, "the channel tells of both calls", func() bool {
		detail = r.status("stumble").Detail
		return strings.Contains(detail, "; ")
	})
	if strings.Count(detail, "code = Internal desc = the host failed") != 2 || strings.Contains(detail, "foresaw") {
		t.Errorf("the plugin got %q", detail)
	}
	for _, want := range []string{"an event that was not expected", "a file that was not expected", "panickingInbox.Submit", "panickingMedia.Upload"} {
		if log := r.log.String(); !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

func TestPluginExitFailsTheCall(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "well"))
	live, _ := r.Get("well")
	before := r.status("well").PID
	_, err := send(t, live, "exit")
	if failure := (*chat.Failure)(nil); err == nil || errors.As(err, &failure) {
		t.Errorf("%v, want an error that leaves the outcome open", err)
	}
	r.await(t, "well", before)
}

func TestOperatorRestart(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "well"))
	before := r.status("well").PID
	if err := r.Restart("well"); err != nil {
		t.Fatal(err)
	}
	r.await(t, "well", before)
	if err := r.Restart("nobody"); err == nil {
		t.Error("a plugin that is not there was restarted")
	}
}

func TestParking(t *testing.T) {
	t.Parallel()
	bad, worse := configured(t, "badconfig", `word = "bad"`), configured(t, "worse", `word = "worse"`)
	unfit := configured(t, "unfit", "word = []")
	pinned := configured(t, "pinned", `word = "hi"`, fmt.Sprintf("sha256 = \"%x\"", make([]byte, sha256.Size)))
	plain, garbage := spec(t, "plain"), spec(t, "garbage")
	plain.Source, garbage.Source = filepath.Join(t.TempDir(), "plugin"), filepath.Join(t.TempDir(), "plugin")
	for path, mode := range map[string]os.FileMode{plain.Source: 0o600, garbage.Source: 0o700} {
		if err := os.WriteFile(path, []byte("no program\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		spec   *config.Plugin
		want   string
		advice string
	}{
		"a config that the plugin refuses": {bad, "config.hcl:5:8: is bad", "clawhost plugin restart"},
		"a config that the check refuses":  {worse, "config.hcl:5:8: is worse", "clawhost plugin restart"},
		"a config that does not fit":       {unfit, "config.hcl:5:8: Unsuitable value; word must be text in quotes.", ": Correct its config, then write /reload."},
		"another binary than pinned":       {pinned, "config.hcl:7:10: Plugin does not start; ", "Replace its binary"},
		"no program":                       {plain, "this user may not execute it", "Replace its binary"},
		"garbage":                          {garbage, "exec format error", "Replace its binary"},
		"another protocol":                 {spec(t, "future"), "config.hcl:2:12: Plugin does not start; the plugin speaks version 2 of the protocol, this host version 1", "Replace its binary"},
		"refused credentials":              {spec(t, "credentials"), "the network says no", "Correct its credentials, then write /reload."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, test.spec)
			if why := r.next(t, r.failed); !strings.Contains(why, test.want) || !strings.Contains(why, test.advice) {
				t.Errorf("failed by %q, want %q and %q", why, test.want, test.advice)
			}
			if s := r.status(test.spec.Label); s.State != plugins.Failed || !strings.Contains(s.Detail, test.want) {
				t.Errorf("status %+v", s)
			}
			if _, ok := r.Get(test.spec.Label); ok {
				t.Error("a failed plugin is reachable")
			}
			if _, err := r.FetchFile(t.Context(), test.spec.Label, "token", 1); errors.Is(err, plugins.ErrAway) {
				t.Error("a failed plugin is said to be started soon")
			}
		})
	}
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	missing := spec(t, "missing")
	missing.Source = filepath.Join(t.TempDir(), "nothing")
	for name, test := range map[string]struct {
		spec *config.Plugin
		want string
	}{
		"it exits":           {spec(t, "exit"), "it ended before it served, with exit status 3: panic: no more"},
		"it says and exits":  {spec(t, "quitter"), `it ended before it served, with exit status 4; it wrote "half a line" to its standard output`},
		"it is no plugin":    {spec(t, "chatter"), "hello, I am no plugin"},
		"there is no file":   {missing, "There is no program"},
		"it dies in its run": {spec(t, "die"), "panic: I die young"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, test.spec)
			var s plugins.Status
			r.poll(t, "it waits to be started again", func() bool {
				s = r.status(test.spec.Label)
				return s.State == plugins.Waiting
			})
			if !strings.Contains(s.Detail, test.want) {
				t.Errorf("waiting because of %q, want %q", s.Detail, test.want)
			}
			if s.PID != 0 || s.Connection != 0 || s.URL != "" {
				t.Errorf("what has ended is still shown: %+v", s)
			}
		})
	}
}

func TestFiveQuickDeathsPark(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "die"))
	if why := r.next(t, r.failed); !strings.Contains(why, "panic: I die young") || r.status("die").Restarts != 4 {
		t.Errorf("failed by %q after %d restarts", why, r.status("die").Restarts)
	}
	if err := r.Restart("die"); err != nil {
		t.Fatal(err)
	}
	r.next(t, r.failed) // and restarted on request
}

func TestNoLineOfAPluginHarmsTheHost(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "noise"))
	live, ok := r.Get("noise")
	if !ok {
		t.Fatal("not running")
	}
	if _, err := send(t, live, "hello"); err != nil {
		t.Error(err)
	}
	log := r.log.String()
	r.poll(t, "the last line is logged", func() bool {
		log = r.log.String()
		return strings.Contains(log, "forged")
	})
	const want = "structured: n=\"{\\\"deep\\\":[1,2]}\"\n  stack=\n  | one\n  |     two \n  | 2026-01-01T00:00:00Z\n   wait=1500000000\n"
	if !strings.Contains(log, want) {
		t.Errorf("the structured line is missing:\n%.2000s\nwant:\n%s", log, want)
	}
	for _, line := range strings.Split(log, "\n") {
		if strings.ContainsAny(line, "\x00\x1b\r\u0085\u009b\u2028\u202e") || strings.HasPrefix(line, "2026-01-01") || len(line) > 20<<10 {
			t.Errorf("an unguarded line of %d bytes: %.200q", len(line), line)
		}
	}
	// The reports came before the lines. An address that a terminal does not show as it is, does not count.
	if opened := r.next(t, r.opened); opened != "noise http://127.0.0.1/#token=secret" || len(r.opened) != 0 {
		t.Errorf("the operator is shown %q and %d more", opened, len(r.opened))
	}
	if s := r.status("noise"); s.URL != "" || strings.ContainsAny(s.Detail, "\x1b\u009b") {
		t.Errorf("status %+v", s)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	worse, misfit := configured(t, "well", `word = "worse"`), configured(t, "well", "word = []")
	c, err := supervisor.Check(t.Context(), worse, supervisor.Checking{HostVersion: "test", SocketDir: os.TempDir()}, hclog.NewNullLogger())
	if err != nil || len(c.Found) != 1 || c.Found[0].Summary != "is worse" || !slices.Equal(c.Found[0].Path, []string{"word"}) {
		t.Errorf("of a config that the plugin refuses: %+v, %v", c, err)
	}
	c, err = supervisor.Check(t.Context(), misfit, supervisor.Checking{HostVersion: "test", SocketDir: os.TempDir()}, hclog.NewNullLogger())
	if err != nil || c.Misfit == nil || c.Found != nil {
		t.Errorf("of a config that does not fit: %+v, %v", c, err)
	}
	d, err := supervisor.Check(t.Context(), spec(t, "well"), supervisor.Checking{HostVersion: "test", SocketDir: os.TempDir()}, hclog.NewNullLogger())
	if err != nil || d.Misfit != nil || d.Found != nil || d.Name != "test" || !strings.Contains(string(d.Schema), `"word"`) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := supervisor.Check(t.Context(), spec(t, "exit"), supervisor.Checking{HostVersion: "test", SocketDir: os.TempDir()}, hclog.NewNullLogger()); err == nil {
		t.Error("a binary that exits was described")
	}
}

// TestEachChangeIsReported looks only when it is notified, and still sees the plugin go and come back.
func TestEachChangeIsReported(t *testing.T) {
	t.Parallel()
	r := begin(t, spec(t, "plain"))
	first := r.await(t, "plain", 0)
	if kinds := plugins.Kinds(first.Description); !slices.Equal(kinds, []string{"channel"}) {
		t.Errorf("kinds are %v", kinds)
	}
	changed := r.Changed()
	if err := r.Restart("plain"); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("no change is told; %+v", r.List())
		}
		changed = r.Changed()
		if now, running := r.Get("plain"); running && now != first {
			return
		}
	}
}
