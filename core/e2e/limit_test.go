//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/messagesapi"
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
	until.Store(time.Now().Add(20*time.Second + time.Duration(count)*time.Second/3).Unix())
	for i, person := range people {
		person.say(fmt.Sprintf("question %d", i))
	}
	for _, person := range people {
		if got := person.next().Text; !strings.HasPrefix(got, "Claude's usage limit is reached until ") || !strings.HasSuffix(got, " I answer this then.") {
			t.Fatalf("the bot wrote %q", got)
		}
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
		if got := person.telegram.Replies(person.chat); len(got) != 1 || !answers(got[0]) {
			t.Errorf("conversation %d ends as %+v", i, got)
		}
	}
	if asked := len(h.api.Messages()); limited < count || asked-limited != count {
		t.Errorf("%d requests at the limit, and %d behind it, for %d messages", limited, asked-limited, count)
	}
}
