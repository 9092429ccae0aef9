package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clawhost/clawhost/sdk"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/sdktest"
)

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// rig is the plugin with its host.
type rig struct {
	*sdktest.Harness
	t     *testing.T
	clock *clock

	mu    sync.Mutex
	turns []sdk.Turn // that the agent was asked, each key once
	fails error      // how turns end
}

// newRig starts the plugin on Thursday, 26 November 2026, at 17:45:30 in Berlin.
func newRig(t *testing.T, config map[string]any) *rig {
	t.Helper()
	r := &rig{t: t, clock: &clock{at: thursday()}}
	r.Harness = sdktest.New(t, service(r.clock.now))
	r.Host.OnTurn(func(_ context.Context, turn sdk.Turn) (string, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, known := range r.turns {
			if known.Key == turn.Key {
				return "done", r.fails
			}
		}
		r.turns = append(r.turns, turn)
		return "done", r.fails
	})
	all := map[string]any{"timezone": "Europe/Berlin"}
	maps.Copy(all, config)
	r.Configure(all)
	return r
}

var (
	anna  = chat.Caller{Session: "test:anna", Address: chat.Address{Channel: "test", Chat: "anna"}, Kind: chat.Direct, Sender: chat.Sender{ID: "anna", DisplayName: "Anna"}, Authority: chat.Owner}
	bob   = in("kitchen", "bob", chat.Authorised)
	cleo  = in("kitchen", "cleo", chat.Authorised)
	annaG = in("kitchen", "anna", chat.Owner)
)

// in is a caller in a group.
func in(group, who string, authority chat.Authority) chat.Caller {
	return chat.Caller{
		Session: "test:group:" + group, Address: chat.Address{Channel: "test", Chat: chat.ID(group)}, Kind: chat.Group,
		Sender: chat.Sender{ID: chat.UserID(who), DisplayName: upper(who)}, Authority: authority,
	}
}

// says uses a line with a command and returns the reply.
func (r *rig) says(c chat.Caller, line string) sdk.Reply {
	r.t.Helper()
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	reply, err := r.Reply(sdk.CommandCall{Name: name, Args: args, Caller: c})
	if err != nil {
		r.t.Fatalf("%s: %v", line, err)
	}
	for _, row := range reply.Buttons {
		for _, b := range row {
			if len(b.Data) > 64 || !strings.HasPrefix(b.Data, "/schedule ") {
				r.t.Errorf("%s: a button has the data %q", line, b.Data)
			}
		}
	}
	return reply
}

// gets uses a command and checks that the reply has these texts.
func (r *rig) gets(c chat.Caller, line string, want ...string) sdk.Reply {
	r.t.Helper()
	reply := r.says(c, line)
	for _, text := range want {
		if !strings.Contains(reply.Text, text) {
			r.t.Errorf("%s gets %q, want %q in it", line, reply.Text, text)
		}
	}
	return reply
}

// labels are the labels of all buttons.
func labels(buttons [][]chat.Button) (list []string) {
	for _, row := range buttons {
		for _, b := range row {
			list = append(list, b.Label)
		}
	}
	return list
}

// until calls the plugin for all wake-ups up to a time, at their times, and sets the clock to it.
func (r *rig) until(at time.Time) {
	r.t.Helper()
	for {
		wakeUps := r.Host.WakeUps()
		if len(wakeUps) == 0 || wakeUps[0].At.After(at) {
			r.clock.set(at)
			return
		}
		if wakeUps[0].At.After(r.clock.now()) {
			r.clock.set(wakeUps[0].At)
		}
		r.wake(wakeUps[0])
	}
}

func (r *rig) wake(w sdk.WakeUp) {
	r.t.Helper()
	if err := r.WakeUp(w); err != nil {
		r.t.Fatalf("wake-up %s at %v: %v", w.Key, w.At, err)
	}
}

