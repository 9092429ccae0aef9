package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/chat"
)

const formType = "application/x-www-form-urlencoded"

// logIn makes a request to log in.
func logIn(t *testing.T, h http.Handler, form string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, h, "POST", "/login", form, append([]string{"Content-Type", formType}, headers...)...)
}

// loggedIn logs in and returns the headers of the page.
func loggedIn(t *testing.T, h http.Handler) []string {
	t.Helper()
	w := logIn(t, h, "token="+token, "Origin", "http://127.0.0.1", "Sec-Fetch-Site", "same-origin")
	var got admin.LoggedIn
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || len(w.Result().Cookies()) != 1 {
		t.Fatalf("log in: %d, %s, %v", w.Code, w.Body, w.Result().Cookies())
	}
	c := w.Result().Cookies()[0]
	return []string{"Cookie", c.Name + "=" + c.Value, "X-Clawhost", got.Key, "Content-Type", formType}
}

// Behaviour: state-page.
func TestLoginToTheStatePage(t *testing.T) {
	t.Parallel()
	_, _, h := remote(t)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"nothing":         logIn(t, h, ""),
		"a wrong one":     logIn(t, h, "token="+token+"x"),
		"a part":          logIn(t, h, "token="+token[1:]),
		"in the query":    ask(t, h, "POST", "/login?token="+token, "", "Content-Type", formType),
		"by GET":          ask(t, h, "GET", "/login?token="+token, ""),
		"much":            logIn(t, h, "x="+strings.Repeat("x", 5<<10)+"&token="+token),
		"from elsewhere":  logIn(t, h, "token="+token, "Sec-Fetch-Site", "cross-site"),
		"of another site": logIn(t, h, "token="+token, "Origin", "http://evil.example"),
		"another host's":  logIn(t, h, "token="+token, "Host", "evil.example"),
	} {
		if w.Code < 400 || w.Code >= 500 || len(w.Result().Cookies()) > 0 || strings.Contains(w.Body.String(), token) {
			t.Errorf("%s: %d, %s, %v", name, w.Code, w.Body, w.Result().Cookies())
		}
		if name == "a wrong one" && w.Header().Get("Connection") != "close" {
			t.Errorf("%s: the connection stays open", name)
		}
	}
	headers := loggedIn(t, h)
	for _, path := range []string{"/v1/status", "/v1/queue", "/v1/sessions", "/v1/usage", "/v1/latency", "/v1/pairings", "/v1/queue/dead", "/v1/questions", "/v1/runs"} {
		w := ask(t, h, "GET", path, "", headers...)
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d, %s, %v", path, w.Code, w.Body, w.Header())
		}
	}
	for _, path := range []string{"/v1/transcript?session=tg:1", "/v1/logs", "/v1/links", "/v1/config", "/v1/debug/heap", "/v1/tools?session=tg:1"} {
		if w := ask(t, h, "GET", path, "", headers...); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, %s", path, w.Code, w.Body)
		}
	}
	if w := ask(t, h, "POST", "/logout", "", headers...); w.Code != http.StatusOK {
		t.Errorf("log out: %d, %s", w.Code, w.Body)
	}
	if w := ask(t, h, "GET", "/v1/status", "", headers...); w.Code != http.StatusUnauthorized {
		t.Errorf("afterwards: %d, %s", w.Code, w.Body)
	}
}

