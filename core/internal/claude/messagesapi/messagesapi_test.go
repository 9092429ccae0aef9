package messagesapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

const secret = "canary-credential"

func start(t *testing.T, options messagesapi.Options) *messagesapi.Server {
	t.Helper()
	s := messagesapi.New(options)
	t.Cleanup(s.Close)
	return s
}

// turn is a message of a conversation; content is a string or a list of blocks.
type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func user(text string) turn { return turn{"user", text} }

func blocks(role string, list ...map[string]any) turn { return turn{role, list} }

var (
	toolUse    = blocks("assistant", map[string]any{"type": "tool_use", "id": "toolu_1", "name": "Bash"})
	toolResult = blocks("user", map[string]any{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a file"})
)

// client is the tests' own: a server of httptest that is closed closes the idle connections of the default one, under
// whoever is about to use them.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func post(ctx context.Context, t *testing.T, s *messagesapi.Server, stream bool, turns ...turn) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "claude-test", "stream": stream, "messages": turns})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages?beta=true", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", secret)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func ask(t *testing.T, s *messagesapi.Server, turns ...turn) (status int, body string) {
	t.Helper()
	response := post(t.Context(), t, s, false, turns...)
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// events reads a stream to its end: each event as its name and, for deltas, what it adds.
func events(r io.Reader) (list []string, err error) {
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		data, found := strings.CutPrefix(scanner.Text(), "data: ")
		if !found {
			continue
		}
		var e struct {
			Type  string
			Delta struct {
				Text, Thinking string
				PartialJSON    string `json:"partial_json"`
				StopReason     string `json:"stop_reason"`
			}
			Error struct{ Type string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return list, err
		}
		list = append(list, strings.TrimSpace(e.Type+" "+e.Delta.Text+e.Delta.Thinking+e.Delta.PartialJSON+e.Delta.StopReason+e.Error.Type))
	}
	return list, scanner.Err()
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const steps = `look [[reply [{"tools":[{"name":"Bash","input":{"command":"ls"}}]},{"text":"two"}]]]`
	for name, tc := range map[string]struct {
		queue  []messagesapi.Reply
		turns  []turn
		status int
		want   string
	}{
		"echo":                        {nil, []turn{user("hello")}, 200, `"text":"echo: hello"`},
		"echo skips reminders":        {nil, []turn{blocks("user", map[string]any{"type": "text", "text": "hello"}, map[string]any{"type": "text", "text": "<system-reminder>x</system-reminder>"})}, 200, `"text":"echo: hello"`},
		"script, one reply":           {nil, []turn{user(`say [[reply {"text":"as told"}]] now`)}, 200, `"text":"as told"`},
		"script, first step":          {nil, []turn{user(steps)}, 200, `"stop_reason":"tool_use"`},
		"script, second step":         {nil, []turn{user(steps), toolUse, toolResult}, 200, `"text":"two"`},
		"script, too many steps":      {nil, []turn{user(steps), toolUse, toolResult, toolUse, toolResult}, 200, `the script is over`},
		"a later text ends a script":  {nil, []turn{user(steps), toolUse, toolResult, user("next")}, 200, `"text":"echo: next"`},
		"bad script":                  {nil, []turn{user(`[[reply {"text":]]`)}, 200, `bad script`},
		"unfinished script":           {nil, []turn{user(`[[reply {"text":"x"} and so on`)}, 200, `bad script`},
		"the queue comes first":       {[]messagesapi.Reply{{Text: "queued"}}, []turn{user(`[[reply {"text":"x"}]]`)}, 200, `"text":"queued"`},
		"compaction":                  {nil, []turn{user("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Sum up.")}, 200, `\u003csummary\u003e`},
		"unauthorized":                {[]messagesapi.Reply{messagesapi.Unauthorized()}, []turn{user("x")}, 401, `authentication_error`},
		"forbidden":                   {[]messagesapi.Reply{messagesapi.Forbidden()}, []turn{user("x")}, 403, `permission_error`},
		"rate limited":                {[]messagesapi.Reply{messagesapi.RateLimited(0)}, []turn{user("x")}, 429, `rate_limit_error`},
		"overloaded":                  {[]messagesapi.Reply{messagesapi.Overloaded()}, []turn{user("x")}, 529, `overloaded_error`},
		"prompt too long":             {[]messagesapi.Reply{messagesapi.PromptTooLong()}, []turn{user("x")}, 400, `prompt is too long`},
		"refusal":                     {[]messagesapi.Reply{messagesapi.Refusal("part")}, []turn{user("x")}, 200, `"stop_reason":"refusal"`},
		"failure by script":           {nil, []turn{user(`[[reply {"failure":{"status":500,"message":"broken"}}]]`)}, 500, `"message":"broken"`},
		"no messages":                 {nil, nil, 400, `no messages request`},
		"stream failure, no stream":   {[]messagesapi.Reply{{StreamFailure: &messagesapi.Failure{Status: 529}}}, []turn{user("x")}, 529, `overloaded_error`},
		"usage as scripted, not size": {[]messagesapi.Reply{{Text: "x", InputTokens: 190000}}, []turn{user("x")}, 200, `"input_tokens":190000`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, messagesapi.Options{})
			s.Enqueue(tc.queue...)
			status, body := ask(t, s, tc.turns...)
			if status != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("answer = %d %s, want %d with %s", status, body, tc.status, tc.want)
			}
			if left := s.Queued(); left != 0 {
				t.Errorf("%d replies are left in the queue", left)
			}
		})
	}
}

