package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/sdk/chat"
)

// asker is a caller that asks a question.
type asker struct {
	leave   func()
	session string
	texts   []string // that the progress had
	held    []string
	ended   chan struct{}

	answer domain.Outcome
	err    error
}

// asks asks a question of the operator with a key, as a client that may come back if it stays.
func asks(t *testing.T, g *rig, key string, stays bool) *asker {
	t.Helper()
	return programAsks(t, g, gateway.Caller{}, gateway.Prompt{Key: key, Text: "what is there?", Stays: stays})
}

func programAsks(t *testing.T, g *rig, c gateway.Caller, p gateway.Prompt) *asker {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	a := &asker{leave: leave, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		for p, err := range g.Ask(ctx, c, p) {
			a.answer, a.err = p.End, err
			if err == nil {
				a.session = p.Session
			}
			if p.Held != "" && p.End.State == "" {
				a.held = append(a.held, p.Held)
			}
			if p.Text != "" && p.End.State == "" {
				a.texts = append(a.texts, p.Text)
			}
		}
	}()
	synctest.Wait()
	return a
}

func (a *asker) wants(t *testing.T, want domain.Outcome) {
	t.Helper()
	<-a.ended
	if diff := cmp.Diff(want, a.answer); a.err != nil || diff != "" {
		t.Errorf("the answer, %v (-want +got):\n%s", a.err, diff)
	}
}

func (a *asker) leaves(t *testing.T) {
	t.Helper()
	a.leave()
	<-a.ended
	if !errors.Is(a.err, context.Canceled) {
		t.Errorf("one that left has %+v, %v", a.answer, a.err)
	}
}

var (
	tea       = domain.Outcome{State: domain.RunDone, Answer: "tea"}
	failed    = domain.Outcome{State: domain.RunFailed}
	cancelled = domain.Outcome{State: domain.RunCancelled}
)

// opens fails unless so many turns wait or run.
func (r *rig) opens(t *testing.T, want int) {
	t.Helper()
	if n := r.open(t); n != want {
		t.Fatalf("%d turns wait or run, want %d", n, want)
	}
}

// A further question with the same key waits for the same turn, even if earlier callers have gone.
// Behaviour: program-ask-key.
func TestQuestionsWithTheSameKey(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, g *rig){
		"the first leaves, the second has the answer": func(t *testing.T, g *rig) {
			first, second := asks(t, g, "k", false), asks(t, g, "k", false)
			first.leaves(t)
			g.opens(t, 1)
			g.end(t, domain.RunDone)
			second.wants(t, tea)
			asks(t, g, "k", false).wants(t, tea)
			g.opens(t, 0)
		},
		"the last one leaves": func(t *testing.T, g *rig) {
			first, second := asks(t, g, "k", false), asks(t, g, "k", false)
			g.opens(t, 1)
			first.leaves(t)
			second.leaves(t)
			g.opens(t, 0)
		},
		"a connection is lost, and the question repeated": func(t *testing.T, g *rig) {
			asks(t, g, "k", true).leaves(t)
			again := asks(t, g, "k", true)
			g.opens(t, 1)
			again.leaves(t)
			g.end(t, domain.RunDone)
			asks(t, g, "k", true).wants(t, tea)
			g.opens(t, 0)
		},
		"a connection without a key is lost": func(t *testing.T, g *rig) {
			asks(t, g, "", true).leaves(t)
			g.opens(t, 0)
		},
		"what was cancelled is asked again": func(t *testing.T, g *rig) {
			for range 3 {
				asker := asks(t, g, "k", false)
				g.opens(t, 1)
				asker.leaves(t)
				g.opens(t, 0)
			}
			last := asks(t, g, "k", false)
			g.end(t, domain.RunDone)
			last.wants(t, tea)
			asks(t, g, "k", false).wants(t, tea)
			g.opens(t, 0)
		},
		"one who comes while the turn is stopped asks again": func(t *testing.T, g *rig) {
			g.run(t)
			first := asks(t, g, "k", false)
			g.opens(t, 1)
			first.leave()
			synctest.Wait() // it is being stopped
			second := asks(t, g, "k", false)
			first.leaves(t)
			g.opens(t, 1)
			g.ends <- domain.RunDone
			second.wants(t, tea)
		},
		"another person stops it": func(t *testing.T, g *rig) {
			first := asks(t, g, "k", false)
			g.end(t, domain.RunCancelled)
			first.wants(t, cancelled)
		},
		"a failure is the answer": func(t *testing.T, g *rig) {
			first := asks(t, g, "k", false)
			g.end(t, domain.RunFailed)
			first.wants(t, failed)
			asks(t, g, "k", false).wants(t, failed)
		},
		"a plugin's turn goes on without it, and its end is final": func(t *testing.T, g *rig) {
			plugin := gateway.Plugin("timer", []string{"cli"})
			p := gateway.Prompt{Key: "k", To: chat.Address{Channel: "cli", Chat: "main"}, Kind: chat.Direct, Text: "what is there?"}
			programAsks(t, g, plugin, p).leaves(t)
			asks(t, g, "k", false).leaves(t) // the operator's, whose key is another one
			g.opens(t, 1)
			again := programAsks(t, g, plugin, p)
			g.end(t, domain.RunCancelled)
			again.wants(t, cancelled)
			programAsks(t, g, plugin, p).wants(t, cancelled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, open(t, chat.Limits{})) })
		})
	}
}

