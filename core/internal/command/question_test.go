package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// Behaviour: ask, people.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typed string
		who   chat.Authority
		asked []string
		said  string
	}{
		{"/answer abcde 2", chat.Other, []string{"ABCDE: 2 by other"}, ""},
		{"/answer ABCDE my own words", chat.Authorised, []string{"ABCDE: my own words by authorised"}, ""},
		{"/answer", chat.Other, nil, "Which question? Give the ID that it shows: `/answer ID ANSWER`."},
		{"/answer ZZZZZ once", chat.Owner, []string{"ZZZZZ: once by owner"}, "No question has this ID. It may be closed already."},
		{"/approve ABCDE", chat.Owner, []string{"ABCDE: once by owner"}, ""},
		{"/approve ABCDE always", chat.Owner, []string{"ABCDE: always by owner"}, ""},
		{"/approve ABCDE always", chat.Authorised, nil, "You may not use /approve here. Ask the owner of this bot."},
		{"/deny ABCDE it is late", chat.Owner, []string{"ABCDE: no it is late by owner"}, ""},
		{"/deny ABCDE", chat.Owner, []string{"ABCDE: no by owner"}, ""},
		{"/approve slack ABCD2345", chat.Owner, nil, "No pairing request has this code. Codes are valid for one hour."},
	} {
		d := &hostCommands{}
		said := d.say(t, test.typed, test.who)
		if diff := cmp.Diff(test.asked, d.order); diff != "" || said != test.said {
			t.Errorf("%s by %s: %q %s", test.typed, test.who, said, diff)
		}
	}
}

// Behaviour: aside.
func TestAside(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		hostCommands *hostCommands
		typed        string
		said         string
	}{
		{&hostCommands{running: true, beside: "42"}, "/btw what is six times seven?", "42"},
		{&hostCommands{running: true, beside: " "}, "/side why?", "Claude had no answer to this."},
		{&hostCommands{running: true}, "/btw", "What do you want to know? `/btw QUESTION` is answered beside what is running."},
		{&hostCommands{}, "/btw why?", "Nothing is running here. Ask it as a message of its own."},
		{&hostCommands{running: true, fail: context.DeadlineExceeded}, "/btw why?", "Claude had no answer to this in time. It goes on with what is running."},
		{&hostCommands{running: true, fail: errors.New("pipe")}, "/btw why?", "/btw failed. The host's log says why."},
	} {
		if said := test.hostCommands.say(t, test.typed, chat.Authorised); said != test.said {
			t.Errorf("%s: %q, want %q", test.typed, said, test.said)
		}
	}
}

// Behaviour: queue-next.
func TestWaitingMessages(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/next 3":     "This message is answered next.",
		"/withdraw 3": "This message is withdrawn.",
		"/withdraw 7": "This message is withdrawn.",
		"/next 12":    "This message is no longer waiting.",
		"/next it":    "Which message? `/queue` lists those that wait, with their numbers: `/next NUMBER`.",
		"/withdraw":   "Which message? `/queue` lists those that wait, with their numbers: `/withdraw NUMBER`.",
	} {
		d := &hostCommands{}
		if said := d.say(t, typed, chat.Authorised); said != want {
			t.Errorf("%s: %q", typed, said)
		}
		if done := len(d.order) == 1 && d.order[0] == strings.TrimPrefix(typed, "/"); done != strings.HasSuffix(typed, "3") && done != strings.HasSuffix(typed, "7") {
			t.Errorf("%s: %v", typed, d.order)
		}
	}
}

// Who may not use commands takes back what they wrote themselves, and nothing else.
// Behaviour: queue-next.
func TestWhoMayTakeBack(t *testing.T) {
	t.Parallel()
	own := domain.Message{Channel: "telegram", Sender: chat.Sender{ID: "7"}}
	another, elsewhere, prompt := own, own, own
	another.Sender.ID, elsewhere.Channel, prompt.Origin = "8", "discord", domain.OriginPlugin
	const not = "You may only withdraw what you wrote yourself. Ask the owner of this bot."
	for name, test := range map[string]struct {
		of        domain.Message
		authority chat.Authority
		want      string
	}{
		"their own":               {own, chat.Other, "This message is withdrawn."},
		"another's":               {another, chat.Other, not},
		"of another network":      {elsewhere, chat.Other, not},
		"a turn of a plugin's":    {prompt, chat.Other, not},
		"nobody's":                {domain.Message{Channel: "telegram"}, chat.Other, not},
		"another's, with a right": {another, chat.Authorised, "This message is withdrawn."},
	} {
		d := &hostCommands{messages: []domain.WaitingMessage{{Seq: 3, Message: test.of}}}
		if said := d.say(t, "/withdraw 3", test.authority); said != test.want || (len(d.order) == 1) != (said != not) {
			t.Errorf("%s: %q, done %v", name, said, d.order)
		}
		if said := d.say(t, "/next 3", chat.Other); !strings.HasPrefix(said, "You may not use /next") {
			t.Errorf("%s is next: %q", name, said)
		}
	}
	d := &hostCommands{}
	call := d.call("/withdraw 3", chat.Other)
	call.Caller.Sender.ID, d.messages = "", []domain.WaitingMessage{{Seq: 3, Message: domain.Message{Channel: "telegram"}}}
	if said, _ := d.registry().Run(t.Context(), call); said != not {
		t.Errorf("nobody takes back what is nobody's: %q", said)
	}
}

