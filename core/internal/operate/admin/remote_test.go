package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.yaml.in/yaml/v4"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/wire"
)

const token = "0123456789abcdef"

// desk takes what programs ask for.
type desk struct {
	keys []string
	sent []gateway.Message
}

func (d *desk) Keep(_ context.Context, _ gateway.Caller, _ chat.Address, m chat.Media, content io.Reader) (chat.Media, error) {
	text, err := io.ReadAll(content)
	return chat.Media{FileName: m.FileName + "=" + string(text)}, err
}

func (d *desk) Post(_ context.Context, _ gateway.Caller, key string, m gateway.Message) (int64, error) {
	if m.Text == "broken" {
		return 0, errors.New("the disk is full")
	}
	d.keys, d.sent = append(d.keys, key), append(d.sent, m)
	return int64(len(d.sent)), nil
}

func (d *desk) Ask(_ context.Context, _ gateway.Caller, p gateway.Prompt) iter.Seq2[gateway.Progress, error] {
	return func(yield func(gateway.Progress, error) bool) {
		if p.Agent != "" && p.Agent != "server" {
			yield(gateway.Progress{}, gateway.Refusal{Reason: gateway.NoAgent, Text: "there is no agent"})
			return
		}
		yield(gateway.Progress{Session: p.Session, Waiting: 1}, nil)
		switch p.Text {
		case "refuse":
			yield(gateway.Progress{}, gateway.Refusal{Text: "there is no session"})
			return
		case "fail":
			yield(gateway.Progress{Session: p.Session, End: domain.Outcome{State: domain.RunFailed, Answer: "over"}}, nil)
			return
		case "stop":
			yield(gateway.Progress{Session: p.Session, End: domain.Outcome{State: domain.RunCancelled}}, nil)
			return
		}
		d.keys = append(d.keys, p.Key)
		for _, text := range []string{"te", "te", "tea", "cake"} {
			yield(gateway.Progress{Text: text}, nil)
		}
		for range 2 {
			yield(gateway.Progress{Text: "cake", Held: "no space"}, nil)
		}
		yield(gateway.Progress{Session: p.Session, End: domain.Outcome{State: domain.RunDone, Answer: "cake\nand tea"}}, nil)
	}
}

// remote is the HTTP interface of a bundle.
func remote(t *testing.T, blocks ...*config.Plugin) (*bundle, *desk, http.Handler) {
	t.Helper()
	b, d := setup(t, blocks...), &desk{}
	return b, d, b.remote(d)
}

// remote is the handler of a bundle's HTTP interface.
func (b *bundle) remote(d *desk) http.Handler {
	return admin.New(admin.Options{
		Store: b.store, Host: b.host(), Plugins: supervisor{b}, Peers: peers{b}, Gateway: d,
		Remote:  admin.Remote{Token: token, Hosts: []string{"claw.example"}},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "clawhost_store_readable 1") }),
	}, hclog.NewNullLogger()).RemoteHandler()
}

// ask makes a request; headers are names and values.
func ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Metrics are for those who have the token, and for the host's own user at the control socket. Where they are off, there are none.
// Behaviour: metrics-served.
func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	const metric = "clawhost_store_readable 1\n"
	if w := ask(t, h, "GET", "/metrics", "", "Authorization", "Bearer "+token); w.Code != http.StatusOK || w.Body.String() != metric {
		t.Errorf("with the token: %d, %s", w.Code, w.Body)
	}
	for _, header := range []string{"", "Bearer x" + token} {
		if w := ask(t, h, "GET", "/metrics", "", "Authorization", header); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), metric) {
			t.Errorf("with the header %q: %d, %s", header, w.Code, w.Body)
		}
	}
	local := func(metrics http.Handler) *httptest.ResponseRecorder {
		server := admin.New(admin.Options{Store: b.store, Host: b.host(), Plugins: supervisor{b}, Peers: peers{b}, Metrics: metrics}, hclog.NewNullLogger())
		return ask(t, server.LocalHandler(), "GET", "/metrics", "")
	}
	if w := local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, metric) })); w.Body.String() != metric {
		t.Errorf("at the control socket: %d, %s", w.Code, w.Body)
	}
	if w := local(nil); w.Code != http.StatusNotFound {
		t.Errorf("where they are off: %d, %s", w.Code, w.Body)
	}
}

