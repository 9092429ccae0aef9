package claude_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/clawhost/clawhost/core/internal/base/agent"
)

// with is a turn under a profile, whose answer tells what claude runs with.
func (r *rig) with(p agent.Profile) agent.Turn {
	t := r.turn(directive(map[string]any{"say": "$MODEL $EFFORT $MODE $SYSTEM"}))
	t.Profile = p
	return t
}

// A turn runs with its own profile. A process goes on with another model and effort; where one cannot serve the profile,
// another takes over and knows the conversation.
// Behaviour: system-prompt-stable, turn-profile.
func TestProfile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	base := agent.Profile{Model: "m1", SystemPrompt: "be kind"}
	change := func(edit func(*agent.Profile)) agent.Profile {
		p := base
		edit(&p)
		return p
	}
	first := r.turn("remember me")
	first.Profile = agent.Profile{SystemPrompt: "be kind"}
	r.ask(pool, first)
	spawned := 1
	for _, step := range []struct {
		profile agent.Profile
		want    string
		renewed bool
	}{
		{base, "m1 default default be kind", false},
		{base, "m1 default default be kind", false},
		{change(func(p *agent.Profile) { p.SystemPrompt = "be rude" }), "m1 default default be kind", false},
		{change(func(p *agent.Profile) { p.PermissionMode = "default" }), "m1 default default be kind", false},
		{change(func(p *agent.Profile) { p.Effort = "high" }), "m1 high default be kind", false},
		{change(func(p *agent.Profile) { p.Model = "" }), "claude-sonnet-5-5 default default be kind", false},
		{change(func(p *agent.Profile) { p.Model, p.Effort = "m2", "low" }), "m2 low default be kind", false},
		{change(func(p *agent.Profile) { p.Model = "unknown" }), "unknown default default be kind", true}, // the process does not take it
		{change(func(p *agent.Profile) { p.PermissionMode = "plan" }), "m1 default plan be kind", true},
		{change(func(p *agent.Profile) { p.Skills = "a b"; p.SystemPrompt = "with skills" }), "m1 default default with skills", true},
		{change(func(p *agent.Profile) { p.Private, p.SystemPrompt = true, "remember" }), "m1 default default remember", true},
		{change(func(p *agent.Profile) { p.SystemPrompt = "forget" }), "m1 default default forget", true},
		{change(func(p *agent.Profile) { p.Model = "m2"; p.SystemPrompt = "" }), "m2 default default forget", false},
	} {
		if got := r.ask(pool, r.with(step.profile)).Text; got != step.want {
			t.Errorf("with %+v claude says %q, want %q", step.profile, got, step.want)
		}
		if step.renewed {
			spawned++
		}
		if n := r.processes.spawned(); n != spawned {
			t.Fatalf("with %+v there were %d processes, want %d", step.profile, n, spawned)
		}
	}
	turn := r.turn(directive(map[string]any{"say": "$HISTORY"}))
	turn.Profile = base
	if got := r.ask(pool, turn).Text; !strings.Contains(got, "remember me") {
		t.Errorf("the conversation is %q", got)
	}
}

// Whether the model thinks, and answers fast, is changed in the running process, and is there from the start of a new one.
// Behaviour: think-off, fast, turn-profile.
func TestThinkingAndSpeed(t *testing.T) {
	modes(t, func(t *testing.T, r *rig) {
		pool := r.pool()
		opus := agent.Profile{Model: "opus"}
		for _, step := range []struct {
			profile agent.Profile
			want    string
		}{
			{agent.Profile{Model: "opus", Effort: agent.EffortOff, Fast: true}, "low off on"},
			{opus, "default on off"},
			{agent.Profile{Model: "opus", Effort: "high", Fast: true}, "high on on"},
			{agent.Profile{Model: "opus", Effort: agent.EffortOff, Fast: true}, "low off on"},
			{agent.Profile{Model: "opus", Effort: "low"}, "low on off"},
			{agent.Profile{Model: "sonnet", Effort: agent.EffortOff, Fast: true}, "low on off"}, // it can do neither
			{agent.Profile{Model: "opus", Effort: agent.EffortOff, Fast: true}, "low off on"},
			{opus, "default on off"},
		} {
			turn := r.turn(directive(map[string]any{"say": "$EFFORT $THINKING $FAST"}))
			turn.Profile = step.profile
			if got := r.ask(pool, turn).Text; got != step.want {
				t.Errorf("with %+v claude runs with %q, want %q", step.profile, got, step.want)
			}
		}
		if n := r.processes.spawned(); !r.config.OneShot && n != 1 {
			t.Errorf("there were %d processes", n)
		}
		can, known := agent.AbilitiesOf("opus", pool.Inventory("").Models)
		if !known || !can.Fast || !can.ThinkingOff {
			t.Errorf("of opus claude tells %+v, %t", can, known)
		}
	})
}

