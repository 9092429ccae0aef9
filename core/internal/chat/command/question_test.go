package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/claude/client"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ask asks a question in a turn of a session.
func (d *hostCommands) ask(t *testing.T, session, id, body string) {
	t.Helper()
	in := domain.Inbound{EventID: chat.EventID(id), Session: session, Lane: domain.TurnLane, Message: message("do it")}
	if _, err := d.store.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	to := in.Message.Address()
	q := domain.Question{
		ID: id, Digest: id, Authority: chat.Authorised, Asker: "telegram:7", Messages: []domain.QuestionMessage{{}}, Body: json.RawMessage(body), ExpiresAt: now.Add(time.Hour),
	}
	if _, err := d.store.Ask(t.Context(), d.claim(t, domain.TurnLane).ID, q, domain.OutboxItem{To: to, Text: id}); err != nil {
		t.Fatal(err)
	}
}

// Behaviour: ask, people.
func TestQuestions(t *testing.T) {
	t.Parallel()
	const tool = `{"about":"tool","tool":"Bash","rules":["Bash(ls)"]}`
	const choice = `{"about":"choice","line":"Tea?","labels":["yes","no"],"details":["",""]}`
	for _, test := range []struct {
		body, typed string
		who         chat.Authority
		answer      string // to the question; empty: none
		said        string
	}{
		{choice, "/answer abcde 2", chat.Other, `{"allow":true,"said":"no"}`, ""},
		{choice, "/answer ABCDE my own words", chat.Authorised, `{"allow":true,"said":"my own words"}`, ""},
		{tool, "/answer", chat.Other, "", "Which question? Give the ID that it shows: `/answer ID ANSWER`."},
		{tool, "/answer ZZZZZ once", chat.Owner, "", "No question has this ID. It may be closed already."},
		{tool, "/answer ABCDE once", chat.Other, "", wording.QuestionForOwners},
		{tool, "/approve ABCDE", chat.Owner, `{"allow":true}`, ""},
		{tool, "/approve ABCDE always", chat.Owner, `{"allow":true} Bash(ls)`, ""},
		{tool, "/approve ABCDE always", chat.Authorised, "", "You may not use /approve here. Ask the owner of this bot."},
		{tool, "/deny ABCDE it is late", chat.Owner, `{"allow":false,"said":"It was not allowed, for this reason: it is late"}`, ""},
		{tool, "/deny ABCDE", chat.Owner, `{"allow":false}`, ""},
		{tool, "/approve slack ABCD2345", chat.Owner, "", "No pairing request has this code. Codes are valid for one hour."},
	} {
		inBubble(t, func(t *testing.T, d *hostCommands) {
			d.ask(t, "telegram:7", "ABCDE", test.body)
			said := d.say(t, test.typed, test.who)
			q, err := d.store.Question(t.Context(), "ABCDE")
			if err != nil {
				t.Fatal(err)
			}
			got := string(q.Answer)
			held, err := d.store.Grants(t.Context(), "telegram:7")
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range held {
				got += " " + g.Rule
			}
			if got != test.answer || said != test.said {
				t.Errorf("%s by %s: the answer is %s, said %q", test.typed, test.who, got, said)
			}
		})
	}
}

// Behaviour: aside.
func TestAside(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answer string
		err    error
		typed  string
		said   string
	}{
		{"42", nil, "/btw what is six times seven?", "what is six times seven? 42"},
		{" ", nil, "/side", "What do you want to know? `/btw QUESTION` is answered beside what is running."},
		{"", client.ErrNotRunning, "/btw why?", "Nothing is running here. Ask it as a message of its own."},
		{"", context.DeadlineExceeded, "/btw why?", "Claude had no answer to this in time. It goes on with what is running."},
		{"", errors.New("pipe"), "/btw why?", "/btw failed. The host's log says why."},
	} {
		d := &hostCommands{aside: func(question string) (string, error) { return question + " " + test.answer, test.err }}
		if said := d.say(t, test.typed, chat.Authorised); said != test.said {
			t.Errorf("%s: %q, want %q", test.typed, said, test.said)
		}
	}
	d := &hostCommands{aside: func(string) (string, error) { return " ", nil }}
	if said := d.say(t, "/side why?", chat.Authorised); said != "Claude had no answer to this." {
		t.Errorf("%q", said)
	}
}

// Behaviour: queue-next.
func TestWaitingMessages(t *testing.T) {
	t.Parallel()
	for typed, test := range map[string]struct{ said, left string }{
		"/next %d":     {"This message is answered next.", "two one three"},
		"/withdraw %d": {"This message is withdrawn.", "one three"},
		"/next 12":     {"This message is no longer waiting.", "one two three"},
		"/next it":     {"Which message? `/queue` lists those that wait, with their numbers: `/next NUMBER`.", "one two three"},
		"/withdraw":    {"Which message? `/queue` lists those that wait, with their numbers: `/withdraw NUMBER`.", "one two three"},
	} {
		inBubble(t, func(t *testing.T, d *hostCommands) {
			d.write(t, domain.TurnLane, message("one"), message("two"), message("three"))
			said := d.say(t, strings.Replace(typed, "%d", fmt.Sprint(d.queued(t)[1].Seq), 1), chat.Authorised)
			var left []string
			for _, w := range d.queued(t) {
				left = append(left, w.Message.Text)
			}
			if said != test.said || strings.Join(left, " ") != test.left {
				t.Errorf("%s: %q, and %q wait", typed, said, left)
			}
		})
	}
}

