package turn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
)

// limited fails at a usage limit that ends in this time.
func limited(in time.Duration) step {
	return costs(agent.Result{InputTokens: 3}, agent.Failure{Class: agent.RateLimit, ResetsAt: time.Now().Add(in)})
}

// A turn at a usage limit waits for its end, whoever waits for the answer is told until when, and others fail.
// Behaviour: usage-limit.
func TestUsageLimit(t *testing.T) {
	t.Parallel()
	const held, whole = "Claude's usage limit is reached until 03:00 UTC. I answer this then.", 3*time.Hour + 5*time.Second
	for name, test := range map[string]struct {
		choice    string
		left      time.Duration
		origin    domain.Origin
		silent    bool
		authority chat.Authority
		columns   int
		wait      time.Duration // zero: the turn fails
		said      string
		buttons   string
		owners    int
	}{
		"buttons to agree and to drop it": {choice: "ask", left: 3 * time.Hour, authority: chat.Owner, columns: 2, wait: whole, said: held, buttons: "Continue then=/next 1 Drop=/withdraw 1"},
		"who may use no commands":         {choice: "ask", left: 3 * time.Hour, columns: 2, wait: whole, said: held, buttons: "Drop=/withdraw 1", owners: 1},
		"a channel of one column":         {choice: "ask", left: 3 * time.Hour, authority: chat.Owner, columns: 1, wait: whole, said: held},
		"no buttons are wanted":           {choice: "wait", left: 3 * time.Hour, authority: chat.Owner, columns: 2, wait: whole, said: held},
		"nothing is said":                 {choice: "ask", left: 3 * time.Hour, silent: true, columns: 2, wait: whole, owners: 1},
		"a plugin's turn":                 {choice: "ask", left: 3 * time.Hour, origin: domain.OriginPlugin, wait: whole, said: held, owners: 1},
		"a limit that has just ended":     {choice: "ask", left: -time.Minute, columns: 2, wait: time.Minute, said: "Claude's usage limit is reached until", buttons: "Drop=/withdraw 1"},
		"a limit that ends soon":          {choice: "fail", left: 30 * time.Second, columns: 2, wait: 35 * time.Second, said: "Claude's usage limit is reached until"},
		"a heartbeat that waits shortly":  {choice: "fail", left: 30 * time.Second, origin: domain.OriginHeartbeat, wait: 35 * time.Second},
		"a limit that ended long ago":     {choice: "ask", left: -time.Hour},
		"a limit that is too far away":    {choice: "ask", left: 9 * 24 * time.Hour},
		"the config says no":              {choice: "fail", left: 3 * time.Hour},
		"a heartbeat":                     {choice: "ask", left: 3 * time.Hour, origin: domain.OriginHeartbeat},
		"a memory flush":                  {choice: "ask", left: 3 * time.Hour, origin: domain.OriginFlush},
		"a compaction":                    {choice: "ask", left: 3 * time.Hour, origin: domain.OriginCompact},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t, func(c *config.Config) { c.Limits.OnUsageLimit = test.choice })
				r.report(chat.Limits{Buttons: chat.ButtonLimits{Rows: min(test.columns, 1), Columns: test.columns}})
				r.plays(limited(test.left), says("hi"))
				m := message("hello")
				m.Authority, m.Origin, m.Silent = max(test.authority, chat.Other), test.origin, test.silent
				r.accept(t, m)
				r.run(t)
				synctest.Wait()
				if test.wait == 0 {
					if o := r.outcome(t); o.State != domain.RunFailed {
						t.Errorf("it ends as %+v", o)
					}
					return
				}
				r.restart(t) // which does not end the wait
				var said, buttons string
				owners := 0
				for _, item := range storetest.Sent(t, r.store, "telegram") {
					if item.To.Chat == "anna" {
						owners++
						continue
					}
					said += item.Text
					for _, b := range slices.Concat(item.Buttons...) {
						buttons += " " + b.Label + "=" + b.Data
					}
				}
				if !strings.HasPrefix(said, test.said) || (said == "") != (test.said == "") || strings.TrimSpace(buttons) != test.buttons || owners != test.owners {
					t.Errorf("the chat is told %q with %q, owners %d times", said, buttons, owners)
				}
				time.Sleep(test.wait - time.Millisecond)
				if synctest.Wait(); len(r.asked()) != 1 || r.known(t).Usage.InputTokens != 3 {
					t.Errorf("within the wait %d turns, usage %+v", len(r.asked()), r.known(t).Usage)
				}
				time.Sleep(time.Millisecond)
				if synctest.Wait(); r.outcome(t).State != domain.RunDone {
					t.Errorf("then it ends as %+v", r.outcome(t))
				}
			})
		})
	}
}

