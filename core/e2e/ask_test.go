//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// unallowed has nothing allowed that is not asked for.
func unallowed(c *runner) { c.AllowedTools = nil }

// A question is asked with what it is about, and the decision is what happens.
// Behaviour: ask.
func TestAsk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		decision func(dir string) agent.Decision
		made     string // the file that there is afterwards
		answered string // what the model reads about the tool
	}{
		"allowed": {func(string) agent.Decision { return agent.Decision{Allow: true} }, "asked", ""},
		"allowed, changed": {func(dir string) agent.Decision {
			input, _ := json.Marshal(map[string]string{"command": "touch " + dir + "/changed"}) // a map of strings
			return agent.Decision{Allow: true, Input: input}
		}, "changed", ""},
		"denied": {func(string) agent.Decision { return agent.Decision{Message: "the owner says no"} }, "", "the owner says no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, unallowed)
			pool, dir := r.pool(), t.TempDir()
			r.api.Enqueue(messagesapi.Bash("touch "+dir+"/asked"), messagesapi.Reply{Text: "done"})
			var asked []agent.Question
			turn := r.turn("touch it")
			turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
				asked = append(asked, q)
				return tc.decision(dir)
			})
			if got := r.run(pool, turn); got.Text != "done" || len(got.Tools) != 1 || !strings.Contains(got.Tools[0].Output, tc.answered) {
				t.Errorf("the turn brings %+v", got)
			}
			if len(asked) != 1 || asked[0].Outside != dir+"/asked" || asked[0].Tool != "Bash" || !strings.Contains(string(asked[0].Input), dir+"/asked") || asked[0].ToolUseID == "" {
				t.Errorf("asked %+v", asked)
			}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var made []string
			for _, f := range files {
				made = append(made, f.Name())
			}
			if got := strings.Join(made, " "); got != tc.made {
				t.Errorf("there is %q, want %q", got, tc.made)
			}
		})
	}
}

// A question offers only rules. If the CLI also suggests a folder, it offers none: approving a command must not open
// a folder.
// Behaviour: ask-grant.
func TestSuggestedRules(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, unallowed)
	pool := r.pool()
	for command, want := range map[string][]string{
		"npm test":                    {"Bash(npm test *)"},
		"npm test && mkdir a":         {"Bash(npm test *)", "Bash(mkdir a *)"},
		"npm test > /etc/odd":         nil,
		"npm test && echo x | tee a":  nil,
		"npm test && $(echo rm) a":    nil,
		"npm test && curl http://a.b": {"Bash(npm test *)", "Bash(curl http://a.b)"},
	} {
		r.api.Enqueue(messagesapi.Bash(command), messagesapi.Reply{Text: "done"})
		turn := r.turn("do it")
		asked := 0
		turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
			if asked++; !slices.Equal(q.Suggested, want) {
				t.Errorf("%s would be spared by %q, want %q", command, q.Suggested, want)
			}
			return agent.Decision{Message: "no"}
		})
		if r.run(pool, turn); asked != 1 {
			t.Errorf("%s: asked %d times", command, asked)
		}
	}
}

// choice is an answer that has the user choose.
func choice(question string, choices ...string) messagesapi.Reply {
	options := []any{}
	for _, choice := range choices {
		options = append(options, map[string]any{"label": choice, "description": "the " + choice})
	}
	return messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "AskUserQuestion", Input: map[string]any{
		"questions": []any{map[string]any{"question": question, "header": "Pick", "multiSelect": false, "options": options}},
	}}}}
}

// The choice of the user reaches the model, and so does what the user thinks of a plan.
// Behaviour: ask.
func TestAskTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, unallowed)
	pool := r.pool()
	r.api.Enqueue(choice("Which one?", "A", "B"), messagesapi.Reply{Text: "agreed"})
	turn := r.turn("choose")
	turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
		var input map[string]any
		if err := json.Unmarshal(q.Input, &input); err != nil || q.Tool != "AskUserQuestion" {
			t.Errorf("asked %+v: %v", q, err)
			return agent.Decision{}
		}
		input["answers"] = map[string]string{"Which one?": "B"}
		answer, err := json.Marshal(input)
		if err != nil {
			t.Error(err)
		}
		return agent.Decision{Allow: true, Input: answer}
	})
	if got := r.run(pool, turn); got.Text != "agreed" || len(got.Tools) != 1 || !strings.Contains(got.Tools[0].Output, `"Which one?"="B"`) {
		t.Errorf("the turn brings %+v", got)
	}

	r.api.Enqueue(messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "ExitPlanMode", Input: map[string]any{"plan": "first this"}}}},
		messagesapi.Reply{Text: "as you wish"})
	turn = r.turn("plan")
	turn.Profile.PermissionMode = "plan"
	asked := 0
	turn.Asker = askFunc(func(_ context.Context, q agent.Question) agent.Decision {
		if asked++; q.Tool != "ExitPlanMode" {
			t.Errorf("asked %+v", q)
		}
		return agent.Decision{Message: "not like this"}
	})
	if got := r.run(pool, turn); asked != 1 || len(got.Tools) != 1 || !strings.Contains(got.Tools[0].Output, "not like this") {
		t.Errorf("after %d questions the turn brings %+v", asked, got)
	}
}

