package inbox_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/sdk/chat"
)

// What a message that waits is after an edit is what it would be if it had been written so.
// Behaviour: accept-no-turn, text-mentions, edit-waiting, edit-no-command.
func TestEdits(t *testing.T) {
	t.Parallel()
	high := domain.Overrides{Effort: "high"}
	picture := []chat.Media{{Kind: chat.Image}}
	asked := func(m domain.Message) domain.Message {
		m.ID, m.Channel, m.SentAt = "m", "tg", now.Add(-time.Hour)
		m.Chat, m.Sender, m.Authority = chat.Chat{ID: "owner", Kind: chat.Direct}, chat.Sender{ID: "owner"}, chat.Owner
		return m
	}
	grouped := func(m domain.Message) domain.Message {
		m = asked(m)
		m.Chat = chat.Chat{ID: "g", Kind: chat.Group}
		return m
	}
	for name, test := range map[string]struct {
		was    domain.Message
		edit   chat.Event
		want   *domain.Message
		model  string
		notice string // a part of it
	}{
		"a text": {was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "new\r\ntext "}), want: new(asked(domain.Message{Text: "new\ntext", Raw: "new\r\ntext "}))},
		"a mention": {
			was:  asked(domain.Message{Text: "old"}),
			edit: event("owner", chat.Edited{ID: "m", Text: "@bot, do it", Mentions: []chat.Mention{{Length: 4, IsSelf: true}}}),
			want: new(asked(domain.Message{Text: "do it", Raw: "@bot, do it"})),
		},
		"a directive": {was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "/think high why"}), want: new(asked(domain.Message{Text: "why", Raw: "/think high why", Overrides: high}))},
		"no directive any more": {
			was: asked(domain.Message{Text: "why", Raw: "/think high why", Overrides: high}), edit: event("owner", chat.Edited{ID: "m", Text: "why"}), want: new(asked(domain.Message{Text: "why"})),
		},
		"a new conversation": {
			was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "/new opus why"}), model: "opus",
			want: new(asked(domain.Message{Text: "why", Raw: "/new opus why", Fresh: true})),
		},
		"no new conversation any more": {was: asked(domain.Message{Text: "why", Raw: "/new why", Fresh: true}), edit: event("owner", chat.Edited{ID: "m", Text: "why"}), want: new(asked(domain.Message{Text: "why"}))},
		"a skill":                      {was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "/deploy it"}), want: new(asked(domain.Message{Text: deploy + "it", Raw: "/deploy it"}))},
		"a file stays": {
			was: asked(domain.Message{Text: "old", Media: picture, ReplyTo: &chat.Quote{ID: "q"}}), edit: event("owner", chat.Edited{ID: "m", Text: "new"}),
			want: new(asked(domain.Message{Text: "new", Media: picture, ReplyTo: &chat.Quote{ID: "q"}})),
		},
		"a group": {
			was: grouped(domain.Message{Text: "old"}), edit: inGroup("g", event("owner", chat.Edited{ID: "m", Text: "/think high why"})),
			want: new(grouped(domain.Message{Text: "why", Raw: "/think high why", Overrides: high})),
		},
		"no answer to a question": {was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "2"}), want: new(asked(domain.Message{Text: "2"}))},
		"a command":               {was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "/status"}), notice: "into a command"},
		"a word that means stop":  {was: asked(domain.Message{Text: "old"}), edit: event("owner", chat.Edited{ID: "m", Text: "stop!"}), notice: "into a command"},
		"another authority":       {was: asked(domain.Message{Text: "old"}), edit: event("commander", chat.Edited{ID: "m", Text: "new"}), notice: "have changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{standing: domain.StandingWaiting, waiting: test.was, allowed: []chat.UserID{"commander"}}
			if outcome, err := box(j).Submit(t.Context(), "tg", test.edit); err != nil || outcome.Verdict != chat.Accepted || len(j.accepted) != 0 {
				t.Fatalf("%+v, error %v, accepted %+v", outcome, err, j.accepted)
			}
			var amended []domain.Message
			var changes []string
			switch {
			case test.want == nil:
				changes = []string{"tg/owner/m is gone"}
			case test.model != "":
				changes = []string{"the model is " + test.model}
				fallthrough
			default:
				amended = []domain.Message{*test.want}
			}
			if diff := cmp.Diff(amended, j.amended) + cmp.Diff(changes, j.changes); diff != "" {
				t.Error(diff)
			}
			if test.notice == "" != (len(j.notices) == 0) || test.notice != "" && (!strings.Contains(j.notices[0].Text, test.notice) || j.notices[0].ReplyTo != "m" || j.notices[0].To.Chat != "owner") {
				t.Errorf("got %+v", j.notices)
			}
			j.fail = errors.New("the disk is full")
			if _, err := box(j).Submit(t.Context(), "tg", test.edit); err == nil {
				t.Error("the host seems to have what it has not")
			}
		})
	}
}

