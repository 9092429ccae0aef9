package exchange

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// first is the id of the first line that was written in the recordings that have ids.
const first = recordings.First

// What the scripted API echoed when the CLI asked for more by itself.
const (
	limitNudge = "echo: Output token limit hit. Resume directly — no apology, no recap of what you were doing. Pick up " +
		"mid-thought if that is where the cut happened. Break remaining work into smaller pieces."
	cutNudge = "echo: Your response above was cut off mid-stream. Resume directly from where it stops — no apology, no " +
		"recap. If none of it survived, answer the request from the start."
	refusalNudge = "echo: Your response above was stopped by a safety classifier — this is not a tool or API error. The " +
		"rest of it was withheld, and tool calls in it that had not finished did not run. Do not produce that content " +
		"again, even reworded."
)

// replayed is what an exchange makes of a recorded stream.
type replayed struct {
	End     string // answered, a class, "not run", or "open"
	Text    string
	Context int64
	Window  int64
	Cost    int64
}

// fallback is what the recordings say of the only one of them in which another model answered.
var fallback = map[string]agent.Fallback{
	"2.1.197_err_529fallback": {From: "claude-sonnet-5", To: "claude-haiku-4-5-20251001", Why: agent.Overloaded},
}

// follow sends the recorded lines of a turn through an exchange.
func follow(t *testing.T, name, id string) replayed {
	t.Helper()
	m, x := new(Meter), New(id)
	for _, line := range recordings.Stream(t, name) {
		if e, parseErr := protocol.Parse(line); parseErr == nil {
			if e.Type == "result" {
				m.Count(e)
			}
			x.Observe(e)
		}
	}
	switch {
	case !x.finished:
		return replayed{End: "open"}
	case !x.Ran():
		return replayed{End: "not run"}
	case !x.Succeeded():
		return replayed{End: x.Failure().Class.String()}
	}
	result := x.Outcome()
	if result.Fallback != fallback[name] {
		t.Errorf("fallback = %+v, want %+v", result.Fallback, fallback[name])
	}
	return replayed{
		End: "answered", Text: result.Text, Context: result.ContextTokens, Window: result.ContextWindow, Cost: result.CostMicros,
	}
}

// The streams were recorded from the real CLI against a scripted Messages API.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id   string
		want replayed
	}{
		"2.1.197_persistent_tools":    {"", replayed{"answered", "echo: turn one", 19092, 1000000, 95640}},
		"2.1.197_steer_midtool":       {"", replayed{"answered", "final answer", 19361, 1000000, 290930}},
		"2.1.197_interrupt_tool":      {"", replayed{End: agent.Aborted.String()}},
		"2.1.197_background_bash":     {"", replayed{"answered", "started it", 19272, 1000000, 192975}},
		"2.1.197_subagent":            {"", replayed{"answered", "done sub", 19276, 1000000, 250080}},
		"2.1.197_compact_auto":        {"", replayed{"answered", "ok", 1001, 200000, 627}},
		"2.1.197_err_401r2":           {"", replayed{End: agent.Auth.String()}},
		"2.1.197_err_400toolong":      {"", replayed{End: agent.ContextOverflow.String()}},
		"2.1.197_err_oauth_429":       {"", replayed{End: agent.RateLimit.String()}},
		"2.1.197_err_refusal":         {"", replayed{End: agent.ContentFilter.String()}},
		"2.1.197_err_ctxwindow":       {"", replayed{End: agent.ContextOverflow.String()}},
		"2.1.197_err_maxturns":        {"", replayed{End: agent.Limit.String()}},
		"2.1.197_err_full_529_sonnet": {"", replayed{End: agent.Overloaded.String()}},
		"2.1.197_err_midstream_drop":  {"", replayed{"answered", "partial words here now", 29046, 200000, 87270}},
		"2.1.197_err_529fallback":     {"", replayed{"answered", "echo: plain", 28883, 200000, 28927}},
		"2.1.329_tool":                {first, replayed{"answered", "it said hi", 15746, 1000000, 63216}},
		"2.1.329_blocks":              {first, replayed{"answered", "first block\n\nsecond block", 15686, 1000000, 31524}},
		"2.1.329_max_tokens":          {first, replayed{"answered", "the first half " + limitNudge, 15788, 1000000, 63432}},
		"2.1.329_cut":                 {first, replayed{"answered", "a b c " + cutNudge, 15782, 1000000, 63298}},
		"2.1.329_refusal":             {first, replayed{"answered", refusalNudge, 15807, 1000000, 63532}},
		"2.1.329_interrupt":           {first, replayed{End: agent.Aborted.String()}},
		"2.1.329_steered":             {first, replayed{"answered", "both done", 15841, 1000000, 63406}},
		"2.1.329_401":                 {first, replayed{End: agent.Auth.String()}},
		"2.1.329_529":                 {first, replayed{End: agent.Overloaded.String()}},
		"2.1.329_overflow":            {first, replayed{End: agent.ContextOverflow.String()}},
		"2.1.329_repeated":            {first, replayed{End: "not run"}},
		"2.1.329_repeated_same":       {first, replayed{End: "not run"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, follow(t, name, tc.id)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tc.id != "" {
				// Another caller's line is never answered by it.
				if got := follow(t, name, "99999999-0000-4000-8000-000000000001"); got.End != "open" {
					t.Errorf("another line is %+v", got)
				}
			}
		})
	}
}