// Behaviour: program-http.
func TestRemote(t *testing.T) {
	t.Parallel()
	_, d, h := remote(t)
	long := strings.Repeat("x", wire.MaxText+1)
	bearer := []string{"Authorization", "Bearer " + token}
	w := ask(t, h, "POST", "/v1/messages", `{"to": "tg:1", "thread": "2", "text": "hello"}`, append(bearer, "Idempotency-Key", "k")...)
	want := gateway.Message{To: chat.Address{Channel: "tg", Chat: "1", Thread: "2"}, Text: "hello"}
	if diff := cmp.Diff([]gateway.Message{want}, d.sent); w.Code != 200 || diff != "" || d.keys[0] != "k" || w.Body.String() != `{"id":1}`+"\n" {
		t.Errorf("a message: %d, %s, keys %q (-want +got):\n%s", w.Code, w.Body, d.keys, diff)
	}
	w = ask(t, h, "POST", "/v1/turns", `{"text": "what is there?", "session": "tg:1"}`, append(bearer, "Idempotency-Key", "q")...)
	lines := `{"queued":{"session":"tg:1","waiting":1}}` + "\n" + `{"more":"te"}` + "\n" + `{"more":"a"}` + "\n" + `{"anew":true}` + "\n" + `{"more":"cake"}` + "\n" + `{"held":"no space"}` + "\n" + `{"answer":{"session":"tg:1","agent":"main","text":"cake\nand tea"}}` + "\n"
	if w.Code != 200 || w.Body.String() != lines || w.Header().Get("Content-Type") != "application/x-ndjson" || d.keys[1] != "q" {
		t.Errorf("a question: %d, %s", w.Code, w.Body)
	}
	w = ask(t, h, "POST", "/v1/turns", `{"text": "fail"}`, append(bearer, "Accept", "text/event-stream")...)
	if w.Body.String() != `data: {"answer":{"session":"","agent":"main","text":"","error":"over"}}`+"\n\n" || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("an event: %s", w.Body)
	}
	w = ask(t, h, "POST", "/v1/messages", `{"to": "tg:1:2", "text": "hello"}`, bearer...)
	if want.To = (chat.Address{Channel: "tg", Chat: "1:2"}); w.Code != 200 || !reflect.DeepEqual(d.sent[1], want) {
		t.Errorf("to a chat with a colon: %d, %+v", w.Code, d.sent[1])
	}
	w = ask(t, h, "POST", "/v1/turns", `{"text": "what is there?", "session": "agent:server:tg:1", "agent": "server"}`, bearer...)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `{"answer":{"session":"agent:server:tg:1","agent":"server",`) {
		t.Errorf("a question to an agent: %d, %s", w.Code, w.Body)
	}
	for name, test := range map[string]struct {
		method, path, body string
		code               int
		says               string
	}{
		"no agent":        {"POST", "/v1/turns", `{"text": "hello", "agent": "nobody"}`, 400, `{"error":"there is no agent"}`},
		"no address":      {"POST", "/v1/messages", `{"text": "hello"}`, 422, "is not an address"},
		"no chat":         {"POST", "/v1/messages", `{"to": "tg:", "text": "hello"}`, 422, "is not an address"},
		"only a channel":  {"POST", "/v1/messages", `{"to": "tg", "text": "hello"}`, 422, "is not an address"},
		"no channel":      {"POST", "/v1/messages", `{"to": ":1", "text": "hello"}`, 422, "is not an address"},
		"a long text":     {"POST", "/v1/messages", `{"to": "tg:1", "text": "` + long + `"}`, 422, "the text has 262145 bytes"},
		"an unknown name": {"POST", "/v1/messages", `{"to": "tg:1", "txt": "hello"}`, 422, "unknown field"},
		"no JSON":         {"POST", "/v1/messages", `hello`, 422, "read the message"},
		"a failure":       {"POST", "/v1/messages", `{"to": "tg:1", "text": "broken"}`, 500, "the disk is full"},
		"no question":     {"POST", "/v1/turns", `{}`, 200, `{"error":"the question is empty"}`},
		"a blank one":     {"POST", "/v1/turns", `{"text": " \n"}`, 200, `{"error":"the question is empty"}`},
		"a long one":      {"POST", "/v1/turns", `{"text": "` + long + `"}`, 200, "the question has 262145 bytes"},
		"a refused one":   {"POST", "/v1/turns", `{"text": "refuse"}`, 200, `{"error":"there is no session"}`},
		"a stopped turn":  {"POST", "/v1/turns", `{"text": "stop"}`, 200, `"error":"the turn was cancelled"`},
		"a bad question":  {"POST", "/v1/turns", `[`, 400, "read the question"},
		"unknown name":    {"POST", "/v1/turns", `{"question": "what?"}`, 400, `unknown field`},
		"two questions":   {"POST", "/v1/turns", `{"text": "a"} {"text": "b"}`, 400, "more than one value"},
		"the status":      {"GET", "/v1/status", "", 200, `"plugins":[]`},
		"the queue":       {"GET", "/v1/queue", "", 200, `"lanes":[]`},
		"the sessions":    {"GET", "/v1/sessions", "", 200, "[]"},
		"the pairings":    {"POST", "/v1/pairings/approve", "", 404, "not found"},
		"a login":         {"POST", "/v1/plugins/login", "", 404, "not found"},
		"the log":         {"GET", "/v1/logs?lines=1", "", 404, "not found"},
		"a profile":       {"GET", "/v1/debug/heap", "", 404, "not found"},
		"goroutines":      {"GET", "/v1/debug/goroutines", "", 404, "not found"},
	} {
		w := ask(t, h, test.method, test.path, test.body, bearer...)
		if w.Code != test.code || !strings.Contains(w.Body.String(), test.says) {
			t.Errorf("%s: %d, %s", name, w.Code, w.Body)
		}
	}
}

