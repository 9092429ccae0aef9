package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/whatsapp/whatsapptest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// mortal is a channel in a process of its own: this test's binary, which TestMain makes one.
//
// The process is why the library's own data races do not fail the test; all others that the process reports do.
type mortal struct {
	t      *testing.T
	job    job
	races  string // where the race detector writes
	client *http.Client
	end    func(how ending)
}

// ending is how a life ends.
type ending int

const (
	inOrder ending = iota
	killed
)

// job is the task of a mortal process.
type job struct {
	Dir, State     string // of its sockets; of its device
	Endpoint, Root string
}

// mortalJob is the environment variable that has a job, in JSON.
const mortalJob = "WHATSAPP_TEST_JOB"

// submission is an event as a mortal tells it.
type submission struct {
	ID      chat.EventID
	Chat    chat.ID
	Message bool
	Text    string
}

func (j job) host() string    { return filepath.Join(j.Dir, "host") }
func (j job) channel() string { return filepath.Join(j.Dir, "channel") }

// over makes a client of the server behind a socket.
func over(socket string) *http.Client {
	var dialer net.Dialer
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", socket)
	}}}
}

// post asks a server and returns its status; zero: it gave none.
func post(ctx context.Context, client *http.Client, path string, body any) (status int, answer string) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, err.Error()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://test"+path, bytes.NewReader(raw))
	if err != nil {
		return 0, err.Error()
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// taker is a host that events are submitted to.
type taker interface {
	Submit(context.Context, chat.Event) (chat.Verdict, error)
}

// newMortal serves the host that the processes submit to.
func newMortal(t *testing.T, in taker, s *whatsapptest.Server, state string) *mortal {
	t.Helper()
	// Sockets want a short path.
	dir, err := os.MkdirTemp("", "claw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &mortal{t: t, job: job{Dir: dir, State: state, Endpoint: s.URL(), Root: s.Root()}, races: t.TempDir(), end: func(ending) {}}
	m.client = over(m.job.channel())
	listener, err := net.Listen("unix", m.job.host())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/state", &cupboard{values: map[string][]byte{}})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var task submission
		if json.NewDecoder(r.Body).Decode(&task) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		event := chat.Event{ID: task.ID, Chat: chat.Chat{ID: task.Chat}, Body: chat.Deleted{}}
		if task.Message {
			event.Body = chat.Message{Text: task.Text}
		}
		if _, err := in.Submit(r.Context(), event); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		m.end(inOrder)
		_ = server.Close()
		<-served
	})
	return m
}

// start begins a life.
func (m *mortal) start() {
	m.t.Helper()
	task, err := json.Marshal(m.job)
	if err != nil {
		m.t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), mortalJob+"="+string(task), "GORACE=exitcode=0 atexit_sleep_ms=100 log_path="+filepath.Join(m.races, "race"))
	said := &bytes.Buffer{}
	command.Stdout, command.Stderr = said, said
	stdin, err := command.StdinPipe()
	if err := errors.Join(err, os.RemoveAll(m.job.channel()), command.Start()); err != nil {
		m.t.Fatal(err)
	}
	ended := false
	m.end = func(how ending) {
		if ended {
			return
		}
		ended = true
		if how == killed {
			_ = command.Process.Kill()
		}
		_ = stdin.Close()
		_ = command.Wait()
		m.client.CloseIdleConnections()
		if said.Len() > 0 {
			m.t.Errorf("the plugin said: %s", said)
		}
	}
}

// sendUntilDone sends as the host does: with the same key after a temporary failure, also to the next process.
func (m *mortal) sendUntilDone(ctx context.Context, key string, to chat.ID, text string) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, answer := post(ctx, m.client, "/", chat.Outgoing{Key: key, To: chat.Address{Chat: to}, Text: text})
		switch {
		case status == http.StatusOK:
			return
		case status == http.StatusUnprocessableEntity:
			m.t.Errorf("%s: %s", key, answer)
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			m.t.Errorf("%s is not sent; the last answer is %d %s", key, status, answer)
			return
		}
	}
}

