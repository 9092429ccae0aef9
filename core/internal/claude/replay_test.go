package claude

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/agent"
	"github.com/clawhost/clawhost/core/internal/claude/protocol"
	"github.com/clawhost/clawhost/core/internal/claude/recordings"
)

// first is the id of the first line that was written in the recordings that have ids.
const first = "11111111-0000-4000-8000-000000000001"

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

// replayed is what a track makes of a recorded stream.
type replayed struct {
	End     string // answered, a class, "not run", or "open"
	Text    string
	Context int64
	Window  int64
	Cost    int64
}

// fallback is what the recordings say of the only one of them in which another model answered.
var fallback = map[string]agent.Fallback{
	"2.1.197_err_529fallback": {From: "claude-sonnet-5", To: "claude-haiku-4-5-20251001", Overloaded: true},
}

// follow sends the recorded lines of a turn through a track.
func follow(t *testing.T, name, id string) replayed {
	t.Helper()
	s, tr := &session{}, newTrack(id)
	for _, line := range recordings.Stream(t, name) {
		if e, parseErr := protocol.Parse(line); parseErr == nil {
			if e.Type == "result" {
				s.count(e)
			}
			tr.observe(e)
		}
	}
	switch {
	case !tr.finished:
		return replayed{End: "open"}
	case tr.own() == nil:
		return replayed{End: "not run"}
	case !tr.succeeded():
		return replayed{End: tr.own().failed(strings.TrimSpace).Class.String()}
	}
	result := tr.outcome()
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
				// Somebody else's line is never answered by it.
				if got := follow(t, name, "99999999-0000-4000-8000-000000000001"); got.End != "open" {
					t.Errorf("another line is %+v", got)
				}
			}
		})
	}
}

// Another model that answers is told of, unless the chosen one has answered after all.
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
		"overloaded":                {[]string{init, overload, byB, own}, "b", agent.Fallback{From: "a", To: "b", Overloaded: true}},
		"failed":                    {[]string{init, failed, byB, own}, "b", agent.Fallback{From: "a", To: "b"}},
		"two, one after the other":  {[]string{init, overload, further, byC, own}, "c", agent.Fallback{From: "a", To: "c", Overloaded: true}},
		"in the midst of a turn":    {[]string{init, byA, overload, byB, own}, "b", agent.Fallback{From: "a", To: "b", Overloaded: true}},
		"a subagent's":              {[]string{init, overload, byA, own}, "a", agent.Fallback{}},
		"a subagent's, large":       {[]string{init, big, byA, own}, "a", agent.Fallback{}},
		"nobody has answered":       {[]string{init, overload, own}, "", agent.Fallback{}},
		"a later turn is the first": {[]string{init, overload, byB, own, init, echo, byA, also}, "a", agent.Fallback{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := newTrack("m")
			tr.expect("l")
			for _, l := range tc.events {
				e, err := protocol.Parse([]byte(l))
				if err != nil {
					t.Fatal(err)
				}
				tr.observe(e)
			}
			if got := tr.outcome(); got.Model != tc.model || got.Fallback != tc.want {
				t.Errorf("%q answered, fallback %+v; want %q, %+v", got.Model, got.Fallback, tc.model, tc.want)
			}
		})
	}
}

// What became of steered lines, by what the CLI says.
func TestFortunes(t *testing.T) {
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
			tr := newTrack("m")
			if !tr.expect("l") || tr.expect("l") || tr.expect("m") {
				t.Fatal("expect")
			}
			for _, l := range tc.events {
				e, err := protocol.Parse([]byte(l))
				if err != nil {
					t.Fatal(err)
				}
				tr.observe(e)
			}
			if tr.finished == tc.open {
				t.Errorf("finished = %t", tr.finished)
			}
			if tr.finished && tr.expect("too late") {
				t.Error("a line was expected in a turn that is over")
			}
			if got := tr.outcome().Text; got != tc.text {
				t.Errorf("text = %q, want %q", got, tc.text)
			}
			if got := len(tr.covered(false)) > 0; got != tc.covered {
				t.Errorf("covered = %t", got)
			}
			if got := len(tr.covered(true)) > 0; got != tc.stopped {
				t.Errorf("covered when stopped = %t", got)
			}
		})
	}
}

