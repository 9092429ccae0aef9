package credential

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
)

// upstream gives the test's answers, by key, and notes which keys it was asked with.
type upstream struct {
	answers map[string]answer
	asked   []string
	bodies  []string
	open    int // bodies of answers that were not closed
}

type answer struct {
	status int
	body   string
	header map[string]string
	err    error
}

func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	key := r.Header.Get("X-Api-Key")
	u.asked = append(u.asked, key)
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	u.bodies = append(u.bodies, string(text))
	a := u.answers[key]
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	for name, value := range a.header {
		h.Set(name, value)
	}
	u.open++
	return &http.Response{StatusCode: a.status, Header: h, Body: &counted{strings.NewReader(a.body), &u.open}}, nil
}

// counted counts how many are open.
type counted struct {
	io.Reader
	open *int
}

func (c *counted) Close() error {
	*c.open--
	return nil
}

func (u *upstream) rotation(log hclog.Logger, keys ...string) *rotation {
	return &rotation{next: u, keys: newKeyring(keys, log)}
}

// ask sends a request and returns the answer's status and body.
func (r *rotation) ask(t *testing.T, method, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://api.test"+path, strings.NewReader("the question"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, string(text)
}

const messages = "/v1/messages"

var (
	fine     = answer{status: 200, body: "fine"}
	noKey    = answer{status: 401, body: "invalid x-api-key"}
	noAccess = answer{status: 403, body: "not for this model"}
	unpaid   = answer{status: 402, body: "pay"}
	broke    = answer{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your Credit balance is too low to access the API"}}`}
	limited  = answer{status: 429, body: "limited for some time"}
)

func until(seconds string) answer {
	return answer{status: 429, body: "limited for " + seconds, header: map[string]string{"Retry-After": seconds}}
}

// Each cause has the next key tried with the same request, and the refused one rests for as long as it takes.
// Behaviour: api-key-rotation.
func TestRotation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first answer
		rests time.Duration // zero: it is asked again at once
	}{
		"no key":              {noKey, refusedRest},
		"no access":           {noAccess, refusedRest},
		"no credit":           {unpaid, refusedRest},
		"no credit, as a 400": {broke, refusedRest},
		"a limit":             {until("20"), 20 * time.Second},
		"a limit of nothing":  {until("0"), shortestRest},
		"a limit of a week":   {until("604800"), longestRest},
		"a limit without end": {limited, limitedRest},
		"a limit in words":    {until("soon"), limitedRest},
		"a limit below zero":  {until("-5"), limitedRest},
		"a limit by a date":   {until("Sat, 01 Jan 2000 00:01:30 GMT"), 90 * time.Second},
		"a limit in the past": {until("Fri, 31 Dec 1999 00:00:00 GMT"), shortestRest},
		"a subscription's limit": {answer{status: 429, header: map[string]string{
			"Anthropic-Ratelimit-Unified-Reset": strconv.Itoa(946684800 + 7200),
		}}, 2 * time.Hour},
		"another bad request": {answer{status: 400, body: "max_tokens must be positive"}, 0},
		"an unknown model":    {answer{status: 404, body: "no such model"}, 0},
		"too large":           {answer{status: 413, body: "too large"}, 0},
		"a failure":           {answer{status: 500, body: "oh"}, 0},
		"overloaded":          {answer{status: 529, body: "overloaded"}, 0},
		"an answer":           {fine, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // its clock begins with the year 2000
				u := &upstream{answers: map[string]answer{"one": tc.first, "two": fine}}
				r := u.rotation(hclog.NewNullLogger(), "one", "two")
				want, asked := fine, []string{"one", "two", "two"}
				if tc.rests == 0 {
					want, asked = tc.first, []string{"one", "one"}
				}
				for range 2 {
					if status, body := r.ask(t, "POST", messages); status != want.status || body != want.body {
						t.Errorf("answered %d %q, want %d %q", status, body, want.status, want.body)
					}
				}
				if tc.rests > 0 {
					time.Sleep(tc.rests - time.Millisecond)
					r.ask(t, "POST", messages)
					asked = append(asked, "two")
					time.Sleep(time.Millisecond)
					u.answers["one"] = fine
					r.ask(t, "POST", messages)
					asked = append(asked, "one")
				}
				if diff := cmp.Diff(asked, u.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				for _, body := range u.bodies {
					if body != "the question" {
						t.Errorf("the API was asked %q", body)
					}
				}
				if u.open != 0 {
					t.Errorf("%d answers were left open", u.open)
				}
			})
		})
	}
}