var (
	// accesses finds the functions at the heads of the two stacks of a race detector's report, but for the runtime's.
	accesses = regexp.MustCompile(`(?m)^(?:Previous )?(?:[Rr]ead|[Ww]rite) at .*\n(?:\s+runtime\.\S+\n\s+/.*\n)*\s+(\S+)\(\)\n`)
	// passable are the pairs of functions whose races are the library's own. Requests that wait for a new connection at the
	// same time set a flag under a lock for readers, and messages of two connections look at when a table was cleared. A
	// request that is given up closes the channel on which its answer may just be sent; that can end the plugin, as a kill does.
	passable = [][]string{
		{"go.mau.fi/util/exsync.(*Event).GetChan", "go.mau.fi/util/exsync.(*Event).GetChan"},
		{"go.mau.fi/whatsmeow.(*Client).decryptMessages", "go.mau.fi/whatsmeow.(*Client).decryptMessages"},
		{"go.mau.fi/whatsmeow.(*Client).cancelResponse", "go.mau.fi/whatsmeow.(*Client).receiveResponse"},
	}
)

// checkRaces fails the test for races that the processes have reported.
func (m *mortal) checkRaces() {
	m.t.Helper()
	reports, err := filepath.Glob(filepath.Join(m.races, "race.*"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, path := range reports {
		raw, err := os.ReadFile(path)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, report := range strings.Split(string(raw), "==================") {
			if strings.Contains(report, "DATA RACE") && !known(report) {
				m.t.Errorf("a life of the plugin reports:\n%s", report)
			}
		}
	}
}

// known reports whether a race is one of the library's own.
func known(report string) bool {
	var heads []string
	for _, found := range accesses.FindAllStringSubmatch(report, -1) {
		heads = append(heads, found[1])
	}
	slices.Sort(heads)
	return slices.ContainsFunc(passable, func(pair []string) bool { return slices.Equal(pair, heads) })
}

// die is the main function of a mortal process. It ends with its standard input.
func die(raw string) error {
	var task job
	if err := json.Unmarshal([]byte(raw), &task); err != nil {
		return err
	}
	host := over(task.host())
	env := sdk.Env{Log: slog.New(slog.DiscardHandler), StateDir: task.State, State: keeper{host: host}}
	c, err := open(context.Background(), env, config{TestEndpoint: task.Endpoint, TestNoiseRoot: task.Root})
	if err != nil {
		return err
	}
	c.pace = hasty()
	listener, err := net.Listen("unix", task.channel())
	if err != nil {
		return err
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var out chat.Outgoing
			if json.NewDecoder(r.Body).Decode(&out) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			_, err := c.Send(r.Context(), out)
			if f, ok := errors.AsType[*chat.Failure](err); err != nil && (!ok || !f.Reason.Retryable()) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = fmt.Fprint(w, err)
			} else if err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
	}()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	in := messenger{host}
	for {
		// A channel that ends by itself is restarted, as the host does.
		err := c.Run(ctx, in)
		if ctx.Err() != nil || errors.Is(err, sdk.ErrBadCredentials) || errors.Is(err, sdk.ErrLoggedOut) {
			return err
		}
	}
}

// messenger takes events to the host of the test.
type messenger struct{ host *http.Client }

func (m messenger) Submit(ctx context.Context, e chat.Event) (chat.Verdict, error) {
	task := submission{ID: e.ID, Chat: e.Chat.ID}
	if message, ok := e.Body.(chat.Message); ok {
		task.Message, task.Text = true, message.Text
	}
	if status, answer := post(ctx, m.host, "/", task); status != http.StatusOK {
		return 0, fmt.Errorf("the host is gone: %d %s", status, answer)
	}
	return chat.Accepted, nil
}

func (messenger) Typing(chat.Typing)                   {}
func (messenger) Report(chat.State, string)            {}
func (messenger) ReportURL(chat.State, string, string) {}
