package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude"
)

// What goes wrong with a stream is reported as it is, and the answer stands in the end.
// Behaviour: answer-restarted.
func TestProgressOfTroubles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		texts  string // a pattern: pieces that come together are reported together
		class  agent.Class
	}{
		"cut, and tried again":  {`{"lost":"half a","retries":2,"answer":"the answer"}`, "(half,)?half a,,(the,)?the answer", 0},
		"refused, and answered": {`{"refused":"bad words","answer":"good words"}`, "(bad,)?bad words,,(good,)?good words", 0},
		"refused for good":      {`{"refused":"bad words","error":"refusal"}`, "(bad,)?bad words,", agent.ContentFilter},
		"text, tool and text":   {`{"before":"I look","tool":"true","answer":"I saw"}`, "(I,)?I look,,(I,)?I saw", 0},
		"blocks":                {`{"blocks":true,"answer":"one two\nthree"}`, "(one,)?one two,one two\n\nthree", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			o, turn := new(onlooker), r.turn("[[stub "+tc.script+"]]")
			turn.Watcher = r.showing(o.see)
			result, err := r.pool().Run(t.Context(), turn)
			var texts []string
			for _, p := range o.all() {
				if p.Text != "" || len(texts) > 0 {
					texts = append(texts, p.Text)
				}
			}
			texts = slices.Compact(texts)
			if got := strings.Join(texts, ","); !regexp.MustCompile("^(?:" + tc.texts + ")$").MatchString(got) {
				t.Errorf("the text grew as %q, want %q", got, tc.texts)
			}
			if tc.class != 0 {
				r.wantClass(err, tc.class)
			} else if err != nil || texts[len(texts)-1] != result.Text {
				t.Errorf("answer %q, %v", result.Text, err)
			}
		})
	}
}

// Choices and plans come as questions; what was chosen is what the tool returns.
// Behaviour: ask.
func TestAskTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	turn := r.turn(`[[stub {"questions":[{"question":"Which?"}],"plan":"first this","say":"$OUTPUT"}]]`)
	var asked []string
	turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
		asked = append(asked, q.Tool+" "+string(q.Input))
		if q.Tool == "ExitPlanMode" {
			return agent.Decision{Message: "no, that first"}
		}
		return agent.Decision{Allow: true, Input: json.RawMessage(`{"answers":{"Which?":"B"}}`)}
	})
	result := r.ask(r.pool(), turn)
	want := []string{`AskUserQuestion {"questions":[{"question":"Which?"}]}`, `ExitPlanMode {"plan":"first this"}`}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if len(result.Tools) != 2 || !strings.Contains(result.Tools[0].Output, `"Which?"="B"`) || result.Tools[1].Output != "no, that first" || !result.Tools[1].Failed {
		t.Errorf("tools = %+v", result.Tools)
	}
}

// The demo streams its answer.
func TestDemoStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.config.Env["CLAUDE_STUB_DEMO"] = "1"
	result, reported := r.watch(r.pool(), r.turn("hi"))
	grown := 0
	for i := 1; i < len(reported); i++ {
		if strings.HasPrefix(reported[i].Text, reported[i-1].Text) && reported[i].Text != reported[i-1].Text {
			grown++
		}
	}
	if grown == 0 || reported[len(reported)-1].Text != result.Text {
		t.Errorf("%q grew %d times", result.Text, grown)
	}
}

// A claude that writes lines without end that are no events does not fill the log, and none is left out without being counted.
func TestNoiseIsBounded(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	r := newRig(t)
	var log bytes.Buffer
	pool, err := claude.New(r.config.pool(), hclog.New(&hclog.LoggerOptions{Output: &log, JSONFormat: true}), r.processes)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	result, err := pool.Run(t.Context(), r.turn(directive(map[string]any{"noise": lines, "answer": "well"})))
	if closed := pool.Close(t.Context()); err != nil || closed != nil || result.Text != "well" {
		t.Fatalf("answered %q, %v; closed: %v", result.Text, err, closed)
	}
	logged, missing := 0, 0
	for line := range strings.Lines(log.String()) {
		var entry struct {
			Message string `json:"@message"`
			Lines   int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Message == "claude wrote an invalid line" {
			logged++
		}
		missing += entry.Lines
	}
	if most := 20 * (int(time.Since(began).Seconds()) + 11); logged == 0 || logged > most {
		t.Errorf("%d of %d lines were logged, want at most %d", logged, lines, most)
	}
	if logged+missing != lines {
		t.Errorf("%d lines were logged and %d counted as missing, of %d", logged, missing, lines)
	}
}