// The transcripts were left by the real CLI.
func TestRecordedTranscripts(t *testing.T) {
	t.Parallel()
	second := "11111111-0000-4000-8000-000000000002"
	for name, tc := range map[string]struct {
		ids    []string
		want   fate
		text   string
		before []string
	}{
		"tool":             {[]string{first}, answered, "it said hi", []string{"using"}},
		"max_tokens":       {[]string{first}, answered, "the first half " + limitNudge, nil},
		"interrupt":        {[]string{first}, unfinished, "", nil},
		"529":              {[]string{first}, unfinished, "", nil},
		"killed_in_answer": {[]string{first}, unfinished, "", nil},
		"killed_in_tool":   {[]string{first}, unfinished, "", []string{"using"}},
		"continued":        {[]string{first, second}, answered, "echo: [host] go on", []string{"using"}},
		"steered":          {[]string{second}, answered, "both done", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := recordings.Transcript(t, name)
			ids := map[string]bool{}
			for _, id := range tc.ids {
				ids[id] = true
			}
			got, err := recall(bytes.NewReader(data), ids)
			if err != nil || got.fate != tc.want || got.text != tc.text {
				t.Errorf("recall = %+v, %v; want %v, %q", got, err, tc.want, tc.text)
			}
			if !slices.Equal(got.before, tc.before) {
				t.Errorf("before it stands %q, want %q", got.before, tc.before)
			}
			if got, err := recall(bytes.NewReader(data), map[string]bool{"other": true}); got.fate != absent || err != nil {
				t.Errorf("another message is %+v, %v", got, err)
			}
			// A kill can tear the file anywhere: then an answer may be missing, but none is made up.
			for cut := range len(data) {
				if cut%97 != 0 {
					continue
				}
				if torn, err := recall(bytes.NewReader(data[:cut]), ids); err != nil || !strings.HasPrefix(got.text, torn.text) {
					t.Fatalf("cut at %d: %+v, %v", cut, torn, err)
				}
			}
		})
	}
	steered := recordings.Transcript(t, "steered")
	if got, err := recall(bytes.NewReader(steered), map[string]bool{first: true}); err != nil || len(got.covered) != 1 || got.covered[0] != second {
		t.Errorf("recall = %+v, %v; want %s covered", got, err, second)
	}
	// The next message's answer is not this one's.
	data := recordings.Transcript(t, "continued")
	if got, err := recall(bytes.NewReader(data), map[string]bool{first: true}); got.fate != unfinished || err != nil {
		t.Errorf("an unfinished message with a later one is %+v, %v", got, err)
	}
}

// The names were seen in the CLI's folder of projects.
func TestSlug(t *testing.T) {
	t.Parallel()
	long := "/tmp/scratch/cl/long" + strings.Repeat("/"+strings.Repeat("abcdefghij", 5), 5)
	for dir, want := range map[string]string{
		"/srv/claw/ws":               "-srv-claw-ws",
		"/srv/we ird.dir_x/é":        "-srv-we-ird-dir-x--",
		"/a/we ird.dir_é\U0001d4b3ß": "-a-we-ird-dir-----",
		long: "-tmp-scratch-cl-long-abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij-" +
			"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij-abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij-" +
			"abcdefghijabcdefghijabcdef-9a7gbi",
	} {
		if got := slug(dir); got != want {
			t.Errorf("slug(%q) = %q, want %q", dir, got, want)
		}
	}
}

func TestContinueID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{first: true}
	for _, message := range []string{first, "not a uuid"} {
		for attempt := range 5 {
			id := continueID(message, attempt)
			if _, err := uuid.Parse(id); err != nil || seen[id] || id != continueID(message, attempt) {
				t.Errorf("continueID(%q, %d) = %q: %v", message, attempt, id, err)
			}
			seen[id] = true
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	p := &Pool{hidden: hiddenValues(map[string]string{"MY_API_KEY": "canary1", "PLAIN": "visible", "X_TOKEN": "no"})}
	for text, want := range map[string]string{
		"key canary1 and visible no":             "key [redacted] and visible no",
		"sk-ant-api03-abc_DEF":                   "[redacted]",
		"Authorization: Bearer abcdef.ghi-jk":    "Authorization: [redacted]",
		" " + strings.Repeat("é", 2000) + "tail": strings.Repeat("é", 1000) + " …",
	} {
		if got := p.redact(text); got != want {
			t.Errorf("redact(%.40q) = %.80q, want %.80q", text, got, want)
		}
	}
}

// Whatever claude writes, a track takes it, and the recordings still come to their ends behind it.
func FuzzEvents(f *testing.F) {
	for _, name := range recordings.Streams(f) {
		f.Add(bytes.Join(recordings.Stream(f, name), []byte("\n")))
	}
	f.Add([]byte("{\"type\":\"assistant\",\"message\":{\"content\":[null,1,{\"type\":5}]}}\n{\"type\":\"result\",\"usage\":[]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, tr := &session{}, newTrack(first)
		for _, line := range bytes.Split(data, []byte("\n")) {
			e, err := protocol.Parse(line)
			if err != nil {
				continue
			}
			if e.Type == "result" {
				s.count(e)
			}
			before := tr.finished
			tr.observe(e)
			if before && !tr.finished {
				t.Fatal("a finished turn goes on")
			}
		}
		if own := tr.own(); own != nil {
			_ = tr.outcome()
			_ = fmt.Sprint(own.failed(strings.TrimSpace))
		}
		if _, err := recall(bytes.NewReader(data), map[string]bool{first: true}); err != nil {
			t.Fatal(err)
		}
	})
}
