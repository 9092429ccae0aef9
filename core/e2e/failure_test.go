//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// What the service answers with becomes a class that the host can act on, quickly enough for a person who waits.
// Behaviour: failure-told.
func TestFailureClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		always messagesapi.Reply
		want   agent.Class
	}{
		"401":                 {messagesapi.Unauthorized(), agent.Auth},
		"403":                 {messagesapi.Forbidden(), agent.Auth},
		"429":                 {messagesapi.RateLimited(0), agent.RateLimit},
		"429 for an hour":     {messagesapi.RateLimited(time.Hour), agent.RateLimit},
		"529":                 {messagesapi.Overloaded(), agent.Overloaded},
		"500":                 {messagesapi.Reply{Failure: &messagesapi.Failure{Status: 500, Message: "Internal server error"}}, agent.Server},
		"529 before the text": {messagesapi.Reply{StreamFailure: &messagesapi.Failure{Status: 529, Message: "Overloaded"}}, agent.Overloaded},
		"529 within the text": {messagesapi.Reply{Text: "a b", StreamFailure: &messagesapi.Failure{Status: 529, Message: "Overloaded"}}, agent.Server},
		"cut within the text": {messagesapi.Reply{Text: "a b", Cut: new(1)}, agent.Server},
		"prompt too long":     {messagesapi.PromptTooLong(), agent.ContextOverflow},
		"400":                 {messagesapi.Rejected(), agent.Rejected},
		"refusal":             {messagesapi.Refusal("I will"), agent.ContentFilter},
		"silence":             {messagesapi.Reply{Text: "one two three", Hang: new(1)}, agent.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, messagesapi.Options{Default: tc.always}, func(c *runner) {
				if tc.want == agent.Timeout {
					c.Stall = 2 * time.Second
				}
			})
			_, err := r.try(r.pool(), r.turn("hello"))
			r.wantClass(err, tc.want)
			if err != nil && strings.Contains(err.Error(), key) {
				t.Error("the error shows the credential")
			}
		})
	}
}

// After a failure the same session answers again.
func TestSessionGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	pool := r.pool()
	r.api.Enqueue(messagesapi.RateLimited(time.Hour))
	_, err := r.try(pool, r.turn("too much"))
	r.wantClass(err, agent.RateLimit)
	if got := r.run(pool, r.turn("and now?")).Text; !strings.HasSuffix(got, "and now?") {
		t.Errorf("answer = %q", got)
	}
}

// Behaviour: recovery-overflow.
func TestMissingTranscript(t *testing.T) {
	t.Parallel()
	r := newRig(t, messagesapi.Options{}, nil)
	r.started = true // says the host, but the CLI knows nothing of the session
	_, err := r.try(r.pool(), r.turn("hello again"))
	r.wantClass(err, agent.TranscriptMissing)
	if got := len(r.api.Messages()); got != 0 {
		t.Errorf("the model was asked %d times", got)
	}
}

// What the CLI refuses for good is known as that, with its reason, and is not taken for a start that may succeed later.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"frobnicate": {"--frobnicate"}, "max-turns": {"--max-turns", "many"}} {
		r := newRig(t, messagesapi.Options{}, func(c *runner) { c.Args = args })
		_, err := r.try(r.pool(), r.turn("hello"))
		r.wantClass(err, agent.Refused)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%v fails by %v", args, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root may not run without questions
	}
	r := newRig(t, messagesapi.Options{}, nil)
	turn := r.turn("hello")
	turn.Profile.PermissionMode = "bypassPermissions"
	_, err := r.try(r.pool(), turn)
	r.wantClass(err, agent.Refused)
}