// What a person writes while the model asks them something is the answer, as it is: also where host and claude are killed before it
// comes, and the turn that goes on asks the same again.
// Behaviour: ask-words.
func TestWordsAnswer(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()
	answered := func(answer string) func(messagesapi.Request) bool {
		return func(q messagesapi.Request) bool {
			return slices.ContainsFunc(q.Prompt.ToolResults(), func(result string) bool { return strings.Contains(result, answer) })
		}
	}
	h.api.Enqueue(choice("Which tree?", "oak", "elm"), messagesapi.Reply{Text: "it is planted"})
	owner.say("plant a tree")
	if text := owner.next().Text; !strings.HasPrefix(text, "Which tree?") {
		t.Errorf("the bot wrote %q", text)
	}
	owner.say("the one with the red leaves")
	owner.hears("it is planted")
	h.asked(answered(`"Which tree?"="the one with the red leaves"`))

	h.api.Enqueue(choice("Which hedge?", "box", "yew"))
	owner.say("and a hedge")
	if text := owner.next().Text; !strings.HasPrefix(text, "Which hedge?") {
		t.Errorf("the bot wrote %q", text)
	}
	h.delivered()
	h.crash()
	h.api.Enqueue(choice("Which hedge?", "box", "yew"), messagesapi.Reply{Text: "it is there"})
	owner.say("a thorny one")
	h.start()
	// The CLI writes down some 100 ms later what it has read: the rest is sent again, and no answer was interrupted.
	if text := owner.next().Text; strings.TrimPrefix(text, continued) != "it is there" {
		t.Errorf("the bot wrote %q", text)
	}
	h.asked(answered(`"Which hedge?"="a thorny one"`))
	owner.talks("thank you")
	if n := strings.Count(strings.Join(h.last().Prompt.ToolResults(), "\n"), "a thorny one"); n != 1 {
		t.Errorf("the conversation holds the answer %d times", n)
	}
	owner.silent()
}

// A process whose plan was approved has left the plan mode: the next turn that plans gets another one.
// Behaviour: ask.
func TestApprovedPlanEndsThePlanMode(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, unallowed)
	pool := r.pool()
	for i, want := range []int{1, 2} {
		r.api.Enqueue(messagesapi.Reply{Tools: []messagesapi.ToolUse{{Name: "ExitPlanMode", Input: map[string]any{"plan": "first this"}}}},
			messagesapi.Reply{Text: "done"})
		turn := r.turn("plan")
		turn.Profile.PermissionMode = "plan"
		turn.Asker = askFunc(func(context.Context, agent.Question) agent.Decision { return agent.Decision{Allow: true} })
		if got := r.run(pool, turn); got.Text != "done" || len(got.Tools) != 1 || got.Tools[0].Failed {
			t.Errorf("turn %d brings %+v", i, got)
		}
		if n := r.processes.count(); n != want {
			t.Errorf("turn %d: %d processes were started, want %d", i, n, want)
		}
	}
}

// A decision can end the turn, and the end of the turn withdraws a question, whether a tool is asked for or text is
// written with it.
// Behaviour: ask-time.
func TestStopWithAQuestionOpen(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(ctx context.Context, stop context.CancelCauseFunc) agent.Decision{
		"by the decision": func(context.Context, context.CancelCauseFunc) agent.Decision {
			return agent.Decision{Message: "stop it", Stop: true}
		},
		"by the host": func(ctx context.Context, stop context.CancelCauseFunc) agent.Decision {
			stop(agent.ErrStopped)
			<-ctx.Done()
			return agent.Decision{Allow: true} // too late
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{}, unallowed)
			pool, file := r.pool(), filepath.Join(t.TempDir(), "made")
			r.api.Enqueue(messagesapi.Bash("touch " + file))
			ctx, stop := context.WithCancelCause(r.ctx)
			defer stop(nil)
			turn := r.turn("touch it")
			turn.Asker = askFunc(func(ctx context.Context, _ agent.Question) agent.Decision { return decide(ctx, stop) })
			_, err := r.tryUnder(ctx, pool, turn)
			r.wantClass(err, agent.Aborted)
			if _, err := os.Stat(file); err == nil {
				t.Error("the tool ran")
			}
			if got := r.run(pool, r.turn("still there?")).Text; !strings.HasSuffix(got, "still there?") {
				t.Errorf("answer after the stop = %q", got)
			}
		})
	}
}

// The text before a stop is known.
func TestStopInTheText(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.api.Enqueue(messagesapi.Reply{Text: "one two three", Hang: new(2), DeltaDelayMS: 20})
	ctx, stop := context.WithCancelCause(r.ctx)
	defer stop(nil)
	o, turn := new(onlooker), r.turn("go")
	turn.Watcher = watcher{progress: func(p agent.Progress) {
		if o.see(p); p.Text == "one two" {
			stop(agent.ErrStopped)
		}
	}}
	_, err := r.tryUnder(ctx, pool, turn)
	r.wantClass(err, agent.Aborted)
	if _, last := o.texts(); last.Text != "one two" {
		t.Errorf("the last one reported is %+v", last)
	}
}
