//go:build e2e

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// onlooker keeps what a turn tells of its progress.
type onlooker struct {
	mu       sync.Mutex
	reported []agent.Progress
}

func (o *onlooker) see(p agent.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reported = append(o.reported, p)
}

// texts are the different texts that were reported, in order, and the last one.
func (o *onlooker) texts() (texts []string, last agent.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.reported {
		if p.Text != "" || len(texts) > 0 {
			texts = append(texts, p.Text)
		}
		last = p
	}
	return slices.Compact(texts), last
}

// saw reports whether something was ever reported.
func (o *onlooker) saw(what func(agent.Progress) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.reported, what)
}

// Text is reported as it is written, with the tool that runs between, and the last text is the answer.
func TestProgressIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.api.Enqueue(
		messagesapi.Reply{Thinking: "let me see", Text: "I look", Tools: messagesapi.Bash("echo seen").Tools, DeltaDelayMS: 150},
		messagesapi.Reply{Text: "one two three", DeltaDelayMS: 20},
	)
	o, turn := new(onlooker), r.turn("look")
	turn.Watcher = watcher{progress: o.see}
	result := r.run(pool, turn)
	texts, last := o.texts()
	if got := strings.Join(texts, "|"); !regexp.MustCompile(`^(I\|)?I look\|\|(one\|)?(one two\|)?one two three$`).MatchString(got) { // pieces are joined
		t.Errorf("the text grew as %q", got)
	}
	tool := agent.ToolUse{Name: "Bash", Summary: "echo seen"}
	if !o.saw(func(p agent.Progress) bool { return len(p.Running) == 1 && p.Running[0] == tool }) {
		t.Error("the tool was not seen at work")
	}
	const thought = "let me see"
	if !o.saw(func(p agent.Progress) bool { return p.Thinking == thought }) {
		t.Error("the thought was not seen")
	}
	if !o.saw(func(p agent.Progress) bool {
		return p.Thinking != "" && p.Thinking != thought && strings.HasPrefix(thought, p.Thinking)
	}) {
		t.Error("the thought was not seen to grow")
	}
	tool.Output = "seen"
	want := []agent.Step{{Text: "I look"}, {Tool: tool}}
	if last.Text != result.Text || !last.Complete || len(last.Running) > 0 || !slices.Equal(last.Done, want) {
		t.Errorf("the last one reported is %+v", last)
	}
}

// The CLI joins the pieces of a text that come soon after each other. The first is not held, and nothing is lost.
// Behaviour: preview-pace.
func TestPiecesAreJoined(t *testing.T) {
	t.Parallel()
	const words = 400
	text := strings.TrimSpace(strings.Repeat("word ", words))
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.api.Enqueue(messagesapi.Reply{Text: text, DeltaDelayMS: 2})
	o, turn := new(onlooker), r.turn("tell me")
	turn.Watcher = watcher{progress: o.see}
	result := r.run(pool, turn)
	texts, last := o.texts()
	if len(texts) == 0 || texts[0] != "word" {
		t.Errorf("the text grew as %q", texts)
	}
	if len(texts) > words/4 {
		t.Errorf("%d words came in %d pieces", words, len(texts))
	}
	if result.Text != text || last.Text != text {
		t.Errorf("the answer is %q, the last one reported %q", result.Text, last.Text)
	}
}

// A stream that is cut restarts, or continues where it stopped; a refused text is withdrawn.
// Behaviour: answer-restarted.
func TestProgressOfTroubles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replies []messagesapi.Reply
		texts   string // a pattern: pieces that come together are reported together
		class   agent.Class
	}{
		"cut in a block": {[]messagesapi.Reply{
			{Text: "one two three", Cut: new(2), DeltaDelayMS: 50}, {Text: "four five", DeltaDelayMS: 20},
		}, "(one,)?one two,,(four,)?four five", 0},
		"cut behind a block": {[]messagesapi.Reply{
			{Text: "one two ", Tools: messagesapi.Bash("echo " + strings.Repeat("x", 50)).Tools, Cut: new(4), DeltaDelayMS: 50}, {Text: "three", DeltaDelayMS: 20},
		}, "(one,)?one two,one two three", 0},
		"refused": {[]messagesapi.Reply{
			messagesapi.Refusal("no thanks"), messagesapi.Refusal("no again"),
		}, "(no,)?no thanks,,(no,)?no again,", agent.ContentFilter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, nil)
			pool := r.pool()
			r.api.Enqueue(tc.replies...)
			o, turn := new(onlooker), r.turn("go")
			turn.Watcher = watcher{progress: o.see}
			result, err := r.try(pool, turn)
			texts, last := o.texts()
			if got := strings.Join(texts, ","); !regexp.MustCompile("^(?:" + tc.texts + ")$").MatchString(got) {
				t.Errorf("the text grew as %q, want %q", got, tc.texts)
			}
			if tc.class != 0 {
				r.wantClass(err, tc.class)
			} else if err != nil || last.Text != result.Text {
				t.Errorf("answer %q, %v; the last one reported is %q", result.Text, err, last.Text)
			}
		})
	}
}

// A question is answered alongside the turn, while its tool runs, and leaves no trace in the conversation.
// Behaviour: aside.
func TestAside(t *testing.T) {
	t.Parallel()
	answer := func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
		if strings.Contains(p.LastUserText(), "how far") {
			return messagesapi.Reply{Text: "half way"}, true
		}
		return messagesapi.Reply{}, false
	}
	r := newRig(t, messagesapi.Options{Answer: answer}, nil)
	pool := r.pool()
	if _, err := pool.Aside(r.ctx, r.session, "anybody?"); err != client.ErrNotRunning {
		t.Errorf("without a process: %v", err)
	}
	seconds := unheardOf()
	r.api.Enqueue(messagesapi.Bash("sleep " + seconds + " & sleep 1; kill $!"))
	running := r.begin(r.ctx, pool, r.turn("wait for it"))
	r.poll("the tool sleeps", func() bool { return sleeping(seconds) > 0 })
	if got, err := pool.Aside(r.ctx, r.session, "how far are you?"); err != nil || got != "half way" {
		t.Errorf("aside = %q, %v", got, err)
	}
	select {
	case <-running.done:
		t.Error("the turn was over before the question was answered")
	default:
	}
	<-running.done
	if running.err != nil {
		t.Errorf("the turn: %v", running.err)
	}
	r.run(pool, r.turn("and now?"))
	requests := r.api.Messages()
	for _, text := range requests[len(requests)-1].Prompt.Texts() {
		if strings.Contains(text, "half way") || strings.Contains(text, "how far") {
			t.Errorf("the conversation holds %q", text)
		}
	}
}
