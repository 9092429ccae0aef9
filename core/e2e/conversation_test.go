//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// conversation is a person in a chat, who reads what the bot writes there in its order.
type conversation struct {
	*host
	user *telegramtest.User
	chat int64
	read int // messages of the bot
}

// owner is the person who may do everything, in the chat with the bot.
func (h *host) owner() *conversation { return h.person(ownerID) }

// person is a user in their own chat with the bot.
func (h *host) person(id int64) *conversation {
	return &conversation{host: h, user: h.telegram.User(id), chat: id}
}

// say writes a message.
func (c *conversation) say(text string) { c.user.Send(c.chat, text) }

// awaits waits until a message of the bot matches, also an edited one.
func (c *conversation) awaits(what string, match func(telegramtest.Message) bool) telegramtest.Message {
	c.Helper()
	m, err := c.telegram.AwaitMessage(c.ctx, c.chat, match)
	if err != nil {
		c.Fatalf("the bot does not write %s: %v; it wrote %+v", what, err, c.telegram.Replies(c.chat))
	}
	return m
}

// shows waits until a message of the bot's has this text.
func (c *conversation) shows(text string) telegramtest.Message {
	c.Helper()
	return c.awaits(fmt.Sprintf("%q", text), func(m telegramtest.Message) bool { return m.Text == text })
}

// questioned waits until the bot asks something that begins so, with buttons.
func (c *conversation) questioned(text string) telegramtest.Message {
	c.Helper()
	return c.awaits(fmt.Sprintf("a question %q", text), func(m telegramtest.Message) bool {
		return strings.HasPrefix(m.Text, text) && len(m.Buttons) > 0
	})
}

// press presses the button under a message whose label ends so.
func (c *conversation) press(m telegramtest.Message, label string) {
	c.Helper()
	for _, b := range slices.Concat(m.Buttons...) {
		if strings.HasSuffix(b.Text, label) {
			c.user.Press(c.chat, m.ID, b.Data)
			return
		}
	}
	c.Fatalf("there is no button %q under %+v", label, m)
}

// delivered waits until the host knows that all it has written has come.
func (h *host) delivered() {
	h.Helper()
	h.poll("everything is delivered", func() bool {
		var status struct{ Pending int }
		h.show(&status, "status")
		return status.Pending == 0
	})
}

// next waits for the bot's next message.
func (c *conversation) next() telegramtest.Message {
	c.Helper()
	replies, err := c.telegram.AwaitReplies(c.ctx, c.chat, c.read+1)
	if err != nil {
		c.Fatalf("the bot does not answer: %v", err)
	}
	c.read++
	return replies[c.read-1]
}

// hears waits for the bot's next message, which must be this one.
func (c *conversation) hears(want string) {
	c.Helper()
	if got := c.next().Text; got != want {
		c.Errorf("the bot wrote %q, want %q", got, want)
	}
}

// stopped is what the model reads before the message that follows a stop.
const stopped = domain.HintStopped + "\n\n"

// continued is what an answer begins with whose turn was cut off.
const continued = "I was interrupted by a restart and went on from there.\n\n"

// outgoing is the line of the host that a conversation begins with where its chat takes files.
var outgoing = regexp.MustCompile(`\[Outgoing files: outbound/[0-9a-f]{12}\]\n+`)

// echoes waits for the model's echo of a message, perhaps of one that follows a stop.
func (c *conversation) echoes(text string) {
	c.Helper()
	got := outgoing.ReplaceAllString(c.next().Text, "")
	if !strings.HasPrefix(strings.Replace(got, stopped, "", 1), "echo: [Telegram ") || !strings.HasSuffix(got, "] "+text) {
		c.Errorf("the bot wrote %q, want the echo of %q", got, text)
	}
}

// talks writes a message and waits for its echo.
func (c *conversation) talks(text string) {
	c.Helper()
	c.say(text)
	c.echoes(text)
}

// silent fails if the bot has written more than was read.
func (c *conversation) silent() {
	c.Helper()
	for _, m := range c.telegram.Replies(c.chat)[c.read:] {
		c.Errorf("the bot also wrote %q", m.Text)
	}
}

// remembers asserts that the newest request holds earlier texts once each.
func (h *host) remembers(texts ...string) {
	h.Helper()
	last := h.last()
	for _, text := range texts {
		if got := occurrences(last, text); got != 1 {
			h.Errorf("the last request holds %q %d times, want once: %q", text, got, last.Prompt.Texts())
		}
	}
}

// forgot asserts that the newest request holds none of these texts. They are sentences: the request also names random folders
// and ids, in which a bare number may stand by chance.
func (h *host) forgot(texts ...string) {
	h.Helper()
	last := h.last()
	for _, text := range texts {
		if strings.Contains(string(last.Body), text) {
			h.Errorf("the last request still holds %q: %q", text, last.Prompt.Texts())
		}
	}
}

// kept reports whether a transcript of the CLI contains a text.
func (h *host) kept(text string) bool {
	h.Helper()
	transcripts, err := filepath.Glob(filepath.Join(h.dir, "claude", "projects", "*", "*.jsonl"))
	if err != nil {
		h.Fatal(err)
	}
	return slices.ContainsFunc(transcripts, func(path string) bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), text)
	})
}

// wrote waits until a process has written a text behind a mark.
func (h *host) wrote(to *journal.Journal, mark int, text string) {
	h.Helper()
	if err := to.Await(h.ctx, nil, mark, regexp.MustCompile(regexp.QuoteMeta(text))); err != nil {
		h.Fatalf("%v; what is written:\n%s", err, to.String()[mark:])
	}
}
