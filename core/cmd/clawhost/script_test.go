package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/core/internal/claude/stub"
	"github.com/clawhost/clawhost/core/internal/store/postgres/postgrestest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// TestMain is clawhost, the stand-in for claude or a plugin when a script runs one of these, so that the race detector
// looks at the host too.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"secret-reader":     readSecrets,
		"http":              httpRequest,
		"location":          location,
		"clawhost":          main,
		"claude-stub":       func() { os.Exit(stub.Run(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)) },
		"clawhost-unheard":  func() { sdk.Serve("unheard", "1.0.0", sdk.NewChannel(chat.Limits{}, openUnheard)) },
		"clawhost-locked":   func() { sdk.Serve("locked", "1.0.0", sdk.NewChannel(chat.Limits{}, openLocked)) },
		"clawhost-unstable": func() { fmt.Fprintln(os.Stderr, "panic: I never start"); os.Exit(3) },
	})
}

// httpRequest is a program: "http URL TOKEN [KEY BODY]" makes a request, with a body a POST, and prints the status of the
// response and what comes of its body.
func httpRequest() {
	method, body, key := http.MethodGet, "", ""
	if len(os.Args) == 5 {
		method, key, body = http.MethodPost, os.Args[3], os.Args[4]
	}
	r, err := http.NewRequestWithContext(context.Background(), method, os.Args[1], strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+os.Args[2])
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	_, _ = io.Copy(os.Stdout, response.Body)
}

// location is a program: "location URL" prints the status of the response and where it leads.
func location() {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, os.Args[1], http.NoBody)
	if err != nil {
		panic(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	fmt.Println("Location:", response.Header.Get("Location"))
}

// unheard is a channel whose network takes no message. It has one message to submit.
type unheard struct{}

func openUnheard(context.Context, sdk.Env, struct{}) (unheard, error) { return unheard{}, nil }

// Run submits the message.
func (unheard) Run(ctx context.Context, in sdk.Inbox) error {
	in.Report(chat.Connected, "nobody hears")
	_, err := in.Submit(ctx, chat.Event{
		ID: "1", Chat: chat.Chat{ID: "void", Kind: chat.Direct}, Sender: chat.Sender{ID: "owner"}, Body: chat.Message{Text: "hello"},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// Send fails in a way that may pass.
func (unheard) Send(context.Context, chat.Outgoing) (chat.Receipt, error) {
	return chat.Receipt{}, &chat.Failure{Reason: chat.Temporary, Err: fmt.Errorf("the line is dead")}
}

// The echo plugins that a script may run, by their labels. Each has a free port of its own.
var labels = []string{"echo", "left", "right"}

func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", nil)
}

// Scripts with databases on a server run where PostgreSQL is installed.
func TestScriptsWithPostgreSQL(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	runScripts(t, "testdata/postgres", server)
}

// runScripts runs the scripts in a folder, each with a new database of a server in DATABASE_URL, if there is one.
func runScripts(t *testing.T, dir string, server *postgrestest.Server) {
	t.Helper()
	if _, err := plugins(); err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	caches, err := goCaches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		WorkdirRoot:         t.TempDir(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "until": until, "capture": capture, "mode": mode, "terminate": terminate, "signal": signalProcess,
			"join": join, "say": say, "await": await, "request": request,
			"manage": manage, "told": told, "serve": serve, "newer": newer,
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return os.Geteuid() == 0, nil
		},
		Setup: func(env *testscript.Env) error {
			p := &people{addresses: map[string]string{}, clients: map[string]*client{}}
			env.Values[p.key()] = p
			env.Values[managed{}] = make(chan *net.UnixConn, 1)
			env.Defer(p.leave)
			env.Setenv("REPOSITORY", repository)
			// Under the race detector a process waits a second before it ends, and a script has many.
			env.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=10"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Vars = append(env.Vars, caches...)
			if server != nil {
				env.Setenv("DATABASE_URL", server.TCP(server.Database(t)))
			}
			for _, label := range labels {
				free, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					return err
				}
				p.addresses[label] = free.Addr().String()
				env.Setenv(strings.ToUpper(label), p.addresses[label])
				if err := free.Close(); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// goCaches returns the variables by which the go command finds its caches whatever HOME is.
func goCaches(ctx context.Context) ([]string, error) {
	names := []string{"GOCACHE", "GOMODCACHE"}
	out, err := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("ask for the caches of go: %w", err)
	}
	folders := strings.Split(string(out), "\n")
	for i := range names {
		names[i] += "=" + folders[i]
	}
	return names, nil
}

// packages are those whose binaries the tests run.
var packages = []string{
	"plugins/discord", "plugins/telegram", "plugins/webchat", "plugins/memory", "plugins/webhook", "plugins/schedule", "examples/echo", "examples/dice", "examples/clock", "examples/todo",
}

// plugins puts the plugins' binaries next to clawhost's, where a config without plugin_dir looks for them, once for all tests. It returns
// their folder.
var plugins = sync.OnceValues(func() (string, error) {
	clawhost, err := exec.LookPath("clawhost")
	if err != nil {
		return "", err
	}
	bin := filepath.Dir(clawhost)
	return bin, buildInto(bin, packages)
})

// buildInto builds binaries, small and plain as the shipped ones are. Those of plugins and examples get their prefix.
func buildInto(dir string, packages []string) error {
	args := []string{"build", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	for _, of := range packages {
		args = append(args, "github.com/clawhost/clawhost/"+of)
	}
	command := exec.Command("go", args...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	for _, of := range packages {
		if strings.HasPrefix(of, "core/cmd/") {
			continue
		}
		if err := os.Rename(filepath.Join(dir, path.Base(of)), filepath.Join(dir, "clawhost-"+path.Base(of))); err != nil {
			return err
		}
	}
	return nil
}