// off sets the clock, as if the host had not run meanwhile, and then calls the plugin for what is due.
func (r *rig) off(until time.Time) {
	r.t.Helper()
	r.clock.set(until)
	r.until(until)
}

// settled waits until no turn is waited for, and returns what the history of a schedule is.
func (r *rig) settled(id, want string) {
	r.t.Helper()
	var text string
	for range 2000 {
		result, err := r.CLI(sdk.CLICall{Args: []string{"history", id}})
		if err != nil {
			r.t.Fatal(err)
		}
		if text = result.Stdout + result.Stderr; strings.Contains(text, want) {
			return
		}
		r.pause()
	}
	r.t.Fatalf("the history is %q, want %q", text, want)
}

// pause lets goroutines of the plugin go on.
func (r *rig) pause() {
	timer := time.NewTimer(5 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
}

// posts returns the texts of what was posted.
func (r *rig) posts() (texts []string) {
	for _, p := range r.Host.Posts() {
		texts = append(texts, p.Text)
	}
	return texts
}

func (r *rig) asked() (list []sdk.Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(list, r.turns...)
}

func (r *rig) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = err
}

// tool uses a tool of the agent.
func (r *rig) tool(c chat.Caller, name string, arguments any) chat.ToolResult {
	r.t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		r.t.Fatal(err)
	}
	result, err := r.CallTool(r.t.Context(), chat.ToolCall{Name: name, Arguments: raw, Caller: c})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// A reminder is sent at its time, once, and is then gone.
// Behaviour: schedule-remind.
func TestAReminder(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	reply := r.gets(anna, "/remind 18:30 call *Bob*\nand Eve", "Today at 18:30 (Europe/Berlin) I will send:", "> call *Bob*\n> and Eve", "schedule 1", "/schedule delete 1")
	if got := labels(reply.Buttons); len(got) != 1 || got[0] != "Delete" {
		t.Errorf("the buttons are %q", got)
	}
	r.until(thursday().Add(44 * time.Minute))
	if got := r.posts(); len(got) > 0 {
		t.Errorf("before its time it has sent %q", got)
	}
	w := r.Host.WakeUps()[0]
	r.until(thursday().Add(45 * time.Minute))
	r.wake(w) // a host calls at least once
	if got := r.posts(); len(got) != 1 || got[0] != "⏰ call *Bob*\nand Eve" {
		t.Errorf("it has sent %q", got)
	}
	if left := r.Host.WakeUps(); len(left) > 0 {
		t.Errorf("wake-ups are left: %v", left)
	}
	r.gets(anna, "/schedule", "There are no schedules.")
	r.gets(anna, "/remind me tomorrow 9:00 to call Bob", "Tomorrow at 9:00", "> call Bob")
	r.gets(anna, "/remind every day 8:00 send: water", "Every day at 8:00", "I will send:\n> water")
}

// What repeats asks the agent, whose answer is delivered, and says how each run ended.
// Behaviour: schedule-every.
func TestATurnEachDay(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.gets(anna, "/every weekday 9:00 what is new?", "Every weekday at 9:00 (Europe/Berlin) I will ask Claude:\n> what is new?", "First tomorrow at 9:00.")
	r.gets(bob, "/every 2h Send: drink", "I will send:\n> drink", "First today at 19:45.")
	r.gets(bob, "/remind in 20m ASK: is the tea ready?", "Today at 18:05:30", "I will ask Claude:\n> is the tea ready?")
	r.until(thursday().Add(30 * time.Minute))
	r.gets(bob, "/schedule own 2", "sends a text, and has no conversation")
	r.gets(anna, "/schedule own 1", "a conversation of its own")
	r.until(thursday().Add(24 * time.Hour))
	asked := r.asked()
	if len(asked) != 2 || asked[0].To != bob.Address || !asked[0].Untrusted || asked[0].Kind != chat.Group || asked[0].Conversation != "" {
		t.Fatalf("asked are %+v", asked)
	}
	if got := asked[1]; got.Prompt != "what is new?" || got.To != anna.Address || got.Untrusted || !got.Deliver || got.Conversation != "schedule-1" {
		t.Errorf("asked is %+v", got)
	}
	r.settled("1", "Fri 2026-11-27 09:00: answered")
	if n := len(r.posts()); n != 12 {
		t.Errorf("every 2 hours of a day it has sent %q", r.posts())
	}
	r.gets(anna, "/schedule 1", "Every weekday at 9:00", "Next on Monday 30 November at 9:00.", "1 run so far, 0 missed", "Made by Anna yesterday at 17:45")
	r.gets(anna, "/schedule own 1 off", "in the conversation of the chat")
}

