//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// conversationsVariable is how many conversations reach the usage limit; 4 if it is not set.
const conversationsVariable = "CLAWHOST_LIMIT_CONVERSATIONS"

// Conversations that a subscription's usage limit stops go on when it ends, each exactly once, also if the host is killed
// meanwhile.
// Behaviour: usage-limit.
func TestUsageLimit(t *testing.T) {
	count := 4
	if text := os.Getenv(conversationsVariable); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var until atomic.Int64
	h := newHost(t, setup{
		claude: map[string]string{"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": key},
		access: fmt.Sprintf("owners = [\"telegram:%d\"]\n  dm = \"open\"", ownerID),
		api: messagesapi.Options{Answer: func(messagesapi.Prompt) (messagesapi.Reply, bool) {
			at := until.Load()
			return messagesapi.Reply{Failure: &messagesapi.Failure{
				Status: http.StatusTooManyRequests, Message: "This request would exceed your account's rate limit.",
				Header: map[string]string{
					"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": strconv.FormatInt(at, 10),
					"anthropic-ratelimit-unified-representative-claim": "five_hour",
				},
			}}, time.Now().Unix() < at
		}},
	})
	h.start()
	people := make([]*conversation, count)
	for i := range people {
		people[i] = h.person(ownerID + 1 + int64(i))
	}
	// Time for all to reach the limit, at three a second.
	until.Store(time.Now().Add(20*time.Second + time.Duration(count)*time.Second).Unix())
	for i, person := range people {
		person.say(fmt.Sprintf("question %d", i))
	}
	waits := func(m telegramtest.Message) bool {
		return strings.HasPrefix(m.Text, "Claude's usage limit is reached until ") && strings.HasSuffix(m.Text, " I answer this then.")
	}
	for _, person := range people {
		person.awaits("a notice of the limit", waits)
	}
	h.delivered() // Telegram does not recognise what is sent twice
	limited := len(h.api.Messages())
	h.kill()
	h.start()
	if time.Now().Unix() >= until.Load() {
		t.Fatal("the limit has ended before the host was killed: this proves nothing")
	}
	answers := func(m telegramtest.Message) bool { return strings.HasPrefix(m.Text, "echo: ") }
	for _, person := range people {
		person.awaits("an answer", answers)
	}
	h.delivered()
	for i, person := range people {
		got := person.telegram.Replies(person.chat)
		// There may also be a notice that the host was busy.
		if answered := len(slices.DeleteFunc(slices.Clone(got), func(m telegramtest.Message) bool { return !answers(m) })); answered != 1 || slices.ContainsFunc(got, waits) {
			t.Errorf("conversation %d ends as %+v", i, got)
		}
	}
	if asked := len(h.api.Messages()); limited < count || asked-limited != count {
		t.Errorf("%d requests at the limit, and %d behind it, for %d messages", limited, asked-limited, count)
	}
}