// The state of fast mode that the CLI reports is known while its process lives.
// Behaviour: fast.
func TestSpeed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	if fast, why := pool.Speed(r.session); fast != "" || why != "" {
		t.Errorf("before the first turn it is %q, %q", fast, why)
	}
	for model, want := range map[string]string{"opus": "on", "sonnet": "off"} {
		turn := r.turn("hello")
		turn.Profile = agent.Profile{Model: model, Fast: true}
		r.ask(pool, turn)
		if fast, _ := pool.Speed(r.session); fast != want {
			t.Errorf("with %s it is %q, want %q", model, fast, want)
		}
	}
}

// A process has the setup of its turn's profile: servers and a folder with skills. With another one, another process takes over.
// Behaviour: project, turn-profile.
func TestSetup(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pool := r.pool()
	files := &agent.Setup{Servers: []agent.MCPServer{{Name: "files", Command: []string{"true"}}, {Name: "web", URL: "https://example.com"}}}
	skilled := &agent.Setup{Plugin: t.TempDir()}
	for i, step := range []struct {
		setup *agent.Setup
		want  string
	}{
		{nil, "[] ."}, {files, "[files web] ."}, {files, "[files web] ."}, {skilled, "[] " + filepath.Base(skilled.Plugin)}, {nil, "[] ."},
	} {
		turn := r.turn(directive(map[string]any{"say": "[$SERVERS] $PLUGIN"}))
		turn.Profile.Setup = step.setup
		if got := r.ask(pool, turn).Text; got != step.want {
			t.Errorf("step %d: claude runs with %q, want %q", i, got, step.want)
		}
	}
	if n := r.processes.spawned(); n != 4 {
		t.Errorf("there were %d processes, want 4", n)
	}
}

// A session begins as a copy of another one, which stays as it is.
// Behaviour: session-thread.
func TestFork(t *testing.T) {
	everyWay(t, func(t *testing.T, r *rig) {
		pool, parent := r.pool(), r.session
		r.ask(pool, r.turn("the number is 4711"))
		before := r.transcript()

		r.session, r.started = uuid.NewString(), false
		fork := func(text string) agent.Turn {
			turn := r.turn(text)
			turn.ForkOf = parent
			return turn
		}
		history := directive(map[string]any{"say": "$HISTORY"})
		turn := fork(history)
		got := r.ask(pool, turn).Text
		if !strings.Contains(got, "the number is 4711") {
			t.Errorf("the fork knows %q", got)
		}
		if got := r.ask(pool, r.again(turn)); !got.Recovered {
			t.Errorf("the repetition brought %+v", got)
		}
		r.closeNow(pool)
		pool = r.pool()
		// The second life resumes the fork; it does not begin another one.
		r.started = false
		if got := r.ask(pool, fork(history)).Text; strings.Count(got, "4711") != 1 || strings.Count(got, "$HISTORY") != 2 {
			t.Errorf("after a restart the fork knows %q", got)
		}
		r.session = parent
		if after := r.transcript(); after != before {
			t.Errorf("the parent was changed to\n%s", after)
		}

		r.session, r.started, parent = uuid.NewString(), false, uuid.NewString()
		if got := r.ask(pool, fork("hello")).Text; got != "echo: [Bob] hello" {
			t.Errorf("the fork of nothing answers %q", got)
		}
	})
}
