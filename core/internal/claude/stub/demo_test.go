package stub_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/core/internal/text/envelope"
	"github.com/clawhost/clawhost/sdk/chat"
)

// demo starts a demo.
func demo(t *testing.T, args ...string) *cli {
	t.Helper()
	return start(t, t.TempDir(), map[string]string{"CLAUDE_STUB_DEMO": "1"}, args...)
}

// answer writes a text and returns the answer.
func (c *cli) answer(text string) string {
	c.Helper()
	c.say(text)
	return fmt.Sprint(last(c.until("result"))["result"])
}

// Behaviour: demo.
func TestDemoSaysSo(t *testing.T) {
	t.Parallel()
	const begins, list = "Demo answer (not Claude) to: `hello`\n\n", "npm install -g @anthropic-ai/claude-code"
	for _, c := range []*cli{demo(t), start(t, t.TempDir(), nil, "--demo", "--some-new-flag", "value")} {
		if got := c.answer("[Telegram John Fri 2024-03-15 14:30 EST] hello"); !strings.HasPrefix(got, begins) || !strings.Contains(got, list) {
			t.Errorf("the first answer is %q", got)
		}
		if got := c.answer("[Telegram John +1m Fri 2024-03-15 14:31 EST] hello"); !strings.HasPrefix(got, begins) || strings.Contains(got, list) {
			t.Errorf("the second answer is %q", got)
		}
		if got := c.answer("demo"); !strings.Contains(got, list) {
			t.Errorf("asked for the list, the answer is %q", got)
		}
	}
}

// What the host adds to a prompt is not repeated.
func TestDemoRepeatsWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 3, 15, 19, 30, 12, 0, time.UTC)
	from := func(text string) envelope.Message {
		return envelope.Message{
			Channel: "telegram", Chat: chat.Chat{ID: "-1", Kind: chat.Group, Title: "Family"},
			Sender: chat.Sender{ID: "7", DisplayName: "Bob"}, SentAt: now, Previous: now.Add(-time.Hour), Text: text,
		}
	}
	rich := from("look at this\n\n[ ] and that\n---")
	rich.Late, rich.ReplyTo = time.Hour, &chat.Quote{Text: "a quote", SenderName: "Eve"}
	rich.Media = []envelope.Attachment{
		{Media: chat.Media{Kind: chat.Image, FileName: "the tea.jpg", MIMEType: "image/jpeg", Size: 7}, Path: "/a b/1.jpg", Shown: true},
		{Media: chat.Media{Kind: chat.File, MIMEType: "text/plain", Size: 7}, Path: "/a b/2.txt"},
	}
	voice := from("")
	voice.Media = []envelope.Attachment{{
		Media: chat.Media{Kind: chat.Voice, MIMEType: "audio/ogg"}, Path: "/v.ogg", Transcript: &envelope.Transcript{Text: "buy milk"},
	}}
	linked := from("read this")
	linked.Forwarded = &chat.Forward{From: "Eve", At: now}
	linked.Pages = []envelope.Page{{URL: "https://example.com", Text: "a page"}, {URL: "https://example.com/2", Problem: "is gone"}}
	around := envelope.Content{
		Messages: []envelope.Message{from("hello")}, Events: []envelope.Event{{At: now, Text: "an event"}}, Hints: []string{"a hint"},
		Context: []string{"a context"}, Starter: "a starter", History: []envelope.Entry{{At: now, Sender: "Eve", Text: "a history"}},
		Untrusted: []string{"a title"}, Outgoing: "outbound/1",
	}
	collected := envelope.Content{
		Messages: []envelope.Message{from("one"), from("two\nlines")}, Collected: true, Dropped: 1, Overflow: []string{"dropped"},
	}
	c := demo(t)
	for want, content := range map[string]envelope.Content{
		"\n\n```\nBob: look at this\n\n[ ] and that\n---\n(image the tea.jpg)\n(file 2.txt)\n```": {Messages: []envelope.Message{rich}},
		"\n\n```\nBob: (voice v.ogg)\nbuy milk\n```":                                              {Messages: []envelope.Message{voice}},
		" `Bob: read this`":                     {Messages: []envelope.Message{linked}},
		" `Bob: hello`":                         around,
		"\n\n```\none\n\ntwo\nlines\n```":       collected,
		" `wake up`":                            {Messages: []envelope.Message{{Host: true, SentAt: now, Text: "wake up"}}},
		" `(nothing)`":                          {Messages: []envelope.Message{{Host: true, SentAt: now}}},
		"\n\n````\nBob: a\n```\nMEDIA:/b\n````": {Messages: []envelope.Message{from("a\n```\nMEDIA:/b")}},
	} {
		if got := c.answer(envelope.Compose(content, time.UTC)); !strings.HasPrefix(got, "Demo answer (not Claude) to:"+want+"\n\n") {
			t.Errorf("of\n%s\nthe answer is\n%s\nwant\n%s", envelope.Compose(content, time.UTC), got, want)
		}
	}
	if got := c.answer(strings.Repeat("long ", 10_000)); len(got) > 10_000 || !strings.Contains(got, "…\n```\n") {
		t.Errorf("of a long text it repeats %d bytes", len(got))
	}
}

// What is written during a turn is repeated, too, and what a tool wrote is shown.
func TestDemoTakesWhatComesDuringTheTurn(t *testing.T) {
	t.Parallel()
	c := demo(t)
	c.say("[Telegram John Fri 2024-03-15 14:30 EST] ask")
	asked := last(c.until("control_request"))
	c.say("[Telegram John Fri 2024-03-15 14:30 EST] and this")
	c.until("queued")
	c.write(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"behavior":"allow"}}}`, asked["request_id"]))
	got := fmt.Sprint(last(c.until("result"))["result"])
	if !strings.Contains(got, "\nask\nand this\n") || !strings.Contains(got, ": `hello from the demo of clawhost`\n") {
		t.Errorf("the answer is %q", got)
	}
}

// The texts of people and programs run nothing but what the demo has.
func TestDemoTakesNoDirectives(t *testing.T) {
	t.Parallel()
	c, made := demo(t), filepath.Join(t.TempDir(), "made")
	text := `[[stub {"tool":"touch ` + made + `","rejected":"always"}]]`
	for range 2 { // a rejected conversation would fail from then on
		if got := c.answer(text); !strings.Contains(got, text) {
			t.Errorf("the answer is %q", got)
		}
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the tool has run")
	}
}

// No model of Claude's is named, whichever was chosen.
func TestDemoNamesNoModel(t *testing.T) {
	t.Parallel()
	c := demo(t, "--model", "opus")
	c.request(`{"subtype":"set_model","model":"sonnet"}`)
	c.say("hello")
	events := c.until("result")
	for _, e := range events {
		message, _ := e["message"].(map[string]any)
		for _, model := range []any{e["model"], message["model"]} {
			if model != nil && model != "demo" {
				t.Errorf("%v is by %v", e["type"], model)
			}
		}
	}
	if usage, _ := last(events)["modelUsage"].(map[string]any); len(usage) != 1 || usage["demo"] == nil {
		t.Errorf("usage = %v", usage)
	}
}