// When all keys are refused, the API's answer to the one that will be good again first is passed on as it is. As long as all
// rest, they are tried all the same, that one first.
// Behaviour: api-key-rotation.
func TestNoKeyIsLeft(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		one, two answer
		want     answer
		next     []string // the keys that are asked when all rest
	}{
		"both refused":            {noKey, noAccess, noAccess, []string{"one", "two"}},
		"both limited":            {until("60"), until("90"), until("60"), []string{"one", "two"}},
		"the first one longer":    {until("90"), until("60"), until("60"), []string{"two", "one"}},
		"limited, then refused":   {until("7200"), noKey, until("7200"), []string{"one", "two"}},
		"refused, then limited":   {noKey, until("7200"), until("7200"), []string{"two", "one"}},
		"no credit, then refused": {broke, noKey, broke, []string{"one", "two"}},
		"refused, then no credit": {noAccess, unpaid, unpaid, []string{"two", "one"}},
		"limited, then no credit": {until("7200"), unpaid, until("7200"), []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{answers: map[string]answer{"one": tc.one, "two": tc.two}}
				r := u.rotation(hclog.NewNullLogger(), "one", "two")
				for range 2 {
					if status, body := r.ask(t, "POST", messages); status != tc.want.status || body != tc.want.body {
						t.Errorf("answered %d %q, want %d %q", status, body, tc.want.status, tc.want.body)
					}
				}
				if diff := cmp.Diff(append([]string{"one", "two"}, tc.next...), u.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				// The second of them is good again before its time, and does not rest any more.
				u.answers[tc.next[1]], u.asked = fine, nil
				for range 2 {
					if status, _ := r.ask(t, "POST", messages); status != 200 {
						t.Errorf("answered %d", status)
					}
				}
				if diff := cmp.Diff(append(tc.next, tc.next[1]), u.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if u.open != 0 {
					t.Errorf("%d answers were left open", u.open)
				}
			})
		})
	}
}

// What is not a question to the model says nothing of the keys: gateways refuse such things for reasons of their own.
func TestOnlyMessagesTellOfKeys(t *testing.T) {
	t.Parallel()
	u := &upstream{answers: map[string]answer{"one": noAccess, "two": fine}}
	r := u.rotation(hclog.NewNullLogger(), "one", "two")
	for _, ask := range [][2]string{{"HEAD", "/"}, {"POST", "/v1/messages/count_tokens"}, {"GET", messages}, {"POST", "/v1/files"}} {
		if status, _ := r.ask(t, ask[0], ask[1]); status != 403 {
			t.Errorf("%v was answered %d", ask, status)
		}
	}
	if diff := cmp.Diff([]string{"one", "one", "one", "one"}, u.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if status, _ := r.ask(t, "POST", "/gateway/v1/messages"); status != 200 {
		t.Errorf("a message was answered %d", status)
	}
}

// A network that fails is no key that fails.
func TestUnreachableRotatesNothing(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut")
	u := &upstream{answers: map[string]answer{"one": noKey, "two": {err: cut}, "three": fine}}
	r := u.rotation(hclog.NewNullLogger(), "one", "two", "three")
	req, err := http.NewRequestWithContext(t.Context(), "POST", "https://api.test"+messages, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RoundTrip(req); !errors.Is(err, cut) {
		t.Errorf("error = %v, want that of the network", err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, u.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if u.open != 0 {
		t.Errorf("%d answers were left open", u.open)
	}
}

// The log names a key by its place, and only when something changes.
func TestLogOfKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		u := &upstream{answers: map[string]answer{"sk-one": noKey, "sk-two": until("5")}}
		r := u.rotation(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace}), "sk-one", "sk-two")
		for range 3 {
			r.ask(t, "POST", messages)
		}
		time.Sleep(6 * time.Second)
		u.answers["sk-two"] = fine
		r.ask(t, "POST", messages)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, want := range []string{"refused and is suspended: key=1 of=2 cause=auth status=401", "refused and is suspended: key=2 of=2 cause=rate_limit status=429", "works again: key=2"} {
			if i >= len(lines) || !strings.Contains(lines[i], want) {
				t.Errorf("line %d of the log is not %q:\n%s", i, want, log.String())
			}
		}
		if len(lines) != 3 || strings.Contains(log.String(), "sk-") {
			t.Errorf("the log:\n%s", log.String())
		}
	})
}

// An answer that is read to find its cause is passed on whole, however long it is.
func TestRefusalIsPassedOnWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxRefusal)
	u := &upstream{answers: map[string]answer{"one": {status: 400, body: long}}}
	if _, body := u.rotation(hclog.NewNullLogger(), "one").ask(t, "POST", messages); body != long {
		t.Errorf("%d bytes were passed on, want %d", len(body), len(long))
	}
}