// Behaviour: schedule-miss.
func TestMissedTimes(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		miss         string
		turns        int
		asks         bool
		missed, runs string
	}{
		{missRun, 1, false, "3 times missed", "1 run so far, 3 missed"},
		{missSkip, 0, false, "4 times missed", "0 runs so far, 4 missed"},
		{missAsk, 0, true, "", ""},
	} {
		r := newRig(t, map[string]any{"on_miss": test.miss})
		r.says(anna, "/every day 9:00 what is new?")
		r.says(anna, "/remind 18:00 tea")
		r.says(anna, "/remind every day 10:00 water")
		r.off(monday)
		if got := len(r.asked()); got != test.turns {
			t.Errorf("%s: %d turns", test.miss, got)
		}
		posts := r.Host.Posts()
		var text string
		for _, p := range posts {
			text += p.Text + "\n"
		}
		// Reminders are never skipped.
		for _, want := range []string{"⏰ tea\n\n(This was due on Thursday 26 November at 18:00.", "⏰ water\n\n(This was due today at 10:00."} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s: sent is %q, want %q", test.miss, text, want)
			}
		}
		if !test.asks {
			if len(posts) != 2 {
				t.Errorf("%s: sent is %q", test.miss, text)
			}
			r.gets(anna, "/schedule history 1", test.missed)
			r.gets(anna, "/schedule 1", test.runs)
			continue
		}
		question := posts[1]
		if !strings.Contains(question.Text, "I was not running at the last 4 times of this schedule, the latest today at 9:00.") || len(posts) != 3 || len(question.Buttons) != 1 {
			t.Fatalf("asked is %+v", posts)
		}
		run, skip := question.Buttons[0][0].Data, question.Buttons[0][1].Data
		r.gets(anna, "/schedule 1", "Missed today at 9:00: run it, or /schedule skip 1.")
		r.gets(anna, run, "Schedule 1 runs now.")
		r.settled("1", "Mon 2026-11-30 09:00: answered (late, today at 12:00)")
		for _, again := range []string{run, skip} {
			r.gets(anna, again, "answered already")
		}
		if got := len(r.asked()); got != 1 {
			t.Errorf("after two presses there are %d turns", got)
		}
		r.gets(anna, "/schedule 1", "1 run so far, 3 missed")
		// An open question ends with the next run.
		r.off(monday.Add(24 * time.Hour))
		r.gets(anna, "/schedule skip 1", "Skipped: schedule 1", "due again tomorrow at 9:00")
		r.off(monday.Add(48 * time.Hour))
		r.until(monday.Add(72 * time.Hour))
		r.settled("1", "missed, nobody has said whether to run it late")
		r.settled("1", "Thu 2026-12-03 09:00: answered")
		r.gets(anna, "/schedule 1", "2 runs so far, 5 missed")
	}
}

// Up to five minutes late is in time.
// Behaviour: schedule-miss.
func TestALittleLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"on_miss": missSkip})
	r.says(anna, "/remind 18:00 ask: one?")
	r.says(anna, "/remind 18:00 two")
	r.off(time.Date(2026, 11, 26, 17, 5, 0, 0, time.UTC))
	if asked, posts := r.asked(), r.posts(); len(asked) != 1 || len(posts) != 1 || posts[0] != "⏰ two" {
		t.Errorf("asked %+v, sent %q", asked, posts)
	}
}

