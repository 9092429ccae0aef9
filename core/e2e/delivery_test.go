//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/clawhost/clawhost/core/internal/claude/messagesapi"
)

// A long answer comes in messages that Telegram takes, and code that is cut is code on both sides of the cut.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()

	var answer, code strings.Builder
	answer.WriteString("Here **it** is:\n\n```go\n")
	for n := range 400 {
		fmt.Fprintf(&code, "var line%03d = \"\U0001F980 *no* _markup_\"\n", n) // an astral character is two UTF-16 code units
	}
	answer.WriteString(code.String() + "```\n\nThat *was* it.")
	h.api.Enqueue(messagesapi.Reply{Text: answer.String()})
	owner.say("show it")

	const limit = 4096
	var got strings.Builder
	for done := false; !done; {
		m := owner.next()
		units := utf16.Encode([]rune(m.Text))
		if len(units) > limit {
			t.Errorf("a message has %d code units, more than %d", len(units), limit)
		}
		fences := 0
		for _, e := range m.Entities {
			if e.Type != "pre" {
				continue
			}
			fences++
			if e.Language != "go" {
				t.Errorf("code in message %d is in %q, want go", owner.read, e.Language)
			}
			got.WriteString(strings.TrimSuffix(string(utf16.Decode(units[e.Offset:e.Offset+e.Length])), "\n") + "\n")
		}
		if fences != 1 {
			t.Errorf("message %d has %d blocks of code, want one: %q", owner.read, fences, m.Text)
		}
		done = strings.HasSuffix(m.Text, "That was it.")
	}
	if owner.read < 4 {
		t.Errorf("%d code units came in %d messages", len(utf16.Encode([]rune(answer.String()))), owner.read)
	}
	if got.String() != code.String() {
		t.Errorf("the code came as\n%s", got.String())
	}
	if first := h.telegram.Replies(owner.chat)[0]; !strings.HasPrefix(first.Text, "Here it is:") {
		t.Errorf("the first message begins %.40q", first.Text)
	}
	for _, call := range h.telegram.Calls("sendMessage") {
		if call.Failed {
			t.Errorf("Telegram refused a message: %v", call.Params)
		}
	}
	owner.silent()
}

// A group takes part only if it is listed, and speaks to the agent by naming it.
func TestGroups(t *testing.T) {
	t.Parallel()
	const listed, unlisted = -1001, -1002
	h := newHost(t, setup{access: fmt.Sprintf(`
  owners = ["telegram:%d"]
  group "%d" {}`, ownerID, listed)})
	h.telegram.Group(listed, "The Office")
	h.telegram.Group(unlisted, "Elsewhere")
	h.start()

	owner := h.owner()
	elsewhere := &conversation{host: h, user: owner.user, chat: unlisted}
	elsewhere.say("@claw_bot hello from elsewhere")
	anna := &conversation{host: h, user: h.telegram.User(2000), chat: listed}
	anna.user.FirstName = "Anna"
	anna.say("talking to the others")
	anna.say("@claw_bot what is up?")
	anna.next()
	prompt := strings.Join(h.last().Prompt.Texts(), "\n") // the answer has none of the host's marks
	for _, part := range []string{
		"[Chat messages since your last reply - for context]\n[Telegram The Office ", "] Anna: talking to the others\n",
		"\n[Current message - respond to this]\n[Telegram The Office ", "] Anna: what is up?\n[from: Anna (@user_2000)]\n",
	} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the model got %q, which lacks %q", prompt, part)
		}
	}
	owner.talks("just us")
	h.forgot("what is up?") // the group's session is another one
	for _, request := range h.api.Messages() {
		if strings.Contains(string(request.Body), "hello from elsewhere") {
			t.Errorf("%v holds what was said in a group that is not listed", request)
		}
	}
	elsewhere.silent()
	anna.silent()
}

// An answer that is ready while Telegram is away, or while the host goes down, comes when they are back.
func TestTelegramAway(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()
	gate := make(chan struct{})
	h.api.Enqueue(messagesapi.Reply{Text: "at last", Gate: gate})
	owner.say("take your time")
	h.asked(asks("take your time"))
	h.telegram.Down()
	close(gate)
	h.wrote(h.log, 0, "an item was not sent and is tried again")
	h.stop()
	if err := h.telegram.Up(); err != nil {
		t.Fatal(err)
	}
	owner.say("are you there?")
	h.start()
	owner.hears("at last")
	owner.echoes("are you there?")
	owner.silent()
}

// An answer without a recipient is not sent.
// Behaviour: no-reply.
func TestNoReply(t *testing.T) {
	t.Parallel()
	h := newHost(t, setup{})
	h.start()
	owner := h.owner()
	h.api.Enqueue(messagesapi.Reply{Text: "NO_REPLY"})
	owner.say("just so you know")
	owner.talks("and now?")
	h.remembers("just so you know")
	owner.silent()
}