// Two agents may be asked something with the same key, and each answers.
// Behaviour: program-ask-key.
func TestQuestionsToAgentsWithTheSameKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := open(t, chat.Limits{})
		first := programAsks(t, g, gateway.Caller{}, gateway.Prompt{Key: "k", Agent: "server", Text: "what is there?"})
		g.end(t, domain.RunDone)
		first.wants(t, tea)
		second := asks(t, g, "k", false)
		g.opens(t, 1)
		g.end(t, domain.RunFailed)
		second.wants(t, failed)
		if want := []string{"agent:server:cli:main", "cli:main"}; first.session != want[0] || second.session != want[1] {
			t.Errorf("asked in %q and %q, want %q", first.session, second.session, want)
		}
		programAsks(t, g, gateway.Caller{}, gateway.Prompt{Key: "k", Agent: "server", Text: "what is there?"}).wants(t, tea)
	})
}

// A caller learns at once that a turn cannot begin, and gets the reason as the answer after a minute.
// Behaviour: program-ask-held.
func TestHeldQuestion(t *testing.T) {
	t.Parallel()
	const why = "Claude cannot be started: no such file"
	for name, test := range map[string]struct {
		stays bool
		wait  time.Duration // of the hold
		began bool          // in the end it can begin
		ends  time.Duration
	}{
		"for good":                {ends: time.Minute, wait: time.Second},
		"for good, it would stay": {ends: time.Minute, wait: time.Second, stays: true},
		"known to be long":        {ends: 0, wait: time.Hour},
		"for a while":             {ends: 2 * time.Minute, wait: time.Second, began: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := open(t, chat.Limits{})
				began := time.Now()
				a := asks(t, g, "k", test.stays)
				g.Held("cli:main", why, test.wait)
				synctest.Wait()
				if len(a.held) != 1 || a.held[0] != why {
					t.Errorf("at once it gets %q", a.held)
				}
				if test.began {
					time.Sleep(30 * time.Second)
					g.Held("cli:main", why, test.wait)
					run := g.claim(t)
					g.Progress("cli:main", run.Head.UUID, agent.Progress{Text: "te"})
					time.Sleep(90 * time.Second)
					g.complete(t, run, domain.RunDone)
				}
				want := domain.Outcome{State: domain.RunFailed, Error: why}
				if test.began {
					want = tea
				}
				a.wants(t, want)
				if took := time.Since(began); took != test.ends {
					t.Errorf("it took %v, want %v", took, test.ends)
				}
				g.opens(t, 0)
			})
		})
	}
}

