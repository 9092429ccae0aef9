//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// Whatever is killed in whatever moment: each message of each chat is answered once, in its order. What Telegram cannot
// be asked, whether a message has come, is the one exception: such a message is sent again, and counted.
func TestKilled(t *testing.T) {
	t.Parallel()
	const chats, kills, perKill = 3, 7, 2
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	h := newHost(t, setup{spare: true, access: `dm = "open"`, api: messagesapi.Options{Answer: numbered(rand.New(rand.NewPCG(seed, 1)))}})
	h.start()
	people := make([]*conversation, chats)
	for i := range people {
		people[i] = h.person(int64(3000 + i))
	}

	written := 0
	write := func() {
		for range perKill {
			written++
			for i, p := range people {
				p.say(fmt.Sprintf("number %d-%d", i, written))
			}
		}
	}
	killed := map[string]int{}
	for kill := range kills {
		begun := h.progress()
		write()
		what, after := []string{"host", "host", "plugin", "claude"}[kill%4], 1+random.IntN(chats)
		moment := []string{"asked", "sent"}[random.IntN(2)]
		h.poll("the next moment to kill", func() bool { return h.progress()[moment] >= begun[moment]+after })
		killed[what+" when "+moment]++
		switch what {
		case "host":
			h.kill()
			h.start()
		case "plugin":
			var plugins []admin.Plugin
			h.show(&plugins, "plugin", "list")
			_ = syscall.Kill(plugins[0].PID, syscall.SIGKILL) // it may have ended by itself
		case "claude":
			pids := h.claudes()
			_ = syscall.Kill(pids[random.IntN(len(pids))], syscall.SIGKILL) // as well
		}
	}
	write()

	repeated := map[string]bool{}
	for i, p := range people {
		var want []string
		for n := range written {
			want = append(want, fmt.Sprintf("answer %d-%d", i, n+1))
		}
		h.poll("the last answer of chat "+fmt.Sprint(i), func() bool {
			replies := h.telegram.Replies(p.chat)
			return len(replies) > 0 && said(replies[len(replies)-1].Text) == want[written-1]
		})
		var got []string
		for _, m := range h.telegram.Replies(p.chat) {
			text := said(m.Text)
			if len(got) > 0 && got[len(got)-1] == text {
				repeated[text] = true
				if !strings.HasPrefix(m.Text, wording.SentAgain) {
					t.Errorf("chat %d: %q came again, without a mark", i, m.Text)
				}
				continue
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("chat %d (-want +got):\n%s", i, diff)
		}
		h.consumedOnce(i, written)
	}
	var queue admin.Queue
	h.show(&queue, "queue")
	if int64(len(repeated)) > queue.Uncertain {
		t.Errorf("%d answers came more than once, but only %d were sent again for an unknown outcome", len(repeated), queue.Uncertain)
	}
	t.Logf("%d messages, %d kills %v: %d answers were sent again for an unknown outcome, %d of them had come",
		chats*written, kills, killed, queue.Uncertain, len(repeated))
}

// said returns an answer without the lines before it.
func said(text string) string {
	return strings.TrimPrefix(strings.TrimPrefix(text, wording.SentAgain+"\n\n"), continued)
}

// progress counts what has happened so far.
func (h *host) progress() map[string]int {
	return map[string]int{"asked": len(h.api.Messages()), "sent": len(h.telegram.Calls("sendMessage"))}
}

var numberedText = regexp.MustCompile(`number (\d+-\d+)$`)

// numbered answers the newest numbered message of a conversation, also if claude was asked to continue after it.
func numbered(random *rand.Rand) func(messagesapi.Prompt) (messagesapi.Reply, bool) {
	return func(p messagesapi.Prompt) (messagesapi.Reply, bool) {
		for _, text := range slices.Backward(p.Texts()) {
			if found := numberedText.FindStringSubmatch(text); found != nil {
				return messagesapi.Reply{Text: "answer " + found[1], DelayMS: random.IntN(200)}, true
			}
		}
		return messagesapi.Reply{}, false
	}
}

// consumedOnce asserts that a chat's conversation holds each of its messages once.
func (h *host) consumedOnce(chat, written int) {
	h.Helper()
	for _, request := range slices.Backward(h.api.Messages()) {
		if !strings.Contains(strings.Join(request.Prompt.Texts(), "\n"), fmt.Sprintf("number %d-", chat)) {
			continue
		}
		counts := map[string]int{}
		for _, text := range request.Prompt.Texts() {
			if found := numberedText.FindStringSubmatch(text); found != nil {
				counts[found[1]]++
			}
		}
		for n := range written {
			if name := fmt.Sprintf("%d-%d", chat, n+1); counts[name] != 1 {
				h.Errorf("the conversation of chat %d holds number %s %d times, want once", chat, name, counts[name])
			}
		}
		return
	}
	h.Errorf("the model was never asked in chat %d", chat)
}