// Neither a page of another site nor one of another port of this machine acts with the cookie, by a form or by a script.
// Behaviour: state-page-forged.
func TestForgedActs(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	b.pair(t, "tg", "1", "AAAA")
	headers := loggedIn(t, h)
	cookie := headers[:2]
	const form = "channel=tg&code=AAAA"
	for name, more := range map[string][]string{
		"a form of another site":           {"Content-Type", formType, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
		"a form of another port":           {"Content-Type", formType, "Origin", "http://127.0.0.1:9999", "Sec-Fetch-Site", "same-site"},
		"a form of a page without origin":  {"Content-Type", formType, "Origin", "null"},
		"a form of an old browser":         {"Content-Type", formType},
		"a form of the page's own origin":  {"Content-Type", formType, "Origin", "http://127.0.0.1", "Sec-Fetch-Site", "same-origin"},
		"a script with a header, no key":   {"Content-Type", formType, "X-Clawhost", "page"},
		"a script of another port, by key": append(headers[2:], "Sec-Fetch-Site", "same-site"),
		"one of another site, by key":      append(headers[2:], "Origin", "http://evil.example"),
	} {
		if w := ask(t, h, "POST", "/v1/pairings/approve", form, append(cookie[:2:2], more...)...); w.Code != 401 && w.Code != 403 {
			t.Errorf("%s: %d, %s", name, w.Code, w.Body)
		}
	}
	if allowed, err := b.store.Allowed(b.ctx, "tg", "1"); err != nil || allowed {
		t.Fatalf("somebody was let in: %v", err)
	}
	if w := ask(t, h, "POST", "/v1/pairings/approve", form, append(headers, "Origin", "http://127.0.0.1", "Sec-Fetch-Site", "same-origin")...); w.Code != 200 {
		t.Errorf("the page: %d, %s", w.Code, w.Body)
	}
	if allowed, err := b.store.Allowed(b.ctx, "tg", "1"); err != nil || !allowed {
		t.Errorf("the page has let nobody in: %v", err)
	}
}

// Behaviour: state-page-acts.
func TestActsOfTheStatePage(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	headers := loggedIn(t, h)
	do := func(path string, values url.Values, code int) {
		t.Helper()
		if w := ask(t, h, "POST", path, values.Encode(), headers...); w.Code != code {
			t.Errorf("%s %v: %d, %s", path, values, w.Code, w.Body)
		}
	}
	dead := func() (letters []admin.DeadLetter) {
		t.Helper()
		w := ask(t, h, "GET", "/v1/queue/dead", "", headers...)
		if err := json.Unmarshal(w.Body.Bytes(), &letters); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return letters
	}
	do("/v1/plugins/restart", url.Values{"name": {"echo"}}, 200)
	do("/v1/plugins/restart", url.Values{"name": {"nothing"}}, 500)
	if len(b.restarted) != 1 {
		t.Errorf("restarted %q", b.restarted)
	}
	b.pair(t, "tg", "2", "BBBB")
	do("/v1/pairings/reject", url.Values{"channel": {"tg"}, "code": {"BBBB"}}, 200)
	do("/v1/pairings/reject", url.Values{"channel": {"tg"}, "code": {"BBBB"}}, 404)

	// A name and a text are as somebody has written them, and bounded.
	hostile := chat.Address{Channel: "echo", Chat: "<img src=x onerror=alert(1)>\u202e"}
	long := "<script>alert(1)</script>" + strings.Repeat("ä", 1000)
	for range 2 {
		if _, err := b.store.Post(b.ctx, domain.Key{}, domain.OutboxItem{To: hostile, Text: long}); err != nil {
			t.Fatal(err)
		}
		deliveries, err := b.store.ClaimDeliveries(b.ctx, "echo", 1)
		if err != nil || len(deliveries) != 1 {
			t.Fatal(deliveries, err)
		}
		if err := b.store.DeadLetter(b.ctx, deliveries[0].ID, long); err != nil {
			t.Fatal(err)
		}
	}
	w := ask(t, h, "GET", "/v1/queue/dead", "", headers...)
	if strings.ContainsAny(w.Body.String(), "<>") || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a browser may take it for a page: %s, %v", w.Body, w.Header())
	}
	letters := dead()
	if len(letters) != 2 || letters[0].To != hostile || len([]rune(letters[0].Text)) != 501 || len([]rune(letters[0].Error)) != 501 {
		t.Fatalf("dead letters %+v", letters)
	}
	id := func(i int) url.Values {
		text, err := json.Marshal(letters[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		return url.Values{"id": {string(text)}}
	}
	do("/v1/queue/drop", id(0), 200)
	do("/v1/queue/drop", id(0), 404)
	do("/v1/queue/retry", id(1), 200)
	if left := dead(); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if all, err := b.store.Destinations(b.ctx); err != nil || !slices.ContainsFunc(all, func(d domain.DestinationStatus) bool { return d.To == hostile && d.Pending == 1 }) {
		t.Errorf("to deliver: %+v, %v", all, err)
	}
}

// Behaviour: state-page-acts.
func TestTheStatePageStopsATurn(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	headers := loggedIn(t, h)
	stop := func(session string) *httptest.ResponseRecorder {
		return ask(t, h, "POST", "/v1/turns/stop", url.Values{"session": {session}}.Encode(), headers...)
	}
	b.accept(t, "1")
	ctx, cancel := context.WithCancel(b.ctx)
	begun, ended := make(endless, 1), make(chan struct{})
	go func() {
		defer close(ended)
		b.turns.Run(ctx, begun)
	}()
	defer func() { cancel(); <-ended }()
	<-begun
	if w := stop("echo:ben"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "echo:ben") || !b.turns.Busy("echo:anna") {
		t.Errorf("another session: %d, %s", w.Code, w.Body)
	}
	if w := stop("echo:anna"); w.Code != http.StatusOK || b.turns.Busy("echo:anna") {
		t.Errorf("the session: %d, %s", w.Code, w.Body)
	}
	if w := ask(t, h, "POST", "/v1/turns/stop", "session=echo:anna", "Content-Type", formType, "Authorization", "Bearer "+token); w.Code != http.StatusNotFound {
		t.Errorf("a program: %d, %s", w.Code, w.Body)
	}
}

// What a turn writes is for who has logged in, not for programs.
// Behaviour: state-page-live.
func TestRunsOfTheStatePage(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	headers := loggedIn(t, h)
	if w := ask(t, h, "GET", "/v1/runs", "", headers...); w.Body.String() != "[]\n" {
		t.Errorf("none: %d, %s", w.Code, w.Body)
	}
	since := time.Unix(9, 0).UTC()
	turn := b.views.For(conversation.NewResolver(&config.Config{Agent: config.Agent{Label: "main"}}, b.plugins, b.store).Run(
		&domain.Run{ID: 7, Session: domain.Session{Key: "echo:anna"}, StartedAt: since}))
	turn.Open(t.Context())
	turn.Progress(agent.Progress{Text: "<b>so far</b>", Running: []agent.ToolUse{{Name: "Bash", Summary: "cat secret"}}})
	w := ask(t, h, "GET", "/v1/runs", "", headers...)
	var got []admin.Run
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || strings.ContainsAny(w.Body.String(), "<>") {
		t.Fatalf("%v: %d, %s", err, w.Code, w.Body)
	}
	want := []admin.Run{{ID: 7, Session: "echo:anna", Agent: "main", Since: since, Text: "<b>so far</b>", Tools: []string{"Bash"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"a program":                ask(t, h, "GET", "/v1/runs", "", "Authorization", "Bearer "+token),
		"a cookie without its key": ask(t, h, "GET", "/v1/runs", "", headers[:2]...),
		"nobody":                   ask(t, h, "GET", "/v1/runs", ""),
	} {
		if w.Code != http.StatusNotFound && w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d, %s", name, w.Code, w.Body)
		}
	}
	turn.End()
}

// The agent's tools are refused, with the token in a form as in a header, and with a cookie and its key that they have found.
// Behaviour: program-http-agent.
func TestToolsAndTheStatePage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	address := serveTCP(t, b, &desk{})
	// do makes a request on a connection of its own.
	do := func(path, form string, headers http.Header) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		r.Header, r.Close = headers.Clone(), true
		r.Header.Set("Content-Type", formType)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	login := do("/login", "token="+token, http.Header{})
	var got admin.LoggedIn
	if err := json.NewDecoder(login.Body).Decode(&got); err != nil || len(login.Cookies()) != 1 {
		t.Fatalf("%s, %v, %v", login.Status, login.Cookies(), err)
	}
	found := http.Header{"Cookie": {login.Cookies()[0].Name + "=" + login.Cookies()[0].Value}, "X-Clawhost": {got.Key}}
	if r := do("/v1/plugins/restart", "name=echo", found); r.StatusCode != http.StatusOK {
		t.Errorf("the page: %s", r.Status)
	}
	b.tool.Store(true)
	if r := do("/v1/plugins/restart", "name=echo", found); r.StatusCode != http.StatusForbidden {
		t.Errorf("a tool with a session: %s", r.Status)
	}
	if r := do("/v1/questions/answer", "id=AAAAA&answer=once", found); r.StatusCode != http.StatusForbidden {
		t.Errorf("a tool that answers its own question: %s", r.Status)
	}
	if r := do("/login", "token="+token, http.Header{}); r.StatusCode != http.StatusForbidden || len(r.Cookies()) > 0 {
		t.Errorf("a tool with the token: %s, %v", r.Status, r.Cookies())
	}
}

// Days are those of the agent's time zone, as turns are counted, and not those of the machine.
// Behaviour: state-page-usage.
func TestUsage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.zone = time.FixedZone("ahead", 14*60*60)
	if now := time.Now(); now.Format(time.DateOnly) == now.In(b.zone).Format(time.DateOnly) {
		b.zone = time.FixedZone("behind", -12*60*60)
	}
	h := b.remote(&desk{})
	now := time.Now().In(b.zone)
	for _, ago := range []int{0, 29, 30} {
		figures := domain.TurnFigures{Usage: domain.Usage{Turns: 1, CostMicros: 7}, Day: now.AddDate(0, 0, -ago).Format(time.DateOnly), Model: "opus"}
		if err := b.store.RecordUsage(b.ctx, "tg:1", "", figures); err != nil {
			t.Fatal(err)
		}
	}
	var got []admin.DayUsage
	w := ask(t, h, "GET", "/v1/usage", "", "Authorization", "Bearer "+token)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %d, %s", err, w.Code, w.Body)
	}
	want := []admin.DayUsage{
		{Day: now.AddDate(0, 0, -29).Format(time.DateOnly), Model: "opus", Usage: domain.Usage{Turns: 1, CostMicros: 7}},
		{Day: now.Format(time.DateOnly), Model: "opus", Usage: domain.Usage{Turns: 1, CostMicros: 7}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Behaviour: state-page-latency.
func TestLatency(t *testing.T) {
	t.Parallel()
	b, _, h := remote(t)
	var got []admin.HourLatency
	read := func() {
		t.Helper()
		w := ask(t, h, "GET", "/v1/latency", "", "Authorization", "Bearer "+token)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
			t.Fatalf("%v: %d, %s", err, w.Code, w.Body)
		}
	}
	if read(); got == nil || len(got) > 0 {
		t.Errorf("before the first turn: %+v", got)
	}
	b.accept(t, "1")
	run := b.claim(t)
	if err := b.store.Complete(b.ctx, run.ID, domain.Completion{State: domain.RunDone, Turn: &domain.TurnFigures{FirstWord: 2 * time.Second}}); err != nil {
		t.Fatal(err)
	}
	if read(); len(got) != 1 || time.Since(got[0].At) > 2*time.Hour || got[0].Answer.Count != 1 || got[0].FirstWord != (admin.Spread{Count: 1, Median: 2048, P95: 2048}) {
		t.Errorf("%+v", got)
	}
}
