//go:build e2e

package main

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clawhost/clawhost/plugins/discord/discordtest"
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

// TestDiscordJS holds the loopback server against an independent client.
func TestDiscordJS(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := discordtest.New(t)
	s.User("7", "anna")
	s.Direct("7", "70")
	s.Channel("900", "901", "general")
	if line := script(ctx, t, "bot.mjs", s.URL(), s.Token()); line != "started" {
		t.Fatalf("the bot said %q", line)
	}
	await := func(channel, text string) discordtest.Message {
		t.Helper()
		var found discordtest.Message
		s.Await(t, "the bot says "+text, func() bool {
			list := s.Replies(channel)
			i := slices.IndexFunc(list, func(m discordtest.Message) bool { return m.Text == text })
			if i >= 0 {
				found = list[i]
			}
			return i >= 0
		})
		return found
	}
	asked := s.Say("70", "7", "text please")
	answer := await("70", "an answer to @everyone")
	if answer.ReplyTo != asked || len(answer.Buttons) != 1 || answer.Mentions == nil || len(answer.Mentions) != 0 {
		t.Errorf("the answer is %+v", answer)
	}
	pressed, refused := s.Press(answer.ID, "7", "y"), s.Press(answer.ID, "7", "n")
	if a := answered(t, s, pressed); a.Type != 6 {
		t.Errorf("the press is answered by %+v", a)
	}
	if a := answered(t, s, refused); a.Type != 4 || a.Text != "no" || !a.Private {
		t.Errorf("the other press is answered by %+v", a)
	}
	used := s.Use("901", "7", "status", "now")
	s.Await(t, "the command is answered to its end", func() bool {
		a, _ := s.AnswerTo(used)
		return a.Type == 5 && a.Edited == "status now" && slices.Equal(a.FollowUps, []string{"and more"})
	})

	s.Say("70", "7", "history")
	await("70", "the first two: an answer to @everyone, text please")
	s.Say("70", "7", "edit")
	await("70", "404 10008, 403 50005")
	if m := await("70", "two"); m.Edits != 1 || len(m.Buttons) != 1 {
		t.Errorf("edited to %+v", m)
	}
	s.Say("70", "7", "files")
	await("70", "2 files, the first of 6 bytes")
	if m := await("70", "files"); len(m.Files) != 2 || m.Files[0].Name != "a.png" || string(m.Files[1].Content) != "%PDF" {
		t.Errorf("sent %+v", m.Files)
	}
	s.Say("70", "7", "voice")
	await("70", "true 1.5 AP8=, 400 50159, 400 50160, 400 50161, 400 50162")
	s.Say("70", "7", "attached", discordtest.WithFile("c.txt", "text/plain", []byte("four")))
	await("70", "c.txt text/plain 4")
	s.Say("70", "7", "nonce")
	await("70", "the same: true")
	s.Say("70", "7", "menu")
	await("70", "a menu of status")
	if menu := s.Commands(); len(menu) != 1 || menu[0].Description != "What is going on." {
		t.Errorf("the menu is %+v", menu)
	}
	reacted := s.Say("70", "7", "react")
	await("70", "reacted")
	if m := s.Get(reacted); !slices.Equal(m.Reactions, []string{"👍"}) || s.Typings("70") != 1 {
		t.Errorf("the reactions are %q, with %d signals of typing", m.Reactions, s.Typings("70"))
	}
	s.User("8", "bob")
	s.Say("70", "7", "person")
	await("70", "8, 404 10013")
	if sent := s.Replies(s.DirectOf("8")); len(sent) != 1 || sent[0].Text != "to you" {
		t.Errorf("bob has %+v", sent)
	}
	s.Say("70", "7", "refused")
	await("70", "400 50035, 400 50035, 404 10003, 404 10008")

	s.React(answer.ID, "7", "🎉", true)
	await("70", "7 reacts 🎉")
	s.Change(asked, "better")
	await("70", "edited to better")
	s.Remove(asked)
	await("70", "deleted "+asked)
	s.Say("901", "7", "<@"+discordtest.BotID+"> hello")
	await("901", "anna in general, guild guild 900")
	s.Thread("901", "902", "plans")
	s.Say("902", "7", "hello")
	await("902", "in thread plans of general")

	s.Cut()
	s.Say("70", "7", "after a cut")
	await("70", "heard after a cut")
	s.Reconnect()
	s.Say("70", "7", "after a wish")
	await("70", "heard after a wish")
	s.Await(t, "the session is resumed twice", func() bool { return s.Resumed() == 2 })
	if s.Identified() != 1 {
		t.Errorf("%d sessions were begun, want one", s.Identified())
	}
	s.Limit(3, 500*time.Millisecond)
	s.Fail("POST", "/messages", 1, discordtest.TooManyRequests(200*time.Millisecond))
	s.Say("70", "7", "many")
	await("70", "of many 3")
	if s.Refused() != 0 {
		t.Errorf("%d requests were too many: the limits are not told as they should be", s.Refused())
	}
	s.Invalidate()
	s.Await(t, "another session is begun", func() bool { return s.Identified() == 2 })
	s.Say("70", "7", "in another session")
	await("70", "heard in another session")
}
