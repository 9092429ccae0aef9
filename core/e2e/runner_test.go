//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// transcript is what the CLI keeps of a session: nothing until it has written it down, some 100 ms after its beginning.
func (r *rig) transcript(session string) string {
	r.Helper()
	paths, err := filepath.Glob(filepath.Join(r.config.Env["CLAUDE_CONFIG_DIR"], "projects", "*", session+".jsonl"))
	if err != nil || len(paths) > 1 {
		r.Fatalf("transcripts = %v, %v", paths, err)
	}
	if len(paths) == 0 {
		return ""
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

// A forked session knows what its parent read, and the parent stays as it is, though its process lives.
// Behaviour: session-thread.
func TestForkKnowsItsParent(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool, parent := r.pool(), r.session
	r.run(pool, r.turn("my number is 4711"))
	before := r.transcript(parent)

	r.session, r.started = uuid.NewString(), false
	turn := r.turn("what is it?")
	turn.ForkOf = parent
	r.run(pool, turn)
	r.remembers("my number is 4711")
	if after := r.transcript(parent); after != before {
		t.Errorf("the parent's transcript was changed to\n%s", after)
	}
	// The fork is a session like any other from now on.
	r.close(pool)
	pool = r.pool()
	turn.Again = true
	if got := r.run(pool, turn); !got.Recovered {
		t.Errorf("the repetition brings %+v", got)
	}
	r.run(pool, r.turn("and now?"))
	r.remembers("my number is 4711")
	r.remembers("what is it?")

	r.session, r.started = parent, false
	r.run(pool, r.turn("still you?"))
	last := r.api.Messages()[len(r.api.Messages())-1]
	if occurrences(last, "what is it?") != 0 || occurrences(last, "my number is 4711") != 1 {
		t.Errorf("the parent knows %q", last.Prompt.Texts())
	}
}

// The host compacts a conversation as a turn without an answer.
func TestCompaction(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	compact := func() agent.Turn {
		turn := r.turn("")
		turn.Prompt = "/compact keep the numbers"
		return turn
	}
	if got := r.run(pool, compact()); got.Text != "" || got.Compactions != 0 {
		t.Errorf("with nothing to compact: %+v", got)
	}
	r.run(pool, r.turn("a secret word: "+strings.Repeat("rhubarb ", 2000)))
	turn := compact()
	got := r.run(pool, turn)
	if got.Text != "" || got.Compactions != 1 || got.CostMicros == 0 || got.ContextTokens == 0 || got.ContextWindow == 0 {
		t.Errorf("the compaction brings %+v", got)
	}
	turn.Again = true
	if got := r.run(pool, turn); got.Text != "" || got.Continued {
		t.Errorf("the next attempt brings %+v", got)
	}
	r.run(pool, r.turn("go on"))
	last := r.api.Messages()[len(r.api.Messages())-1]
	if texts := strings.Join(last.Prompt.Texts(), "\n"); strings.Contains(texts, "rhubarb") || !strings.Contains(texts, "The conversation so far.") {
		t.Errorf("after the compaction the model gets %q", texts)
	}
}

// The CLI compacts by itself when the service finds the conversation too long, and says so.
// Behaviour: compaction.
func TestCompactionByItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.run(pool, r.turn("hello"))
	r.run(pool, r.turn("my number is 4711"))
	r.api.Enqueue(messagesapi.PromptTooLong())
	got := r.run(pool, r.turn("go on"))
	if got.Compactions != 1 || !strings.HasSuffix(got.Text, "go on") {
		t.Errorf("the turn brings %+v", got)
	}
}

// Each turn runs with its own model and effort, over one conversation and in one process, which keeps its system prompt.
// Behaviour: system-prompt-stable.
func TestProfiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	steps := []agent.Profile{
		{Model: "claude-sonnet-5", Effort: "low", SystemPrompt: "You are Claw the first."},
		{Model: "claude-sonnet-5", Effort: "low", SystemPrompt: "You are Claw the second."},
		{Model: "claude-opus-4-8", Effort: "low", SystemPrompt: "You are Claw the third."},
		{Model: "claude-opus-4-8", Effort: "max", SystemPrompt: "You are Claw the fourth."},
	}
	for i, profile := range steps {
		turn := r.turn("turn number " + string(rune('A'+i)))
		turn.Profile = profile
		got := r.run(pool, turn)
		last := r.api.Messages()[len(r.api.Messages())-1]
		if last.Prompt.Model != profile.Model || last.Prompt.Output.Effort != profile.Effort || got.Model != profile.Model {
			t.Errorf("turn %d ran with %s (told %s), effort %q", i, last.Prompt.Model, got.Model, last.Prompt.Output.Effort)
		}
		included := slices.ContainsFunc(last.Prompt.System, func(b messagesapi.Block) bool { return strings.Contains(b.Text, profile.SystemPrompt) })
		if included != (i == 0) {
			t.Errorf("turn %d is told its system prompt: %t", i, included)
		}
		r.remembers("turn number A")
	}
	if n := r.processes.count(); n != 1 {
		t.Errorf("%d processes were started, want 1", n)
	}
}

// What the model thinks and uses is reported with its answer.
func TestWorkIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.api.Enqueue(
		messagesapi.Reply{Thinking: "let me see", Tools: []messagesapi.ToolUse{
			{Name: "Bash", Input: map[string]any{"command": "true\n"}},
			{Name: "Read", Input: map[string]any{"file_path": "/no/such/file"}},
		}},
		messagesapi.Reply{Thinking: "I see", Text: "done"},
	)
	got := r.run(pool, r.turn("look"))
	want := []agent.ToolUse{{Name: "Bash", Summary: "true"}, {Name: "Read", Summary: "/no/such/file", Failed: true, Denied: true}}
	if diff := cmp.Diff(want, got.Tools, cmpopts.IgnoreFields(agent.ToolUse{}, "Output")); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, tool := range got.Tools {
		if tool.Output == "" {
			t.Errorf("no event has what %s returned", tool.Name) // not even that it was nothing, as the CLI says
		}
	}
	if got.Reasoning != "let me see\n\nI see" || got.Text != "done" {
		t.Errorf("reasoning %q, answer %q", got.Reasoning, got.Text)
	}
}