// What waits is listed with the numbers that the commands for it take, and nothing that was written elsewhere.
// Behaviour: queue-list.
func TestQueueLists(t *testing.T) {
	t.Parallel()
	here := func(text string) domain.Message {
		return domain.Message{Channel: "telegram", Chat: chat.Chat{ID: "7"}, Text: text, Sender: chat.Sender{ID: "7", DisplayName: "Anna"}}
	}
	long, elsewhere, file, beat := here("a `long`\none "+strings.Repeat("x", 100)), here("secret"), here(""), here("look after it")
	elsewhere.Chat.ID = "8"
	file.Media = []chat.Media{{Kind: chat.Image}}
	beat.Origin = domain.OriginHeartbeat
	d := &hostCommands{}
	for i, m := range []domain.Message{here("then coffee"), long, elsewhere, file, beat} {
		d.messages = append(d.messages, domain.WaitingMessage{Seq: int64(3 + i), Message: m, ReceivedAt: now.Add(-time.Duration(i) * time.Minute)})
	}
	said := d.say(t, "/queue", chat.Authorised)
	const want = "**What waits**\n" +
		"\n- `3` `then coffee`, 0s ago" +
		"\n- `4` `` a `long` one xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… ``, 1m ago" +
		"\n- `5` a message from another chat, 2m ago" +
		"\n- `6` a file from `Anna`, 3m ago" +
		"\n- `7` a turn that I or a plugin began, 4m ago" +
		"\n\n`/next NUMBER` answers one next, `/withdraw NUMBER` withdraws it.\n\nCurrent queue settings: "
	if !strings.HasPrefix(said, want) {
		t.Error(cmp.Diff(want, said))
	}
	call := d.call("/queue", chat.Authorised)
	call.Caller.Kind = chat.Group
	if said, _ := d.registry().Run(t.Context(), call); !strings.Contains(said, "- `3` `then coffee` from `Anna`, 0s ago") {
		t.Errorf("in a group: %s", said)
	}
	for range 20 {
		d.messages = append(d.messages, d.messages[0])
	}
	if said := d.say(t, "/queue", chat.Authorised); strings.Count(said, "\n- `") != 20 || !strings.Contains(said, "\n- and more\n") {
		t.Errorf("of many: %s", said)
	}
	broken := &hostCommands{fail: errors.New("the disk is full")}
	if said := broken.say(t, "/queue", chat.Authorised); said != "/queue failed. The host's log says why." {
		t.Error(said)
	}
}

// Who stops may keep what waits.
// Behaviour: stop-keep.
func TestStopThatKeeps(t *testing.T) {
	t.Parallel()
	d := &hostCommands{running: true, waiting: 2}
	if said := d.say(t, "/stop keep", chat.Authorised); said != "Stopped." || d.waiting != 2 {
		t.Errorf("%q, %d wait", said, d.waiting)
	}
	if said := d.say(t, "/stop never", chat.Authorised); !strings.Contains(said, "keep") || d.waiting != 2 {
		t.Errorf("%q, %d wait", said, d.waiting)
	}
}

// Behaviour: ask-grant.
func TestGrants(t *testing.T) {
	t.Parallel()
	held := []domain.Grant{
		{Session: "s", Authority: chat.Owner, Rule: "Bash(git `status`)", By: "telegram:1"},
		{Session: "s", ClaudeSession: "gone", Authority: chat.Other, Rule: "=0011", By: "telegram:1"},
		{Session: "s", Authority: chat.Authorised, Rule: "=0012 Bash ls /etc; cat > yy", By: "telegram:1"},
	}
	d := &hostCommands{grants: held, session: domain.Session{ClaudeSession: "now"}}
	want := "**What Claude may do here without asking**\n\n1. `` Bash(git `status`) ``, always, for owners (allowed by `telegram:1`)" +
		"\n2. one input of a tool, of which an earlier version kept no details, in a conversation that is over, for people who may not use commands (allowed by `telegram:1`)" +
		"\n3. exactly Bash `ls /etc; cat > yy`, always, for people who may use commands (allowed by `telegram:1`)" +
		"\n\n`/grants revoke NUMBER` or `/grants revoke all` revokes them."
	if got := d.say(t, "/grants", chat.Owner); got != want {
		t.Error(cmp.Diff(want, got))
	}
	for typed, want := range map[string]string{
		"/grants revoke 1":   "Revoked: `` Bash(git `status`) ``. Claude asks again.",
		"/grants revoke all": "Revoked: 3. Claude asks again.",
		"/grants revoke 4":   "There is no number `4`. /grants lists them.",
	} {
		if got := d.say(t, typed, chat.Owner); got != want {
			t.Errorf("%s: %q", typed, got)
		}
	}
	if got, want := (&hostCommands{}).say(t, "/grants", chat.Owner), "There are no lasting permissions here."; got != want {
		t.Error(got)
	}
	broken := &hostCommands{fail: errors.New("the disk is full")}
	if got := broken.say(t, "/grants", chat.Owner); got != "/grants failed. The host's log says why." {
		t.Error(got)
	}
}

// say is what somebody of an authority is answered.
func (d *hostCommands) say(t *testing.T, text string, authority chat.Authority) string {
	t.Helper()
	said, _ := d.registry().Run(t.Context(), d.call(text, authority))
	return said
}