// Behaviour: program-http.
func TestRemoteNeedsTheToken(t *testing.T) {
	t.Parallel()
	_, d, h := remote(t)
	for _, bears := range []string{"", "Bearer", "Bearer ", "Bearer " + token + "x", "Bearer " + token[1:], "Basic " + token, token} {
		for _, path := range []string{"/v1/messages", "/v1/turns", "/v1/status", "/v1/anything"} {
			if w := ask(t, h, "POST", path, `{"to": "tg:1", "text": "hello"}`, "Authorization", bears); w.Code != 401 || !strings.Contains(w.Body.String(), "token") {
				t.Errorf("%s with %q: %d, %s", path, bears, w.Code, w.Body)
			}
		}
	}
	if len(d.sent)+len(d.keys) > 0 {
		t.Errorf("something was done: %+v", d)
	}
}

// Probes need no token, and learn nothing but whether the host answers, and whether it can work.
// Behaviour: program-probe.
func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, h := remote(t, &config.Plugin{Label: "tg", Enabled: true}, &config.Plugin{Label: "discord"})
		entry := b.plugins.Entry("tg")
		ready := func(name string, code int) {
			t.Helper()
			for _, path := range []string{"/healthz", "/livez"} {
				if w := ask(t, h, "GET", path, ""); w.Code != 200 || w.Body.String() != "ok\n" {
					t.Errorf("%s, %s: %d, %s", name, path, w.Code, w.Body)
				}
			}
			want := map[int]string{200: "ready\n", 503: "not ready\n"}[code]
			if w := ask(t, h, "GET", "/readyz", ""); w.Code != code || w.Body.String() != want {
				t.Errorf("%s: %d, %s, want %d", name, w.Code, w.Body, code)
			}
		}
		ready("a plugin that starts", 503)
		entry.Update(func(s *plugins.Status) { s.State = plugins.Running })
		ready("a plugin that runs", 200)
		entry.Update(func(s *plugins.Status) { s.State, s.Restarts = plugins.Waiting, 1 })
		ready("a plugin that has just ended", 200)
		for range 11 {
			time.Sleep(health.Every)
			ready("a plugin that is started again", 200)
		}
		time.Sleep(health.Every)
		ready("a plugin that did not start for a minute", 503)
		entry.Update(func(s *plugins.Status) { s.State = plugins.Running })
		ready("one that runs again, perhaps for long", 503)
		time.Sleep(time.Minute)
		ready("one that does", 200)
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		ready("a store that has just closed", 200)
		time.Sleep(10 * time.Second)
		ready("without a store", 503)
	})
}