// The wake-up says that its time has come: a clock that is behind delays nothing and repeats nothing.
// Behaviour: schedule-once.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.says(anna, "/every day 18:00 what is new?")
	w := r.Host.WakeUps()[0]
	r.clock.set(thursday().Add(-3 * time.Hour))
	r.wake(w)
	r.wake(w)
	next := r.Host.WakeUps()
	if got := r.asked(); len(got) != 1 || len(next) != 1 || !next[0].At.Equal(w.At.Add(24*time.Hour)) {
		t.Errorf("asked %+v, then %v", got, next)
	}
	// One that is ahead of its time does nothing.
	r.clock.set(thursday())
	if err := r.WakeUp(sdk.WakeUp{Key: "1", At: w.At.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"7", "x"} {
		r.wake(sdk.WakeUp{Key: key, At: w.At})
	}
	if got, next := r.asked(), r.Host.WakeUps(); len(got) != 1 || len(next) != 1 {
		t.Errorf("asked %+v, then %v", got, next)
	}
}

// Behaviour: schedule-failures.
func TestASchedulePausesAfterFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.fail(errors.New("the login has expired"))
	r.says(anna, "/every day 9:00 what is new?")
	day := time.Date(2026, 11, 27, 8, 30, 0, 0, time.UTC)
	for i := range 10 {
		r.until(day.AddDate(0, 0, i))
		if i < maxFailures {
			r.settled("1", day.AddDate(0, 0, i).Format("2006-01-02")+" 09:00: failed, the login has expired")
		}
	}
	posts := r.Host.Posts()
	if len(r.asked()) != 8 || len(posts) != 1 || !strings.Contains(posts[0].Text, "is paused, because it failed 8 times in a row.\nThe last error: the login has expired") {
		t.Fatalf("after %d turns sent is %+v", len(r.asked()), posts)
	}
	if left := r.Host.WakeUps(); len(left) > 0 {
		t.Errorf("wake-ups are left: %v", left)
	}
	r.gets(anna, "/schedule", "paused: it failed 8 times in a row")
	r.fail(nil)
	r.gets(anna, posts[0].Buttons[0][0].Data, "Schedule 1 goes on, tomorrow at 9:00.")
	r.until(day.AddDate(0, 0, 10))
	r.settled("1", "2026-12-07 09:00: answered")
	r.fail(errors.New("again"))
	r.until(day.AddDate(0, 0, 11)) // counts from the beginning
	r.settled("1", "2026-12-08 09:00: failed")
	r.gets(anna, "/schedule", "next tomorrow at 9:00")
}