// Another model that answers is reported, unless the chosen one has answered after all.
// Behaviour: fallback-told.
func TestFallback(t *testing.T) {
	t.Parallel()
	const (
		init     = `{"type":"system","subtype":"init"}`
		overload = `{"type":"system","subtype":"model_fallback","trigger":"overloaded","original_model":"a","fallback_model":"b"}`
		big      = `{"type":"system","subtype":"model_fallback","trigger":"overloaded","original_model":"a[1m]","fallback_model":"b"}`
		failed   = `{"type":"system","subtype":"model_fallback","trigger":"server_error","original_model":"a","fallback_model":"b"}`
		further  = `{"type":"system","subtype":"model_fallback","trigger":"server_error","original_model":"b","fallback_model":"c"}`
		byA      = `{"type":"assistant","message":{"id":"1","model":"a","content":"hi"}}`
		byB      = `{"type":"assistant","message":{"id":"2","model":"b","content":"hi"}}`
		byC      = `{"type":"assistant","message":{"id":"3","model":"c","content":"hi"}}`
		own      = `{"type":"result","subtype":"success","result":"hi","user_message_uuids":["m"]}`
		echo     = `{"type":"user","uuid":"l","isReplay":true,"message":{"role":"user","content":"[Bob] l"}}`
		also     = `{"type":"result","subtype":"success","result":"hi","user_message_uuids":["l"]}`
	)
	for name, tc := range map[string]struct {
		events []string
		model  string
		want   agent.Fallback
	}{
		"none":                      {[]string{init, byA, own}, "a", agent.Fallback{}},
		"overloaded":                {[]string{init, overload, byB, own}, "b", agent.Fallback{From: "a", To: "b", Why: agent.Overloaded}},
		"failed":                    {[]string{init, failed, byB, own}, "b", agent.Fallback{From: "a", To: "b", Why: agent.Model}},
		"two, one after the other":  {[]string{init, overload, further, byC, own}, "c", agent.Fallback{From: "a", To: "c", Why: agent.Overloaded}},
		"during a turn":             {[]string{init, byA, overload, byB, own}, "b", agent.Fallback{From: "a", To: "b", Why: agent.Overloaded}},
		"a subagent's":              {[]string{init, overload, byA, own}, "a", agent.Fallback{}},
		"a subagent's, large":       {[]string{init, big, byA, own}, "a", agent.Fallback{}},
		"no one has answered":       {[]string{init, overload, own}, "", agent.Fallback{}},
		"a later turn is the first": {[]string{init, overload, byB, own, init, echo, byA, also}, "a", agent.Fallback{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := New("m")
			x.Expect("l")
			for _, l := range tc.events {
				e, err := protocol.Parse([]byte(l))
				if err != nil {
					t.Fatal(err)
				}
				x.Observe(e)
			}
			if got := x.Outcome(); got.Model != tc.model || got.Fallback != tc.want {
				t.Errorf("%q answered, fallback %+v; want %q, %+v", got.Model, got.Fallback, tc.model, tc.want)
			}
		})
	}
}

