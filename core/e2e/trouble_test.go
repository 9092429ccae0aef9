//go:build e2e

package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// What goes wrong with the service is reported in the chat in a few honest words, and the next message is answered.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply messagesapi.Reply
		want  string
	}{
		"401": {messagesapi.Unauthorized(), "Claude is not logged in, or its key is not accepted. Ask the operator to log in to Claude again, then send your message again."},
		"429": {messagesapi.RateLimited(time.Hour), "Claude's usage limit is reached for now. Send your message again later."},
		"529": {messagesapi.Overloaded(), "Claude's servers are overloaded. Send your message again in a few minutes."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, setup{limits: "retries = 0"})
			h.start()
			owner := h.owner()
			owner.talks("my number is 4711")
			script, err := json.Marshal(tc.reply)
			if err != nil {
				t.Fatal(err)
			}
			owner.say("now [[reply " + string(script) + "]]")
			if got := owner.next().Text; !strings.HasPrefix(got, tc.want) { // the cause follows, as it is an owner's chat
				t.Errorf("the chat got %q, want %q", got, tc.want)
			}
			owner.talks("and now?")
			h.remembers("my number is 4711")
			owner.silent()
		})
	}
}

// A service that is overloaded for a moment, and for longer than the CLI tries, costs nothing but the moment.
// Behaviour: turn-retry.
func TestRetry(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{limits: "retries = 1"})
	h.start()
	owner := h.owner()
	owner.talks("my number is 4711")
	h.api.Enqueue(messagesapi.Overloaded(), messagesapi.Overloaded(), messagesapi.Overloaded())
	owner.say("which one?")
	if got := owner.next().Text; strings.Contains(got, "overloaded") || strings.Contains(got, "interrupted") || got == "" {
		t.Errorf("the chat got %q", got)
	}
	if !strings.Contains(h.log.String(), "a turn is tried again") {
		t.Error("it was not tried again, so this proves nothing")
	}
	if goesOn := h.last(); occurrences(goesOn, "cut off, as the model had no capacity") != 1 || occurrences(goesOn, "restart") != 0 {
		t.Errorf("the model gets %q", goesOn.Prompt.Texts())
	}
	owner.talks("and now?")
	h.remembers("which one?")
	owner.silent()
}

// The end of a subscription's limit is given in the agent's time zone.
func TestLimitOfASubscription(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{claude: map[string]string{"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": key}})
	h.start()
	owner := h.owner()
	owner.talks("hello")
	resets := time.Now().Add(2 * time.Hour).Truncate(time.Minute).UTC()
	limit := messagesapi.RateLimited(0)
	limit.Failure.Header = map[string]string{
		"Anthropic-Ratelimit-Unified-Status":               "rejected",
		"Anthropic-Ratelimit-Unified-Reset":                strconv.FormatInt(resets.Unix(), 10),
		"Anthropic-Ratelimit-Unified-Representative-Claim": "five_hour",
	}
	h.api.Enqueue(limit)
	owner.say("too much")
	if got, want := owner.next().Text, "Claude's usage limit is reached until "+resets.Format("15:04 MST"); !strings.HasPrefix(got, want) {
		t.Errorf("the chat got %q, want %q", got, want)
	}
	owner.say("/stop")
	owner.shows("Nothing was running. One waiting message was dropped.")
	owner.say("and now?")
	owner.awaits("an echo", func(m telegramtest.Message) bool { return strings.HasSuffix(m.Text, "and now?") })
	if got := occurrences(h.last(), domain.HintWithdrawn); got != 1 {
		t.Errorf("the model learns %d times that a message was withdrawn", got)
	}
}

// A conversation that does not fit any more, not even for being compacted, goes on in a fresh one, and the chat is notified.
// Behaviour: recovery-overflow.
func TestOverflow(t *testing.T) {
	t.Parallel()
	const window = 8000 // bytes of text; the CLI itself takes about 3000
	h := newHost(t, setup{api: messagesapi.Options{Answer: func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
		return messagesapi.PromptTooLong(), len(strings.Join(p.Texts(), "")) > window
	}}})
	h.start()
	owner := h.owner()
	long := strings.Repeat(" lorem ipsum", 300)
	owner.talks("my number is 4711" + long)
	owner.say("which number?" + long)
	owner.hears("Our conversation had become too long for the model. I began a new one and no longer know what was said before.")
	owner.echoes("which number?" + long)
	h.forgot("my number is 4711")

	tooLong, err := json.Marshal(messagesapi.PromptTooLong())
	if err != nil {
		t.Fatal(err)
	}
	owner.say("/new all at once [[reply " + string(tooLong) + "]]")
	owner.hears("This message is too long for Claude, even in a new conversation. Shorten it, or send it in parts.")
	owner.talks("then only this")
	h.forgot("my number is 4711", "which number?")
	owner.silent()
}

// A conversation that the API does not accept any more goes on in a fresh one, and the chat is notified. What the API rejects in any
// conversation does not end one.
// Behaviour: recovery-rejected, failure-cause.
func TestRejectedConversation(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{api: messagesapi.Options{Answer: func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
		all := strings.Join(p.Texts(), "")
		return messagesapi.Rejected(), strings.Contains(all, "a large picture") && strings.Contains(all, "and now?") || strings.Contains(all, "never")
	}}})
	h.start()
	owner := h.owner()
	owner.talks("my number is 4711")
	owner.talks("here is a large picture")
	owner.say("and now?")
	owner.hears("Claude's servers did not accept our conversation any more. I began a new one and no longer know what was said before.")
	owner.echoes("and now?")
	h.forgot("my number is 4711")

	owner.say("/new never")
	if got := owner.next().Text; !strings.HasPrefix(got, "Claude's servers do not accept this message, even in a new conversation.") || !strings.Contains(got, "many-image requests") {
		t.Errorf("the chat got %q", got)
	}
	owner.say("/new")
	owner.next()
	owner.talks("then this")
	owner.silent()
}