// Who may see and change what.
// Behaviour: schedule-people.
func TestWhoseSchedules(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.says(bob, "/every day 9:00 what is new?")
	r.says(anna, "/remind 18:30 secret")
	for line, want := range map[string]string{
		"/schedule":           "**1.** Every day at 9:00, I ask Claude: what is new?: next tomorrow at 9:00",
		"/schedule 1":         "Made by Bob today at 17:45",
		"/schedule #1":        "Made by Bob",
		"/schedule history 1": "has not run yet",
		"/schedule pause 1":   "Schedule 1 is Bob's. Only they and owners may change it.",
		"/schedule delete 1":  "Only they and owners",
		"/schedule run 1":     "Only they and owners",
		"/schedule own 1":     "Only they and owners",
		"/schedule 2":         "There is no schedule 2 here.",
		"/schedule delete 2":  "There is no schedule 2 here.",
		"/schedule all":       "Only owners see the schedules of all chats",
		"/schedule pause":     "Which one?",
		"/schedule pause x":   "x is no number",
		"/schedule dance 1":   "I do not know /schedule dance.",
		"/schedule help":      "the schedules of this chat",
	} {
		if reply := r.gets(cleo, line, want); strings.Contains(reply.Text, "secret") || len(labels(reply.Buttons)) > 0 {
			t.Errorf("%s gets %+v", line, reply)
		}
	}
	r.gets(annaG, "/schedule all", "Only owners")
	if got := labels(r.gets(annaG, "/schedule", "**1.**").Buttons); strings.Join(got, ",") != "Pause 1,Run now 1,Delete 1" {
		t.Errorf("the buttons are %q", got)
	}
	r.gets(annaG, "/schedule pause 1", "Schedule 1 is paused.")
	r.gets(annaG, "/schedule delete 2", "There is no schedule 2 here.") // what an owner has in a direct chat is not shown in a group
	r.gets(anna, "/schedule all", "**1.**", "(in test:group:kitchen)", "**2.**")
	r.gets(anna, "/schedule resume 1", "goes on, tomorrow at 9:00")
	alias := bob
	alias.Sender = chat.Sender{ID: "other", Aliases: []chat.UserID{"bob"}}
	r.gets(alias, "/schedule delete 1", "Deleted: schedule 1")
	r.gets(bob, "/schedule", "There are no schedules.")
	if left := r.Host.WakeUps(); len(left) != 1 || left[0].Key != "2" {
		t.Errorf("wake-ups are left: %v", left)
	}
}

// Behaviour: schedule-commands.
func TestChangeASchedule(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.says(anna, "/every day 9:00 what is new?")
	r.says(anna, "/remind 18:00 tea")
	r.gets(anna, "/schedule run 1", "Schedule 1 runs now.")
	r.settled("1", "Thu 2026-11-26 17:45: answered")
	r.gets(anna, "/schedule run 2")
	if got := r.posts(); len(got) != 1 || got[0] != "⏰ tea" {
		t.Errorf("sent is %q", got)
	}
	if got := r.says(anna, "/schedule run 2"); got.Text != "" {
		t.Errorf("below the text is a reply: %q", got.Text)
	}
	r.says(bob, "/remind tomorrow 18:00 cake")
	r.gets(anna, "/schedule run 3", "Schedule 3 has sent its text.") // in another chat
	r.gets(anna, "/schedule delete 3", "Deleted")
	r.gets(anna, "/schedule pause 2", "is paused")
	reply := r.gets(anna, "/schedule pause 2", "is paused")
	if reply.Buttons[0][0].Data != "/schedule resume 2" {
		t.Errorf("the buttons are %+v", reply.Buttons)
	}
	r.until(thursday().Add(time.Hour))
	if got := r.posts(); len(got) != 2 {
		t.Errorf("while it is paused it sends %q", got)
	}
	r.gets(anna, "/schedule resume 2", "The time of schedule 2 has passed.")
	r.gets(anna, "/schedule resume 1", "goes on, tomorrow at 9:00")
	for _, line := range []string{"/remind tomorrow 8:00 x", "/remind tomorrow 9:00 x", "/remind tomorrow 10:00 x"} {
		r.says(anna, line)
	}
	if got := strings.Join(labels(r.gets(anna, "/schedule", "5 schedules").Buttons), ","); got != "1,2,4,5,6" {
		t.Errorf("the buttons of many are %q", got)
	}
	for line, want := range map[string]string{
		"/remind":                 "For example: `/remind 17:30 call Bob`",
		"/remind 18:30":           "What should I send then?",
		"/every day 9:00":         "What should I ask Claude then?",
		"/remind 9:00 tomorrow x": "Say the day before the time, such as tomorrow 9:00.\nFor example",
		"/every now x":            `"now" does not say how often.` + "\nFor example: `/every weekday",
		"/remind 18:30 " + strings.Repeat("ü", 1025): "The text has 2050 bytes; at most 2048 fit.",
	} {
		r.gets(anna, line, want)
	}
}