// The test's own answers come behind the queue and before everything else.
func TestAnswersOfAFunction(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{
		Default: messagesapi.Reply{Text: "by default"},
		Answer: func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
			return messagesapi.Reply{Text: "by function"}, strings.Contains(p.LastUserText(), "you")
		},
	})
	s.Enqueue(messagesapi.Reply{Text: "by queue"})
	script := `[[reply {"text": "by script"}]]`
	for i, tc := range []struct{ text, want string }{
		{"you", "by queue"}, {"you " + script, "by function"}, {script, "by script"}, {"me", "by default"},
	} {
		if _, body := ask(t, s, user(tc.text)); !strings.Contains(body, tc.want) {
			t.Errorf("answer %d = %s, want %q", i, body, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{})
	s.Enqueue(messagesapi.RateLimited(90*time.Second), messagesapi.RateLimited(0))
	for _, want := range []string{"90", ""} {
		response := post(t.Context(), t, s, false, user("x"))
		if got := response.Header.Get("Retry-After"); got != want {
			t.Errorf("retry-after = %q, want %q", got, want)
		}
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply messagesapi.Reply
		want  []string
		cut   bool
	}{
		"text": {
			reply: messagesapi.Reply{Text: "one two"},
			want: []string{
				"message_start", "ping", "content_block_start", "content_block_delta one", "content_block_delta two",
				"content_block_stop", "message_delta end_turn", "message_stop",
			},
		},
		"thinking and a tool": {
			reply: messagesapi.Reply{Thinking: "hm", Tools: []messagesapi.ToolUse{{Name: "Bash", Input: map[string]any{"command": "echo äöü äöü äöü äöü äöü"}}}},
			want: []string{
				"message_start", "ping", "content_block_start", "content_block_delta hm", "content_block_delta", "content_block_stop",
				"content_block_start", `content_block_delta {"command":"echo äöü äöü äöü äöü`, `content_block_delta  äöü"}`,
				"content_block_stop", "message_delta tool_use", "message_stop",
			},
		},
		"error event": {
			reply: messagesapi.Reply{Text: "one", StreamFailure: &messagesapi.Failure{Status: 529}},
			want: []string{
				"message_start", "ping", "content_block_start", "content_block_delta one", "content_block_stop", "error overloaded_error",
			},
		},
		"cut": {
			reply: messagesapi.Reply{Text: "one two three", Cut: new(1)},
			want:  []string{"message_start", "ping", "content_block_start", "content_block_delta one"},
			cut:   true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, messagesapi.Options{})
			s.Enqueue(tc.reply)
			got, err := events(post(t.Context(), t, s, true, user("x")).Body)
			if (err != nil) != tc.cut {
				t.Errorf("the stream ended with %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// A hanging answer stays open until its client leaves or the server is closed.
func TestHang(t *testing.T) {
	t.Parallel()
	s := messagesapi.New(messagesapi.Options{})
	s.Enqueue(messagesapi.Reply{Text: "one two", Hang: new(1)}, messagesapi.Reply{Text: "one two", Hang: new(2)})

	ctx, cancel := context.WithCancel(t.Context())
	first := bufio.NewReader(post(ctx, t, s, true, user("x")).Body)
	for line := ""; !strings.Contains(line, "one"); {
		var err error
		if line, err = first.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if _, err := io.Copy(io.Discard, first); !errors.Is(err, context.Canceled) {
		t.Errorf("the rest of a hanging answer ended with %v", err)
	}

	second := post(t.Context(), t, s, true, user("x"))
	s.Close()
	got, err := events(second.Body)
	if err == nil {
		t.Errorf("a hanging answer ended with its server, but cleanly: %q", got)
	}
}

// A gate lets a test look at what goes on before the answer.
func TestGate(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{})
	gate := make(chan struct{})
	s.Enqueue(messagesapi.Reply{Text: "late", Gate: gate})
	answered := make(chan string, 1)
	go func() {
		_, body := ask(t, s, user("wait"))
		answered <- body
	}()
	got, err := s.Await(t.Context(), func(r messagesapi.Request) bool { return r.Prompt.LastUserText() == "wait" })
	if err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-answered:
		t.Fatalf("answered before the gate opened: %s", body)
	default:
	}
	close(gate)
	if body := <-answered; !strings.Contains(body, "late") {
		t.Errorf("answer = %s", body)
	}
	if got.Prompt.Model != "claude-test" {
		t.Errorf("model = %q", got.Prompt.Model)
	}
}

// A gate within a stream holds back what comes behind it until it is closed.
func TestGateWithinAStream(t *testing.T) {
	t.Parallel()
	s := messagesapi.New(messagesapi.Options{})
	gate := make(chan struct{})
	held := messagesapi.Reply{Text: "one two three", Gates: map[int]<-chan struct{}{2: gate}}
	s.Enqueue(held)
	body := post(t.Context(), t, s, true, user("x")).Body
	s.Close()
	if got, err := events(body); err == nil || slices.Contains(got, "content_block_delta three") {
		t.Errorf("a gate that is shut lets through %q, %v", got, err)
	}

	s = start(t, messagesapi.Options{})
	s.Enqueue(held)
	body = post(t.Context(), t, s, true, user("x")).Body
	close(gate)
	if got, err := events(body); err != nil || !slices.Contains(got, "content_block_delta three") {
		t.Errorf("a gate that is opened lets through %q, %v", got, err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Await(ctx, func(messagesapi.Request) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{secret: http.StatusOK, "another": http.StatusUnauthorized, "": http.StatusOK} {
		s := start(t, messagesapi.Options{Key: key})
		if status, body := ask(t, s, user("x")); status != want {
			t.Errorf("with key %q: %d %s", key, status, body)
		}
	}
}

// What a failing test prints of a request holds no credential.
func TestRequestsHoldNoCredential(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{Key: secret})
	ask(t, s, user("x"))
	for _, r := range s.Requests() {
		if printed := fmt.Sprintf("%v %+v %q", r, r.Header, r.Body); strings.Contains(printed, secret) {
			t.Errorf("a request shows the credential: %s", printed)
		}
		if got := r.Header.Get("X-Api-Key"); got != "[redacted]" {
			t.Errorf("x-api-key = %q", got)
		}
	}
}

func TestOtherEndpoints(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{})
	for _, tc := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodHead, "/", "", 404, ""},
		{http.MethodGet, "/v1/models", "", 404, "not_found_error"},
		{http.MethodPost, "/v1/messages/count_tokens", strings.Repeat("x", 400), 200, `{"input_tokens":101}`},
		{http.MethodPost, "/v1/messages", "{", 400, "invalid_request_error"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, s.URL()+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != tc.status || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s %s = %d %s (%v), want %d with %s", tc.method, tc.path, response.StatusCode, body, err, tc.status, tc.want)
		}
	}
	if got := len(s.Requests()); got != 4 {
		t.Errorf("%d requests were recorded, want 4", got)
	}
	if got := s.Messages(); len(got) != 0 {
		t.Errorf("messages = %v, want none", got)
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	s := start(t, messagesapi.Options{})
	ask(t, s, user("look"), toolUse, toolResult, user("[Request interrupted by user]"))
	p := s.Messages()[0].Prompt
	if diff := cmp.Diff([]string{"a file"}, p.ToolResults()); diff != "" {
		t.Errorf("tool results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"look", "[Request interrupted by user]"}, p.Texts()); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if got := p.LastUserText(); got != "look" {
		t.Errorf("last user text = %q", got)
	}
}