// A turn is tried with the fallback models while the ones before cannot answer, and what they cannot do is not the chosen
// model's failure.
// Behaviour: fallback-model.
func TestFallbackModels(t *testing.T) {
	t.Parallel()
	answered := answers(agent.Result{Text: "hi", Model: "another", InputTokens: 2})
	for name, test := range map[string]struct {
		script []step
		tries  []string
		took   time.Duration
		said   string
	}{
		"a timeout":                   {[]step{fails(agent.Timeout), answered}, []string{"opus", "sonnet again"}, 0, wording.Fallback("opus", "another") + "\n\nhi"},
		"two that fail":               {[]step{fails(agent.Billing), fails(agent.Auth), answered}, []string{"opus", "sonnet again", "haiku again"}, 0, wording.Fallback("opus", "another") + "\n\nhi"},
		"too long for others":         {[]step{fails(agent.Auth), fails(agent.ContextOverflow), fails(agent.Model)}, []string{"opus", "sonnet again", "haiku again"}, 0, notices[agent.Auth]},
		"it comes back":               {[]step{fails(agent.Overloaded), fails(agent.Overloaded), fails(agent.Overloaded), answered}, []string{"opus", "sonnet again", "haiku again", "opus again"}, 5 * time.Second, "hi"},
		"too long for the chosen one": {[]step{fails(agent.ContentFilter)}, []string{"opus"}, 0, notices[agent.ContentFilter]},
		"a time limit":                {[]step{fails(agent.TimeUp)}, []string{"opus"}, 0, notices[agent.TimeUp]},
		"a limit":                     {nil, []string{"opus", "sonnet again"}, 0, wording.FallbackLimited("opus", "another") + "\n\nhi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := open(t, func(c *config.Config) {
					c.Agent.Claude.FallbackModels, c.Agent.Claude.Retries = []string{"sonnet", "opus", "haiku"}, 3
				})
				if r.plays(test.script...); test.script == nil {
					r.plays(limited(time.Hour), answered)
				}
				began := time.Now()
				r.do(t, message("hello"))
				if diff := cmp.Diff(test.tries, r.tries()); diff != "" || time.Since(began) != test.took {
					t.Errorf("in %v: %s", time.Since(began), diff)
				}
				if said, _ := r.told(t); !cmp.Equal(said, []string{test.said}) {
					t.Errorf("the chat is told %q, want %q", said, test.said)
				}
			})
		})
	}
}

// A model at its limit is tried last, for an hour at most, and asked again where no other answers.
// Behaviour: fallback-model.
func TestModelAtItsLimitIsTriedLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := open(t, func(c *config.Config) { c.Agent.Claude.FallbackModels = []string{"sonnet"} })
		asks := func(want string, script ...step) error {
			t.Helper()
			r.plays(script...)
			r.accept(t, message("hello"))
			err := r.Handle(t.Context(), r.claim(t), nil)
			if got := strings.Join(r.tries(), ", "); got != want {
				t.Errorf("asked %s, want %s", got, want)
			}
			return err
		}
		err := errors.Join(asks("opus, sonnet again", limited(30*time.Hour), says("hi")), asks("sonnet", says("hi")))
		held, ok := errors.AsType[*agent.HeldError](asks("sonnet, opus again", limited(2*time.Hour), limited(30*time.Hour)))
		if !ok || held.Wait != 2*time.Hour+5*time.Second {
			t.Errorf("%v: it does not wait for the first limit that ends", held)
		}
		r.restart(t)
		time.Sleep(time.Hour)
		if err := errors.Join(err, asks("opus again", says("hi"))); err != nil {
			t.Error(err)
		}
	})
}

// A model that nobody has chosen is named by the last one that answered.
// Behaviour: fallback-model.
func TestFallbackOfTheUsualModel(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{"opus-4-8": "opus-4-8", "": "default"} {
		r := open(t, func(c *config.Config) { c.Agent.Claude.Model, c.Agent.Claude.FallbackModels = "", []string{"haiku"} })
		r.begin(t, agent.Result{Model: last})
		r.plays(fails(agent.Auth), answers(agent.Result{Text: "hi", Model: "haiku-4-5"}))
		r.do(t, message("hello"))
		if got, _ := r.told(t); !cmp.Equal(got, []string{wording.Fallback(want, "haiku-4-5") + "\n\nhi"}) {
			t.Errorf("after %q the chat is told %q", last, got)
		}
	}
}