// Behaviour: schedule-quota.
func TestQuotas(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for range maxPerPerson {
		r.gets(bob, "/remind in 20m tea", "This is schedule")
	}
	r.gets(cleo, "/remind in 20m tea", "This chat has 50 schedules already")
	elsewhere := in("garden", "bob", chat.Authorised)
	r.gets(elsewhere, "/remind in 20m tea", "You have 50 schedules already")
	r.gets(anna, "/remind in 20m tea", "This is schedule 51")
	if n := len(labels(r.says(bob, "/schedule").Buttons)); n != maxNumbers {
		t.Errorf("a long list has %d buttons", n)
	}
	r.gets(bob, "/schedule delete 1", "Deleted")
	r.gets(elsewhere, "/remind in 20m tea", "This is schedule 52") // a refused one has no number
}

// The agent proposes, and a person agrees.
// Behaviour: schedule-propose.
func TestProposals(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for arguments, want := range map[string]string{
		`{"when":"every day","text":"x"}`:                          "when: say at what time",
		`{"when":"tomorrow 9:00 sharp","text":"x"}`:                `when: "sharp" is not a part of a time`,
		`{"when":"tomorrow 9:00","text":" "}`:                      "the text is empty",
		`{"when":"tomorrow 9:00","text":"x","kind":"sing"}`:        "kind must be send or ask",
		`{"when":"tomorrow 9:00"}`:                                 `the attribute "text" is missing`,
		`{"when":"2h","text":"` + strings.Repeat("x", 2049) + `"}`: "at most 2048 fit",
	} {
		if got := r.tool(bob, "propose", json.RawMessage(arguments)); !got.Failed || !strings.Contains(got.Text, want) {
			t.Errorf("%s: %+v, want %q", arguments, got, want)
		}
	}
	got := r.tool(bob, "propose", map[string]any{"when": "every weekday 9:00", "text": "what is new?\nThis is schedule 9", "kind": "ask", "own_conversation": true})
	if got.Failed || !strings.Contains(got.Text, "Proposal 1 is shown in the chat.") {
		t.Fatalf("the tool says %+v", got)
	}
	posts := r.Host.Posts()
	if len(posts) != 1 || posts[0].To != bob.Address || !strings.Contains(posts[0].Text, "Every weekday at 9:00 (Europe/Berlin) I will ask Claude:\n> what is new?\n> This is schedule 9") {
		t.Fatalf("the chat is asked %+v", posts)
	}
	r.gets(bob, "/schedule", "There are no schedules.")
	if left := r.Host.WakeUps(); len(left) > 0 {
		t.Errorf("before a person agrees there are wake-ups: %v", left)
	}
	if got := r.tool(bob, "list", struct{}{}); !strings.Contains(got.Text, "Proposal 1, not agreed to: Every weekday at 9:00") || !strings.HasPrefix(got.Text, "It is today at 17:45, Europe/Berlin.") {
		t.Errorf("the tool lists %q", got.Text)
	}
	agree, decline := posts[0].Buttons[0][0].Data, posts[0].Buttons[0][1].Data
	r.gets(anna, agree, "There is no proposal 1 here") // in another chat
	r.gets(cleo, agree, "This is schedule 1", "First tomorrow at 9:00")
	r.gets(cleo, agree, "There is no proposal 1 here")
	r.gets(cleo, decline, "There is no proposal 1 here")
	r.gets(bob, "/schedule 1", "Made by Cleo", "a conversation of its own")
	if got := r.tool(bob, "withdraw", map[string]any{"number": 1}); !got.Failed || !strings.Contains(got.Text, "schedules are deleted by people") {
		t.Errorf("the tool deletes a schedule: %+v", got)
	}
	for i := range maxProposals {
		if got := r.tool(bob, "propose", map[string]any{"when": "every 2h", "text": "x"}); got.Failed {
			t.Fatalf("proposal %d: %+v", i, got)
		}
	}
	if got := r.tool(cleo, "propose", map[string]any{"when": "in 2h", "text": "x"}); !got.Failed || !strings.Contains(got.Text, "5 open proposals already") {
		t.Errorf("one too many: %+v", got)
	}
	if got := r.tool(bob, "withdraw", map[string]any{"number": 2}); got.Failed {
		t.Errorf("withdraw: %+v", got)
	}
	r.gets(bob, "/schedule agree 2", "There is no proposal 2 here")
	r.gets(bob, "/schedule decline 3", "Dropped: proposal 3.")
	r.clock.set(thursday().Add(time.Hour))
	r.gets(bob, "/schedule agree 4", "First today at 20:45.") // two hours from now, not from the proposal
	r.clock.set(thursday().Add(25 * time.Hour))
	r.gets(bob, "/schedule agree 5", "There is no proposal 5 here: it was answered already, or is older than a day.")
	if got := r.tool(bob, "propose", map[string]any{"when": "in 20m", "text": "tea"}); got.Failed {
		t.Errorf("old proposals still count: %+v", got)
	}
	r.clock.set(thursday().Add(26 * time.Hour))
	r.gets(bob, "/schedule agree 7", "The time of this proposal has passed.")
}