// The description has exactly the paths that are served, and the names of what is sent.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	_, _, h := remote(t)
	mux := func(method, path string) bool {
		served := func(headers ...string) bool {
			w := ask(t, h, method, path, "{}", headers...)
			unknown := w.Code == http.StatusNotFound && strings.Contains(w.Body.String(), "page not found")
			return !unknown && w.Code != http.StatusMethodNotAllowed
		}
		return served("Authorization", "Bearer "+token) || served(loggedIn(t, h)...)
	}
	for path, methods := range doc.Paths {
		for _, method := range []string{"get", "post", "put", "delete"} {
			if _, described := methods[method]; described != mux(strings.ToUpper(method), path) {
				t.Errorf("%s %s is described: %t, and served: %t", method, path, described, !described)
			}
		}
	}
	for name, value := range map[string]any{
		"Message": admin.Message{}, "Sent": admin.Sent{}, "Prompt": admin.Prompt{}, "TurnEvent": admin.TurnEvent{}, "Answer": admin.Answer{}, "Problem": admin.Problem{}, "Trouble": health.Problem{},
		"Status": admin.Status{}, "Claude": admin.Claude{}, "Plugin": admin.Plugin{}, "Question": admin.Question{}, "OpenQuestion": admin.OpenQuestion{}, "Option": admin.Option{}, "Run": admin.Run{},
		"Queue": admin.Queue{}, "Lane": admin.Lane{}, "Agent": admin.Agent{}, "Destination": domain.DestinationStatus{}, "Address": chat.Address{},
		"Session": admin.Session{}, "Usage": domain.Usage{},
		"DayUsage": admin.DayUsage{}, "HourLatency": admin.HourLatency{}, "Spread": admin.Spread{}, "LoggedIn": admin.LoggedIn{}, "Pairing": domain.Pairing{}, "DeadLetter": admin.DeadLetter{}, "File": admin.File{},
	} {
		var want, got []string
		for property := range doc.Components.Schemas[name].Properties {
			want = append(want, property)
		}
		for field := range reflect.TypeOf(value).Fields() {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			got = append(got, tag)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-described +sent):\n%s", name, diff)
		}
	}
	if strings.Contains(string(text), "{ type: object }") {
		t.Error("an object is not described")
	}
	if len(doc.Paths) == 0 {
		t.Error("nothing is described")
	}
}

// Names in JSON are in snake case, and an unknown time is left out.
// Behaviour: program-json.
func TestNamesInJSON(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$|^p95_ms$`)
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Slice, reflect.Pointer, reflect.Map:
			look(of.Elem())
		case reflect.Struct:
			if seen[of] || of == reflect.TypeFor[time.Time]() {
				return
			}
			seen[of] = true
			for field := range of.Fields() {
				name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
				if !words.MatchString(name) {
					t.Errorf("%v.%s is %q in JSON", of, field.Name, name)
				}
				if field.Type == reflect.TypeFor[time.Time]() && option != "omitzero" {
					t.Errorf("%v.%s is shown even if it is not known", of, field.Name)
				}
				look(field.Type)
			}
		default:
		}
	}
	for _, value := range []any{
		admin.Status{},
		admin.DayUsage{},
		admin.LoggedIn{},
		admin.Plugin{},
		admin.Link{},
		admin.Queue{},
		admin.DeadLetter{},
		admin.Session{},
		domain.Pairing{},
		admin.LoginEvent{},
		admin.Message{},
		admin.Sent{},
		admin.Prompt{},
		admin.TurnEvent{},
		admin.Problem{},
	} {
		look(reflect.TypeOf(value))
	}
	if len(seen) < 15 {
		t.Errorf("only %d types were seen", len(seen))
	}
}

// A request whose connection was closed meanwhile, so that its peer cannot be checked, does nothing.
// Behaviour: program-http.
func TestARequestOfAClosedConnection(t *testing.T) {
	t.Parallel()
	_, d, h := remote(t)
	closed := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{}))
	r := httptest.NewRequestWithContext(closed, http.MethodPost, "http://127.0.0.1/v1/messages", strings.NewReader(`{"to": "tg:1", "text": "hello"}`))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); len(d.sent) > 0 || w.Body.Len() > 0 {
		t.Errorf("sent is %v, the answer is %s", d.sent, w.Body)
	}
}