// What was asked of one agent is not asked of another by an edit, whichever of the two texts names its agent.
// Behaviour: edit-no-command.
func TestEditsOfWhatNamesAnAgent(t *testing.T) {
	t.Parallel()
	const main, server = "tg:owner", "agent:server:tg:owner"
	for name, test := range map[string]struct {
		in     string // the session of the message
		named  bool   // it names its agent
		chosen string // the agent that answers in the chat by now
		edit   string
		want   string // the new text
		notice string // a part of it
	}{
		"no agent any more":              {in: server, named: true, edit: "delete tmp", notice: "another agent"},
		"an agent":                       {in: main, edit: "/agent server delete tmp", notice: "into a command"},
		"another agent":                  {in: server, named: true, edit: "/agent main delete tmp", notice: "into a command"},
		"the same agent":                 {in: server, named: true, edit: "/agent server delete tmp", want: "delete tmp"},
		"the one that answers by now":    {in: server, named: true, chosen: "server", edit: "delete tmp", want: "delete tmp"},
		"none, another one answers":      {in: main, chosen: "server", edit: "delete tmp", want: "delete tmp"},
		"the one that answered, by name": {in: main, chosen: "server", edit: "/agent main delete tmp", want: "delete tmp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{standing: domain.StandingWaiting, waitsIn: test.in, agents: map[string]string{main: test.chosen}}
			j.waiting = domain.Message{
				ID: "m", Channel: "tg", Chat: chat.Chat{ID: "owner"}, Sender: chat.Sender{ID: "owner"}, Authority: chat.Owner,
				Text: "delete it", Named: test.named,
			}
			if outcome, err := box(j).Submit(t.Context(), "tg", event("owner", chat.Edited{ID: "m", Text: test.edit})); err != nil || outcome.Verdict != chat.Accepted {
				t.Fatalf("%+v, error %v", outcome, err)
			}
			if test.want != "" {
				if len(j.amended) != 1 || j.amended[0].Text != test.want || j.amended[0].Named != strings.HasPrefix(test.edit, "/agent") || len(j.notices) != 0 {
					t.Errorf("amended %+v, notices %+v", j.amended, j.notices)
				}
				return
			}
			if len(j.amended) != 0 || len(j.notices) != 1 || !strings.Contains(j.notices[0].Text, test.notice) {
				t.Errorf("amended %+v, notices %+v", j.amended, j.notices)
			}
		})
	}
}

// Behaviour: edit-waiting.
func TestIgnoredChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event    chat.Event
		standing domain.Standing
	}{
		"an edit of what runs":    {event("owner", chat.Edited{ID: "m", Text: "new"}), domain.StandingRunning},
		"an edit of what was":     {event("owner", chat.Edited{ID: "m", Text: "new"}), domain.StandingNone},
		"a stranger's edit":       {event("stranger", chat.Edited{ID: "m", Text: "new"}), domain.StandingWaiting},
		"an edit to nothing":      {event("owner", chat.Edited{ID: "m", Text: " \u200b"}), domain.StandingWaiting},
		"a deletion of what runs": {event("owner", chat.Deleted{ID: "m"}), domain.StandingRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{standing: test.standing}
			outcome, err := box(j).Submit(t.Context(), "tg", test.event)
			if err != nil || outcome.Verdict != chat.Rejected || len(j.accepted)+len(j.amended)+len(j.notices)+len(j.paired) != 0 {
				t.Errorf("%+v, error %v: %+v", outcome, err, j)
			}
		})
	}
}