// Behaviour: schedule-cli.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.says(bob, "/every weekday 9:00 what is new?")
	r.says(anna, "/remind 18:30 tea")
	for _, test := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"", "clawhost schedule list", "", 0},
		{"help", "clawhost schedule list", "", 0},
		{"list", "NUMBER  CHAT                ", "", 0},
		{"list", "1       test:group:kitchen  every weekday at 9:00  next tomorrow at 9:00  ask   what is new?", "", 0},
		{"list -json", `"number": 2,`, "", 0},
		{"list -json", `"next": "2026-11-26T18:30:00+01:00"`, "", 0},
		{"show 2", "Today at 18:30", "", 0},
		{"show 1 -json", `"person": "test:bob"`, "", 0},
		{"history 1", "has not run yet", "", 0},
		{"history 1 -json", "[]", "", 0},
		{"pause 1", "Schedule 1 is paused", "", 0},
		{"resume 1", "goes on, tomorrow", "", 0},
		{"run 2", "has sent its text", "", 0},
		{"delete 2", "Deleted: schedule 2", "", 0},
		{"delete 2", "", "There is no schedule 2", 1},
		{"show x", "", "There is no schedule x", 1},
		{"dance 1", "", "is not used like this", 2},
		{"show", "", "is not used like this", 2},
	} {
		got, err := r.CLI(sdk.CLICall{Args: strings.Fields(test.args)})
		if err != nil || got.Code != test.code || !strings.Contains(got.Stdout, test.stdout) || !strings.Contains(got.Stderr, test.stderr) {
			t.Errorf("%s: %+v, %v", test.args, got, err)
		}
	}
	if got := r.posts(); len(got) != 1 || got[0] != "⏰ tea" {
		t.Errorf("sent is %q", got)
	}
}

// Behaviour: schedule-status.
func TestStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if got := r.Status(); got != "0 schedules" {
		t.Errorf("without schedules the status is %q", got)
	}
	r.says(anna, "/every day 9:00 what is new?")
	r.says(anna, "/remind 18:30 tea")
	if got := r.Status(); got != "2 schedules, the next today at 18:30" {
		t.Errorf("the status is %q", got)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		`{"timezone":"Mars/Olympus"}`: "timezone",
		`{"on_miss":"cry"}`:           "on_miss",
		`{"timezone":"UTC"}`:          "",
		`{"timezone":"local"}`:        "",
		`{}`:                          "",
	} {
		h := sdktest.New(t, service(time.Now))
		found, err := h.TryConfigure(config)
		if err != nil || (len(found) > 0) != (want != "") || len(found) > 0 && found[0].Path != want {
			t.Errorf("%s: %+v, %v", config, found, err)
		}
	}
}
