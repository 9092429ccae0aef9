//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
)

// script runs a script of the e2e folder until the test ends, and returns the first line that it prints.
func script(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(ctx, "node", args...)
	command.Dir = "e2e"
	var said strings.Builder
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	t.Cleanup(func() {
		in.Close()
		command.Process.Kill()
		io.Copy(io.Discard, out)
		command.Wait()
		if t.Failed() {
			t.Logf("node said:\n%s", said.String())
		}
	})
	if !lines.Scan() {
		command.Wait()
		t.Fatalf("%s ended: %s", args[0], said.String())
	}
	return lines.Text()
}

// TestGrammY holds the loopback server against an independent client of today's Bot API.
func TestGrammY(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := telegramtest.New(t)
	anna := s.User(7)
	s.Group(-200, "group")
	s.Forum(-100, "forum")
	topic := s.Topic(anna, -100, "plans")
	anna.Send(0, "text before the start")
	if line := script(ctx, t, "bot.mjs", s.URL(), s.Token()); line != "started" {
		t.Fatalf("the bot said %q", line)
	}
	await := func(chat int64, what string, match func(telegramtest.Message) bool) telegramtest.Message {
		t.Helper()
		m, err := s.AwaitMessage(ctx, chat, match)
		if err != nil {
			t.Fatalf("%s: %v; there is %+v", what, err, s.Replies(chat))
		}
		return m
	}
	says := func(text string) func(telegramtest.Message) bool {
		return func(m telegramtest.Message) bool { return m.Text == text }
	}
	answer := await(7, "an answer", says("bold answer"))
	if answer.ReplyTo == 0 || len(answer.Entities) != 1 || len(answer.Buttons) != 1 {
		t.Errorf("the answer is %+v", answer)
	}
	query := anna.Press(7, answer.ID, "y")
	await(7, "a press", says("pressed y"))
	if calls := s.Calls("answerCallbackQuery"); len(calls) != 1 || calls[0].Failed || calls[0].Params["callback_query_id"] != query {
		t.Errorf("the press was answered by %+v", calls)
	}

	anna.Send(0, "edit")
	await(7, "edits", says("400 Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message\n400 Bad Request: message to edit not found"))
	if m := await(7, "the edited message", says("two")); len(m.Buttons) != 1 || m.Edits != 2 {
		t.Errorf("edited to %+v", m)
	}

	anna.Send(0, "files")
	await(7, "files", says("true 2 true"))
	photo := await(7, "a photo", says("edited"))
	if photo.Media != "photo" || photo.FileName != "a.png" || len(photo.File) != 12 {
		t.Errorf("the photo is %+v", photo)
	}
	await(7, "a document", func(m telegramtest.Message) bool { return m.Media == "document" && string(m.File) == "%PDF" })
	await(7, "an album", func(m telegramtest.Message) bool { return m.Text == "an album" && m.Album != 0 })

	anna.Send(0, "menu")
	await(7, "the menu", says(`[{"command":"status","description":"What is going on."}]`))
	if menu := s.Commands(); len(menu) != 1 || menu[0].Name != "status" {
		t.Errorf("the menu is %+v", menu)
	}

	anna.Send(0, "draft")
	if _, err := s.AwaitDraft(ctx, 7, func(d telegramtest.Draft) bool { return d.Text == "so far" && d.CanStop }); err != nil {
		t.Fatal(err)
	}
	anna.Stop()
	await(7, "the stop", says("stopped 5"))
	anna.Send(0, "rich")
	rich := await(7, "a rich message", func(m telegramtest.Message) bool { return m.Rich && m.Text == "# Title" })
	anna.Post(telegramtest.Post{Text: "quoted", ReplyTo: rich.ID})
	await(7, "what a rich message says", says("undefined: heading Title"))

	asked := anna.Send(0, "react")
	await(7, "a reaction", says("reacted"))
	for _, m := range s.Messages(7) {
		if m.ID == asked.ID && m.Reaction != "👍" {
			t.Errorf("the reaction is %q", m.Reaction)
		}
	}
	anna.React(7, answer.ID, "🎉")
	await(7, "a person's reaction", says("reaction 🎉"))
	anna.Edit(7, asked.ID, "better")
	await(7, "a person's edit", says("edited to better"))

	anna.Post(telegramtest.Post{Media: "photo", File: []byte("pixels")})
	await(7, "a fetched photo", says("alone: pixels"))
	anna.Album(telegramtest.Post{Media: "photo", File: []byte("first")}, telegramtest.Post{Media: "photo", File: []byte("second")})
	await(7, "a fetched album", says("of an album: second"))

	// grammY does not repeat what is refused, so each is tried once.
	s.Fail("sendMessage", 3, telegramtest.Slow(0))
	s.Fail("sendMessage", 1, telegramtest.TooManyRequests(3*time.Second))
	anna.Send(0, "refused")
	await(7, "refusals", says("400 Bad Request: chat not found\n400 Bad Request: message is too long\n400 Bad Request: message thread not found\n429 Too Many Requests: retry after 3 3"))
	anna.Post(telegramtest.Post{Chat: -100, Thread: topic, Text: "topic"})
	if m := await(-100, "a topic", says(fmt.Sprintf("in topic %d", topic))); m.Thread != topic {
		t.Errorf("the answer is in topic %d, want %d", m.Thread, topic)
	}
	s.AddBot(anna, -200)
	await(-200, "the bot's coming", says("here I am"))
	if err := s.AwaitConfirmed(ctx); err != nil {
		t.Error(err)
	}
}

// TestAnotherServer holds the plugin against the Bot API server of telegram-test-api, which knows a part of it.
func TestAnotherServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	address := script(ctx, t, "server.mjs", strconv.Itoa(port))
	const token = "4242:token-of-the-other-server"
	c, err := open(ctx, sdk.Env{Log: slog.New(slog.DiscardHandler)}, config{Token: sdk.NewSecret(token), APIEndpoint: address})
	if err != nil {
		t.Fatal(err)
	}
	c.pace = quick()
	in := newInbox()
	run(t, c, in)
	const messages = 30
	for i := range messages {
		ask(ctx, t, address+"/sendMessage", map[string]any{
			"botToken": token, "from": map[string]any{"id": 7, "first_name": "Anna"}, "chat": map[string]any{"id": 7, "type": "private"},
			"date": time.Now().Unix(), "text": fmt.Sprint("message ", i),
		})
	}
	in.await(t, "the messages", func() bool { return len(in.events) >= messages })
	for i, e := range in.events {
		if m, ok := e.Body.(chat.Message); !ok || m.Text != fmt.Sprint("message ", i) || e.Chat.ID != "7" || e.Chat.Kind != chat.Direct {
			t.Errorf("message %d comes as %+v", i, e)
		}
	}
	receipt, err := c.Send(ctx, chat.Outgoing{To: chat.Address{Chat: "7"}, Text: "**answer**", Buttons: [][]chat.Button{{{Label: "Yes", Data: "y"}}}})
	if err != nil || len(receipt.IDs) != 1 {
		t.Fatalf("send: %+v, %v", receipt, err)
	}
	read := ask(ctx, t, address+"/getUpdates", map[string]any{"token": token, "chatId": 7})
	for _, want := range []string{`"text":"answer"`, `callback_data`} {
		if !strings.Contains(strings.ReplaceAll(read, `\"`, `"`), want) {
			t.Errorf("the person reads %s, without %s", read, want)
		}
	}
}

// ask posts a question and returns the answer.
func ask(ctx context.Context, t *testing.T, address string, question any) string {
	t.Helper()
	raw, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", address, response.StatusCode, answer, err)
	}
	return string(answer)
}