// Who changes what the running turn has read learns that it is too late, once.
// Behaviour: edit-waiting.
func TestChangesThatComeTooLate(t *testing.T) {
	t.Parallel()
	was := domain.Message{ID: "m", Channel: "tg", Chat: chat.Chat{ID: "owner"}, Text: "old"}
	for name, test := range map[string]struct {
		event   chat.Event
		replyTo chat.MessageID
		want    string
		after   domain.Standing // what has become of the message that claude had not read; empty: it had
	}{
		"an edit":                          {event("owner", chat.Edited{ID: "m", Text: "new"}), "m", "had read this already", ""},
		"an edit of how it looks":          {event("owner", chat.Edited{ID: "m", Text: "old"}), "", "", ""},
		"an edit that makes a command":     {event("owner", chat.Edited{ID: "m", Text: "/status"}), "m", "had read this already", ""},
		"a deletion":                       {event("owner", chat.Deleted{ID: "m"}), "", "still counts", ""},
		"an edit of what runs by now":      {event("owner", chat.Edited{ID: "m", Text: "new"}), "m", "had read this already", domain.StandingRunning},
		"a deletion of what runs by now":   {event("owner", chat.Deleted{ID: "m"}), "", "still counts", domain.StandingRunning},
		"a deletion of what is told again": {event("owner", chat.Deleted{ID: "m"}), "", "still counts", domain.StandingSteered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{standing: domain.StandingSteered, waiting: was, unread: test.after != "", after: test.after}
			outcome, err := box(j).Submit(t.Context(), "tg", test.event)
			if err != nil || outcome.Verdict != chat.Rejected || len(j.amended)+len(j.changes) != 0 {
				t.Errorf("%+v, error %v: %+v", outcome, err, j)
			}
			if test.want == "" {
				if len(j.notices) != 0 {
					t.Errorf("got %+v", j.notices)
				}
				return
			}
			if len(j.notices) != 1 || !strings.Contains(j.notices[0].Text, test.want) || j.notices[0].To != was.Address() || j.notices[0].ReplyTo != test.replyTo {
				t.Errorf("got %+v", j.notices)
			}
			if want := []string{"late:tg:" + string(test.event.ID)}; !cmp.Equal(want, j.posted) {
				t.Errorf("by the keys %q, want %q", j.posted, want)
			}
			j.fail = errors.New("the disk is full")
			if _, err := box(j).Submit(t.Context(), "tg", test.event); err == nil {
				t.Error("the host seems to have what it has not")
			}
		})
	}
}