// The results of steered lines, from recordings of the CLI.
func TestResultsOfLines(t *testing.T) {
	t.Parallel()
	const (
		own  = `{"type":"result","subtype":"success","result":"one","user_message_uuids":["m"]}`
		bad  = `{"type":"result","subtype":"error_during_execution","is_error":true,"user_message_uuids":["m"]}`
		also = `{"type":"result","subtype":"success","result":"two","user_message_uuids":["l"]}`
		fail = `{"type":"result","subtype":"success","is_error":true,"result":"no","user_message_uuids":["l"]}`
		task = `{"type":"result","subtype":"success","result":"task","origin":{"kind":"task-notification"}}`
		init = `{"type":"system","subtype":"init"}`
		echo = `{"type":"user","uuid":"l","isReplay":true,"message":{"role":"user","content":"[Bob] l"}}`
		rest = `{"type":"system","subtype":"session_state_changed","state":"idle"}`
		yes  = `{"type":"control_response","response":{"subtype":"success","request_id":"withdraw l","response":{"cancelled":true}}}`
		no   = `{"type":"control_response","response":{"subtype":"success","request_id":"withdraw l","response":{"cancelled":false}}}`
	)
	life := func(state string) string {
		return `{"type":"command_lifecycle","command_uuid":"l","state":"` + state + `"}`
	}
	for name, tc := range map[string]struct {
		events  []string
		open    bool
		text    string
		covered bool // when the turn was not stopped
		stopped bool // when it was
	}{
		"steered":                         {[]string{init, life("queued"), echo, life("started"), own}, false, "one", true, true},
		"steered, old CLI":                {[]string{init, echo, own}, false, "one", true, true},
		"steered, and the turn fails":     {[]string{init, echo, bad, life("cancelled")}, false, "", true, true},
		"steered, then told cancelled":    {[]string{init, life("started"), life("cancelled"), bad}, false, "", true, true},
		"waits":                           {[]string{init, life("queued"), own}, true, "one", false, false},
		"withdrawn":                       {[]string{init, yes, own}, false, "one", false, false},
		"told cancelled":                  {[]string{init, life("cancelled"), own}, false, "one", false, false},
		"withdrawn after the turn":        {[]string{init, own, yes}, false, "one", false, false},
		"not withdrawn":                   {[]string{init, no, own}, true, "one", false, false},
		"runs late":                       {[]string{init, own, no, life("started"), init}, true, "one", false, true},
		"ran late":                        {[]string{init, own, echo, life("started"), init, also}, false, "one\n\ntwo", true, true},
		"ran late, after a rest":          {[]string{init, own, rest, echo, init, rest, also}, false, "one\n\ntwo", true, true},
		"ran late, behind a task":         {[]string{init, own, init, task, life("started"), init, also}, false, "one\n\ntwo", true, true},
		"ran late and failed":             {[]string{init, own, life("started"), init, fail}, false, "one", false, true},
		"ran late after a failure":        {[]string{init, bad, life("started"), init, also}, false, "", false, true},
		"known from before":               {[]string{init, own, echo, rest}, false, "one", true, true},
		"known from before, told so":      {[]string{init, life("completed"), own}, false, "one", true, true},
		"steered into a task before it":   {[]string{init, echo, task, init, own}, false, "one", true, true},
		"somebody else's line is ignored": {[]string{init, strings.ReplaceAll(echo, `"l"`, `"x"`), own}, true, "one", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := New("m")
			if !x.Expect("l") || x.Expect("l") || x.Expect("m") {
				t.Fatal("expect")
			}
			for _, l := range tc.events {
				e, err := protocol.Parse([]byte(l))
				if err != nil {
					t.Fatal(err)
				}
				x.Observe(e)
			}
			if x.finished == tc.open {
				t.Errorf("finished = %t", x.finished)
			}
			if x.finished && x.Expect("too late") {
				t.Error("a line was expected in a turn that is over")
			}
			if got := x.Outcome().Text; got != tc.text {
				t.Errorf("text = %q, want %q", got, tc.text)
			}
			if got := len(x.Covered(false)) > 0; got != tc.covered {
				t.Errorf("covered = %t", got)
			}
			if got := len(x.Covered(true)) > 0; got != tc.stopped {
				t.Errorf("covered when stopped = %t", got)
			}
		})
	}
}

// Whatever claude writes, an exchange takes it, and the recordings still come to their ends behind it.
func FuzzEvents(f *testing.F) {
	for _, name := range recordings.Streams(f) {
		f.Add(bytes.Join(recordings.Stream(f, name), []byte("\n")))
	}
	f.Add([]byte("{\"type\":\"assistant\",\"message\":{\"content\":[null,1,{\"type\":5}]}}\n{\"type\":\"result\",\"usage\":[]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, x := new(Meter), New(first)
		for _, line := range bytes.Split(data, []byte("\n")) {
			e, err := protocol.Parse(line)
			if err != nil {
				continue
			}
			if e.Type == "result" {
				m.Count(e)
			}
			before := x.finished
			x.Observe(e)
			if before && !x.finished {
				t.Fatal("a finished turn goes on")
			}
		}
		if x.Ran() {
			_ = x.Outcome()
			_ = fmt.Sprint(x.Failure())
		}
	})
}
