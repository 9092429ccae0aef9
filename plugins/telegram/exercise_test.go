package main

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// fakeNetwork is a loopback Bot API as the conformance suite sees it.
type fakeNetwork struct {
	t      testing.TB
	server *telegramtest.Server

	mu      sync.Mutex
	written map[string]telegramtest.Message // by text
	topic   int
}

func (n *fakeNetwork) Deliver(to chat.ID, text string) {
	n.post(to, telegramtest.Post{Text: text})
}

// post writes in a chat. In groups one of the people does.
func (n *fakeNetwork) post(to chat.ID, p telegramtest.Post) {
	p.Chat = number(to)
	message := n.server.User(max(p.Chat, 7)).Post(p)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.written[p.Text] = message
}

func (n *fakeNetwork) wrote(text string) (telegramtest.Message, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	message, ok := n.written[text]
	return message, ok
}

func (n *fakeNetwork) Acknowledged(text string) bool {
	message, delivered := n.wrote(text)
	return delivered && n.server.Confirmed() >= message.Update
}

func (n *fakeNetwork) Sent(to chat.ID) []string {
	var texts []string
	for _, m := range n.server.Replies(number(to)) {
		texts = append(texts, m.Text)
	}
	return texts
}

func (n *fakeNetwork) Menu() []string {
	var names []string
	for _, c := range n.server.Commands() {
		names = append(names, c.Name)
	}
	return names
}

func (n *fakeNetwork) Refuse(to chat.ID) chat.Reason {
	n.server.User(number(to)).Block()
	return chat.Forbidden
}

func (n *fakeNetwork) Leave() { n.server.Down() }