// A message that was steered and not read is changed as if it had only waited, and steered again.
// Behaviour: edit-waiting.
func TestChangesOfWhatIsUnread(t *testing.T) {
	t.Parallel()
	was := domain.Message{ID: "m", Channel: "tg", Chat: chat.Chat{ID: "owner"}, Authority: chat.Owner, Text: "old"}
	edit := event("owner", chat.Edited{ID: "m", Text: "new"})
	for name, test := range map[string]struct {
		event   chat.Event
		amended string
		changes []string
		notice  string
	}{
		"an edit":                      {event: edit, amended: "new"},
		"an edit that makes a command": {event: event("owner", chat.Edited{ID: "m", Text: "/status"}), changes: []string{"tg/owner/m is gone"}, notice: "into a command"},
		"a deletion":                   {event: event("owner", chat.Deleted{ID: "m"}), changes: []string{"tg/owner/m is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := &journal{standing: domain.StandingSteered, waiting: was, unread: true}
				j.run(t)
				if outcome, err := box(j).Submit(t.Context(), "tg", test.event); err != nil || outcome.Verdict != chat.Accepted {
					t.Fatalf("%+v, error %v", outcome, err)
				}
				synctest.Wait()
				if diff := cmp.Diff(test.changes, j.changes); diff != "" {
					t.Error(diff)
				}
				if test.amended != "" && (len(j.amended) != 1 || j.amended[0].Text != test.amended || j.amended[0].Edition != edit.ID) || test.amended == "" && len(j.amended) != 0 {
					t.Errorf("amended %+v", j.amended)
				}
				if test.notice == "" != (len(j.notices) == 0) || test.notice != "" && !strings.Contains(j.notices[0].Text, test.notice) {
					t.Errorf("got %+v", j.notices)
				}
			})
		})
	}
}

// Behaviour: accept-no-turn, edit-waiting.
func TestDeletions(t *testing.T) {
	t.Parallel()
	j := &journal{standing: domain.StandingWaiting}
	gone := event("owner", chat.Deleted{ID: "m"})
	if outcome, err := box(j).Submit(t.Context(), "tg", gone); err != nil || outcome.Verdict != chat.Accepted || len(j.notices) != 0 {
		t.Errorf("%+v, error %v, got %+v", outcome, err, j.notices)
	}
	if diff := cmp.Diff([]string{"tg/owner/m is gone"}, j.changes); diff != "" {
		t.Error(diff)
	}
	j.fail = errors.New("the disk is full")
	if _, err := box(j).Submit(t.Context(), "tg", gone); err == nil {
		t.Error("the host seems to have what it has not")
	}
}

// What waits behind others says so in the chat, in each mode. Whether it waits the store knows.
// Behaviour: receipt.
func TestReceipt(t *testing.T) {
	t.Parallel()
	for _, mode := range []domain.Mode{domain.Followup, domain.Queue, domain.Collect, domain.Steer, domain.SteerBacklog, domain.Interrupt} {
		j := &journal{
			chosen: map[string]domain.Overrides{"tg:owner": {Queue: domain.QueueOverrides{Mode: mode}}},
			answer: domain.Acceptance{Behind: true},
		}
		submit(t, j, settings, says("owner", "hi"))
		if len(j.receipts) != 1 || j.receipts[0].Buttons[0][1].Data != "/withdraw 1" {
			t.Errorf("%s: the receipts are %+v", mode, j.receipts)
		}
	}
	j := &journal{}
	submit(t, j, settings, says("owner", "hi"))
	if len(j.receipts) != 0 {
		t.Error("a message that does not wait has a receipt")
	}
}

// A chat is shown at once that its message is heard, where the config wants that, but for a command.
func TestReceivedMessageShowsAReaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eager := func(string) config.Settings {
			s := settings("")
			s.Reply.AckReaction, s.Reply.Typing = "👀", "instant"
			return s
		}
		j := &journal{}
		j.run(t)
		submit(t, j, eager, event("owner", chat.Message{ID: "m", Text: "hi"}))
		synctest.Wait()
		submit(t, j, eager, says("owner", "/status"))
		submit(t, j, settings, says("owner", "hi"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"typing in owner", "👀 on m in owner"}, j.heard.sorted()); diff != "" {
			t.Error(diff)
		}
	})
}

// What a person writes shows how far its answer is where the config wants that of its channel.
func TestReacts(t *testing.T) {
	t.Parallel()
	for emoji, want := range map[string]bool{"": false, "👀": false, config.AckStatus: true} {
		j := &journal{}
		submit(t, j, func(channel string) config.Settings {
			s := settings(channel)
			s.Reply.AckReaction = emoji
			return s
		}, says("owner", "hi"))
		if got := j.accepted[0].Reacts; got != want {
			t.Errorf("%q: %v", emoji, got)
		}
	}
}
