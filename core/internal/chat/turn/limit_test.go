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
	"github.com/clawhost/clawhost/sdk/chat"
)

// limited is a turn that fails at a usage limit which ends in this time.
func limited(in time.Duration) outcome {
	return outcome{result: agent.Result{InputTokens: 3}, err: &agent.Failure{Class: agent.RateLimit, ResetsAt: time.Now().Add(in)}}
}

// A turn at a usage limit waits for its end, whoever waits for the answer is told until when, and others fail.
// Behaviour: usage-limit.
func TestUsageLimit(t *testing.T) {
	t.Parallel()
	const held = "Claude's usage limit is reached until 03:00 UTC. I answer this then."
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
		"buttons to agree and to drop it": {choice: "ask", left: 3 * time.Hour, authority: chat.Owner, columns: 2, wait: 3*time.Hour + 5*time.Second, said: held, buttons: "Continue then=/next 5 Drop=/withdraw 5"},
		"who may use no commands":         {choice: "ask", left: 3 * time.Hour, columns: 2, wait: 3*time.Hour + 5*time.Second, said: held, buttons: "Drop=/withdraw 5", owners: 1},
		"a channel of one column":         {choice: "ask", left: 3 * time.Hour, authority: chat.Owner, columns: 1, wait: 3*time.Hour + 5*time.Second, said: held},
		"no buttons are wanted":           {choice: "wait", left: 3 * time.Hour, authority: chat.Owner, columns: 2, wait: 3*time.Hour + 5*time.Second, said: held},
		"nothing is said":                 {choice: "ask", left: 3 * time.Hour, silent: true, columns: 2, wait: 3*time.Hour + 5*time.Second, owners: 1},
		"a plugin's turn":                 {choice: "ask", left: 3 * time.Hour, origin: domain.OriginPlugin, wait: 3*time.Hour + 5*time.Second, said: held, owners: 1},
		"a limit that has just ended":     {choice: "ask", left: -time.Minute, columns: 2, wait: time.Minute, said: "Claude's usage limit is reached until", buttons: "Drop=/withdraw 5"},
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
				r := &fixture{limits: config.Limits{OnUsageLimit: test.choice}, channel: chat.Limits{Buttons: chat.ButtonLimits{Rows: 3, Columns: test.columns}}}
				if test.columns == 0 {
					r.channel = chat.Limits{}
				}
				r.results = []outcome{limited(test.left)}
				run := message(1)
				run.Head.Number, run.Head.Message.Authority = 5, test.authority
				run.Head.Message.Origin, run.Head.Message.Silent = test.origin, test.silent
				err := r.handler().Handle(t.Context(), run, nil)
				var held *agent.HeldError
				if test.wait == 0 {
					if err != nil || len(r.completed) != 1 || r.completed[0].State != domain.RunFailed {
						t.Errorf("%v, completed %+v", err, r.completed)
					}
					return
				}
				if !errors.As(err, &held) {
					t.Fatalf("%v: it is not held; completed %+v", err, r.completed)
				}
				if held.Wait != test.wait || !held.Firm || len(r.completed) != 0 {
					t.Errorf("it waits %v, firm: %v; completed %+v", held.Wait, held.Firm, r.completed)
				}
				var said, buttons string
				if n := held.Notice; n != nil {
					said = n.Text
					for _, b := range slices.Concat(n.Buttons...) {
						buttons += " " + b.Label + "=" + b.Data
					}
				}
				if !strings.HasPrefix(said, test.said) || (said == "") != (test.said == "") || strings.TrimSpace(buttons) != test.buttons {
					t.Errorf("the chat is told %q with %q", said, buttons)
				}
				if r.spent != 3 || len(r.owners) != test.owners {
					t.Errorf("%d tokens count, owners are told %q", r.spent, r.owners)
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
	answered := outcome{result: agent.Result{Text: "hi", Model: "another", InputTokens: 2}}
	for name, test := range map[string]struct {
		results  func() []outcome
		models   []string
		took     time.Duration
		fallback string // the notice of another model that answered; empty: the chosen one did, or none
		failed   agent.Class
	}{
		"a limit":       {func() []outcome { return []outcome{limited(time.Hour), answered} }, []string{"opus", "sonnet"}, 0, wording.FallbackLimited("opus", "another"), 0},
		"two that fail": {func() []outcome { return []outcome{failure(agent.Billing), failure(agent.Auth), answered} }, []string{"opus", "sonnet", "haiku"}, 0, wording.Fallback("opus", "another"), 0},
		"a timeout":     {func() []outcome { return []outcome{failure(agent.Timeout), answered} }, []string{"opus", "sonnet"}, 0, wording.Fallback("opus", "another"), 0},
		"too long for others": {func() []outcome {
			return []outcome{failure(agent.Auth), failure(agent.ContextOverflow), failure(agent.Model)}
		}, []string{"opus", "sonnet", "haiku"}, 0, "", agent.Auth},
		"it comes back": {func() []outcome {
			return []outcome{failure(agent.Overloaded), failure(agent.Overloaded), failure(agent.Overloaded), answered}
		}, []string{"opus", "sonnet", "haiku", "opus"}, 5 * time.Second, "", 0},
		"too long for the chosen one": {func() []outcome { return []outcome{failure(agent.ContentFilter)} }, []string{"opus"}, 0, "", agent.ContentFilter},
		"a time limit":                {func() []outcome { return []outcome{failure(agent.TimeUp)} }, []string{"opus"}, 0, "", agent.TimeUp},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &fixture{results: test.results(), retries: 3, model: "opus", fallbacks: []string{"sonnet", "opus", "haiku"}, limits: config.Limits{OnUsageLimit: "ask"}}
				began := time.Now()
				if err := r.handler().Handle(t.Context(), message(1), nil); err != nil {
					t.Fatal(err)
				}
				var models []string
				for i, turn := range r.turns {
					models = append(models, turn.Profile.Model)
					if turn.Again != (i > 0) {
						t.Errorf("try %d: again %t", i+1, turn.Again)
					}
				}
				if diff := cmp.Diff(test.models, models); diff != "" || time.Since(began) != test.took {
					t.Errorf("in %v: %s", time.Since(began), diff)
				}
				said := r.completed[0].Items[0].Text
				if test.failed == 0 && strings.TrimSuffix(strings.TrimSuffix(said, "hi"), "\n\n") != test.fallback {
					t.Errorf("the chat is told %q, want %q before the answer", said, test.fallback)
				}
				if test.failed != 0 && said != trouble(test.failed) {
					t.Errorf("the chat is told %q", said)
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
		r := &fixture{model: "opus", fallbacks: []string{"sonnet"}, limits: config.Limits{OnUsageLimit: "ask"}}
		h := r.handler()
		answered := outcome{result: agent.Result{Text: "hi"}}
		asks := func(want string, results ...outcome) error {
			t.Helper()
			r.results, r.turns = results, nil
			err := h.Handle(t.Context(), message(1), nil)
			var models []string
			for _, turn := range r.turns {
				models = append(models, turn.Profile.Model)
			}
			if got := strings.Join(models, " "); got != want {
				t.Errorf("asked %s, want %s", got, want)
			}
			return err
		}
		_ = asks("opus sonnet", limited(30*time.Hour), answered)
		_ = asks("sonnet", answered)
		var held *agent.HeldError
		if err := asks("sonnet opus", limited(2*time.Hour), limited(30*time.Hour)); !errors.As(err, &held) || held.Wait != 2*time.Hour+5*time.Second {
			t.Errorf("%v: it does not wait for the first limit that ends", err)
		}
		time.Sleep(time.Hour)
		_ = asks("opus", answered)
	})
}

// A model that nobody has chosen is named by the last one that answered.
// Behaviour: fallback-model.
func TestFallbackOfTheUsualModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for last, want := range map[string]string{"opus-4-8": "opus-4-8", "": "default"} {
			r := &fixture{usual: true, fallbacks: []string{"haiku"}, results: []outcome{failure(agent.Auth), {result: agent.Result{Text: "hi", Model: "haiku-4-5"}}}}
			run := message(1)
			run.Session.Model = last
			if err := r.handler().Handle(t.Context(), run, nil); err != nil {
				t.Fatal(err)
			}
			if got := r.completed[0].Items[0].Text; got != wording.Fallback(want, "haiku-4-5")+"\n\nhi" {
				t.Errorf("after %q the chat is told %q", last, got)
			}
		}
	})
}