func (n *fakeNetwork) Return() {
	if err := n.server.Up(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *fakeNetwork) Remove(to chat.ID, id chat.MessageID) {
	n.server.User(number(to)).Delete(number(to), int(number(chat.ID(id))))
}

func (n *fakeNetwork) Press(to chat.ID, id chat.MessageID, label string) {
	for _, m := range n.server.Replies(number(to)) {
		for _, b := range slices.Concat(m.Buttons...) {
			if messageID(m.ID) == id && b.Text == label {
				n.server.User(number(to)).Press(number(to), m.ID, b.Data)
				return
			}
		}
	}
	panic("no such button")
}

func (n *fakeNetwork) React(to chat.ID, id chat.MessageID, emoji string) {
	n.server.User(number(to)).React(number(to), int(number(chat.ID(id))), emoji)
}

func (n *fakeNetwork) Attach(to chat.ID, caption string, f sdktest.File) {
	n.post(to, telegramtest.Post{Text: caption, Media: "document", File: f.Content, FileName: f.Name, MIMEType: f.MIMEType})
}

func (n *fakeNetwork) Answer(to chat.ID, answered, text string, asked bool) {
	of, _ := n.wrote(answered)
	for _, m := range n.server.Replies(number(to)) {
		if m.Text == answered {
			of = m
		}
	}
	if asked {
		text = "@" + n.server.Bot().Username + " " + text
	}
	n.post(to, telegramtest.Post{Text: text, ReplyTo: of.ID})
}

func (n *fakeNetwork) Polls(to chat.ID) []chat.Poll {
	var polls []chat.Poll
	for _, m := range n.server.Replies(number(to)) {
		if p := m.Poll; p != nil {
			polls = append(polls, chat.Poll{Question: p.Question, Options: p.Options, Multiple: p.Multiple, Anonymous: p.Anonymous})
		}
	}
	return polls
}

func (n *fakeNetwork) Files(to chat.ID) []string {
	var files []string
	for _, m := range n.server.Replies(number(to)) {
		if m.Media != "" {
			files = append(files, string(m.File))
		}
	}
	return files
}

func (n *fakeNetwork) Typed(to chat.ID) bool {
	return slices.ContainsFunc(n.server.Calls("sendChatAction"), func(c telegramtest.Call) bool { return c.Params["chat_id"] == string(to) })
}

func (n *fakeNetwork) Draft(to chat.ID) string {
	draft, _ := n.server.Draft(number(to))
	return draft.Text
}

func (n *fakeNetwork) Mark(to chat.ID, id chat.MessageID) string {
	for _, m := range n.server.Messages(number(to)) {
		if messageID(m.ID) == id {
			return m.Reaction
		}
	}
	return "no such message"
}

func (n *fakeNetwork) Pinned(to chat.ID) (texts []string) {
	for _, m := range n.server.Messages(number(to)) {
		if m.Pinned {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

func (n *fakeNetwork) Revise(to chat.ID, text, changed string) {
	message, _ := n.wrote(text)
	n.server.User(number(to)).Edit(number(to), message.ID, changed)
}

func (n *fakeNetwork) Group() chat.ID {
	n.server.Group(-100, "Team")
	return "-100"
}

func (n *fakeNetwork) Members() ([]chat.UserID, bool) {
	n.server.Promote(-100, n.server.User(7), false)
	n.server.Promote(-100, n.server.User(8), false)
	return []chat.UserID{"7", "8"}, true
}

func (n *fakeNetwork) Mention(text string) {
	n.Deliver("-100", "@"+n.server.Bot().Username+" "+text)
}

func (n *fakeNetwork) Thread() (chat.ID, chat.ThreadID) {
	n.server.Forum(-200, "Forum")
	n.topic = n.server.Topic(n.server.User(7), -200, "Topic")
	return "-200", chat.ThreadID(strconv.Itoa(n.topic))
}

func (n *fakeNetwork) DeliverThread(text string) {
	n.post("-200", telegramtest.Post{Thread: n.topic, Text: text})
}

func (n *fakeNetwork) SentThread() []string {
	var texts []string
	for _, m := range n.server.Replies(-200) {
		if m.Thread == n.topic {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// Revoke also ends the poll that waits, as the real one does.
func (n *fakeNetwork) Revoke() {
	n.server.Fail("", 1_000_000, telegramtest.Refuse(401, "Unauthorized "+n.server.Token()))
	n.Leave()
	n.Return()
}

func (n *fakeNetwork) Cut(chat.ID) { n.server.Fail("sendMessage", 1, telegramtest.CutAfter()) }

func (n *fakeNetwork) Fail(_ chat.ID, reason chat.Reason) bool {
	// Behind each of its own words a foreign server could say the token back.
	fault, ok := map[chat.Reason]telegramtest.Fault{
		chat.Temporary:     telegramtest.Refuse(500, "Internal Server Error "+n.server.Token()),
		chat.RateLimited:   telegramtest.TooManyRequests(7 * time.Second),
		chat.NotConnected:  telegramtest.Refuse(401, "Unauthorized "+n.server.Token()),
		chat.ChatNotFound:  telegramtest.Refuse(400, "Bad Request: chat not found"),
		chat.Forbidden:     telegramtest.Refuse(403, "Forbidden: bot was blocked by the user"),
		chat.TooLong:       telegramtest.Refuse(400, "Bad Request: message is too long"),
		chat.MediaRejected: telegramtest.Refuse(400, "Bad Request: file is too big"),
		chat.TargetGone:    telegramtest.Refuse(400, "Bad Request: message to be replied not found"),
		chat.Invalid:       telegramtest.Refuse(400, "Bad Request: strange things of "+n.server.Token()),
	}[reason]
	method := "sendMessage"
	if reason == chat.MediaRejected {
		method = "sendDocument"
	}
	if ok {
		n.server.Fail(method, 1, fault)
	}
	return ok
}

func number(id chat.ID) int64 {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func component() sdk.Component { return sdk.NewChannel((*channel)(nil).Limits(0), open) }

// Behaviour: reply-gone.
func TestExercise(t *testing.T) {
	t.Parallel()
	const token = "4242:telegramtest-loopback-token-0123456789"
	sdktest.Exercise(t, sdktest.Setup{
		Component: component(),
		New: func(t testing.TB) (sdktest.Network, any) {
			s := telegramtest.New(t)
			return &fakeNetwork{t: t, server: s, written: map[string]telegramtest.Message{}}, map[string]any{"token": s.Token(), "api_endpoint": s.URL()}
		},
		Chats: []chat.ID{"7", "8"},
		// Bots do not learn of deletions or of who types, and cannot send by a key.
		Without: []sdktest.Feature{sdktest.Deletions, sdktest.Repeats, sdktest.Typists},
		BadConfigs: []any{
			map[string]any{},
			map[string]any{"token": ""},
			map[string]any{"token": "a-token-without-colon-0123456789"},
			map[string]any{"token": "4242:too-short-for-telegram"},
			map[string]any{"token": token, "api_endpoint": "http://bots.example"},
			map[string]any{"token": token, "api_endpoint": "ftp://127.0.0.1"},
		},
		Secrets: []string{token, "telegramtest-loopback-token-0123456789", "a-token-without-colon-0123456789", "too-short-for-telegram"},
	})
}

// TestConfigErrorsName their attribute, so that the host can show the place.
func TestConfigErrorsNameTheirAttribute(t *testing.T) {
	t.Parallel()
	found, err := sdktest.New(t, component()).TryConfigure(map[string]any{"token": " 1:x ", "api_endpoint": "https://u:p@bots.example"})
	if err != nil || len(found) != 2 || found[0].Path != "token" || found[1].Path != "api_endpoint" {
		t.Errorf("found %+v, %v", found, err)
	}
}