// queued are the messages that wait in the session.
func (d *hostCommands) queued(t *testing.T) []domain.WaitingMessage {
	t.Helper()
	list, err := d.store.WaitingMessages(t.Context(), "telegram:7", 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
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
		inBubble(t, func(t *testing.T, d *hostCommands) {
			d.write(t, domain.TurnLane, test.of)
			number := fmt.Sprint(d.queued(t)[0].Seq)
			if said := d.say(t, "/next "+number, chat.Other); !strings.HasPrefix(said, "You may not use /next") {
				t.Errorf("%s is next: %q", name, said)
			}
			call := d.call("/withdraw "+number, test.authority)
			if name == "nobody's" {
				call.Caller.Sender.ID = ""
			}
			if said, _ := textOf(d.registry().Run(t.Context(), call)); said != test.want || len(d.queued(t)) != map[bool]int{true: 1}[said == not] {
				t.Errorf("%s: %q, waiting %v", name, said, d.queued(t))
			}
		})
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
	inBubble(t, func(t *testing.T, d *hostCommands) {
		for _, m := range []domain.Message{here("then coffee"), long, elsewhere, file, beat} {
			d.write(t, domain.TurnLane, m)
			time.Sleep(20 * time.Second)
		}
		said := d.say(t, "/queue", chat.Authorised)
		first := d.queued(t)[0].Seq
		want := fmt.Sprintf("**What waits**\n"+
			"\n- `%d` `then coffee`, 1m ago"+
			"\n- `%d` `` a `long` one xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… ``, 1m ago"+
			"\n- `%d` a message from another chat, 50s ago"+
			"\n- `%d` a file from `Anna`, 30s ago"+
			"\n- `%d` a turn that I or a plugin began, 10s ago"+
			"\n\n`/next NUMBER` answers one next, `/withdraw NUMBER` withdraws it.\n\nCurrent queue settings: ",
			first, first+1, first+2, first+3, first+4)
		if !strings.HasPrefix(said, want) {
			t.Error(cmp.Diff(want, said))
		}
		call := d.call("/queue", chat.Authorised)
		call.Caller.Kind = chat.Group
		if said, _ := textOf(d.registry().Run(t.Context(), call)); !strings.Contains(said, "`then coffee` from `Anna`, 1m ago") {
			t.Errorf("in a group: %s", said)
		}
		d.write(t, domain.TurnLane, slices.Repeat([]domain.Message{here("more")}, 20)...)
		if said := d.say(t, "/queue", chat.Authorised); strings.Count(said, "\n- `") != 20 || !strings.Contains(said, "\n- and more\n") {
			t.Errorf("of many: %s", said)
		}
	})
}

// Who stops may keep what waits.
// Behaviour: stop-keep.
func TestStopThatKeeps(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, d *hostCommands) {
		d.run(t)
		d.write(t, domain.TurnLane, message("one"), message("two"))
		if said := d.say(t, "/stop never", chat.Authorised); !strings.Contains(said, "keep") || d.begun != 1 {
			t.Errorf("%q, %d turns have begun", said, d.begun)
		}
		if said := d.say(t, "/stop keep", chat.Authorised); said != "Stopped." {
			t.Errorf("%q", said)
		}
		if synctest.Wait(); d.begun != 2 || d.waiting(t) != 1 {
			t.Errorf("%d turns have begun, %d messages wait", d.begun, d.waiting(t))
		}
	})
}

// Behaviour: ask-grant.
func TestGrants(t *testing.T) {
	t.Parallel()
	grants := []domain.Grant{
		{Session: "telegram:7", ClaudeSession: "gone", Authority: chat.Other, Rule: "=0011", By: "telegram:1"},
		{Session: "telegram:7", Authority: chat.Authorised, Rule: "=0012 Bash ls /etc; cat > yy", By: "telegram:1"},
		{Session: "telegram:7", Authority: chat.Owner, Rule: "Bash(git `status`)", By: "telegram:1"},
	}
	inBubble(t, func(t *testing.T, d *hostCommands) {
		if got, want := d.say(t, "/grants", chat.Owner), "There are no lasting permissions here."; got != want {
			t.Error(got)
		}
		d.ask(t, "telegram:7", "ABCDE", `{"about":"tool","tool":"Bash"}`)
		allowed := json.RawMessage(`{"allow":true}`)
		if _, _, err := d.store.Settle(t.Context(), "ABCDE", domain.QuestionAnswered, allowed, "yes", grants...); err != nil {
			t.Fatal(err)
		}
		d.session.ClaudeSession = "now"
		want := "**What Claude may do here without asking**\n" +
			"\n1. one input of a tool, of which an earlier version kept no details, in a conversation that is over, " +
			"for people who may not use commands (allowed by `telegram:1`)" +
			"\n2. exactly Bash `ls /etc; cat > yy`, always, for people who may use commands (allowed by `telegram:1`)" +
			"\n3. `` Bash(git `status`) ``, always, for owners (allowed by `telegram:1`)" +
			"\n\n`/grants revoke NUMBER` or `/grants revoke all` revokes them."
		if got := d.say(t, "/grants", chat.Owner); got != want {
			t.Error(cmp.Diff(want, got))
		}
		for _, test := range [][2]string{
			{"/grants revoke 4", "There is no number `4`. /grants lists them."},
			{"/grants revoke 3", "Revoked: `` Bash(git `status`) ``. Claude asks again."},
			{"/grants revoke all", "Revoked: 2. Claude asks again."},
		} {
			if got := d.say(t, test[0], chat.Owner); got != test[1] {
				t.Errorf("%s: %q", test[0], got)
			}
		}
	})
}

// say is the answer to a person with an authority.
func (d *hostCommands) say(t *testing.T, text string, authority chat.Authority) string {
	t.Helper()
	said, _ := textOf(d.registry().Run(t.Context(), d.call(text, authority)))
	return said
}