// All who wait for a turn see its progress, and never that of another one.
// Behaviour: program-ask.
func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := open(t, chat.Limits{})
		first, second := asks(t, g, "a", false), asks(t, g, "a", false)
		run := g.claim(t)
		other := asks(t, g, "b", false)
		say := func(text string) { g.Progress("cli:main", run.Head.UUID, agent.Progress{Text: text}) }
		say("t")
		say("te") // not read yet
		synctest.Wait()
		first.leaves(t)
		say("tea")
		g.Progress("cli:other", run.Head.UUID, agent.Progress{Text: "another session's"})
		g.Held("cli:other", "another session's", time.Second)
		synctest.Wait()
		g.Held("cli:main", "there is no space", time.Second)
		synctest.Wait()
		g.complete(t, run, domain.RunDone)
		second.wants(t, tea)
		for want, a := range map[string]*asker{"te": first, "tea": second} {
			if len(a.texts) == 0 || a.texts[len(a.texts)-1] != want {
				t.Errorf("one was shown %q, want %q last", a.texts, want)
			}
		}
		if len(other.texts) > 0 || len(other.held) != 1 || len(second.held) != 1 || len(first.held) != 0 {
			t.Errorf("the other was shown %q and %q, the second %q, the first %q", other.texts, other.held, second.held, first.held)
		}
		g.end(t, domain.RunDone)
		other.wants(t, tea)
		say("no one listens")
	})
}

// A plugin learns the progress if it has asked for it, and waits as long as the turn takes.
func TestProgressOfAPluginsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := open(t, chat.Limits{})
		prompt := gateway.Prompt{
			Key: "k", To: chat.Address{Channel: "tg", Chat: "1"}, Kind: chat.Direct, Text: "what is there?", Conversation: "tea", Progress: true,
		}
		follows := programAsks(t, g, gateway.Plugin("timer", []string{"tg"}), prompt)
		prompt.Progress = false
		waits := programAsks(t, g, gateway.Plugin("timer", []string{"tg"}), prompt)
		const own = "plugin:timer/tea:tg:1"
		g.Held(own, "there is no space", time.Hour)
		synctest.Wait()
		time.Sleep(time.Hour)
		run := g.claim(t)
		g.Progress(own, run.Head.UUID, agent.Progress{Text: "te"})
		synctest.Wait()
		g.complete(t, run, domain.RunDone)
		follows.wants(t, tea)
		waits.wants(t, tea)
		if diff := cmp.Diff([]string{"te"}, follows.texts); diff != "" || len(follows.held) != 1 || follows.session != own {
			t.Errorf("in %s it was shown %q and %q", follows.session, follows.texts, follows.held)
		}
		if len(waits.texts)+len(waits.held) > 0 {
			t.Errorf("one that only waits was shown %q and %q", waits.texts, waits.held)
		}
	})
}

// No question is possible where there is no conversation, or where a plugin may not go.
func TestWhoCannotBeAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := open(t, chat.Limits{})
		there := chat.Address{Channel: "mail", Chat: "a"}
		for name, test := range map[string]struct {
			caller gateway.Caller
			prompt gateway.Prompt
			want   gateway.Reason
		}{
			"no agent":               {gateway.Caller{}, gateway.Prompt{Agent: "nobody", Text: "hello"}, gateway.NoAgent},
			"another agent's":        {gateway.Caller{}, gateway.Prompt{Session: "tg:1", Agent: "server", Text: "hello"}, gateway.NoAgent},
			"no session":             {gateway.Caller{}, gateway.Prompt{Session: "tg:nobody", Text: "hello"}, gateway.Invalid},
			"a plugin's own session": {gateway.Plugin("timer", nil), gateway.Prompt{Text: "hello"}, gateway.Denied},
			"another channel":        {gateway.Plugin("timer", []string{"tg"}), gateway.Prompt{To: there, Kind: chat.Direct, Text: "hello"}, gateway.Denied},
			"no channel":             {gateway.Plugin("mail", nil), gateway.Prompt{To: there, Kind: chat.Direct, Text: "hello", Deliver: true}, gateway.Invalid},
		} {
			a := programAsks(t, g, test.caller, test.prompt)
			<-a.ended
			var refused gateway.Refusal
			if !errors.As(a.err, &refused) || refused.Reason != test.want {
				t.Errorf("%s: %v", name, a.err)
			}
		}
		g.opens(t, 0)
	})
}

// A question that waits ends with the host, and its turn goes on.
func TestAQuestionEndsWithTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := open(t, chat.Limits{})
		a := asks(t, g, "k", false)
		close(g.closing)
		<-a.ended
		var refused gateway.Refusal
		if !errors.As(a.err, &refused) || refused.Reason != gateway.Closing {
			t.Errorf("it ends with %v", a.err)
		}
		g.opens(t, 1)
	})
}
