package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// clerk is a service with everything that a service may have beside hooks and tools.
type clerk struct {
	env   sdk.Env
	woken []sdk.WakeUp
}

var at = time.Date(2026, 3, 29, 2, 30, 0, 0, time.UTC)

func (c *clerk) ReplyCommand(ctx context.Context, call sdk.CommandCall) (sdk.Reply, error) {
	if call.Args != "" {
		if call.ID != "c-"+call.Args {
			return sdk.Reply{}, errors.New("the call has the id " + call.ID)
		}
		if err := c.env.WakeUps.WakeAt(ctx, call.Args, at); err != nil {
			return sdk.Reply{}, err
		}
	}
	return sdk.Reply{Text: "noted", Buttons: [][]chat.Button{{{Label: "Delete", Data: "/note delete"}}}}, nil
}

func (c *clerk) WakeUp(ctx context.Context, w sdk.WakeUp) error {
	c.woken = append(c.woken, w)
	switch w.Key {
	case "again":
		return c.env.WakeUps.WakeAt(ctx, w.Key, w.At.Add(time.Hour))
	case "fails":
		return errors.New("not now")
	case "turn":
		_, err := c.env.Turns.Run(ctx, sdk.Turn{
			Key: "k", To: chat.Address{Chat: "anna"}, Kind: chat.Direct, Prompt: "look", Context: "the weather", Conversation: "weather", Agent: "server",
		})
		return err
	case "post":
		return c.env.Outbox.PostMessage(ctx, "k", chat.Address{Chat: "anna"}, sdk.Post{
			Text: "agree?", Buttons: [][]chat.Button{{{Label: "Yes", Data: "/note yes"}}},
		})
	}
	return nil
}

func (c *clerk) RunCLI(_ context.Context, call sdk.CLICall) (sdk.CLIResult, error) {
	if len(call.Args) == 0 {
		return sdk.CLIResult{}, errors.New("the token s3cret is wrong")
	}
	return sdk.CLIResult{Stdout: fmt.Sprintf("%q %q %d\x1b[2J\n", call.Args, call.Stdin, call.Width), Code: 3}, nil
}

func (c *clerk) HTTPHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /a%2Fb/{rest}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Kept", r.Header.Get("X-Sent"))
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("X-Late", "dropped")
		fmt.Fprintf(w, "%s %s %s %s %s", r.Host, r.PathValue("rest"), r.URL.Query().Get("q"), r.RemoteAddr, body)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = w.Write(make([]byte, 1<<19))
		}
	})
	return mux
}

type clerkConfig struct {
	Token sdk.Secret `json:"token,omitempty"`
}

// newClerk returns a configured plugin.
func newClerk(t *testing.T, before bool) (*clerk, *sdktest.Harness) {
	t.Helper()
	c := &clerk{}
	h := sdktest.New(t, sdk.Service(func(_ context.Context, env sdk.Env, _ clerkConfig) (*clerk, error) {
		c.env = env
		return c, nil
	}, sdk.CommandSpec{Name: "note"}))
	h.Before = before
	h.Configure(map[string]any{"token": "s3cret"})
	return c, h
}

func TestCapabilitiesOfAService(t *testing.T) {
	t.Parallel()
	_, h := newClerk(t, false)
	want := []string{"CAPABILITY_COMMANDS", "CAPABILITY_WAKE_UP", "CAPABILITY_CLI", "CAPABILITY_HTTP"}
	if diff := cmp.Diff(want, h.Describe().Capabilities); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	open := func(context.Context, sdk.Env, struct{}) (*clerk, error) { return &clerk{}, nil }
	if _, err := sdk.NewPlugin("test", "1", io.Discard, sdk.Service(open), sdk.Service(open)); err == nil ||
		!strings.Contains(err.Error(), "several components of the plugin serve wake_up") {
		t.Errorf("two services with wake-ups: %v", err)
	}
}

func TestWakeUps(t *testing.T) {
	t.Parallel()
	c, h := newClerk(t, false)
	for _, key := range []string{"fails", "once", "again", "again"} {
		if reply, err := h.Reply(sdk.CommandCall{ID: "c-" + key, Name: "note", Args: key}); err != nil || len(reply.Buttons) != 1 || reply.Buttons[0][0].Data != "/note delete" {
			t.Fatalf("the reply is %+v, %v", reply, err)
		}
	}
	set := []sdk.WakeUp{{Key: "again", At: at}, {Key: "fails", At: at}, {Key: "once", At: at}}
	if diff := cmp.Diff(set, h.Host.WakeUps()); diff != "" {
		t.Fatalf("set (-want +got):\n%s", diff)
	}
	for _, w := range set {
		if err := h.WakeUp(w); (err != nil) != (w.Key == "fails") {
			t.Errorf("%s: %v", w.Key, err)
		}
	}
	if diff := cmp.Diff(set, c.woken); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	left := []sdk.WakeUp{{Key: "fails", At: at}, {Key: "again", At: at.Add(time.Hour)}}
	if diff := cmp.Diff(left, h.Host.WakeUps()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	for _, w := range left {
		if err := c.env.WakeUps.Cancel(t.Context(), w.Key); err != nil {
			t.Error(err)
		}
	}
	if left := h.Host.WakeUps(); left != nil {
		t.Errorf("cancelled, and left are %v", left)
	}
	if err := c.env.WakeUps.WakeAt(t.Context(), strings.Repeat("x", 201), at); err == nil {
		t.Error("a key of 201 bytes is taken")
	}
}

// What an older host would ignore is refused before it is asked.
func TestAnOlderHost(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		_, h := newClerk(t, before)
		var ran []sdk.Turn
		h.Host.OnTurn(func(_ context.Context, turn sdk.Turn) (string, error) {
			ran = append(ran, turn)
			return "sunny", nil
		})
		errTurn, errPost := h.WakeUp(sdk.WakeUp{Key: "turn", At: at}), h.WakeUp(sdk.WakeUp{Key: "post", At: at})
		if before {
			for _, err := range []error{errTurn, errPost} {
				if err == nil || !strings.Contains(err.Error(), "the host is too old") {
					t.Errorf("the error is %v", err)
				}
			}
			if len(ran)+len(h.Host.Posts()) > 0 {
				t.Errorf("ran %v, posted %v", ran, h.Host.Posts())
			}
			continue
		}
		want := []sdk.Turn{{
			Key: "k", To: chat.Address{Chat: "anna"}, Kind: chat.Direct, Prompt: "look", Context: "the weather", Conversation: "weather", Agent: "server",
		}}
		if diff := cmp.Diff(want, ran); errTurn != nil || diff != "" {
			t.Errorf("%v, ran (-want +got):\n%s", errTurn, diff)
		}
		if posts := h.Host.Posts(); errPost != nil || len(posts) != 1 || len(posts[0].Buttons) != 1 {
			t.Errorf("posted %+v, %v", posts, errPost)
		}
	}
}

func TestFollowATurn(t *testing.T) {
	t.Parallel()
	c, h := newClerk(t, false)
	fails := false
	h.Host.OnTurn(func(context.Context, sdk.Turn) (string, error) {
		if fails {
			return "", errors.New("no")
		}
		return "sunny", nil
	})
	follow := func() (got []sdk.TurnProgress, err error) {
		for p, e := range c.env.Turns.Follow(t.Context(), sdk.Turn{Key: "k", To: chat.Address{Chat: "anna"}, Kind: chat.Direct, Prompt: "look"}) {
			got, err = append(got, p), e
		}
		return got, err
	}
	got, err := follow()
	if diff := cmp.Diff([]sdk.TurnProgress{{Text: "sunny"}, {Text: "sunny", Ended: true}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	fails = true
	_, err = follow()
	if failed, ok := errors.AsType[*sdk.TurnError](err); !ok || failed.Message != "no" {
		t.Errorf("a failed turn: %v", err)
	}
}

func TestCLIOfAService(t *testing.T) {
	t.Parallel()
	_, h := newClerk(t, false)
	got, err := h.CLI(sdk.CLICall{Args: []string{"list", "-a"}, Stdin: []byte("in"), Width: 80})
	want := sdk.CLIResult{Stdout: "[\"list\" \"-a\"] \"in\" 80[2J\n", Code: 3}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = h.CLI(sdk.CLICall{})
	if err != nil || got.Code != 1 || !strings.HasPrefix(got.Stderr, "the token ") || strings.Contains(got.Stderr, "s3cret") {
		t.Errorf("an error is printed as %+v, %v", got, err)
	}
}

func TestHTTPOfAService(t *testing.T) {
	t.Parallel()
	_, h := newClerk(t, false)
	r := httptest.NewRequest(http.MethodPost, "http://host.example/a%2Fb/c?q=1", strings.NewReader("body"))
	r.Header.Set("X-Sent", "yes")
	answer, err := h.HTTP(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	if got, want := string(body), "host.example c 1 192.0.2.1:1234 body"; got != want || answer.StatusCode != http.StatusAccepted {
		t.Errorf("%d %q, want 202 %q", answer.StatusCode, got, want)
	}
	if answer.Header.Get("X-Kept") != "yes" || answer.Header.Get("X-Late") != "" || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("the headers are %v", answer.Header)
	}
	if _, err := h.HTTP(httptest.NewRequest(http.MethodGet, "/large", nil)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a response that is too large: %v", err)
	}
}
